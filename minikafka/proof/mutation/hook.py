"""A process in which one module is loaded with its change. MUTANT names it: a place in a file
(`minikafka/broker/replication/isr.py:17`) or a weakened rule (`move_ends_early`).

    MUTANT=... python -m minikafka.proof.mutation.hook cluster 40 49     run seeds until one fails, tell which
    MUTANT=... python -m pytest -p minikafka.proof.mutation.hook tests/broker/replication

Owns: the loader. The file itself is never written.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from minikafka.proof.mutation.mutants import tree
from minikafka.proof.mutation.rules import weakened

ROOT = Path(__file__).parents[3]


class _Loader(SourceFileLoader):
    """Compiles the mutant instead of what the file says."""

    mutant = ""

    def get_code(self, fullname: str) -> CodeType:
        return compile(changed(Path(self.path).read_text(), self.mutant), self.path, "exec")


def file_of(mutant: str) -> str:
    """Return the file that a mutant changes, from the project's folder on."""
    return mutant.rpartition(":")[0] or weakened()[mutant].path


def changed(source: str, mutant: str) -> str | ast.Module:
    """Return the source of the mutant's file, or its tree, with the change."""
    path, _, number = mutant.rpartition(":")
    return tree(source, int(number)) if path else weakened()[mutant].change(source)


class _Finder(MetaPathFinder):
    """Finds the one module that is changed."""

    def __init__(self, mutant: str) -> None:
        self.mutant, self.path = mutant, ROOT / file_of(mutant)
        self.name = ".".join(self.path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        spec = PathFinder.find_spec(name, path, target)
        assert spec is not None and name not in sys.modules
        loader = _Loader(name, str(self.path))
        loader.mutant = self.mutant
        spec.loader = loader
        return spec


def install() -> None:
    """Load the module that MUTANT names with its change, if MUTANT is set. Raises ImportError where it was loaded before."""
    if mutant := os.environ.get("MUTANT"):
        finder = _Finder(mutant)
        if finder.name in sys.modules:
            raise ImportError(f"{finder.name} is loaded already: the change would have no effect")
        sys.meta_path.insert(0, finder)


install()


def main(arguments: Sequence[str]) -> int:
    """Run seeds until one fails; print it, and return 1. Arguments: the kind of seed (`cluster`, `raft`, or one of
    proof/small_worlds/worlds.py), the first seed, the last."""
    kind, first, last = arguments[0], int(arguments[1]), int(arguments[2])
    run = _cluster if kind == "cluster" else partial(_small, kind)
    for seed in range(first, last + 1):
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
