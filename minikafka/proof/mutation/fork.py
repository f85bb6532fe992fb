"""One fork of this process for each mutant: it loads one module with its change, and runs judges until one notices.

    noticed("move_ends_early", [("replica", range(200)), ("tests", "tests/broker/replication")], limit=60.0)
    -> Notice("replica", "seed 4: I-HW-2 the high watermark passes ...")

A mutant is a place in a file (`minikafka/broker/replication/isr.py:17`) or a weakened rule (`move_ends_early`). A judge is a
kind of seed with its seeds (`cluster`, `raft`, or one of proof/small_worlds/worlds.py), or "tests" with a folder for pytest.
A mutant that loops is noticed too: each seed and each test has `limit` seconds of processor time, and the notice names the loop.
Time that other programs take does not count; a fork that does nothing for IDLE times as long is killed.

Owns: the loader of the change, the fork, and the limits. The file itself is never written.
"""

from __future__ import annotations

import ast
import faulthandler
import os
import re
import selectors
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from minikafka.proof.mutation.mutants import tree
from minikafka.proof.weakened.table import weakened

ROOT = Path(__file__).parents[3]
IDLE = 10
NOBODY = "a property that is missing, a line that is not needed, or no change at all"

Change = Callable[[str], "str | ast.Module"]
Judge = tuple[str, "range | str"]
Begin = Callable[[str], None]


class Notice(NamedTuple):
    """The judge that noticed a mutant (a kind of seed, "tests", or "nobody"), and what it saw."""

    who: str
    how: str


def noticed(mutant: str, judges: Iterable[Judge], limit: float) -> Notice:
    """Run the judges against a mutant, in their order, up to the first that notices it."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(ours)
            _run(mutant, judges, limit, theirs)
        finally:
            os._exit(0)
    os.close(theirs)
    data = _read(ours, child, IDLE * limit)
    os.close(ours)
    os.waitpid(child, 0)
    *_, last = re.split(r"^(?=[\w-]+\t)", data, flags=re.MULTILINE)
    who, _, how = last.partition("\t")
    text, *stack = how.splitlines()
    at = next((f", at {line.strip()}" for line in stack if line.strip().startswith("File ")), "")
    return Notice(who, text[:160] + at.replace(f"{ROOT}/", ""))


def _read(pipe: int, child: int, patience: float) -> str:
    """Return all that the fork writes; kill it when it has written nothing for too long."""
    data = b""
    with selectors.DefaultSelector() as written:
        written.register(pipe, selectors.EVENT_READ)
        while written.select(patience):
            if not (more := os.read(pipe, 65536)):
                return data.decode()
            data += more
    os.kill(child, signal.SIGKILL)
    return data.decode()


# --- in the fork ----------------------------------------------------------------------------------------------------


def _run(mutant: str, judges: Iterable[Judge], limit: float, out: int) -> None:
    """Write a line for each seed and each test before it begins, and a last one: the last line of a fork is its notice."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    faulthandler.register(signal.SIGPROF, file=out, all_threads=False, chain=True)
    load(mutant)
    for who, what in judges:
        def begin(name: str, who: str = who) -> None:
            os.write(out, f"{who}\t{name} does not end\n".encode())
            signal.setitimer(signal.ITIMER_PROF, limit)

        begin("the import")
        try:
            how = _tests(what, begin) if isinstance(what, str) else _seeds(who, what, begin)
        except BaseException as error:
            how = repr(error)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        if how:
            os.write(out, f"{who}\t{' '.join(how.split())}\n".encode())
            return
    os.write(out, f"nobody\t{NOBODY}\n".encode())


def _seeds(kind: str, seeds: range, begin: Begin) -> str:
    """Return what the first seed that fails shows; a cluster runs up to its first violation."""
    from minikafka.proof.swarm.campaign import run_one
    from minikafka.proof.swarm.swarm import SeedRun
    for seed in seeds:
        begin(f"seed {seed}")
        if kind == "cluster":
            run = SeedRun(seed)
            run.watch.raises = True
            found: Sequence[object] = run.execute().violations
        else:
            found = run_one(kind, seed).violations
        if found:
            return f"seed {seed}: {found[0]}"
    return ""


def _tests(folder: str, begin: Begin) -> str:
    """Return the name of the first test that fails."""
    import pytest

    class Plugin:
        failed = ""

        def pytest_runtest_setup(self, item: Any) -> None:
            begin(item.nodeid)

        def pytest_exception_interact(self, node: Any) -> None:
            self.failed = self.failed or f"FAILED {node.nodeid}"

    plugin = Plugin()
    os.chdir(ROOT)
    ended = pytest.main(["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-o", "timeout=0", folder], plugins=[plugin])
    return plugin.failed or (f"pytest ends with {ended}" if ended else "")


# --- the change -----------------------------------------------------------------------------------------------------


def file_of(mutant: str) -> str:
    """Return the file that a mutant changes, from the project's folder on."""
    return mutant.rpartition(":")[0] or weakened()[mutant].path


def load(mutant: str) -> None:
    """Forget every module of the project: each is loaded anew when it is imported next, with its change."""
    finders = [_Finder(*change) for change in changes(mutant).items()]
    for name, module in [*sys.modules.items()]:
        ours = name.partition(".")[0] in ("minikafka", "tests", "conftest")
        # pytest names a test's module from some folder below tests/ on: `replication.test_isr`
        if ours or str(getattr(module, "__file__", "")).startswith(f"{ROOT}/tests/"):
            del sys.modules[name]
    sys.meta_path[:0] = finders


def changes(mutant: str) -> dict[str, Change]:
    """Return, for each file that a mutant changes, what makes the changed source, or its tree, of the file's source."""
    path, _, number = mutant.rpartition(":")
    if path:
        return {path: partial(tree, number=int(number))}
    one = weakened()[mutant]
    return {path: partial(one.apply, path) for path in dict.fromkeys(change.path for change in one.changes)}


class _Loader(SourceFileLoader):
    """Compiles the mutant instead of what the file says."""

    change: Change

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.change(Path(self.path).read_text()), self.path, "exec")


class _Finder(MetaPathFinder):
    """Finds one module that is changed."""

    def __init__(self, path: str, change: Change) -> None:
        self.change, self.path = change, ROOT / path
        self.name = ".".join(self.path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        spec = PathFinder.find_spec(name, path, target)
        assert spec is not None
        loader = _Loader(name, str(self.path))
        loader.change = self.change
        spec.loader = loader
        return spec
