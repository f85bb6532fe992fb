"""Campaigns: many seeds, on all cores; one line for each failing seed, the coverage, and the ledger.

    python -m minikafka sim run --seeds 100             whole clusters
    python -m minikafka sim run --seeds 300 --raft      the quorum alone
    python -m minikafka sim run --seeds 300 --log       one log alone on one disk; so each of small_worlds/worlds.py

A seed is run by one process and depends on nothing outside it, so the order in which seeds end does not matter.

Owns: which process runs which seeds, the report, tests/seeds/ledger.tsv and regress.txt.
Invariants: a seed's outcome is the same alone, in any campaign, and on any number of processes.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path

from minikafka.proof.ledger import LEDGER, ROOT, add_row, checked_out
from minikafka.proof.small_worlds.raft import campaign as raft_campaign
from minikafka.proof.small_worlds.raft.campaign import RaftRun, run_raft_seed
from minikafka.proof.small_worlds.worlds import WORLDS
from minikafka.proof.swarm import coverage as chaos
from minikafka.proof.swarm import faults as cluster_faults
from minikafka.proof.swarm.swarm import SeedRun, run_seed

REGRESS = ROOT / "tests" / "seeds" / "regress.txt"


@dataclass
class SeedOutcome:
    """The outcome of one seed, as a campaign keeps it."""

    kind: str  # "cluster", "raft", or a small world
    seed: int
    violations: list[str]
    coverage: Counter[str] = field(default_factory=Counter)
    faults: Sequence[str] | None = None  # only of these kinds

    def line(self) -> str:
        """Return one line for a failing seed, with the command that runs it again."""
        more = f" (and {len(self.violations) - 1} more)" if len(self.violations) > 1 else ""
        return f"seed {self.seed}: {self.violations[0]}{more}   {replay_command(self.kind, self.seed, self.faults)}"


def replay_command(kind: str, seed: int, faults: Sequence[str] | None = None, keep: Sequence[int] | None = None) -> str:
    """Return the command that runs this seed again, with these of its faults."""
    only = f" --faults {','.join(faults)}" if faults is not None else ""
    only += f" --keep {','.join(map(str, keep)) or 'none'}" if keep is not None else ""
    return f"python -m minikafka sim replay {seed}{'' if kind == 'cluster' else f' --{kind}'}{only}"


def run_one(kind: str, seed: int, faults: Sequence[str] | None = None, keep: Sequence[int] | None = None) -> SeedOutcome:
    """Run one seed. `faults`: only these kinds of faults; `keep`: only these of its faults, by their number."""
    if kind == "raft":
        raft = run_raft_seed(seed, faults, keep)
        return SeedOutcome(kind, seed, [f"{raft.violation[0]} at {raft.time:.3f} s: {raft.violation[1]}"]
                       if raft.violation else [], raft.coverage, faults)  # fmt: skip
    if kind in WORLDS:
        return SeedOutcome(kind, seed, [f"{fallen} in {world.__name__}" for world in WORLDS[kind] for fallen in world(seed)])
    cluster = run_seed(seed, faults, keep)
    cluster.coverage["faults"] = len(cluster.plan)
    return SeedOutcome(kind, seed, [str(violation) for violation in cluster.violations], cluster.coverage, faults)


def plan_of(kind: str, seed: int) -> Sequence[raft_campaign.QuorumFault | cluster_faults.SwarmFault]:
    """Return all faults of a seed, in the order that numbers them."""
    return RaftRun(seed).plan if kind == "raft" else SeedRun.plan_of(seed) if kind == "cluster" else ()


def fault_kinds(kind: str) -> tuple[str, ...]:
    """Return the names of all faults that a seed may have."""
    clusters = tuple(name for those in cluster_faults.KINDS.values() for name in those)
    return {"cluster": clusters, "raft": raft_campaign.FAULTS}.get(kind, ())


def outcomes(kind: str, seeds: Sequence[int], jobs: int = 1, faults: Sequence[str] | None = None) -> Iterator[SeedOutcome]:
    """Yield the seeds' outcomes, in their order."""
    work: Callable[[int], SeedOutcome] = partial(run_one, kind, faults=faults)
    gc.disable()  # a run leaves its world behind as one piece of garbage; see `collect`
    gc.freeze()  # objects from before the first seed stay: no collection need look through them
    try:
        if jobs <= 1 or len(seeds) < 2:
            yield from map(collect, map(work, seeds))
            return
        with _pool(jobs) as pool:
            yield from pool.imap(partial(_work, work), seeds, chunksize=1 if kind == "cluster" else 20)
    finally:
        gc.unfreeze()
        gc.enable()


