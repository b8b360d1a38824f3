"""A slow, independent solution of one impact, with nothing in common with the library but the model.

The slip equation in the regularised clock dp = |slip| dtau, integrated by an adaptive Runge-Kutta method of order 8
with events located by its dense output; zero slip by the last straight piece; then stick or the diverging ray,
whose rate is found in a bracket.
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

RTOL = 1e-12
LEFT = 1e-11  # of the slip at the start: less than this goes straight to zero
LONGEST = 1e5  # end of the clock, in units of its natural rate


def solve(W, v, mu, e, static, law):
    """Impulse, number of compressions, work of compression, work of restitution."""
    B, d, w = W[:2, :2], W[:2, 2], W[2, 2]
    v0, g0 = v[2], v[:2]
    inverse = np.linalg.inv(B)
    rate = mu * np.linalg.norm(B, 2) + np.linalg.norm(d)

    def tangential(slip, p):
        return inverse @ (slip - g0 - p * d)

    def normal(y):
        return v0 + w * y[2] + d @ tangential(y[:2], y[2])

    def flow(_, y):
        r = np.hypot(y[0], y[1])
        return np.array([*(r * d - mu * B @ y[:2]), r, r * normal(y)])

    books = {"compressing": True, "Wc": 0.0, "Wd": 0.0, "Ic": 0.0, "Id": 0.0, "count": 1}

    def missing(p, work, velocity):
        """Above zero once the stop rule is met; p and work of the open phase."""
        if law == "stronge":
            return books["Wd"] + work + e * e * books["Wc"]
        if law == "poisson":
            return books["Id"] + p - e * books["Ic"]
        return velocity + e * v0

    def close(p, work):
        kind = ("Wc", "Ic") if books["compressing"] else ("Wd", "Id")
        books[kind[0]] += work
        books[kind[1]] += p

    y = np.array([*g0, 0.0, 0.0])
    r0 = np.linalg.norm(g0)
    slipping, ended = r0 > 0 and (mu > 0 or np.any(d)), False
    while slipping and not ended:
        p_start = y[2]
        stops = lambda t, y: np.hypot(y[0], y[1]) - LEFT * r0  # noqa: E731
        turns = lambda t, y: normal(y)  # noqa: E731
        rule = lambda t, y, p=p_start: missing(y[2] - p, y[3], normal(y))  # noqa: E731
        turns.direction = 1 if books["compressing"] else -1
        rule.direction, stops.direction = 1, -1
        stops.terminal = turns.terminal = rule.terminal = True
        events = [stops, turns] if books["compressing"] else [stops, turns, rule]
        y[3] = 0.0
        scale = np.array([r0, r0, -v0 / w, v0 * v0 / w])
        run = solve_ivp(
            flow, (0, LONGEST / rate), y, "DOP853", rtol=RTOL, atol=1e-15 * scale, events=events, max_step=0.2 / rate
        )
        assert run.status == 1, "the oracle did not reach an event"
        hit = [len(t) > 0 for t in run.t_events]
        y = run.y[:, -1].copy()
        if books["compressing"] and hit[1] and e == 0:
            close(y[2] - p_start, y[3])
            books["compressing"], ended = False, True
        elif hit[1]:
            close(y[2] - p_start, y[3])
            books["compressing"] = not books["compressing"]
            books["count"] += books["compressing"]
        elif hit[0]:
            close(y[2] - p_start, y[3])
            slipping = False
        else:
            close(y[2] - p_start, y[3])
            ended = True
    slip, p = y[:2].copy(), y[2]
    if not ended and r0 > 0 and not (mu > 0 or np.any(d)):
        flowing = np.zeros(2)  # neither friction nor coupling: slip stays as it is
        slope = w
    elif not ended:
        slip = np.zeros(2)
        if np.linalg.norm(inverse @ d) <= static:
            flowing, slope = np.zeros(2), w - d @ inverse @ d
        else:
            growth = brentq(
                lambda x: np.linalg.norm(np.linalg.solve(x * np.eye(2) + mu * B, d)) - 1,
                1e-300 if mu > 0 else 1e-12 * np.linalg.norm(d),
                2 * np.linalg.norm(d),
                xtol=1e-300,
                rtol=1e-15,
            )
            ray = np.linalg.solve(growth * np.eye(2) + mu * B, d)
            flowing, slope = growth * ray, w - mu * d @ ray
    if not ended:
        velocity = v0 + w * p + d @ tangential(slip, p)
        if books["compressing"]:
            x = -velocity / slope
            close(x, 0.5 * velocity * x)
            p, slip, velocity, books["compressing"] = p + x, slip + x * flowing, 0.0, False
        if law == "stronge":
            lack = -e * e * books["Wc"] - books["Wd"]
            x = (np.sqrt(velocity**2 + 2 * slope * lack) - velocity) / slope
        elif law == "poisson":
            x = e * books["Ic"] - books["Id"]
        else:
            x = (-e * v0 - velocity) / slope
        close(x, velocity * x + 0.5 * slope * x * x)
        p, slip = p + x, slip + x * flowing
    return np.array([*tangential(slip, p), p]), books["count"], books["Wc"], books["Wd"]
