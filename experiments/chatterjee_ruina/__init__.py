"""Chatterjee & Ruina 1998: the impulses that an impact may have, what each law makes of them, and a new law.

The paper's M is the inverse of jimpact's W, its first axis is jimpact's last (the normal), and its Routh's law is
jimpact's `poisson` unless another rule of restitution is named.
"""

from jimpact.reproduce import load_paper

PAPER = load_paper(__name__)
