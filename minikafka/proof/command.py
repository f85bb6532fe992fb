"""`python -m minikafka sim`: run campaigns of seeds, replay one, make it smaller, tell stories, switch rules off, break them.

Owns: the commands and their options. The exit status is 0 if nothing was found; 1 if something was found, or if too little
happened in the runs; 2 if the command names something that does not exist; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minikafka.proof.mutation.command import add_arguments as add_mutate
from minikafka.proof.small_worlds.raft.campaign import RaftRun
from minikafka.proof.small_worlds.worlds import HELP, PER_CLUSTER, WORLDS
from minikafka.proof.stories.telling.command import add_arguments as add_tell
from minikafka.proof.swarm import campaign as campaigns
from minikafka.proof.swarm.faults import KINDS, STRAINED
from minikafka.proof.swarm.progress import Progress
from minikafka.proof.swarm.shrink import shrink
from minikafka.proof.swarm.swarm import SeedRun
from minikafka.proof.weakened.command import add_arguments as add_ablate

CLUSTERS, SMALL = 100, 2000  # seeds between two lines of the ledger: of clusters, and of small worlds


class Mistaken(Exception):
    """The command names something that does not exist."""


def main(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except Mistaken as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nbroken off", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m minikafka sim", description="Run campaigns of the simulator.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run a campaign: many seeds, each with other faults")
    run.add_argument("--seeds", type=_some, default=100, metavar="N", help="number of seeds (default: %(default)s)")
    run.add_argument("--from", type=int, dest="first", metavar="SEED",
                     help=f"first seed (default: {STRAINED} for clusters, 0 for small worlds)")
    run.add_argument("--jobs", type=_some, default=os.cpu_count() or 1, metavar="N",
                     help="number of processes (default: %(default)s)")
    run.add_argument("--ledger", action="store_true", help=f"add the outcome to {campaigns.LEDGER.name}")
    run.set_defaults(run=_run)
    replay = commands.add_parser("replay", help="run one seed again, and write its trace and history")
    replay.add_argument("seed", type=int)
    replay.add_argument("--keep", type=_places, metavar="N,N,...", help="only the faults with these numbers; `none`: no faults")
    replay.add_argument("--out", default="build/sim", type=Path,
                        help="folder of the trace and the history (default: %(default)s)")
    replay.set_defaults(run=_replay)
    smaller = commands.add_parser("shrink", help="remove faults from a failing seed while the same violation remains")
    smaller.add_argument("seed", type=int)
    smaller.add_argument("--trials", type=_some, default=200, metavar="N",
                         help="the seed runs at most N times (default: %(default)s)")
    smaller.set_defaults(run=_shrink)
    for command in (run, replay, smaller):
        command.set_defaults(kind="cluster")
        for kind, help_text in HELP.items():
            command.add_argument(f"--{kind}", action="store_const", dest="kind", const=kind, help=help_text)
        command.add_argument("--faults", type=_words, metavar="A,B,...", help="only faults of these kinds")
    add_tell(commands.add_parser("tell", help="run a story of a failure, with its rule or without"))
    add_ablate(commands.add_parser("ablate", help="switch rules off, and find a seed that shows the anomaly of each"))
    add_mutate(commands.add_parser("mutate", help="break rules at random, and list the seeds and tests that fail"))
    return parser


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _some(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number from 1 on, not {text!r}")
    return int(text)


def _places(text: str) -> list[int]:
    words = [] if text == "none" else _words(text)
    if not all(word.isdecimal() for word in words):
        raise argparse.ArgumentTypeError(f"numbers of faults, as `replay` lists them, or `none`, not {text!r}")
    return [int(word) for word in words]


def _check(options: argparse.Namespace) -> None:
    """Raise Mistaken for faults that do not exist: the seeds would run without any, and nothing would be found."""
    kinds = campaigns.fault_kinds(options.kind)
    if unknown := [kind for kind in options.faults or () if kind not in kinds]:
        raise Mistaken(f"no faults of the kind {', '.join(unknown)}; there are {', '.join(kinds)}")
    if options.faults and options.kind == "cluster":
        first = min(seed for seed, those in KINDS.items() if {*those} & {*options.faults})
        if first > (options.seed if "seed" in options else options.first + options.seeds - 1):
            raise Mistaken(f"only seeds from {first} on have faults of the kind {', '.join(options.faults)}")


def _run(options: argparse.Namespace) -> int:
    """Run a campaign: of clusters with some small worlds before, which cost little, or of one kind alone."""
    if options.first is None:
        options.first = STRAINED if options.kind == "cluster" else 0
    _check(options)
    if options.ledger and options.faults:
        raise Mistaken("the ledger has whole campaigns: --faults leaves out a part")
    small = PER_CLUSTER if options.kind == "cluster" and not options.faults else {}
    ended = [_run_kind(options, kind, options.first % STRAINED * times, options.seeds * times) for kind, times in small.items()]
    return max([*ended, _run_kind(options, options.kind, options.first, options.seeds)])


def _run_kind(options: argparse.Namespace, kind: str, first: int, seeds: int) -> int:
    """Run one kind in parts, so that the ledger has the parts that were done if it is broken off."""
    found, progress = campaigns.Campaign(kind, first, options.faults), Progress(seeds)
    part_size = CLUSTERS if kind == "cluster" else SMALL
    while found.seeds < seeds:
        count = min(part_size if options.ledger else seeds, seeds - found.seeds)
        part = campaigns.campaign(kind, first + found.seeds, count, options.jobs, options.faults, progress.add)
        if options.ledger:
            campaigns.write_ledger(part, kind)
        found.join(part)
    progress.clear()
    print(found.report())
    return 1 if found.failed or found.lacking() else 0


# --- one seed -------------------------------------------------------------------------------------------------------


def _replay(options: argparse.Namespace) -> int:
    _check(options)
    if options.kind in WORLDS:
        return _replay_small(options)
    plan = campaigns.plan_of(options.kind, options.seed)
    if beyond := [place for place in options.keep or () if place >= len(plan)]:
        raise Mistaken(f"seed {options.seed} has {len(plan)} faults, numbered from 0 on: there is no {beyond[0]}")
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Mistaken(f"no folder {options.out} can be made: {error.strerror}") from error
    return _replay_raft(options, plan) if options.kind == "raft" else _replay_cluster(options, plan)


def _replay_small(options: argparse.Namespace) -> int:
    violations = campaigns.run_one(options.kind, options.seed).violations
    print("\n".join([*violations, f"{len(violations)} violations"]))
    return 1 if violations else 0


def _replay_cluster(options: argparse.Namespace, plan: Sequence[Any]) -> int:
    run = SeedRun(options.seed, options.faults, options.keep)
    result = run.execute()
    trace, history = (options.out / f"{options.seed}.{what}.jsonl" for what in ("trace", "history"))
    with trace.open("w") as file:
        file.writelines(json.dumps(event, default=str) + "\n" for event in result.events)
    result.history.save(history)
    print(f"{trace}: {len(result.events)} events, hash {result.trace_hash[:16]}\n{history}: {len(result.history)} events")
    print(f"config {run.config}\nwork {' '.join(work.name for work in run.work)}")
    _print_faults(plan, run.plan)
    for loss in result.losses:
        print(f"permitted: {loss}")
    for violation in result.violations:
        print(violation)
    print(f"{len(result.violations)} violations")
    return 1 if result.violations else 0


def _replay_raft(options: argparse.Namespace, plan: Sequence[Any]) -> int:
    run = RaftRun(options.seed, options.faults, options.keep)
    lines: list[str] = []
    run.world.listener = lambda now, node, text: lines.append(f"{now:9.4f}  {node}  {text}")
    result = run.execute()
    path = options.out / f"raft-{options.seed}.trace"
    path.write_text("\n".join([str(run.settings), *lines]) + "\n")
    print(f"{path}: {len(lines)} lines")
    _print_faults(plan, run.plan)
    print(f"{result.violation[0]} at {result.time:.3f} s: {result.violation[1]}" if result.violation else "no violation")
    return 1 if result.violation else 0


def _print_faults(plan: Sequence[Any], struck: Sequence[Any]) -> None:
    """Print the faults that struck, under the numbers that --keep takes: their places in the seed's whole plan."""
    for place, fault in enumerate(plan):
        if fault in struck:
            print(f"  {place:3}  {fault}")


def _shrink(options: argparse.Namespace) -> int:
    _check(options)
    kind = options.kind
    first = campaigns.run_one(kind, options.seed, options.faults)
    if not first.violations:
        print(f"seed {options.seed} has no violation")
        return 2
    wanted = _what_fell(first.violations[0])

    def fails(keep: list[int]) -> bool:
        again = campaigns.run_one(kind, options.seed, keep=keep)
        return wanted in map(_what_fell, again.violations)

    plan = campaigns.plan_of(kind, options.seed)
    struck = [place for place, fault in enumerate(plan) if options.faults is None or fault.kind in options.faults]
    kept = shrink(struck, fails, options.trials)
    print(f"{wanted} still fails with {len(kept)} of {len(struck)} faults: {first.violations[0]}")
    print(campaigns.replay_command(kind, options.seed, keep=kept))
    return 0


def _what_fell(violation: str) -> str:
    """Return the invariant; for the clients' history ("I17 at 12.000 s: lost-write (3): ...") also the anomaly."""
    words = violation.split()
    return f"{words[0]} {words[4]}" if words[0] == "I17" else words[0]
