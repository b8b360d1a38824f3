"""The commands for measured rebounds: `jimpact audit`, `jimpact fit` and `jimpact compare`."""

import argparse
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from rich.console import Console

from jimpact.identify import audit, compare_laws, fit, load_rebounds
from jimpact.identify.audit import Audit
from jimpact.identify.fit import Fit
from jimpact.identify.material import COEFFICIENTS, Material, constant, per_group, speed_dependent
from jimpact.identify.rebounds import Rebounds
from jimpact.laws import LAWS
from jimpact.output.html import to_json, write_files
from jimpact.output.terminal import bar, console, status, table

__all__ = ["add_commands"]

EMBEDDED = "rebounds.csv"
MODELS = ("constant", "per-group", "speed")
RESAMPLES = 200
FEW_GROUPS = 10


def add_commands(commands: Any) -> None:
    """Add audit, fit and compare to the command line."""
    one = commands.add_parser("audit", help="check measured rebounds before a fit")
    one.set_defaults(run=_audit)
    two = commands.add_parser("fit", help="fit friction and restitution to measured rebounds")
    two.add_argument("--law", default="stronge", metavar="LAW", help=f"one of {', '.join(LAWS)} (default stronge)")
    two.add_argument("--parameters", metavar="NAME,..", help="coefficients to fit (default: all that the law needs)")
    two.add_argument(
        "--fix", action="append", default=[], metavar="NAME=VALUE", help="a coefficient that is not fitted"
    )
    two.add_argument("--model", choices=MODELS, default="constant", help="how coefficients depend on the impact")
    two.add_argument("--rule", default="poisson", help="stop rule, for sun_baruh and composite (default poisson)")
    two.add_argument("--resamples", type=int, default=RESAMPLES, metavar="N", help="of the bootstrap; 0 for none")
    two.set_defaults(run=_fit)
    three = commands.add_parser("compare", help="compare laws on measured rebounds")
    three.add_argument("--laws", metavar="LAW,..", help="laws to compare (default: all)")
    three.add_argument("--folds", type=int, metavar="N", help="folds of the cross-validation (default 5)")
    three.set_defaults(run=_compare)
    for command in (two, three):
        command.add_argument("--heavy-tails", type=float, metavar="F", help="Student noise of F degrees of freedom")
        command.add_argument("--starts", type=int, default=32, metavar="N", help="starts of the search (default 32)")
        command.add_argument("--seed", type=int, default=0, help="seed of starts, folds and the bootstrap (default 0)")
    for command in (one, two, three):
        command.add_argument("data", nargs="?", metavar="DATA.csv", help="measured rebounds (default: an embedded set)")
        command.add_argument("--set", action="append", default=[], metavar="COLUMN=VALUE", help="a column for all rows")
        command.add_argument("--out", type=Path, metavar="DIR", help="write JSON and a report into DIR")
        command.add_argument("--json", action="store_true", help="print JSON instead of tables")
        command.add_argument("--float32", action="store_true", help="single precision (default: double)")


def _load(args: argparse.Namespace) -> tuple[Rebounds, str]:
    constants = _pairs(args.set, "--set")
    if args.data is not None:
        return load_rebounds(args.data, **constants), args.data
    with as_file(files("jimpact") / "data" / EMBEDDED) as path:
        return load_rebounds(path, **constants), "the embedded example"


def _check_out(folder: Path | None) -> None:
    if folder is not None and folder.exists() and not folder.is_dir():
        raise ValueError(f"--out {folder}: is a file; pass a folder")


