"""Several contacts at once: a cradle, a rod that lands flat, a billiard break, a hinge."""

import argparse
import sys
import tomllib
from pathlib import Path

import billiards
import cradle
import hinge
import jax
import rod

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "contacts"
EXAMPLES = {"cradle": cradle.show, "rod": rod.show, "break": billiards.show, "pendulum": hinge.show}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=EXAMPLES, default=list(EXAMPLES), help="some of the examples")
    parser.add_argument("--configs", type=Path, default=CONFIGS, help="folder with one TOML file for each")
    parser.add_argument("--out", type=Path, default=Path("out/contacts"))
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    broken = []
    for example in arguments.only:
        with (arguments.configs / f"{example}.toml").open("rb") as file:
            given = tomllib.load(file)
        print(given["name"])
        broken += [f"{example}: {sentence}" for sentence in EXAMPLES[example](given, arguments.out)]
        print()
    for sentence in broken:
        print(sentence)
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