def _pool(jobs: int) -> Pool:
    """Return processes that leave Ctrl-C to this one: all processes of a terminal get it."""
    ours = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return multiprocessing.get_context("fork").Pool(jobs, gc.disable)
    finally:
        signal.signal(signal.SIGINT, ours)


def _work(work: Callable[[int], SeedOutcome], seed: int) -> SeedOutcome:
    return collect(work(seed))


def collect(outcome: SeedOutcome) -> SeedOutcome:
    """Free the world of a finished seed: now and then for small ones, at once for clusters."""
    if outcome.kind == "cluster" or outcome.seed % 50 == 0:
        gc.collect()
    return outcome


@dataclass
class Campaign:
    """The outcome of a campaign."""

    kind: str
    first: int
    faults: Sequence[str] | None = None  # only of these kinds
    seeds: int = 0
    failed: list[SeedOutcome] = field(default_factory=list)
    coverage: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, outcome: SeedOutcome) -> None:
        self.seeds += 1
        self.coverage.update(outcome.coverage)
        if outcome.violations:
            self.failed.append(outcome)

    def join(self, part: Campaign) -> None:
        """Add the outcome of the part that came after."""
        self.seeds += part.seeds
        self.seconds += part.seconds
        self.failed += part.failed
        self.coverage.update(part.coverage)

    def report(self) -> str:
        rate = self.seeds / self.seconds if self.seconds else 0.0
        lines = [chaos.layout(self.coverage), *self.lacking()]
        if self.faults is None and self.seeds < chaos.ENOUGH:
            lines.append(f"fewer than {chaos.ENOUGH} seeds: not judged by what they met")
        return "\n".join([*lines, f"{self.kind}: {self.seeds} seeds from {self.first} on, {len(self.failed)} with "
                          f"violations, {self.seconds:.1f} s, {rate:.1f} seeds/s"])  # fmt: skip

    def lacking(self) -> list[str]:
        """Return lines on what was met too seldom to trust the outcome. With `faults`, each kind must have been met."""
        if self.faults is None:
            return chaos.lacking(self.kind, self.coverage, self.seeds)
        return [] if self.coverage["faults"] else [f"no {' or '.join(self.faults)} in the plans of these seeds"]


def campaign(kind: str, first: int, count: int, jobs: int = 1, faults: Sequence[str] | None = None,
             show: Callable[[SeedOutcome], object] = lambda outcome: None) -> Campaign:
    """Run `count` seeds from `first` on; call `tell` with each outcome at once."""
    result, began = Campaign(kind, first, faults), time.monotonic()
    for outcome in outcomes(kind, range(first, first + count), jobs, faults):
        result.add(outcome)
        show(outcome)
    result.seconds = time.monotonic() - began
    return result


# --- seeds that are kept --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kept:
    """A line of regress.txt: `KIND SEED [keep=1,2,3]  # what it once showed`."""

    kind: str
    seed: int
    keep: tuple[int, ...] | None = None

    def run(self) -> SeedOutcome:
        return run_one(self.kind, self.seed, keep=self.keep)


def kept_seeds(path: Path = REGRESS) -> list[Kept]:
    """Return the seeds that once failed, to be run every time."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else ():
        words = line.partition("#")[0].split()
        if words:
            keep = tuple(int(n) for n in words[2].removeprefix("keep=").split(",")) if len(words) > 2 else None
            found.append(Kept(words[0], int(words[1]), keep))
    return found


def write_ledger(result: Campaign, kind: str, path: Path = LEDGER) -> None:
    """Append a campaign to the ledger, under the commit that is checked out ("+" if there are changes on top)."""
    seeds = f"{result.first}-{result.first + result.seeds - 1}"
    add_row(checked_out(), kind, seeds, result.seeds, len(result.failed), path)
