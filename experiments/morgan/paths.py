"""The ways through an impact: figs 2.2 to 2.5, 2.7 and 2.9, and the rare cases at the end of section 2.3."""

import numpy as np

import jimpact
from jimpact.reproduce import Finding, Grid, Picture, Progress, Result, claim, new, unchecked

from .algorithm import Solved, solve_by_text
from .crowd import Crowd, at_posture, by_text, collide_many, largest_gap
from .draw_paths import construction, paths_figure
from .forms import Impact, ImpactsForm

__all__ = ["impacts_of", "run"]

ROUND_OFF = 1e-13
NUDGE = 1e-12  # of the slip, off a tie
CHOSEN = "The thesis gives no numbers; this impact was chosen to have these events."


def impacts_of(form: ImpactsForm) -> Crowd:
    """The configured impacts, one after another."""
    pendulum = form.pendulum.pendulum()
    one = lambda i: at_posture(pendulum, i.angles_deg, np.array([i.tip_velocity]), i.friction, i.restitution)  # noqa: E731
    return Crowd(*(np.concatenate(parts) for parts in zip(*map(one, form.impact), strict=True)))


def run(form: ImpactsForm, progress: Progress) -> Result:
    crowd = impacts_of(form)
    rare = _rare(form)
    whole = Crowd(*(np.concatenate(pair) for pair in zip(crowd, rare, strict=True)))
    text, hit = by_text(whole), collide_many(whole)
    codes, n = np.asarray(jimpact.event_sequence(hit.impact)), len(form.impact)
    gaps = largest_gap(hit.speeds, np.array([s.u for s in text]))
    findings = [
        *_construction(crowd, text[0]),
        *_printed_paths(form, crowd, text[:n], codes[:n], gaps[:n]),
        *_rare_findings(rare, text[n:], gaps[n:], codes[n:]),
    ]
    pictures = [
        Picture(
            "fig2_2_to_2_7", construction(crowd, text[0]), "How the example is solved: figs 2.2, 2.3, 2.5 and 2.7."
        ),
        Picture(
            "fig2_9_paths",
            paths_figure(crowd, text[:n], [f"{i.figure}: {i.name}" for i in form.impact]),
            "Generalised speeds during the impacts of the configuration; fig 2.9 and the other orders.",
        ),
    ]
    return Result(findings, pictures, [_table(form.impact, text[:n], codes[:n], gaps[:n])])


def _construction(crowd: Crowd, solved: Solved) -> list[Finding]:
    J, u, start = crowd.J[0], crowd.u[0], solved.stops[0]
    L = np.linalg.solve(crowd.M[0], J.T) @ np.array([solved.frictions[0], 1.0])
    first = [float(-(J[row] @ u) / (J[row] @ L)) for row in (0, 1)]
    p = {stop.event: stop.p for stop in solved.stops}
    why = "A drawing without numbers; ours is for the configured impact."
    return [
        unchecked("M-fig2.2", "fig 2.2", "direction of the speeds at first", f"({L[0]:.6g}, {L[1]:.6g}) per N s", why),
        unchecked(
            "M-fig2.3",
            "fig 2.3",
            "both pauses along that direction",
            f"v_t = 0 at {first[0]:.6g}, v_n = 0 at {first[1]:.6g} N s",
            why,
        ),
        unchecked(
            "M-fig2.4",
            "figs 2.4, 2.5",
            "normal pause after the bend",
            f"v_n = 0 at {p['v_n = 0']:.6g} instead of {first[1]:.6g} N s",
            why,
        ),
        unchecked(
            "M-fig2.7-end",
            "fig 2.7",
            "end of the example",
            f"p_n = {p['end']:.6g} N s, u from ({start.u[0]:.5g}, {start.u[1]:.5g}) to "
            f"({solved.u[0]:.6g}, {solved.u[1]:.6g}) rad/s",
            why,
        ),
    ]


def _printed_paths(
    form: ImpactsForm, crowd: Crowd, text: list[Solved], codes: np.ndarray, gaps: np.ndarray
) -> list[Finding]:
    """What the text says about figs 2.7 and 2.9, and the third order of fig 2.8."""
    by_figure = {impact.figure: i for i, impact in enumerate(form.impact)}
    found = []
    for figure, path in form.printed.paths.items():
        i = by_figure[figure]
        holds = text[i].boxes == path and text[i].code == codes[i] and gaps[i] < ROUND_OFF
        why = (
            f"{CHOSEN} Events {codes[i]} by jimpact, speeds after differ by {gaps[i]:.0e}. (3.2) gives v_t = 0 at "
            f"{_to_slip_zero(crowd, i):.5g} N s; the end is at {text[i].impulse[1]:.5g} N s."
        )
        name, computed = f"M-{figure.replace(' ', '')}", f"{text[i].boxes}, {codes[i]}"
        found.append(claim(name, figure, "path through fig 2.8", f"path {path}", computed, holds, why, "differs"))
    seen = {solved.boxes: str(code) for solved, code in zip(text, codes, strict=True)}
    found.append(
        claim(
            "M-fig2.8",
            "fig 2.8",
            "every order of the boxes has an impact",
            ", ".join(form.printed.orders),
            ", ".join(f"{path} ({code})" for path, code in sorted(seen.items())),
            sorted(seen) == sorted(form.printed.orders),
            f"{CHOSEN.replace('this impact was', 'these impacts were')} They agree with jimpact to {gaps.max():.0e}.",
            "differs",
        )
    )
    return found


