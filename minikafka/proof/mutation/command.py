"""`python -m minikafka sim mutate`: break one rule after another, and see whether seeds or tests notice.

    python -m minikafka sim mutate --n 30 --seed 7           30 random mutants: seeds, then the tests of their rooms
    python -m minikafka sim mutate --only replication/isr    of these files only
    python -m minikafka sim mutate --one minikafka/broker/replication/isr.py:17
    python -m minikafka sim mutate --rules                   every safety rule, weakened by hand (proof/weakened/rules.tsv)
    python -m minikafka sim mutate --rules --only reassign   of these files, or with this word in the name
    python -m minikafka sim mutate --rules --seeds-alone     without the tests: what the simulator's worlds notice by themselves

A mutant that loops is noticed too: its seed or test ends at the limit of time.

Owns: the files that are changed, what is run against a mutant and in which order, and with `--ledger` the two tables
tests/seeds/mutants.tsv (all judges) and tests/seeds/seeds_alone.tsv (name, who noticed it before, who does now).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from minikafka.proof.mutation.hook import ROOT, file_of
from minikafka.proof.mutation.mutants import mutants
from minikafka.proof.swarm.faults import STRAINED
from minikafka.proof.weakened.table import weakened

LEDGER = ROOT / "tests" / "seeds" / "mutants.tsv"
SEEDS_ALONE = LEDGER.with_name("seeds_alone.tsv")
CLUSTER_SEEDS = STRAINED  # from here on a seed has everything that the swarm has learned
FILES = ("broker/replication/*.py", "broker/controller/*.py", "broker/controller/admin/*.py", "broker/raft/*.py",
         "broker/groups/*.py", "broker/groups/classic/*.py", "broker/groups/consumer/*.py", "broker/transactions/*.py",
         *(f"log/{name}.py" for name in (
             "log", "segments", "loader", "flush", "swap", "epochs", "producers", "transaction_index", "markers", "cleaner",
             "cleaner_filter", "retention", "checkpoint", "validate", "record_validation", "uniform_runs")))
TESTS = {room: f"tests/{room}" for room in (
    "broker/replication", "broker/controller", "broker/raft", "broker/groups", "broker/transactions", "broker/metadata",
    "broker/storage", "log")} | {"broker/coordinator": "tests/broker/groups", "proof/stories": "tests/proof/stories"}
SMALL_WORLDS = {"broker/raft": "raft", "broker/replication": "replica", "broker/controller": "controller",
                "broker/groups": "group", "broker/transactions": "transaction", "log": "log"}  # seeds that cost little


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sim mutate`."""
    parser.add_argument("--n", type=int, default=30, help="number of mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of mutants (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=20,
                        help="number of cluster seeds for each mutant, ten times that in a small world (default: %(default)s)")
    parser.add_argument("--only", default="", metavar="WORD", help="only files whose name contains WORD")
    parser.add_argument("--one", metavar="NAME", help="only this mutant: FILE:NUMBER, or the name of a rule")
    parser.add_argument("--rules", action="store_true", help="the weakened rules of rules.tsv instead of random mutants")
    parser.add_argument("--seeds-alone", action="store_true", help="run no tests")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS",
                        help="time limit for each seed and each test (default: %(default)s)")
    parser.add_argument("--ledger", action="store_true",
                        help=f"write the results to {LEDGER.name}, with --seeds-alone to {SEEDS_ALONE.name}")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Break one rule after the other; return 1 if nobody noticed one of them."""
    counts: Counter[str] = Counter()
    for name in wanted(options):
        line, text = told(name)
        began = time.monotonic()
        who, how = judged(name, options)
        counts[who] += 1
        print(f"{who:8} {time.monotonic() - began:4.0f} s  {file_of(name)} line {line}: {text}\n{' ' * 17}{how}", flush=True)
        if options.ledger and options.seeds_alone:
            write_seeds_alone(name, who)
        elif options.ledger:
            write_ledger(options, who, name, line, text, how)
    print(", ".join(f"{who} {count}" for who, count in sorted(counts.items())))
    return 1 if counts["nobody"] else 0


def wanted(options: argparse.Namespace) -> list[str]:
    """Return the names of the mutants that are asked for."""
    if options.one:
        return [options.one]
    if options.rules:
        return [name for name, one in weakened().items() if options.only in name or options.only in one.path]
    return chosen(options.n, options.seed, options.only)


def told(name: str) -> tuple[int, str]:
    """Return the line of a mutant, and what it changes."""
    path, _, number = name.rpartition(":")
    source = (ROOT / file_of(name)).read_text()
    if path:
        mutant = mutants(source)[int(number)]
        return mutant.line, mutant.text
    one = weakened()[name]
    return one.changes[0].line(source), f"rule {one.rule}: {name}"


def files(only: str = "") -> list[Path]:
    """Return the files that are changed: those that decide what is safe."""
    found = [path for pattern in FILES for path in sorted((ROOT / "minikafka").glob(pattern)) if path.name != "__init__.py"]
    return [path for path in found if only in str(path.relative_to(ROOT))]


def chosen(count: int, seed: int, only: str) -> list[str]:
    """Draw mutants: each file by its share of them."""
    every = [f"{path.relative_to(ROOT)}:{number}" for path in files(only)
             for number in range(len(mutants(path.read_text())))]
    return Random(seed).sample(every, min(count, len(every)))


def judged(name: str, options: argparse.Namespace) -> tuple[str, str]:
    """Return who noticed a mutant (the kind of seed, "tests", "nobody"), and how."""
    for who, command in _judges(name, options):
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={
            **os.environ, "MUTANT": name, "MUTANT_LIMIT": str(options.limit), "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)})
        if ended.returncode:
            said = [*ended.stdout.splitlines(), *ended.stderr.splitlines()]
            lines = [line for line in said if " seed " in line or line.startswith(("FAILED", "ERROR", "Timeout"))]
            return who, (lines or said[-1:] or ["ended"])[0][:160]
    return "nobody", "a property that is missing, a line that is not needed, or no change at all"


def _judges(name: str, options: argparse.Namespace) -> Iterator[tuple[str, Sequence[str]]]:
    python, hook, path = [sys.executable, "-m"], "minikafka.proof.mutation.hook", file_of(name)
    small = next((kind for part, kind in SMALL_WORLDS.items() if path.startswith(f"minikafka/{part}")), None)
    if small and options.seeds:
        yield small, [*python, hook, small, "0", str(10 * options.seeds - 1)]
    if options.seeds:
        yield "cluster", [*python, hook, "cluster", str(CLUSTER_SEEDS), str(CLUSTER_SEEDS + options.seeds - 1)]
    tests = next((folder for room, folder in TESTS.items() if path.startswith(f"minikafka/{room}")), None)
    if tests and not options.seeds_alone:
        yield "tests", [*python, "pytest", "-q", "-x", "-n", "0", "-p", hook, "-p", "no:cacheprovider", tests]


def write_ledger(options: argparse.Namespace, who: str, name: str, line: int, text: str, how: str) -> None:
    """Add one outcome to the ledger of mutants."""
    commit = subprocess.run(["git", "rev-parse", "--short=9", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    if not LEDGER.exists():
        LEDGER.write_text("commit\tseeds\twho\tfile\tline\tchange\thow\n")
    with LEDGER.open("a") as file:
        file.write("\t".join([commit, str(options.seeds), who, file_of(name), str(line), text, how]) + "\n")


def write_seeds_alone(name: str, who: str) -> None:
    """Put down who notices a mutant now; who noticed it before, in another state of the code, stays beside it."""
    lines = SEEDS_ALONE.read_text().splitlines() if SEEDS_ALONE.exists() else ["name\tbefore\tnow"]
    rows = {line.split("\t")[0]: line.split("\t") for line in lines}
    rows[name] = [name, rows[name][1] if name in rows else "", who]
    SEEDS_ALONE.write_text("".join("\t".join(row) + "\n" for row in rows.values()))
