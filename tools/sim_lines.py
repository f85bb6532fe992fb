"""How many lines of the broker the simulator runs: `python tools/sim_lines.py [--seeds N] [--from S] [--missing]`.

A few seeds of the swarm, the told stories, a tour of every request of an administrator, and the requests of every API
and version that the tests of security send (good, spoiled, absurd), under line coverage.
Prints a line per package and exits 1 if broker/ stays below 85 %. Three modules of broker/ exist for a real machine
only and are counted apart: live.py, links.py, __main__.py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import coverage

ROOT = Path(__file__).parent.parent
PACKAGES = ("broker", "log", "protocol")
MACHINE = ("broker/server/live.py", "broker/server/links.py", "broker/__main__.py")
ENOUGH = 85.0


def main() -> int:
    options = _options()
    measured = coverage.Coverage(source=[str(ROOT / "minikafka" / p) for p in PACKAGES], data_file=None)
    measured.start()
    sys.path.insert(0, str(ROOT))  # imported under measurement: a module's first lines are run by importing it
    _tour()
    _stories()
    _every_request()
    _run(range(options.first, options.first + options.seeds))
    measured.stop()
    files = {path: _count(measured, path) for p in PACKAGES for path in sorted((ROOT / "minikafka" / p).rglob("*.py"))}
    if options.missing:
        _print_missing(measured, files)
    for package in PACKAGES:
        print(f"{package + '/':12}{_share(files, package):6.1f} % of {_lines(files, package):5} lines")
    print(f"broker/ without {', '.join(MACHINE)}: {_share(files, 'broker', MACHINE):.1f} %")
    return 0 if _share(files, "broker") >= ENOUGH else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--missing", action="store_true", help="list the lines that no seed ran")
    return parser.parse_args()


def _tour() -> None:
    """Every question and every change that an administrator has, once, on a quiet cluster."""
    from minikafka import Cluster
    with Cluster(engine="sim", preset="class", config={"metadata.log.max.record.bytes.between.snapshots": 2000}) as c:
        admin, tp = c.admin(), ("tour", 0)
        admin.create_topic("tour", partitions=2, configs={"min.insync.replicas": "2"})
        producer, consumer = c.producer(transactional_id="tx"), c.consumer("tour", group="tourists")
        for number in range(10):
            producer.begin()
            producer.send("tour", str(number), partition=0)
            consumer.poll(1.0)
            producer.send_offsets({tp: number}, consumer.membership)
            producer.abort() if number % 3 else producer.commit()
        consumer.commit()
        for request in (admin.topics, admin.reassignments, admin.list_groups, admin.list_transactions,
                      admin.describe_quorum):
            request()
        admin.describe_configs("tour"), admin.describe_producers("tour"), admin.describe_group("tourists")
        admin.describe_transaction("tx"), admin.leader("tour"), admin.offset("tour", where="earliest")
        consumer.close()
        admin.delete_group("tourists")
        admin.create_partitions("tour", 4)
        admin.alter_configs("tour", {"retention.ms": "1000", "cleanup.policy": "compact,delete"})
        admin.delete_records(tp, 5)
        broker = c.add_broker()
        admin.reassign(tp, [broker, 1])
        c.wait(lambda: not admin.reassignments(), timeout=30)
        admin.elect_leader(tp) if c.leader("tour") != broker else None
        admin.delete_topic("tour")
        c.sleep(5)


def _stories() -> None:
    from minikafka.proof.stories.telling.script import load, tell
    for story in load().values():
        tell(story)
    print(f"{len(load())} stories")


def _every_request() -> None:
    from minikafka.proof.chaos import fuzz

    for kind in fuzz.KINDS:
        print(f"{kind}: {fuzz.piece(kind, 0, 8).fates}", flush=True)


def _run(seeds: range) -> None:
    from minikafka.proof.swarm.swarm import SeedRun

    for seed in seeds:
        violations = SeedRun(seed).execute().violations
        print(f"seed {seed}: {len(violations)} violations", flush=True)


def _count(measured: coverage.Coverage, path: Path) -> tuple[int, int]:
    """(lines, lines run) of one file."""
    _, lines, _, missing, _ = measured.analysis2(str(path))
    return len(lines), len(lines) - len(missing)


def _of(files: dict[Path, tuple[int, int]], package: str, without: tuple[str, ...]) -> list[tuple[int, int]]:
    top = ROOT / "minikafka"
    return [count for path, count in files.items()
            if path.is_relative_to(top / package) and str(path.relative_to(top)) not in without]


def _lines(files: dict[Path, tuple[int, int]], package: str) -> int:
    return sum(lines for lines, _ in _of(files, package, ()))


def _share(files: dict[Path, tuple[int, int]], package: str, without: tuple[str, ...] = ()) -> float:
    counts = _of(files, package, without)
    return 100 * sum(run for _, run in counts) / max(1, sum(lines for lines, _ in counts))


def _print_missing(measured: coverage.Coverage, files: dict[Path, tuple[int, int]]) -> None:
    for path, (lines, run) in files.items():
        if run < lines:
            print(f"{path.relative_to(ROOT)}: {run} of {lines}, not {measured.analysis2(str(path))[4]}")


if __name__ == "__main__":
    sys.exit(main())
