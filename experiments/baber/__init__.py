"""Baber 2011, "A Correction To Brian Mirtich's Thesis": impacts with several compressions, and rays of sliding."""

from jimpact.reproduce import Paper, Part

from . import algorithm, bodies, example, fig4, jump, mirtich, planar, rays, termination

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
            "Section 3.11: every impact ends",
            "baber/termination.toml",
            termination.TerminationForm,
            termination.run,
        ),
        Part(
            "bodies",
            "Sections 3.1, 3.2, 4: any normal, immovable bodies",
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
)
