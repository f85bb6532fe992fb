"""`python -m minikafka`: start a cluster, look at the machine, fetch jars, run the demo and the simulator."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from .machine.environment import settle


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["demo"]:  # has options of its own
        from .lab.demo import main as demo
        return demo(given[1:])
    settle()
    if given[:1] == ["sim"]:
        from .proof.command import main as sim
        return sim(given[1:])
    if given[:1] == ["chaos"]:
        from .proof.chaos.command import main as chaos
        return chaos(given[1:])
    if given[:1] == ["bench"]:
        from .proof.bench.command import main as bench
        return bench(given[1:])
    if given[:1] == ["demos"]:
        from .lab.demos.command import main as demos
        return demos(given[1:])
    if given[:1] == ["picture"]:
        from .lab.picture.command import main as picture
        return picture(given[1:])
    if given[:1] == ["class"]:
        from .lab.marking.command import main as classroom
        return classroom(given[1:])
    options = _parser().parse_args(given)
    run: Callable[[argparse.Namespace], int] = options.run
    return run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m minikafka", description="minikafka: a small Apache Kafka to learn with.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    start = commands.add_parser("start", help="start a cluster and keep it until Ctrl-C")
    start.add_argument("--brokers", type=int, default=3, help="number of brokers (default: %(default)s)")
    start.add_argument("--controllers", type=int,
                       help="number of controllers in processes of their own (default: brokers vote)")
    start.add_argument("--preset", choices=["class"], help="class: short timeouts, so that failures show within seconds")
    start.add_argument("--config", action="append", default=[], metavar="NAME=VALUE",
                       help="a broker setting of Kafka; repeatable")
    start.add_argument("--data", help="folder that keeps the data (default: a temporary folder)")
    start.add_argument("--port", type=int,
                       help="port of the first broker of a new --data folder; the others take the next ports")
    start.add_argument("--engine", choices=["minikafka", "apache"], default="minikafka", help="brokers (default: %(default)s)")
    start.add_argument("--security", choices=["tls", "scram", "tls+scram"],
                       help="close the cluster: clients need TLS, a password or both (default: whoever comes is served)")
    start.set_defaults(run=_start)
    doctor = commands.add_parser("doctor", help="check versions, Java, ports and jars; print a remedy for each problem")
    doctor.add_argument("--spark", action="store_true", help="check only that Spark starts and stops")
    doctor.set_defaults(run=_doctor)
    fetch = commands.add_parser("jars", help="download Apache Kafka and Spark's Kafka connector into the cache")
    fetch.add_argument("--if-online", action="store_true", help="without a network, print one line and exit with status 0")
    fetch.set_defaults(run=_jars)
    commands.add_parser("bench", help="measure both engines at the same work (`bench --help`)")
    commands.add_parser("demo", help="run the whole pipeline on real flights (`demo --help`)")
    commands.add_parser("demos", help="show failure demos to a class, on a projector (`demos --help`)")
    commands.add_parser("class", help="make one page of the files that students handed in (`class --help`)")
    commands.add_parser("chaos", help="run a live campaign: brokers are killed under real clients (`chaos --help`)")
    commands.add_parser("picture", help="draw one moment of a recorded run, as SVG or text (`picture --help`)")
    commands.add_parser("sim", help="run campaigns of the simulator, replay and shrink seeds (`sim --help`)")
    return parser


def _start(options: argparse.Namespace) -> int:
    from . import Cluster
    from .cluster.client_files import write_client_files
    from .cluster.errors import ClusterError
    from .cluster.plan import new_plan
    over = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda *_: over.set())
    try:
        config = dict(_setting(text) for text in options.config)
        if options.port is not None:
            folder = Path(_wanted(options.data, "--port needs --data: the folder in which the ports are kept")).resolve()
            if not (folder / "cluster.json").exists():
                new_plan(folder, options.engine, options.brokers, options.controllers, {}).listen_from(options.port)
        with Cluster(options.brokers, config, options.preset, options.data, options.engine,
                     options.controllers, security=options.security) as cluster:
            print(f"{len(cluster.ids)} brokers of {cluster.engine} at {cluster.bootstrap}\n"
                  f"files in {cluster.folder}", *write_client_files(cluster), "Ctrl-C ends them", sep="\n", flush=True)
            while not over.wait(0.5):
                cluster.sleep(0)  # raises when a broker has died
    except (ClusterError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _wanted(value: str | None, why: str) -> str:
    if value is None:
        raise ValueError(why)
    return value


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--config wants NAME=VALUE, not {text!r}")
    return name.strip(), value.strip()


def _doctor(options: argparse.Namespace) -> int:
    from .cluster.doctor import report, spark_starts
    return report([spark_starts()] if options.spark else None)


def _jars(options: argparse.Namespace) -> int:
    from .cluster.apache import make_archive
    from .machine.jars import ALL, JarsMissing, NoNetwork, jars
    lacking = [wanted.title for wanted in ALL if wanted.lacking()]
    try:
        for wanted in ALL:
            found = jars(wanted)
            if lacking or not options.if_online:
                print(f"{wanted.title}: {len(found)} jars in {wanted.folder}")
    except JarsMissing as error:
        if options.if_online and isinstance(error, NoNetwork):
            print(f"{error.why}: the tests that need {' and '.join(lacking)} are skipped")
            return 0
        print(error, file=sys.stderr)
        return 1
    make_archive()
    return 0


def until_nobody_reads(run: Callable[[], int]) -> int:
    """Return what `run` returns; where its output goes to a program that has ended (`... | head`), end like any other tool."""
    try:
        status = run()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered goes nowhere
        return 128 + signal.SIGPIPE
    return status


if __name__ == "__main__":
    sys.exit(until_nobody_reads(main))