def _pairs(given: list[str], option: str) -> dict[str, float]:
    values = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        try:
            values[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise ValueError(f"{option} {pair}: pass NAME=NUMBER")
    return values


def _audit(args: argparse.Namespace) -> int:
    rebounds, source = _load(args)
    found = audit(rebounds)
    from jimpact.plotting import fit_report as report

    text = to_json({"source": source} | report.audit_record(found))
    if args.out is not None:
        write_files(args.out, {"audit.json": text})
    if args.json:
        print(text, end="")
    else:
        _show_audit(console(), found, source)
    return 0


def _fit(args: argparse.Namespace) -> int:
    if args.resamples < 0 or args.resamples == 1:
        raise ValueError(f"--resamples {args.resamples}: pass 0 for none, or a whole number of at least 2")
    rebounds, source = _load(args)
    _check_out(args.out)
    fixed = _pairs(args.fix, "--fix")
    material, screen = _material(args, rebounds, fixed), console()
    checks = audit(rebounds)
    found = fit(
        rebounds,
        law=args.law,
        material=material,
        fixed=fixed,
        rule=args.rule,
        heavy_tails=args.heavy_tails,
        starts=args.starts,
        seed=args.seed,
        progress=bar("compiling, then fitting from many starts"),
    )
    if found.no_answer == int((rebounds.velocity[:, 2] < 0).sum()):
        raise ValueError(f"--law {args.law}: has no answer for any impact; its domain: {LAWS[args.law].domain}")
    with status("intervals"):
        intervals = {method: found.interval(0.95, method) for method in ("curvature", "profile")}
    if args.resamples and (len(set(rebounds.group.tolist())) > 1 or material.groups is not None):
        options = {"resamples": args.resamples, "seed": args.seed, "progress": bar("bootstrap")}
        intervals["bootstrap"] = found.interval(0.95, "bootstrap", **options)
    from jimpact.plotting import fit_report as report

    text = to_json(report.fit_record(found, checks, intervals, source))
    if args.json:
        print(text, end="")
    else:
        _show_audit(screen, checks, source)
        _show_fit(screen, found, intervals)
    if args.out is not None:
        with status("drawing the report"):
            page = report.fit_page(found, checks, intervals, source)
        paths = write_files(args.out, {"fit.json": text, "report.html": page})
        if not args.json:
            screen.print(f"wrote {' and '.join(map(str, paths))}", soft_wrap=True)
    return 0


def _material(args: argparse.Namespace, rebounds: Rebounds, fixed: dict[str, float]) -> Material:
    if args.law not in LAWS:
        raise ValueError(f"--law {args.law}: unknown; pass one of {', '.join(LAWS)}")
    needed = tuple(name for name in LAWS[args.law].parameters if name not in fixed)
    names = needed if args.parameters is None else tuple(name.strip() for name in args.parameters.split(","))
    for name in names:
        if name not in COEFFICIENTS:
            raise ValueError(f"--parameters {name}: unknown; pass some of {', '.join(COEFFICIENTS)}")
    if args.model == "per-group":
        return per_group(rebounds.groups, names)
    return speed_dependent(names) if args.model == "speed" else constant(names)


def _compare(args: argparse.Namespace) -> int:
    rebounds, source = _load(args)
    _check_out(args.out)
    laws = None if args.laws is None else [name.strip() for name in args.laws.split(",")]
    options = {"folds": args.folds, "heavy_tails": args.heavy_tails, "starts": args.starts, "seed": args.seed}
    found = compare_laws(rebounds, laws, **options, progress=bar("fitting laws"))
    from jimpact.plotting import fit_report as report

    text = to_json(report.comparison_record(found, source))
    if args.json:
        print(text, end="")
    else:
        screen, rows = console(), []
        for row in found.rows:
            rows.append((row.law, row.score, f"{row.fit.aic:.1f}", f"{row.fit.bic:.1f}", row.outside or "-"))
        columns = ("law", "error", "AIC", "BIC", "no answer")
        screen.print(table(f"{source}: {len(rebounds)} impacts", columns, rows, 5))
        channels = found.best.fit.rebounds.channels
        rows = [(row.law, *row.rms.tolist()) for row in found.rows]
        screen.print(table("Root mean square held-out error", ("law", *channels), rows, 3))
        screen.print("error: of impacts that were held out, in units of the noise")
        for row in found.rows:
            named = zip(row.fit.names, row.fit.numbers.tolist(), strict=True)
            screen.print(f"- {row.law}: {', '.join(f'{name} {x:.3g}' for name, x in named)}", soft_wrap=True)
    if args.out is not None:
        page = report.comparison_page(found, audit(rebounds), source)
        write_files(args.out, {"compare.json": text, "compare.html": page})
    return 0


def _show_audit(screen: Console, found: Audit, source: str) -> None:
    low, middle, high = found.speeds
    rows: list[tuple[str, Any]] = [
        ("impacts", found.count),
        ("speed of approach (m/s)", f"{low:.3g} to {high:.3g}, median {middle:.3g}"),
        ("slip ends", f"{100 * found.sticking:.0f} %"),
        ("slip is reversed", f"{100 * found.reversing:.0f} %"),
        ("slip continues", f"{100 * found.slipping:.0f} %"),
    ]
    if found.noise_known:
        rows += [(f"momentum floor, {name}", float(x)) for name, x in zip(found.channels, found.floor.rms, strict=True)]
    screen.print(table(f"Data: {source}", ("", "value"), rows, 4))
    for sentence in found.sentences:
        screen.print(f"- {sentence}", soft_wrap=True)


def _show_fit(screen: Console, found: Fit, intervals: dict[str, dict[str, tuple[float, float]]]) -> None:
    rows = []
    for name, number in zip(found.names, found.numbers.tolist(), strict=True):
        ends = [f"{ends[name][0]:.4g} .. {ends[name][1]:.4g}" for ends in intervals.values()]
        rows.append((name, f"{number:.4g}" if found.identifiable[name] else f"({number:.3g})", *ends))
    columns = ("parameter", "estimate", *(f"95 % {method}" for method in intervals))
    screen.print(table(f"Fit: law {found.choice.law}", columns, rows, 4))
    for name, verdict in found.identifiable.items():
        if not verdict:
            screen.print(f"- {name} is not identifiable: {verdict.reason}", soft_wrap=True)
    for caution in found.cautions:
        screen.print(f"- {caution}", soft_wrap=True)
    groups = len(set(found.rebounds.group.tolist()))
    if "bootstrap" in intervals and found.material.groups is None and groups < FEW_GROUPS:
        screen.print(f"- the bootstrap draws from {groups} groups only: its intervals are rough", soft_wrap=True)
    screen.print(
        f"the residual beyond the momentum floor is {found.excess:.3g} x the noise; "
        f"{found.agreed} of {found.starts} starts agree; AIC {found.aic:.1f}",
        soft_wrap=True,
    )
