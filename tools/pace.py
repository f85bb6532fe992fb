"""How long the machine keeps a reader waiting: every notebook, `make lab` up to lab 12's first window, Spark's micro-batches.

    tools/pace.py             all of it
    tools/pace.py 12 13       each of these notebooks, solved, as Run All Cells runs it
    tools/pace.py --spark     from `make lab LAB=12` to the first window, and Spark's two sources side by side

Each figure is "seconds on the clock (seconds of processors)": kernel, brokers and Java together. On a busy machine only the
second says something; the load stands below. labs/README.md has the figures of a day. The minutes at the top of a lab are
those of a reader, who thinks and types; these are the machine's.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import psutil
from nbclient import NotebookClient

from tools.notebooks.build import Project, load
from tools.notebooks.run import execute
from tools.notebooks.source import read

SOURCES = {"kafka": "the official connector", "minikafka": "ours, in Python"}
FURTHER = 10
WINDOW = re.compile(r"emitted \[")              # what the picture of a stream says of a step that puts a window out
ADDRESS = re.compile(r"http://\S+/lab")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labs", nargs="*", metavar="NN", help="numbers of labs; none: all")
    parser.add_argument("--spark", action="store_true", help="lab 12's first window, and the two sources")
    parser.add_argument("--source", choices=SOURCES, help=argparse.SUPPRESS)     # one of the rows, in a Java of its own
    options = parser.parse_args(argv)
    if options.source:
        print(*micro_batches(options.source), sep=" | ")
        return 0
    project = Project()
    if not options.spark:
        table(("lab", "all cells", "the cell that takes longest"),
              (whole(path, project) for path in project.sources(options.labs)))
    if options.spark or not options.labs:
        served, window = served_after(), first_window(project)
        print(f"\nFrom `make lab LAB=12` to its page {served}, from Run All Cells to the first window {window}.\n")
        table(("source", "Spark starts", "first micro-batch", f"{FURTHER} further ones"), map(source_row, SOURCES))
    print(f"\n{os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}")
    return 0


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows as they come."""
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


# --- notebooks ---

class Watched(NotebookClient):
    """A client that knows what the notebook took when a cell was last at its end, and when the first window was seen."""

    meter: Meter
    spent = window = ""

    def process_message(self, msg: dict[str, Any], *rest: Any) -> Any:
        if not Watched.window and WINDOW.search(str(msg["content"].get("data", {}).get("text/plain", ""))):
            Watched.window = str(Watched.meter)
        if msg["content"].get("execution_state") == "idle":
            Watched.spent = str(Watched.meter)
        return super().process_message(msg, *rest)


def run(path: Path, project: Project, last: str = "") -> Sequence[tuple[float, str]]:
    """Run the solved notebook of a source, up to the cell that has `last` in it; return the seconds of its cells."""
    lab = read(path)
    notebook = load(project.solved(lab))
    if last:
        notebook.cells = notebook.cells[:1 + next(n for n, cell in enumerate(notebook.cells) if last in cell.source)]
    Watched.meter, Watched.spent, Watched.window = Meter(), "", ""
    return execute(notebook, lab.name, project, client=Watched).taken


def whole(path: Path, project: Project) -> tuple[str, str, str]:
    """Return a notebook's row."""
    seconds, cell = max(run(path, project))
    return path.name[:2], Watched.spent, f"{cell}, {seconds:.0f} s"


def first_window(project: Project) -> str:
    """Return what it takes from the start of lab 12's kernel to the first window in the picture of its stream."""
    run(*project.sources(["12"]), project, last=".watch(")
    return Watched.window


def served_after() -> str:
    """Return what it takes from `make lab` to the address of its page."""
    options = "--no-browser --ServerApp.port=0"
    meter = Meter()
    lab = subprocess.Popen(["make", "-s", "lab", "LAB=12", f"ARGS={options}"], cwd=Project().root, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    assert lab.stdout is not None
    try:
        if not any(ADDRESS.search(line) for line in lab.stdout):
            raise RuntimeError("make lab has ended without an address")
        return str(meter)
    finally:
        os.killpg(lab.pid, signal.SIGTERM)
        lab.wait()


# --- Spark's sources ---

def source_row(source: str) -> tuple[str, ...]:
    """Measure one source in a process of its own, so that each has a cold Java; return its row."""
    done = subprocess.run([sys.executable, __file__, "--source", source], stdout=subprocess.PIPE, text=True, check=True)
    return SOURCES[source], *done.stdout.strip().splitlines()[-1].split(" | ")


def micro_batches(source: str) -> tuple[str, str, str]:
    """Return what Spark's start takes, the first micro-batch, and ten further ones together; each has ten records."""
    from kafka import KafkaProducer

    from minikafka import Cluster
    from minikafka.lab.labs.fresh import fresh_topic
    from minikafka.lab.spark import python_format, spark_session

    meter = Meter()
    spark = spark_session(connector=source == "kafka")
    if source == "minikafka":
        python_format(spark)
    started = str(meter)
    with Cluster(brokers=3, preset="class") as cluster, tempfile.TemporaryDirectory() as folder:
        fresh_topic(cluster.bootstrap, "pace", **{"retention.ms": -1})
        with KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all") as producer:
            def send() -> None:
                for n in range(10):
                    producer.send("pace", str(n).encode())
                producer.flush()

            send()
            rows = (spark.readStream.format(source).options(**cluster.for_spark(source)).option("subscribe", "pace")
                    .option("startingOffsets", "earliest").load())
            meter = Meter()
            query = rows.writeStream.option("checkpointLocation", folder).foreachBatch(lambda rows, _: rows.collect()).start()
            query.processAllAvailable()
            first, meter = str(meter), Meter()
            for _ in range(FURTHER):
                send()
                query.processAllAvailable()
            further = str(meter)
            query.stop()
    spark.stop()
    return started, first, further


# --- what it takes ---

class Meter:
    """Seconds on the clock, and those of processors, from its making on, of this process and all that it has started."""

    def __init__(self) -> None:
        self._began, self._used = time.monotonic(), used()

    def __str__(self) -> str:
        return f"{time.monotonic() - self._began:.0f} s ({used() - self._used:.1f})"


def used() -> float:
    """Return the processor seconds of this process's family, of those, too, that have ended and were waited for."""
    total = 0.0
    for process in [(own := psutil.Process()), *own.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])       # user, system, and both of children that have ended
    return total


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
