"""The example of section 1.2 for every restitution: the result jumps where the first restitution just fails to end it.

At e* = sqrt(W_d / |W_c|), with the works of the first restitution and the first compression, the impact ends where u_z
is zero again. Any more, and it goes through the second compression (not in the paper).
"""

import numpy as np
from matplotlib.figure import Figure

from jimpact.reproduce import Finding, Grid, Picture, Progress, Result, new, solve_many

from .example import LINE, MARK, ExampleForm, Track, impulse_at, inverse_inertia, tracked, twice

__all__ = ["run", "threshold"]


def run(form: ExampleForm, progress: Progress) -> Result:
    """The restitution of the jump, and the impulse on both sides of it."""
    K = inverse_inertia(form)
    track = twice(tracked(K, form))
    limit = threshold(track)
    offsets = np.array(form.jump.offsets)
    scan = np.linspace(0, 1, form.jump.restitutions)
    near = np.concatenate([limit - offsets, limit + offsets[::-1]])
    impact = solve_many(K, form.impact.velocity, form.impact.friction, np.concatenate([scan, near]), progress=progress)
    impulse, count = np.asarray(impact.impulse), np.asarray(impact.info.compressions)
    below, above = impulse_at(track, track.zeros[1]), impulse[-len(offsets)]
    findings = [*_jump(limit, below, above, float(offsets[-1])), _halves(scan, count[: len(scan)], limit)]
    rows = [
        [f"e* {e - limit:+.0e}", int(c), *(f"{x:.6f}" for x in p)]
        for e, c, p in zip(near, count[len(scan) :], impulse[len(scan) :], strict=True)
    ]
    grid = Grid("Impulse (N s) on both sides of the jump.", ("restitution", "compressions", "x", "y", "z"), rows)
    figure = _draw(scan, impulse[: len(scan)], limit)
    caption = (
        "Impulse of the example over restitution: it jumps where the first restitution just fails to end the impact."
    )
    return Result(findings, [Picture("jump", figure, caption)], [grid])


def threshold(track: Track) -> float:
    """e* from the works at the first two zeros of the normal velocity."""
    compressed, released = np.interp(track.zeros[:2], track.normal_impulse, track.work)
    return float(np.sqrt((released - compressed) / -compressed))


def _jump(limit: float, below: np.ndarray, above: np.ndarray, offset: float) -> list[Finding]:
    words = lambda p: ", ".join(f"{x:.6f}" for x in p)  # noqa: E731
    ratio = np.linalg.norm(above - below) / np.linalg.norm(below)
    return [
        new("B-jump", "1.2", "restitution e* at which the result jumps", f"{limit:.9f}", "sqrt of the works' ratio"),
        new("B-jump-below", "1.2", "impulse, limit from below", f"({words(below)}) N s", "where u_z is zero again"),
        new(
            "B-jump-above",
            "1.2",
            f"impulse at e* + {offset:.0e}",
            f"({words(above)}) N s",
            f"after a second compression; the impulse changes by {ratio:.0%}",
        ),
    ]


def _halves(scan: np.ndarray, count: np.ndarray, limit: float) -> Finding:
    right = int(((count == 2) == (scan > limit)).sum())
    why = "one below e*, two above"
    return new("B-jump-scan", "1.2", "compressions over restitution", f"{right} of {len(scan)} as e* says", why)


def _draw(scan: np.ndarray, impulse: np.ndarray, limit: float) -> Figure:
    fig = Figure(figsize=(7.6, 4.4), layout="constrained")
    ax = fig.add_subplot()
    names = ("tangential, $p_x$", "tangential, $p_y$", "normal, $p_z$")
    colors, sides = ("#2a9d8f", "#e09f3e", LINE), (scan < limit, scan > limit)
    for i, (name, color) in enumerate(zip(names, colors, strict=True)):
        for side in sides:
            label = name if side is sides[0] else None
            ax.plot(scan[side], impulse[side, i], color=color, lw=2, label=label)
    ax.axvline(limit, color=MARK, lw=1.2, ls="--", label=f"e* = {limit:.6f}")
    ax.text(limit - 0.02, 41, "ends in the\nfirst restitution", ha="right", va="center", color="0.3", fontsize=10)
    ax.text(limit + 0.02, 41, "goes through a\nsecond compression", ha="left", va="center", color="0.3", fontsize=10)
    ax.set(xlim=(0, 1), xlabel="coefficient of restitution", ylabel="impulse (N s)")
    ax.set_title("The outcome jumps with restitution", fontsize=11)
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.9), fontsize=9)
    return fig
