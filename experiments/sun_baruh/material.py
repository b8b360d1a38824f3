"""Figures 12 and 13: the same rod at one orientation, over friction and restitution; and why the approximation errs.

Source: section 5. The text gives neither the ranges nor the steps of the two axes: those of the configuration are ours.
"""

import numpy as np

import jimpact
from jimpact.reproduce import Computed, LabelledProgress, Picture, Result, claimed, only, trace_many

from .figures import Frame, compared, maps
from .forms import TEXTS, MaterialForm, MaterialMap, grid
from .rod import NEAR, ROUND_OFF, Map, inverse_inertia, solve_map, solved
from .words import Words, ends, filled, percent, runs, spread

LINES = ("#1f4e9c", "#2a9d8f", "#e09f3e", "#d1495b", "#7b4fa3", "#5b7a2a", "#a15c38", "#3a9ec2")
CORNERS = ("start c end", "start 0", "start 0 c end", "start c 0", "start c 0 end")  # by mode; c: end of compression


def run_material(form: MaterialForm, progress: LabelledProgress) -> Result:
    findings: dict[str, Computed] = {}
    pictures = []
    for case in form.maps:
        W = inverse_inertia(form.rod, case.theta1_deg, case.theta2_deg)
        axes = [grid(form.friction, form.restitution, counts) for counts in (form.coarse, form.fine)]
        coarse, fine = (solve_map(form, one, W, *one, progress) for one in axes)
        found = {**_figure(form, case, W, coarse, fine), **_rules(form, fine)}
        if case.figure == 12:
            near, exact = coarse.near.impact.velocity, coarse.exact.impact.velocity
            side, back = np.abs(near[coarse.near.mode == 0][:, 1]), coarse.near.mode == 2
            words = {"count": (near[back][:, 0] < 0).sum(), "also": (exact[back][:, 0] < 0).sum(), "back": back.sum()}
            words["smooth"] = (coarse.exact.mode[back] == 0).sum()
            found["-sideways"] = claimed(side.min() > 0, least=side.min(), most=side.max(), slides=side.size)
            found["-backwards"] = claimed(words["count"] == words["back"], **words)
        words = {"case": case, "cells": coarse.x.size, "fine_cells": fine.x.size}
        findings |= {f"SB-Fig{case.figure}{key}": one for key, one in filled(found, form, **words).items()}
        frame = Frame(fine.x[:, 0], fine.y[0], "friction μ", "restitution e")
        title = f"Rod in space, Poisson restitution, θ₁ = {case.theta1_deg:g}°, θ₂ = {case.theta2_deg:g}°"
        figure = maps(frame, compared(fine, "normal velocity after / before"), title)
        pictures.append(TEXTS.picture(f"fig{case.figure}", figure))
    return Result(findings, [*pictures, _hodographs(form, progress)])


def _figure(form: MaterialForm, case: MaterialMap, W: np.ndarray, coarse: Map, fine: Map) -> dict[str, Computed]:
    near, exact, mu = coarse.near.mode, coarse.exact.mode, coarse.x[:, 0]
    needed = np.linalg.norm(np.linalg.solve(W[:2, :2], W[:2, 2]))  # friction, for sticking
    few, many = ([(one.mode != one.mode[:, :1]).any(1) for one in (m.near, m.exact)] for m in (coarse, fine))
    never = not (few[0].any() or many[0].any())
    # Figure 12: sliding, back, sticking, whatever e is. Figure 13: e matters somewhere.
    said = never and list(dict.fromkeys(near[:, 0].tolist())) == [0, 2, 1] if case.figure == 12 else not never
    words: Words = {"near": runs(mu, near[:, 0]), "exact": runs(mu, exact[:, 0]), "few": [rows.sum() for rows in few]}
    words |= {"frictions": mu.size, "fine": fine.x.shape[0], "ends": ends(mu), "needed": needed}
    error = coarse.errors()[0]
    return {
        "": claimed(said, where=[ends(fine.x[rows, 0]) for rows in many], **words),
        "-error": only(impulse=spread(error), wrong=coarse.wrong.sum(), both=error[(near == 1) & (exact == 1)].max()),
        "-normal": _influence(form, coarse.near.normal),
        "-energy": _influence(form, coarse.near.energy),
    }


