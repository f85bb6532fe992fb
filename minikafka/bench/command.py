"""`python -m minikafka bench`: the same work on our brokers and on Apache Kafka's, in turns.

Both clusters run for the whole time; while one works the other only idles. The first round of each row warms and does not
count. With `--quick` the whole takes about two minutes, and one short round counts.

Owns: the order of the work, and the files: `bench.json` and `bench.html` in the folder `--out`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from minikafka.bench.machine import describe, memory_mib
from minikafka.bench.rows import ROWS, Row, create
from minikafka.bench.table import APACHE, OURS, Rounds, as_text, plot
from minikafka.cluster.cluster import Cluster


def main(arguments: Sequence[str]) -> int:
    """Run the bench; returns the exit status."""
    options = _parser().parse_args(arguments)
    rows = [row for row in ROWS if options.only is None or options.only in row.name]
    if not rows:
        print(f"no row has {options.only!r} in its name; there are: " + "; ".join(row.name for row in ROWS))
        return 2
    rounds: Rounds = {}
    with ExitStack() as stack:
        clusters = {engine: stack.enter_context(Cluster(3, engine=engine)) for engine in options.engines}
        for row in rows:
            _measure(row, clusters, rounds, 1 if options.quick else options.rounds, 2.0 if options.quick else options.seconds)
        memory = {engine: memory_mib(cluster) for engine, cluster in clusters.items()}
    machine = describe()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "bench.json").write_text(json.dumps({"machine": machine, "memory_mib": memory, "rounds": rounds}, indent=1))
    plot(rounds, machine, options.out / "bench.html")
    print(as_text(rounds, machine))
    print(f"\nmemory: {', '.join(f'{engine} {size:,.0f} MiB' for engine, size in memory.items())}; see {options.out}/")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m minikafka bench", description="How fast, beside Apache Kafka?")
    parser.add_argument("--quick", action="store_true", help="about two minutes: short rounds, one of which counts")
    parser.add_argument("--only", metavar="TEXT", help="the rows whose name has this in it")
    parser.add_argument("--rounds", type=int, default=3, help="that count, for each row and engine")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each round")
    parser.add_argument("--engines", nargs="+", choices=[OURS, APACHE], default=[OURS, APACHE])
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="folder for JSON and plot")
    return parser


def _measure(row: Row, clusters: dict[str, Cluster], rounds: Rounds, wanted: int, seconds: float) -> None:
    """Take a row's figures on each engine in turns, and print them as they come."""
    found = rounds.setdefault(row.name, {engine: [] for engine in clusters})
    for number in range(wanted + 1):
        for engine, cluster in clusters.items():
            topic = f"bench-{ROWS.index(row)}-{number}"
            create(cluster, topic, row.partitions)
            figures = row.run(cluster, topic, seconds if number else 1.0)
            shown = ", ".join(f"{name} {value:,.4g}" for name, value in figures.items())
            print(f"{row.name}, {engine}, {f'round {number}' if number else 'warming'}: {shown}", flush=True)
            if number:
                found[engine].append(figures)
