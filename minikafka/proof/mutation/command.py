"""`python -m minikafka sim mutate`: break one rule after another, and list what notices: seeds, or after them tests.

    python -m minikafka sim mutate --n 30 --seed 7           30 random mutants: seeds, then the tests of their rooms
    python -m minikafka sim mutate --only replication/isr    of these files only
    python -m minikafka sim mutate --one minikafka/broker/replication/isr.py:17
    python -m minikafka sim mutate --rules                   every safety rule, weakened by hand (proof/weakened/rules.tsv)
    python -m minikafka sim mutate --rules --only reassign   of these files, or with this word in the name
    python -m minikafka sim mutate --again --ledger          the random mutants of tests/seeds/seeds_alone.tsv, by seeds alone

Owns: the files that are changed, what is run against a mutant and in which order, and with `--ledger` the table
tests/seeds/seeds_alone.tsv: a mutant's name, and what noticed it before the house was put in order and now. A random mutant has
its file, function and change as its name there. So it is the same change in another state of the code, until its line is gone.
"not log" in a row: no seed of that small world noticed the mutant, and clusters did not run. An empty field: nothing ran.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from minikafka.proof.mutation.fork import ROOT, Judge, Notice, file_of, noticed
from minikafka.proof.mutation.mutants import mutants
from minikafka.proof.swarm.faults import STRAINED
from minikafka.proof.weakened.table import weakened

SEEDS_ALONE = ROOT / "tests" / "seeds" / "seeds_alone.tsv"
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
    parser.add_argument("--again", action="store_true", help=f"the random mutants of {SEEDS_ALONE.name} that still exist")
    parser.add_argument("--seeds-alone", action="store_true", help="run no tests")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS",
                        help="processor time for each seed and each test (default: %(default)s)")
    parser.add_argument("--ledger", action="store_true", help=f"run no tests, and write the results to {SEEDS_ALONE.name}")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Break one rule after the other; return 1 if nobody noticed one of them."""
    counts: Counter[str] = Counter()
    for name in wanted(options):
        line, text = described(name)
        began = time.monotonic()
        notice = noticed(name, judges(name, options), options.limit)
        counts[notice.who] += 1
        print(f"{notice.who:8} {time.monotonic() - began:4.0f} s  {file_of(name)} line {line}: {text}\n{' ' * 17}{notice.how}",
              flush=True)
        if options.ledger:
            write_seeds_alone(name, notice)
    print(", ".join(f"{who} {count}" for who, count in sorted(counts.items())))
    return 1 if counts["nobody"] else 0


def wanted(options: argparse.Namespace) -> list[str]:
    """Return the names of the mutants that the options choose."""
    if options.one:
        return [options.one]
    if options.rules:
        return [name for name, one in weakened().items() if options.only in name or options.only in one.path]
    if options.again:
        recorded = _ledger()
        return [name for name, place in places(options.only).items() if place in recorded]
    return chosen(options.n, options.seed, options.only)


def described(name: str) -> tuple[int, str]:
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


def places(only: str = "") -> dict[str, str]:
    """Return every mutant, FILE:NUMBER, with the name that it has in the ledger: a second of the same name gets " (2)"."""
    found: dict[str, str] = {}
    times: Counter[str] = Counter()
    for path in files(only):
        for number, mutant in enumerate(mutants(path.read_text())):
            place = f"{path.relative_to(ROOT)} {mutant.function}: {mutant.text}"
            times[place] += 1
            found[f"{path.relative_to(ROOT)}:{number}"] = place + (f" ({times[place]})" if times[place] > 1 else "")
    return found


def chosen(count: int, seed: int, only: str) -> list[str]:
    """Draw mutants: each file by its share of them."""
    every = list(places(only))
    return Random(seed).sample(every, min(count, len(every)))


def judges(name: str, options: argparse.Namespace) -> Iterator[Judge]:
    """Yield what is run against a mutant: seeds of its room's small world, seeds of whole clusters, and the tests of its room."""
    path = file_of(name).removeprefix("minikafka/")
    small = next((kind for room, kind in SMALL_WORLDS.items() if path.startswith(room)), None)
    if small and options.seeds:
        yield small, range(10 * options.seeds)
    if options.seeds:
        yield "cluster", range(CLUSTER_SEEDS, CLUSTER_SEEDS + options.seeds)
    tests = next((folder for room, folder in TESTS.items() if path.startswith(room)), None)
    if tests and not options.seeds_alone and not options.ledger:
        yield "tests", tests


def write_seeds_alone(name: str, notice: Notice) -> None:
    """Write what notices a mutant now; what noticed it before, in another state of the code, stays beside it."""
    rows, key = _ledger(), places(file_of(name))[name] if ":" in name else name
    rows[key] = [key, rows[key][1] if key in rows else "", notice.who]
    SEEDS_ALONE.write_text("".join("\t".join(row) + "\n" for row in rows.values()))


def _ledger() -> dict[str, list[str]]:
    lines = SEEDS_ALONE.read_text().splitlines() if SEEDS_ALONE.exists() else ["name\tbefore\tnow"]
    return {line.split("\t")[0]: line.split("\t") for line in lines}
