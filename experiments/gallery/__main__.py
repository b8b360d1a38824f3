"""`python -m experiments.gallery --out DIR`: draw the pictures of docs/gallery.md, or those that are named."""

import argparse
import io
import time
from pathlib import Path

import jax
from matplotlib.figure import Figure
from PIL import Image

from experiments.gallery.table import PICTURES

ROOT = Path(__file__).resolve().parents[2]
DPI, COLORS = 100, 256  # with a palette a file has a quarter of the size, and no difference to see


def write(drawn: Figure | str, path: Path) -> None:
    """A page as it is; a figure as a PNG with a palette."""
    if isinstance(drawn, str):
        path.write_text(drawn, encoding="utf-8")
        return
    memory = io.BytesIO()
    drawn.savefig(memory, dpi=DPI)
    Image.open(memory).convert("RGB").quantize(COLORS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.gallery", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *PICTURES], help="files; all, if left out")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "gallery")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or PICTURES:
        start = time.perf_counter()
        drawn = PICTURES[name].draw()
        if drawn is None:  # and the function has said why
            continue
        write(drawn, arguments.out / name)
        print(f"{name:28s} {time.perf_counter() - start:6.1f} s {(arguments.out / name).stat().st_size / 1e3:6.0f} kB")


if __name__ == "__main__":
    main()
