"""What jimpact sets out to reach, and whether this run reached it. All ratios are of best times in the same run."""

from collections.abc import Sequence
from dataclasses import dataclass

from .race import Row

__all__ = ["Bar", "bars"]

DIFFRAX_SLIP, DIFFRAX_MIX = 25, 25  # x the time of jimpact
NUMPY, NUMPY_ERROR = 200, 1000  # x its time, and x its error
KERNEL = 0.8  # of the throughput of the C kernel
MICROSECONDS, MEDIAN, MOST = 4.0, 1e-10, 1e-8  # in float64, and errors of half and of 99 % of the impacts
SINGLE = 3  # x that rate in float32
GRADIENT, JVP = 5, 4  # x the time of an impact
BYTES, GRADIENT_BYTES = 300, 3000  # per impact
WRONG = 0.99  # share of good answers below which a competitor's time does not count


@dataclass(frozen=True)
class Bar:
    """One line: what was measured, in words and as a number, the bar, and whether it is met (None: not measured)."""

    name: str
    bar: str
    value: float | None = None
    words: str = "not measured"
    met: bool | None = None


def bars(rows: Sequence[Row]) -> list[Bar]:
    """All lines, in a fixed order."""
    measured = [row for row in rows if row.best_us is not None]
    return [
        _diffrax(measured, "slip", DIFFRAX_SLIP),
        _diffrax(measured, "mix", DIFFRAX_MIX),
        _numpy(measured),
        _kernel(measured),
        _cost(measured),
        _single(measured),
        _derivative(measured, "gradient", GRADIENT),
        _derivative(measured, "jvp", JVP),
        _memory(measured, "forward", BYTES),
        _memory(measured, "gradient", GRADIENT_BYTES),
    ]


def _ours(rows: Sequence[Row], what: str = "forward", dtype: str = "float64", lanes: str = "mix") -> list[Row]:
    key = ("jimpact", what, dtype, lanes)
    return [row for row in rows if (row.competitor, row.what, row.dtype, row.lanes) == key]


def _standard(rows: Sequence[Row], what: str = "forward", dtype: str = "float64", lanes: str = "mix") -> Row | None:
    return next((row for row in _ours(rows, what, dtype, lanes) if row.setting == "standard"), None)


def _fastest(rows: Sequence[Row]) -> Row | None:
    return min(rows, key=lambda row: row.best_us or 0, default=None)


def _ratio(over: Row, under: Row) -> float:
    assert over.best_us and under.best_us
    return over.best_us / under.best_us


def _diffrax(rows: Sequence[Row], lanes: str, least: float) -> Bar:
    """Its fastest right answers, against the fastest of ours that are no less accurate."""
    name, bar = f"diffrax / jimpact time, {lanes} lanes", f"at least {least:g}"
    theirs = [row for row in rows if (row.competitor, row.lanes) == ("diffrax", lanes) and (row.success or 0) >= WRONG]
    pairs = [(row, _fastest(_as_good(_ours(rows, lanes=lanes), row))) for row in theirs]
    ratios = [(_ratio(row, own), row, own) for row, own in pairs if own is not None]
    if not ratios:
        return Bar(name, bar)
    value, row, own = min(ratios, key=lambda found: found[0])
    slow = max(ratios, key=lambda found: found[0])
    words = f"{value:.0f} ({row.setting}; 99 % error {_error(row)}, jimpact {own.setting} {_error(own)}"
    words += f"; {slow[0]:.0f} for {slow[1].setting})" if slow[1] != row else ")"
    return Bar(name, bar, value, words, value >= least)


def _as_good(rows: Sequence[Row], other: Row) -> list[Row]:
    return [row for row in rows if (row.error_99 or 0) <= (other.error_99 or 0)]


def _error(row: Row) -> str:
    return "-" if row.error_99 is None else f"{row.error_99:.0e}"


def _numpy(rows: Sequence[Row]) -> Bar:
    name, bar = "NumPy Algorithm 1 / jimpact time", f"at least {NUMPY}, error {NUMPY_ERROR} times smaller"
    theirs = _fastest([row for row in rows if row.competitor.startswith("NumPy")])
    if theirs is None:
        return Bar(name, bar)
    own = _fastest([row for row in _ours(rows) if _smaller(row, theirs) >= NUMPY_ERROR]) or _standard(rows)
    if own is None:
        return Bar(name, bar)
    value, smaller = _ratio(theirs, own), _smaller(own, theirs)
    words = (
        f"{value:.0f}, error {smaller:.0e} times smaller (99 %: {_error(theirs)}, jimpact {own.setting} {_error(own)}; "
    )
    words += f"{100 * (theirs.success or 0):.0f} % of theirs are good)"
    return Bar(name, bar, value, words, value >= NUMPY and smaller >= NUMPY_ERROR)


def _smaller(own: Row, theirs: Row) -> float:
    """How many times our error is smaller."""
    return min((theirs.error_median or 0) / (own.error_median or 1), (theirs.error_99 or 0) / (own.error_99 or 1))


def _kernel(rows: Sequence[Row]) -> Bar:
    name, bar = "jimpact / C kernel throughput", f"at least {KERNEL}"
    theirs = _fastest([row for row in rows if row.competitor == "C kernel" and (row.success or 0) >= WRONG])
    own = _standard(rows)
    if theirs is None or own is None:
        return Bar(name, bar)
    value = _ratio(theirs, own)
    words = f"{value:.2f} ({theirs.setting}; 99 % error {_error(theirs)}, jimpact {_error(own)})"
    return Bar(name, bar, value, words, value >= KERNEL)


def _cost(rows: Sequence[Row]) -> Bar:
    name = "float64, time of an impact"
    bar = f"at most {MICROSECONDS:g} us, error {MEDIAN:.0e} (half), {MOST:.0e} (99 %)"
    good = [row for row in _ours(rows) if _within(row.error_median, MEDIAN) and _within(row.error_99, MOST)]
    row = _fastest(good) or _standard(rows)
    if row is None or row.best_us is None:
        return Bar(name, bar)
    words = f"{row.best_us:.2f} us, error {row.error_median or 0:.0e}, {_error(row)} ({row.setting})"
    return Bar(name, bar, row.best_us, words, row in good and row.best_us <= MICROSECONDS)


def _within(error: float | None, most: float) -> bool:
    return error is not None and error <= most


def _single(rows: Sequence[Row]) -> Bar:
    name, bar = "float32, time of an impact", f"at most {MICROSECONDS / SINGLE:.2f} us"
    wide, narrow = _standard(rows), _standard(rows, dtype="float32")
    if wide is None or narrow is None or narrow.best_us is None:
        return Bar(name, bar)
    words = f"{narrow.best_us:.2f} us, {_ratio(wide, narrow):.1f} times the rate in float64"
    return Bar(name, bar, narrow.best_us, words, narrow.best_us <= MICROSECONDS / SINGLE)


def _derivative(rows: Sequence[Row], what: str, most: float) -> Bar:
    name, bar = f"{what} / forward time", f"at most {most:g}"
    forward, row = _standard(rows), _standard(rows, what)
    if forward is None or row is None:
        return Bar(name, bar)
    value = _ratio(row, forward)
    return Bar(name, bar, value, f"{value:.2f}", value <= most)


def _memory(rows: Sequence[Row], what: str, most: float) -> Bar:
    name, bar = f"memory of an impact, {what}", f"at most {most} B"
    row = _standard(rows, what)
    if row is None or row.bytes_per_impact is None:
        return Bar(name, bar)
    return Bar(name, bar, row.bytes_per_impact, f"{row.bytes_per_impact:.0f} B", row.bytes_per_impact <= most)
