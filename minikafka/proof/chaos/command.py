"""`python -m minikafka chaos`: run a live campaign, print what it did and found; or judge a history again.

    python -m minikafka chaos --minutes 5 --seed 7          our brokers
    python -m minikafka chaos --minutes 5 --engine apache   Apache's
    python -m minikafka chaos --hostile --minutes 2         random requests instead of faults (hostile.py)
    python -m minikafka chaos --frames 100000               spoiled frames against one simulated broker (fuzz.py)
    python -m minikafka chaos --compare --requests 500      random requests to both engines, and what differs (compare.py)
    python -m minikafka chaos --check FILE                  the history of an earlier campaign, or of anything else

Owns: the options, what is printed, the row in tests/seeds/ledger.tsv. The exit status is 1 if anything was
violated, 2 for a command that asks for something that does not exist.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from minikafka.cluster.errors import ClusterError
from minikafka.proof.history import History, check
from minikafka.proof.ledger import LEDGER, ROOT, add_row, checked_out

from . import search
from .campaign import ChaosCampaign, ChaosOutcome
from .compare import compare
from .fuzz import fuzz
from .hostile import Hostile
from .nemesis import rounds


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    only = [word for word in options.faults.split(",") if word]
    try:
        if options.check:
            return _check(options)
        rounds(options.engine, only)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    commit = checked_out() if options.ledger else ""
    show = (lambda line: None) if options.json else (lambda line: print(line, flush=True))
    if options.compare:
        return _compare(options, show)
    if options.frames or options.hostile:
        return _odd_requests(options, commit, show)
    outcome = ChaosCampaign(options.engine, options.minutes, options.seed, options.kills, options.rate, only, show).run()
    print(json.dumps(outcome.json()) if options.json else outcome_line(outcome))
    if options.ledger:
        write_ledger(outcome, commit)
    if outcome.good and not options.keep:
        shutil.rmtree(outcome.folder, ignore_errors=True)
    elif not options.json:
        print(search_hints(outcome))
    return int(not outcome.good)


def _odd_requests(options: argparse.Namespace, commit: str, show: Callable[[str], None]) -> int:
    found = (fuzz(options.frames, options.seed, options.jobs, show) if options.frames
             else Hostile(options.engine, options.minutes, options.seed, show).run())  # fmt: skip
    print(found.json() if options.json else found.summary())
    if options.ledger:
        add_row(commit, found.kind, f"seed {options.seed}", found.requests, len(found.problems))
    return int(bool(found.problems))


def _compare(options: argparse.Namespace, show: Callable[[str], None]) -> int:
    try:
        found = compare(options.requests, options.seed, options.apis, show=show, gentle=options.gentle)
    except (ClusterError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(found.json() if options.json else found.summary())
    return 0


def _check(options: argparse.Namespace) -> int:
    report = check(History.load(options.check))
    print(json.dumps(report.json()) if options.json else report)
    return int(report.valid is not True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m minikafka chaos",
                                     description="Run a live campaign: faults in brokers under real clients.")
    parser.add_argument("--minutes", type=_positive, default=2.0,
                        help="minutes with faults; then the cluster heals and all is read (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=0, help="go on until this number of brokers was killed (within limits)")
    parser.add_argument("--engine", choices=["minikafka", "apache"], default="minikafka")
    parser.add_argument("--hostile", action="store_true",
                        help="send random requests of all APIs beside a regular client instead")
    parser.add_argument("--frames", type=int, default=0, metavar="N",
                        help="send N spoiled frames to a simulated broker instead")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1,
                        help="with --frames: number of processes (default: %(default)s)")
    parser.add_argument("--compare", action="store_true",
                        help="send random requests to both engines instead, and print the differences")
    parser.add_argument("--requests", type=int, default=500, help="with --compare: number of requests (default: %(default)s)")
    parser.add_argument("--apis", type=_keys, default=(), metavar="8,47,...",
                        help="with --compare: only the APIs with these keys")
    parser.add_argument("--gentle", action="store_true", help="with --compare: send few odd values and no long lists")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of faults or requests (default: %(default)s)")
    parser.add_argument("--faults", default="", metavar="A,B,...", help="only rounds with these names: kill, cut, disk, ...")
    parser.add_argument("--rate", type=_positive, default=25.0,
                        help="records per second of each of the four producers (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    parser.add_argument("--ledger", action="store_true", help=f"add a row to {LEDGER.relative_to(ROOT)}")
    parser.add_argument("--keep", action="store_true",
                        help="keep data, trace and history also after a campaign without violations")
    parser.add_argument("--check", metavar="FILE", help="run no campaign; check a saved history")
    return parser


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"more than nothing, not {text}")
    return number


def _keys(text: str) -> tuple[int, ...]:
    return tuple(int(key) for key in text.split(","))


def outcome_line(outcome: ChaosOutcome) -> str:
    """Return the lines for a person, the most important last."""
    faults = ", ".join(f"{count} {fault}" for fault, count in outcome.faults.items())
    errors = ", ".join(f"{what} {count}" for what, count in outcome.errors.items())
    return "\n".join([
        f"faults: {faults or 'none'}",
        f"errors that clients met: {errors or 'none'}",
        str(outcome.report),
        *(f"PROBLEM   {problem}" for problem in outcome.problems),
        f"{outcome.engine}, seed {outcome.seed}, {outcome.seconds:.0f} s: {outcome.kills} kills, "
        f"{outcome.report.counts['acked']:,} acked, {outcome.lost} lost, "
        f"{outcome.report['duplicate'].count} duplicates: {'all is well' if outcome.good else 'VIOLATED'}",
    ])


def search_hints(outcome: ChaosOutcome) -> str:
    return "\n".join([
        *search.report_lines(outcome.report, outcome.folder / "cluster"),
        f"history, one event a line:  {outcome.history}",
        f"judge it again:             python -m minikafka chaos --check {outcome.history}",
        f"data, logs, trace:          {outcome.folder / 'cluster'}",
        f"what clients complained of: {outcome.folder / 'clients.txt'}",
        "trace, merged:              python -c \"from minikafka.cluster.trace import Trace; "
        f"[print(e) for e in Trace.open('{outcome.folder / 'cluster'}')]\"",
    ])


def write_ledger(outcome: ChaosOutcome, commit: str, path: Path = LEDGER) -> None:
    """Append the campaign to the ledger."""
    kind = "live" if outcome.engine == "minikafka" else f"live-{outcome.engine}"
    violations = sum(verdict.count for verdict in outcome.report if verdict.valid is False) + len(outcome.problems)
    add_row(commit, kind, f"seed {outcome.seed}", outcome.kills, violations, path)
