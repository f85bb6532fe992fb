"""A process in which one module is loaded with its change. MUTANT names it: a place in a file
(`minikafka/broker/replication/isr.py:17`) or a weakened rule (`move_ends_early`).

    MUTANT=... python -m minikafka.proof.mutation.hook cluster 40 49     run seeds until one fails, print which
    MUTANT=... python -m pytest -p minikafka.proof.mutation.hook tests/broker/replication

With MUTANT_LIMIT a seed or a test that takes longer than this number of seconds ends the process, with the place of its loop.

Owns: the loader, and the limit. The file itself is never written.
"""

from __future__ import annotations

import ast
import faulthandler
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from minikafka.proof.mutation.mutants import tree
from minikafka.proof.weakened.table import weakened

ROOT = Path(__file__).parents[3]
ERRORS = os.dup(2)  # pytest keeps what is written to its own


Change = Callable[[str], "str | ast.Module"]


class _Loader(SourceFileLoader):
    """Compiles the mutant instead of what the file says."""

    change: Change

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.change(Path(self.path).read_text()), self.path, "exec")


def file_of(mutant: str) -> str:
    """Return the file that a mutant changes, from the project's folder on."""
    return mutant.rpartition(":")[0] or weakened()[mutant].path


def changes(mutant: str) -> dict[str, Change]:
    """Return, for each file that a mutant changes, what makes the changed source, or its tree, of the file's source."""
    path, _, number = mutant.rpartition(":")
    if path:
        return {path: partial(tree, number=int(number))}
    one = weakened()[mutant]
    return {path: partial(one.apply, path) for path in dict.fromkeys(change.path for change in one.changes)}


class _Finder(MetaPathFinder):
    """Finds one module that is changed."""

    def __init__(self, path: str, change: Change) -> None:
        self.change, self.path = change, ROOT / path
        self.name = ".".join(self.path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        spec = PathFinder.find_spec(name, path, target)
        assert spec is not None and name not in sys.modules
        loader = _Loader(name, str(self.path))
        loader.change = self.change
        spec.loader = loader
        return spec


def install() -> None:
    """Load the modules of the change that MUTANT names, if it is set. Raises ImportError where one was loaded before."""
    mutant = os.environ.get("MUTANT")
    for finder in [_Finder(*change) for change in changes(mutant).items()] if mutant else []:
        if finder.name in sys.modules:
            raise ImportError(f"{finder.name} is loaded already: the change would have no effect")
        sys.meta_path.insert(0, finder)


install()


def begin() -> None:
    """Give the next seed or test its time."""
    if limit := float(os.environ.get("MUTANT_LIMIT", 0)):
        faulthandler.dump_traceback_later(limit, exit=True, file=ERRORS)


def pytest_runtest_setup() -> None:
    """Begin a test: this module is a plugin of pytest, too."""
    begin()


def pytest_unconfigure() -> None:
    faulthandler.cancel_dump_traceback_later()


def main(arguments: Sequence[str]) -> int:
    """Run seeds until one fails; print it, and return 1. Arguments: the kind of seed (`cluster`, `raft`, or one of
    proof/small_worlds/worlds.py), the first seed, the last."""
    kind, first, last = arguments[0], int(arguments[1]), int(arguments[2])
    run = _cluster if kind == "cluster" else partial(_small, kind)
    for seed in range(first, last + 1):
        begin()
        if found := run(seed):
            print(f"{kind} seed {seed}: {found[0]}"[:200])
            return 1
    return 0


def _small(kind: str, seed: int) -> Sequence[str]:
    from minikafka.proof.swarm.campaign import run_one
    return run_one(kind, seed).violations


def _cluster(seed: int) -> Sequence[str]:
    """Run the seed up to the first violation: it is enough."""
    from minikafka.proof.swarm.swarm import SeedRun
    run = SeedRun(seed)
    run.watch.raises = True
    return [str(violation) for violation in run.execute().violations]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
