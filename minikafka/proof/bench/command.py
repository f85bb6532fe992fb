"""`python -m minikafka bench`: the same work on our brokers and on Apache Kafka's, in turns.

Both clusters run for the whole time; while one works the other only idles. The first round of each row warms and does not
count. All takes about half an hour; with `--quick` about two: one short round counts, and no process is killed or started. How
both grow is measured by `--only growth`, once at each size, in another twenty minutes.

Owns: the order of the work, and the files: `bench.json` and `bench.html` in the folder `--out`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from minikafka.cluster.cluster import Cluster
from minikafka.proof.bench.machine import describe
from minikafka.proof.bench.rows import CLOSED, GROWTH, ROWS, BenchRow, of_open
from minikafka.proof.bench.table import APACHE, OURS, Rounds, as_text, plot
from minikafka.proof.bench.work import Figures, create, delete

ROOM_GIB = 15  # of the disk, at most at a time: a round of each engine
ALL = [*ROWS, *CLOSED, *GROWTH]
CONFIG = {"log.segment.delete.delay.ms": 1000}  # a deleted topic makes room for the next one after a second, and not a minute


def main(arguments: Sequence[str]) -> int:
    """Run the bench; returns the exit status."""
    options = _parser().parse_args(arguments)
    rows = _rows(options)
    if not rows:
        print(f"no row has {options.only!r} in its name; there are: " + "; ".join(row.name for row in ALL))
        return 2
    if (free := shutil.disk_usage(tempfile.gettempdir()).free / (1 << 30)) < ROOM_GIB:
        print(f"{ROOM_GIB} GiB of disk are needed, and {tempfile.gettempdir()} has {free:.1f}: make room, or let TMPDIR name "
              f"another folder")
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: clusters and their folders go
    rounds: Rounds = {}
    with ExitStack() as stack:
        clusters = {engine: [stack.enter_context(Cluster(3, CONFIG, engine=engine))] for engine in options.engines}
        for row in rows:
            for engine, each in clusters.items():
                if row.closed and len(each) == 1:
                    each.append(stack.enter_context(Cluster(3, CONFIG, engine=engine, security="tls+scram")))
            _measure(row, clusters, rounds, options)
    machine = describe()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "bench.json").write_text(json.dumps({"machine": machine, "rounds": rounds}, indent=1))
    plot(rounds, machine, options.out / "bench.html")
    print(as_text(rounds, machine))
    print(f"\nsee {options.out}/bench.html")
    return 0


def _rows(options: argparse.Namespace) -> list[BenchRow]:
    if options.only is not None:
        return [row for row in ALL if options.only in row.name]
    return [*ROWS, *CLOSED] if not options.quick else [row for row in ROWS if not row.starts]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m minikafka bench",
                                     description="Measure our brokers and Apache Kafka at the same work.")
    parser.add_argument("--quick", action="store_true", help="measure for about two minutes: one short round of each row "
                        "in which no process is killed or started")
    parser.add_argument("--only", metavar="TEXT", help="only rows whose name contains TEXT; `growth`: 10 MiB to 5 GB of log, "
                        "10 to 2,000 partitions, 1 to 5,000 connections")
    parser.add_argument("--rounds", type=int, default=3,
                        help="number of measured rounds for each row and engine (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=6.0, help="length of a round (default: %(default)s)")
    parser.add_argument("--engines", nargs="+", choices=[OURS, APACHE], default=[OURS, APACHE],
                        help="the engines that are measured (default: both)")
    parser.add_argument("--out", type=Path, default=Path("build/bench"),
                        help="folder of the JSON file and the plot (default: %(default)s)")
    return parser


def _measure(row: BenchRow, clusters: dict[str, list[Cluster]], rounds: Rounds, options: argparse.Namespace) -> None:
    """Take a row's figures on each engine in turns, and print them as they come."""
    found = rounds.setdefault(row.name, {engine: [] for engine in clusters})
    seconds, last = (2.0, 1) if options.quick else (options.seconds, 1 if row.series else options.rounds)
    for number in range(1 if row.starts else 0, last + 1):
        for engine, (opened, *closed) in clusters.items():
            topic = f"bench-{ALL.index(row)}-{number}"
            done = [_figures(row, cluster, topic, seconds if number else 1.0) for cluster in (opened, *closed * row.closed)]
            figures = done[-1]
            if row.closed:
                figures |= {of_open(name): value / done[0][name] for name, value in figures.items() if done[0][name]}
            shown = ", ".join(f"{name} {value:,.4g}" for name, value in figures.items())
            print(f"{row.name}, {engine}, {f'round {number}' if number else 'warming'}: {shown}", flush=True)
            if number:
                found[engine].append(figures)


def _figures(row: BenchRow, cluster: Cluster, topic: str, seconds: float) -> Figures:
    create(cluster, topic, replicas=row.replicas)
    figures = row.work(cluster, topic, seconds)
    delete(cluster, topic)
    return figures
