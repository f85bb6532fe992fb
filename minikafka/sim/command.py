"""`python -m minikafka sim`: run campaigns of seeds, replay one, make it smaller, tell stories, switch rules off.

Owns: the commands and their options; 0 if all is well, 1 if something was found, or if too little happened to find it.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from minikafka.sim import campaign as campaigns
from minikafka.sim.ablations.command import add_arguments as add_ablate
from minikafka.sim.raft_campaign import RaftRun
from minikafka.sim.scripts.command import add_arguments as add_tell
from minikafka.sim.shrink import shrink
from minikafka.sim.swarm import Run

PART = {"cluster": 100, "raft": 2000}  # seeds between two lines of the ledger


def main(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit status."""
    options = _parser().parse_args(arguments)
    return int(options.run(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m minikafka sim", description="The simulator's campaigns.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="a campaign: many seeds, each with faults of its own")
    run.add_argument("--seeds", type=int, default=100, help="how many")
    run.add_argument("--from", type=int, default=0, dest="first", metavar="SEED", help="the first of them")
    run.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    run.add_argument("--ledger", action="store_true", help=f"add the outcome to {campaigns.LEDGER.name}")
    run.set_defaults(run=_run)
    replay = commands.add_parser("replay", help="run one seed again; write its trace and history")
    replay.add_argument("seed", type=int)
    replay.add_argument("--keep", type=_numbers, metavar="N,N,...", help="only these of its faults")
    replay.add_argument("--out", default="build/sim", help="folder for the trace and the history")
    replay.set_defaults(run=_replay)
    smaller = commands.add_parser("shrink", help="leave out faults of a failing seed as long as it fails alike")
    smaller.add_argument("seed", type=int)
    smaller.add_argument("--trials", type=int, default=200)
    smaller.set_defaults(run=_shrink)
    for command in (run, replay, smaller):
        command.add_argument("--raft", action="store_true", help="the quorum alone instead of whole clusters")
        command.add_argument("--faults", type=_words, metavar="A,B,...", help="only faults of these kinds")
    add_tell(commands.add_parser("tell", help="a story of what goes wrong, and what it is like without its rule"))
    add_ablate(commands.add_parser("ablate", help="rules switched off, and the seed that shows each"))
    return parser


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _numbers(text: str) -> list[int]:
    return [int(word) for word in _words(text)]


def _kind(options: argparse.Namespace) -> str:
    return "raft" if options.raft else "cluster"


def _run(options: argparse.Namespace) -> int:
    """In parts, so that the ledger has what was done if the campaign is broken off."""
    kind = _kind(options)
    found = campaigns.Campaign(kind, options.first)
    while found.seeds < options.seeds:
        count = min(PART[kind] if options.ledger else options.seeds, options.seeds - found.seeds)
        part = campaigns.campaign(kind, options.first + found.seeds, count, options.jobs, options.faults,
                                  lambda line: print(line, flush=True))
        if options.ledger and not options.faults:
            campaigns.write_ledger(part, kind)
        found.join(part)
    print(found.report())
    return 1 if found.failed or found.lacking() else 0


def _replay(options: argparse.Namespace) -> int:
    if options.raft:
        return _replay_raft(options)
    run = Run(options.seed, options.faults, options.keep)
    result = run.execute()
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    trace, history = folder / f"{options.seed}.trace.jsonl", folder / f"{options.seed}.history.jsonl"
    with trace.open("w") as file:
        file.writelines(json.dumps(event, default=str) + "\n" for event in result.events)
    result.history.save(history)
    print(f"{trace}: {len(result.events)} events, hash {result.trace_hash[:16]}\n{history}: {len(result.history)} events")
    print(f"config {run.config}\nwork {' '.join(work.name for work in run.work)}")
    for place, fault in enumerate(run.plan):
        print(f"  {place:3}  {fault}")
    for loss in result.losses:
        print(f"permitted: {loss}")
    for violation in result.violations:
        print(violation)
    print(f"{len(result.violations)} violations")
    return 1 if result.violations else 0


def _replay_raft(options: argparse.Namespace) -> int:
    run = RaftRun(options.seed, options.faults, options.keep)
    lines: list[str] = []
    run.world.listener = lambda now, node, text: lines.append(f"{now:9.4f}  {node}  {text}")
    result = run.execute()
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"raft-{options.seed}.trace"
    path.write_text("\n".join([str(run.settings), *lines]) + "\n")
    print(f"{path}: {len(lines)} lines")
    for place, fault in enumerate(run.plan):
        print(f"  {place:3}  {fault}")
    print(f"{result.violation[0]} at {result.time:.3f} s: {result.violation[1]}" if result.violation else "no violation")
    return 1 if result.violation else 0


def _shrink(options: argparse.Namespace) -> int:
    kind = _kind(options)
    first = campaigns.run_one(kind, options.seed, options.faults)
    if not first.violations:
        print(f"seed {options.seed} has no violation")
        return 2
    wanted = first.violations[0].split()[0]

    def fails(keep: list[int]) -> bool:
        again = campaigns.run_one(kind, options.seed, options.faults, keep)
        return any(text.split()[0] == wanted for text in again.violations)

    kept = shrink(range(campaigns.count_faults(kind, options.seed)), fails, options.trials)
    listed = ",".join(map(str, kept))
    print(f"{wanted} still fails with {len(kept)} faults: {first.violations[0]}")
    print(f"python -m minikafka sim replay {options.seed}{' --raft' if options.raft else ''} --keep {listed or '-1'}")
    return 0
