"""Baber 2011, "A Correction To Brian Mirtich's Thesis": impacts with several compressions, and rays of sliding.

Symbols of all modules; the paper's, where it has one.

| symbol   | meaning                                                                   | unit     |
|----------|---------------------------------------------------------------------------|----------|
| K, L     | inverse inertia at the contact (the paper's collision matrix); K^-1        | 1/kg, kg |
| M, d     | tangential block of K, and its coupling to the normal                     | 1/kg     |
| u        | velocity of the contact point of body a relative to that of b             | m/s      |
| p        | impulse on a; normal impulse                                              | N s      |
| W, Wc, Wd | work of the normal force; its parts in compression and in restitution    | J        |
| s        | direction of slip                                                         | 1        |
| k        | du/dp along slip of one direction, K (-mu s, 1)                           | 1/kg     |
| l        | growth of slip along a ray: d = (l + mu M) s; positive if diverging       | 1/kg     |
"""

from jimpact.reproduce import load_paper

PAPER = load_paper(__name__)