def _influence(form: MaterialForm, values: np.ndarray) -> Computed:
    """How much each coefficient moves a quantity, at the mean of the other."""
    by_e, by_mu = np.ptp(values.mean(0)), np.ptp(values.mean(1))
    return claimed(by_e > form.much_more * by_mu, by_e=by_e, by_mu=by_mu, times=by_e / by_mu)


def _rules(form: MaterialForm, m: Map) -> dict[str, Computed]:
    apart, modes = m.between_rules(NEAR), m.modes_between_rules(NEAR)
    typical, worst = np.quantile(apart, form.limits["nearly_all"]), apart.argmax()
    rules: Words = {"typical": percent(typical), "worst": percent(apart.max()), "modes": modes}
    rules |= {"friction": m.x.flat[worst], "restitution": m.y.flat[worst], "mode": m.near.mode.flat[worst]}
    energy, mu = m.near.energy, m.x[:, 0]
    steps, means = np.diff(energy, axis=0), energy.mean(1)
    falls, rises, least = (steps < -ROUND_OFF).mean(), (steps > ROUND_OFF).mean(), means.argmin()
    words: Words = {"falls": percent(falls), "rises": percent(rises), "stays": percent(1 - falls - rises)}
    words |= {"means": means[[0, least, -1]], "mu": mu[[least, -1]]}
    return {
        "-rules": claimed(typical < form.limits["identical"] and modes == 0, **rules),
        "-friction-loses": claimed(falls >= form.limits["nearly_all"], **words),
    }


def pieces(mode: int, start: np.ndarray, compressed: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Corners of the approximate path of slip."""
    corners = {"start": start, "c": compressed, "0": np.zeros(2), "end": end}
    return np.array([corners[name] for name in CORNERS[mode].split()])


def _hodographs(form: MaterialForm, progress: LabelledProgress) -> Picture:
    """One panel for each orientation, one colour for each friction; energetic restitution."""
    cases = [f"θ₁ = {case.theta1_deg:g}°, θ₂ = {case.theta2_deg:g}° (figure {case.figure})" for case in form.maps]
    picture, panels = TEXTS.page("hodographs", cases=cases)
    friction, e, start = np.array(form.drawn_frictions), form.drawn_restitution, np.array(form.velocity[:2])
    both = np.array([0.0, e])  # without restitution the impact ends with compression
    for axes, case in zip(panels, form.maps, strict=True):
        W, v = inverse_inertia(form.rod, case.theta1_deg, case.theta2_deg), form.velocity
        exact = trace_many(W, v, friction, e, law="stronge").sliding_velocity
        near = solved(form.rod, W, v, friction[:, None], both, "sun_baruh", progress, rule="stronge")
        drawn = zip(friction, LINES, exact, near.impact.velocity[..., :2], near.mode[:, 1], strict=False)
        for mu, colour, slip, stages, mode in drawn:
            axes.plot(*slip.T, color=colour, lw=2, label=f"μ = {mu:g}, exact")
            name = f"approximation: {jimpact.MODES[mode]}"
            axes.plot(*pieces(mode, start, *stages).T, "o--", color=colour, lw=1.2, ms=3.5, label=name)
            axes.plot(*slip[-1], color=colour, marker="s", ms=6)
        axes.plot(0, 0, "k+", ms=12)
        axes.plot(*start, "k.", ms=9)
        axes.annotate("start", tuple(start), xytext=(0, -14), textcoords="offset points", ha="center", fontsize=9)
        axes.legend(fontsize=8)
        axes.margins(y=0.08)
    picture.figure.suptitle(f"Slip from start to end, energetic restitution, e = {e}", fontsize=12)
    return picture