def _to_slip_zero(crowd: Crowd, i: int) -> float:
    """(3.2) for the first direction."""
    K, v = crowd.K[i], crowd.v[i]
    return float(-v[0] / (K[0, 1] - crowd.friction[i] * np.sign(v[0]) * K[0, 0]))


def _rare(form: ImpactsForm) -> Crowd:
    """Made from the example: both pauses at once; a direction parallel to v_t = 0; no slip before, slipping and not."""
    one = form.impact[0]
    K = impacts_of(form).K[0]
    towards = -np.sign(K[0, 1])  # slip that the normal impulse drives to zero
    mu, fall = one.friction, one.tip_velocity[1]
    both = fall * (K[0, 1] - mu * towards * K[0, 0]) / (K[1, 1] - mu * towards * K[0, 1])
    needed = abs(K[0, 1] / K[0, 0])
    tips = np.array([[both, fall], [-towards * abs(one.tip_velocity[0]), fall], [0.0, fall], [0.0, fall]])
    frictions = np.array([mu, needed, 0.5 * needed, 2 * needed])
    return at_posture(form.pendulum.pendulum(), one.angles_deg, tips, frictions, np.array(one.restitution))


def _rare_findings(rare: Crowd, text: list[Solved], gaps: np.ndarray, codes: np.ndarray) -> list[Finding]:
    K = rare.K[1]
    rate = K[0, 1] - rare.friction[1] * np.sign(rare.v[1, 0]) * K[0, 0]
    orders = [_with_slip(rare, side) for side in (-NUDGE, NUDGE)]
    apart = float(largest_gap(orders[0].u, orders[1].u))
    slides = [float((rare.J[i] @ text[i].u)[0]) for i in (2, 3)]
    return [
        claim(
            "M-simultaneous",
            "section 2.3",
            "both pauses at once",
            "which one is considered first does not matter",
            f"{orders[0].boxes} and {orders[1].boxes} differ by {apart:.0e}",
            apart < 10 * NUDGE and {s.boxes for s in orders} == {"a-b-e", "a-c-d-e"},
            f"Slip changed by {NUDGE:.0e} to either side of the tie takes the one order and the other; at the tie, "
            f"jimpact differs by {gaps[0]:.0e}.",
        ),
        claim(
            "M-parallel",
            "section 2.3",
            "direction parallel to v_t = 0",
            "treated the same as the case in Figure 2.9(b)",
            f"{text[1].boxes}, {codes[1]}",
            text[1].boxes == "a-c-e" and codes[1] == "lcr" and gaps[1] < ROUND_OFF,
            f"Friction equal to |m|: slip changes by {abs(rate):.0e} m/s per N s. Speeds after differ from "
            f"jimpact's by {gaps[1]:.0e}.",
        ),
        new(
            "M-no-slip",
            "(2.12)",
            "no slip before the impact",
            f"slip after {slides[0]:.6g} m/s with mu = |m|/2, {slides[1]:.1g} m/s with mu = 2 |m|",
            "The third line of (2.12) holds only while |m| <= mu; beyond, slip begins against the friction that would "
            f"hold the tip. With that, text and jimpact differ by {gaps[2:].max():.0e}.",
        ),
    ]


def _with_slip(rare: Crowd, change: float) -> Solved:
    """The tie of both pauses, its slip changed by a small share."""
    tip = rare.v[0] * np.array([1 + change, 1.0])
    u = np.linalg.solve(rare.J[0], tip)
    return solve_by_text(rare.M[0], rare.J[0], u, float(rare.friction[0]), float(rare.restitution[0]))


def _table(impacts: list[Impact], text: list[Solved], codes: np.ndarray, gaps: np.ndarray) -> Grid:
    head = ("impact", "figure", "mu", "e", "tip before, m/s", "path", "events", "sticks", "impulse, N s", "difference")
    rows = [
        (
            i.name,
            i.figure,
            i.friction,
            i.restitution,
            f"({i.tip_velocity[0]:g}, {i.tip_velocity[1]:g})",
            s.boxes,
            str(code),
            "yes" if s.sticks else "no",
            f"({s.impulse[0]:.6f}, {s.impulse[1]:.6f})",
            f"{gap:.0e}",
        )
        for i, s, code, gap in zip(impacts, text, codes, gaps, strict=True)
    ]
    return Grid(
        "Impacts of the configuration, by the text's algorithm; difference to jimpact in the speeds after.", head, rows
    )
