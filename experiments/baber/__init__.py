"""Baber 2011, "A Correction To Brian Mirtich's Thesis": impacts with several compressions, and rays of sliding."""

from jimpact.reproduce import Paper, Part

from . import algorithm, bodies, example, fig4, jump, mirtich, planar, rays, termination

NOTES = (
    "Axes: x and y tangential, z the normal (in section 5: x, and y the normal). u is the velocity of the contact "
    "point of body A relative to that of B (m/s), p the impulse on A (N s), K the collision matrix, u - u_0 = K p "
    "(1/kg), mu friction, e restitution. Compression is where u_z is below 0; W_c and W_d are the works of the normal "
    "force in all compressions and in all restitutions (the paper: decompressions), W_1 that of the first compression. "
    "A ray is a direction in which slip (u_x, u_y) keeps its direction; it is diverging if slip grows along it, "
    "converging if it falls, stationary if it stays. M and d are the tangential block of K and its coupling "
    "(K_13, K_23) to the normal, l the growth of slip along a ray, r and theta size and direction of slip. Where an "
    "impact compresses twice, its end depends on the reading: all, W_d = -e^2 W_c over all phases (Baber); first, the "
    "work of all phases is (1 - e^2) W_1 (Mirtich, read on); stopped, at the second zero of u_z. e' is the restitution "
    "with which `all` ends where `first` does. Random matrices are K = A A^T with Gaussian A, random boxes strike the "
    "ground with a corner."
)

PAPER = Paper(
    "baber",
    "Baber: A correction to Mirtich's thesis",
    "R. Baber, A Correction To Brian Mirtich's Thesis (Impulse-based Dynamic Simulation of Rigid Body Systems), 2011.",
    [
        Part(
            "example",
            "Sections 1.1, 1.2, figures 1, 2: two compressions",
            "baber/example.toml",
            example.ExampleForm,
            example.run,
        ),
        Part("jump", "Section 1.2: a jump with restitution", "baber/example.toml", example.ExampleForm, jump.run),
        Part("fig4", "Section 3.7, figure 4: unstable sticking", "baber/fig4.toml", fig4.Fig4Form, fig4.run),
        Part(
            "mirtich",
            "Sections 1.1, 3.4: one compression or all of them",
            "baber/mirtich.toml",
            mirtich.MirtichForm,
            mirtich.run,
        ),
        Part("rays", "Sections 3.8 to 3.10: rays of constant sliding", "baber/rays.toml", rays.RaysForm, rays.run),
        Part(
            "termination",
            "Sections 3.4 to 3.6, 3.9, 3.11, appendix C: every impact ends",
            "baber/termination.toml",
            termination.TerminationForm,
            termination.run,
        ),
        Part(
            "bodies",
            "Sections 3.1, 3.2, 4, appendix B: any normal, immovable bodies",
            "baber/bodies.toml",
            bodies.BodiesForm,
            bodies.run,
        ),
        Part(
            "algorithm",
            "Section 4: the algorithm, and misprints",
            "baber/algorithm.toml",
            algorithm.AlgorithmForm,
            algorithm.run,
        ),
        Part("planar", "Section 5: impacts in the plane", "baber/planar.toml", planar.PlanarForm, planar.run),
    ],
    NOTES,
)
