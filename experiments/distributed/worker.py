"""One of several processes: read its rows, solve them as part of one sharded batch, write its rows.

All processes run this program and enter the same computations in the same order, as jax asks for. The batch is one
global array; a process holds and sees only its own rows.
"""

import argparse
import json
import re
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jimpact

GIVEN = ("inverse_inertia", "velocity", "friction", "restitution")
SOLVED = ("impulse", "velocity", "outcome")
COLLECTIVE = re.compile(r"\b(?:all-gather|all-reduce|all-to-all|reduce-scatter|collective-\w+)(?:-start)?\(")


def part(name: str, index: int, processes: int) -> str:
    """File name of the rows of one process."""
    return f"{name}-{index:05d}-of-{processes:05d}.npy"


def main() -> None:
    args = arguments()
    jax.config.update("jax_enable_x64", True)  # the files decide about the precision
    jax.config.update("jax_num_cpu_devices", args.devices)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(args.coordinator, num_processes=args.processes, process_id=args.index)
    mesh = Mesh(np.array(jax.devices()), ("impacts",))  # in the order of the processes
    split = NamedSharding(mesh, PartitionSpec("impacts"))

    impacts = len(np.load(args.given / "friction.npy", mmap_mode="r"))
    lanes = -(-impacts // mesh.size) * mesh.size  # every device has as many: the last rows are there twice
    here = lanes // args.processes
    rows = np.minimum(np.arange(args.index * here, (args.index + 1) * here), impacts - 1)
    own = [np.load(args.given / f"{name}.npy", mmap_mode="r")[rows] for name in GIVEN]
    batch = [jax.make_array_from_process_local_data(split, a, (lanes, *a.shape[1:])) for a in own]

    solve = jax.jit(lambda *a: jimpact.solve(*a, law=args.law)._replace(info=None)).lower(*batch).compile()
    began = time.perf_counter()
    impact = jax.block_until_ready(solve(*batch))
    seconds = time.perf_counter() - began
    for name in SOLVED:
        mine = local(getattr(impact, name))[: max(0, impacts - args.index * here)]
        np.save(args.out / part(name, args.index, args.processes), mine)

    # The only word between the processes: how many lanes have each outcome, on all of them.
    codes = jnp.arange(len(jimpact.Outcome))
    count = lambda outcome: ((outcome[:, None] == codes) & (jnp.arange(lanes) < impacts)[:, None]).sum(0)  # noqa: E731
    counts = jax.jit(count, out_shardings=NamedSharding(mesh, PartitionSpec()))(impact.outcome)
    if args.index == 0:
        outcomes = {jimpact.Outcome(i).name: n for i, n in enumerate(np.asarray(counts).tolist()) if n}
        summary = {
            "impacts": impacts,
            "processes": args.processes,
            "devices": mesh.size,
            "outcomes": outcomes,
            "collectives": len(COLLECTIVE.findall(solve.as_text())),
            "seconds": seconds,
        }
        (args.out / "summary.json").write_text(json.dumps(summary))
    jax.distributed.shutdown()


def local(array: jax.Array) -> np.ndarray:
    """The rows of a global array that are here."""
    shards = sorted(array.addressable_shards, key=lambda shard: shard.index[0].start or 0)
    return np.concatenate([np.asarray(shard.data) for shard in shards])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("index", "processes", "devices"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--coordinator", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--law", required=True)
    parser.add_argument("--given", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
