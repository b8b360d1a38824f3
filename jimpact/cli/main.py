"""The command line: `solve` and `trace` for scenes, `audit`, `fit` and `compare` for measured rebounds, `simulate` for
a bouncing body, `reproduce` for the papers, `stream` for large files, `bench` for the cost of an impact.

Tables go to the terminal, or JSON to standard output with --json. The exit code is 0 on success, 1 if an impact has
no result, and 2, with one sentence on standard error, if the input cannot be used.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import jax

from jimpact import __version__
from jimpact.cli.bench import add_command as add_bench
from jimpact.cli.cache import kept_programs
from jimpact.cli.fit import add_commands as add_fits
from jimpact.cli.reproduce import add_command as add_reproduce
from jimpact.cli.scene import add_commands as add_scenes
from jimpact.cli.simulate import add_command as add_simulate
from jimpact.cli.stream import add_command as add_stream
from jimpact.identify.csv_file import TableError
from jimpact.io.stream_source import StreamError
from jimpact.outcome import ImpactError
from jimpact.schemas.config import ConfigError

__all__ = ["main"]


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code. The precision of JAX is set only during the run."""
    args = _parser().parse_args(argv)
    wide = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", not args.float32)
    try:
        with kept_programs():
            return args.run(args)
    except (ConfigError, TableError, StreamError) as error:
        return _fail(2, str(error))
    except (ValueError, TypeError) as error:
        if not hasattr(args, "data"):  # the command reads no data, so that the fault is in the program
            raise
        return _fail(2, f"{args.data or 'the embedded example'}: {error}")
    except ImpactError as error:
        return _fail(1, f"{args.scene}: {error}")
    except BrokenPipeError:  # the reader of a pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError:
        return _fail(2, "not enough memory; pass fewer impacts or starts")
    except KeyboardInterrupt:
        return _fail(130, "interrupted")
    except OSError as error:
        return _fail(2, f"{error.filename or 'a file'}: cannot be written: {error.strerror or error}")
    finally:
        jax.config.update("jax_enable_x64", wide)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="jimpact",
        description="Rigid-body impact with friction and restitution.",
        epilog="Compiled programs are kept in the user's cache folder. "
        "JIMPACT_CACHE=DIR chooses another folder, JIMPACT_CACHE=off keeps nothing.",
    )
    parser.add_argument("--version", action="version", version=f"jimpact {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_scenes(commands)
    add_fits(commands)
    add_simulate(commands)
    add_reproduce(commands)
    add_stream(commands)
    add_bench(commands)
    return parser


def _fail(code: int, sentence: str) -> int:
    print("jimpact: " + "".join(c if c.isprintable() else " " for c in sentence), file=sys.stderr)
    return code
