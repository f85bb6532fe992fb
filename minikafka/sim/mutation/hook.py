"""A process in which one module is loaded with its change: `MUTANT="minikafka/broker/replication/isr.py:17"` names it.

    MUTANT=... python -m minikafka.sim.mutation.hook 40 49     run cluster seeds 40 to 49 until one fails, tell which
    MUTANT=... python -m pytest -p minikafka.sim.mutation.hook tests/replication

Owns: the loader. The file itself is never written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from minikafka.sim.mutation.mutants import tree

ROOT = Path(__file__).parents[3]


class _Loader(SourceFileLoader):
    """Compiles the mutant instead of what the file says."""

    number = 0

    def get_code(self, fullname: str) -> CodeType:
        return compile(tree(Path(self.path).read_text(), self.number), self.path, "exec")


class _Finder(MetaPathFinder):
    """Finds the one module that is changed."""

    def __init__(self, mutant: str) -> None:
        path, _, number = mutant.rpartition(":")
        self.path, self.number = ROOT / path, int(number)
        self.name = ".".join(self.path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        spec = PathFinder.find_spec(name, path, target)
        assert spec is not None and name not in sys.modules
        loader = _Loader(name, str(self.path))
        loader.number = self.number
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
    """Run seeds until one fails; print it, and return 1. Arguments: `raft` or `cluster`, the first seed, the last."""
    from minikafka.sim.swarm.campaign import run_one
    kind, first, last = arguments[0], int(arguments[1]), int(arguments[2])
    for seed in range(first, last + 1):
        if found := run_one(kind, seed, None).violations:
            print(f"{kind} seed {seed}: {found[0]}"[:200])
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
