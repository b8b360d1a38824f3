"""Chatterjee & Ruina 1998: the impulses that an impact may have, what each law makes of them, and a new law.

The paper's M is the inverse of jimpact's W, its first axis is jimpact's last (the normal), and its Routh's law is
jimpact's `poisson` unless another rule of restitution is named.
"""

from pathlib import Path

from jimpact.reproduce import Paper, Part, load_rows

from . import definitions, energy, permissible, sequence, solutions, special
from .fig_construction import figure_1, figure_2, figure_3
from .fig_situations import figure_4, figure_5, figure_6, figure_7, figure_8, figure_9
from .forms import Construction, Laws, Scene, Sequence, Solid

CONSTRUCTION, LAWS = "chatterjee_ruina/fig1_3_construction.toml", "chatterjee_ruina/laws.toml"
INFINITE = "chatterjee_ruina/fig7_infinite_friction.toml"

PAPER = Paper(
    "chatterjee_ruina",
    "Chatterjee & Ruina: a new algebraic collision law",
    "A. Chatterjee, A. Ruina: A New Algebraic Rigid Body Collision Law Based on Impulse Space Considerations. "
    "Journal of Applied Mechanics, accepted July 1998.",
    notes="M is the mass matrix of the contact, W its inverse, w the normal entry of W and d its coupling of normal "
    "and tangents; n is the normal, V_i and V_f the velocities before and after. P_I ends the approach "
    "without friction, P_II ends approach and slip. E_c is the contact kinetic energy, (5). e and e_t are "
    "normal and tangential restitution, e_k Poisson's; kappa is the weight of P_II - P_I in the new law, "
    "(11), sigma that of the new law in a mixture. 'Dead' means at rest after, 'pulls' a negative normal "
    "impulse, 'jams' that slip presses the bodies together. Routh's law is `poisson` here, or `stronge` or "
    "`newton` with another end of restitution; `chatterjee_ruina` is the new law. Random impacts are of three "
    "kinds: bodies (two blocks), matrices (any positive definite W) and gripping (the same, with friction "
    "above w / |d|). W_c and W_d are the work of the normal force in compression and restitution. UNFINISHED "
    "is the outcome of a sequence that the allowed number of impacts does not end.",
    parts=[
        Part("definitions", "Impulse space: sections 2 and 3, appendix A.1", LAWS, Laws, definitions.run),
        Part("fig1", "Figure 1: points and lines", CONSTRUCTION, Construction, figure_1),
        Part("fig2", "Figure 2: the new law in space", "chatterjee_ruina/fig2_space.toml", Solid, figure_2),
        Part("fig3", "Figure 3: how laws are constructed", CONSTRUCTION, Construction, figure_3),
        Part("fig4", "Figure 4: a generic impact", "chatterjee_ruina/fig4_generic.toml", Scene, figure_4),
        Part("fig5", "Figure 5: diagonal M", "chatterjee_ruina/fig5_diagonal.toml", Scene, figure_5),
        Part("fig6", "Figure 6: grazing", "chatterjee_ruina/fig6_grazing.toml", Scene, figure_6),
        Part("fig7", "Figure 7: infinite friction", INFINITE, Scene, figure_7),
        Part("fig8", "Figure 8: a pendulum", "chatterjee_ruina/fig8_hinge.toml", Scene, figure_8),
        Part("fig9", "Figure 9: near grazing", "chatterjee_ruina/fig9_near_grazing.toml", Scene, figure_9),
        Part("permissible", "The permissible region: 4.1, 5.1, 5.2, listing A.2", LAWS, Laws, permissible.run),
        Part("energy", "Energy: sections 3.5 and 4.2", LAWS, Laws, energy.run),
        Part("solutions", "How many solutions: 4.2.2 and 4.2.3", LAWS, Laws, solutions.run),
        Part("special", "Spheres, diagonal M, infinite friction: 3.4, 4.2, 5.2", LAWS, Laws, special.run),
        Part("grazing", "Grazing: 3.4, 4.2, 5.2", LAWS, Laws, special.grazing),
        Part("composite", "Composite laws: 5.3", LAWS, Laws, permissible.composite),
        Part("sequence", "Simultaneous contacts: section 6", "chatterjee_ruina/sequence.toml", Sequence, sequence.run),
    ],
    rows=load_rows(Path(__file__).with_name("findings.toml")),
)
