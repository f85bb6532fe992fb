"""A rule off in this process: what is exchanged, what is refused, and that everything is back afterwards."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from minikafka.broker.raft.roles import Leader
from minikafka.broker.replication.replica import Replica
from minikafka.log import log as log_module
from minikafka.log import producers
from minikafka.proof.weakened import CannotSwap, instead, swap, without
from minikafka.proof.weakened.table import SourceChange, Weakened, weakened

SOURCE = '''
"""A module with one of each kind of function."""
LIMIT = 3
DOUBLE = 2 * 4
TWICE = DOUBLE * 2

def plain(n):
    return n < LIMIT

class Thing:
    SIZE = 1
    @property
    def size(self):
        return self.SIZE
    @staticmethod
    def still():
        return "on"
    @classmethod
    def of(cls):
        return "on"
    def checked(self, n):
        assert n, "I-TEST-1"
        return "on"

def outer(n):
    m = n
    def inner():
        return n
    return inner

async def later():
    return "on"

TABLE = {"plain": plain, "inner": outer(1)}
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """SOURCE as a module of the brokers, imported."""
    (tmp_path / "subject.py").write_text(SOURCE)
    monkeypatch.setattr(swap, "ROOT", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(SourceChange, "path", property(lambda self: self.file))
    yield importlib.import_module("subject")
    del sys.modules["subject"]


def off(monkeypatch: pytest.MonkeyPatch, before: str, after: str) -> Any:
    one = Weakened("test", "1", "", (SourceChange("subject.py", before, after),))
    monkeypatch.setattr(swap, "weakened", lambda: {"test": one})
    return without("test")


@pytest.mark.parametrize(("before", "after", "look"), [
    ("return n < LIMIT", "return None", lambda m: m.plain(1)),
    ("return n < LIMIT", "# longer\n    return None", lambda m: m.TABLE["plain"](1)),
    ("return self.SIZE", "return None", lambda m: m.Thing().size),
    ('def still():\n        return "on"', "def still():\n        return None", lambda m: m.Thing.still()),
    ('def of(cls):\n        return "on"', "def of(cls):\n        return None", lambda m: m.Thing.of()),
    ("        return n\n", "        return n and None\n", lambda m: m.TABLE["inner"]()),
    ("        return n\n", "        return n and None\n", lambda m: m.outer(1)()),
    ('later():\n    return "on"', "later():\n    return None", lambda m: m.later().send(None)),
])
def test_whatever_holds_the_function_runs_the_changed_one(
        module: Any, monkeypatch: pytest.MonkeyPatch, before: str, after: str, look: Any) -> None:
    """Fails if a kind of function is left as it was, or stays changed."""
    def seen() -> Any:
        try:
            return look(module)
        except StopIteration as end:
            return end.value

    as_it_was = seen()
    assert as_it_was is not None
    with off(monkeypatch, before, after):
        assert seen() is None
    assert seen() == as_it_was


def test_a_constant_is_bound_anew_also_where_it_was_imported(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a changed constant counts in its own module only, or stays."""
    from minikafka.sim.world import replaced as importer
    monkeypatch.setattr(importer, "LIMIT", module.LIMIT, raising=False)
    with off(monkeypatch, "LIMIT = 3", "LIMIT = 30"):
        assert module.plain(20) and importer.LIMIT == 30  # type: ignore[attr-defined]
    assert not module.plain(20) and importer.LIMIT == 3  # type: ignore[attr-defined]
    with off(monkeypatch, "SIZE = 1", "SIZE = 10"):
        assert module.Thing().size == 10
    assert module.Thing().size == 1


@pytest.mark.parametrize(("before", "after", "why"), [
    ("DOUBLE = 2 * 4", "DOUBLE = 3", "DOUBLE is used while the module is loaded"),
    ("LIMIT = 3\n", "", "adds or removes a statement"),
    ("def plain(n):", "def plain(n=3):", "only functions and constants"),
    ("        return n\n", "        return m\n", "other variables of an outer function"),
    ("LIMIT = 3", "LIMIT = 3  # so be it", "changes no function"),
])
def test_what_cannot_be_exchanged_is_refused(
        module: Any, monkeypatch: pytest.MonkeyPatch, before: str, after: str, why: str) -> None:
    """I-WITHOUT-2: fails if a rule is believed to be off, and is on."""
    with pytest.raises(CannotSwap, match=why), off(monkeypatch, before, after):
        pass
    assert (module.LIMIT, module.DOUBLE, module.TABLE["inner"]()) == (3, 8, 1)


def test_everything_is_back_after_an_error_and_so_are_closures_made_inside(
        module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """I-WITHOUT-1: fails if a rule that was off stays off in a function that was made meanwhile."""
    code = module.outer.__code__
    with pytest.raises(ZeroDivisionError), off(monkeypatch, "        return n\n", "        return n and None\n"):
        made = module.outer(5)
        assert made() is None
        raise ZeroDivisionError
    assert made() == 5 and module.outer.__code__ is code


def test_functions_from_before_a_freeze_change_too(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if only functions that the garbage collector looks at are found: tests and campaigns freeze what they have."""
    gc.freeze()
    with off(monkeypatch, "        return n\n", "        return n and None\n"):
        assert module.TABLE["inner"]() is None


@pytest.mark.soak
def test_every_row_but_one_can_be_off_in_this_process() -> None:
    """Fails if a rule cannot be switched off without a new process: what it changes is no function that exists."""
    exchanges, refused = [], []
    for name, one in weakened().items():
        for path in dict.fromkeys(change.path for change in one.changes):
            try:
                source = (swap.ROOT / path).read_text()
                exchanges.append((name, swap._changed(swap._module(path), one.apply(path, source))))
            except CannotSwap:
                refused.append(name)
    modules = list({one.module.__name__: one.module for _, one in exchanges}.values())
    living = {swap._place(function.__code__) for function in swap._living(modules)}
    assert [name for name, one in exchanges if not one.constants and not living & one.codes.keys()] == []
    assert refused == ["last_epoch_of_all_given"], "a constant from which another is computed"


@pytest.mark.parametrize("name", ["commits_alone", "needs_no_majority", "no_duplicates_known", "retry_of_the_last_only"])
def test_a_row_that_was_off_leaves_nothing(name: str) -> None:
    """I-WITHOUT-1: fails if a rule of the table stays off, in a method, a property, two files, or a constant."""
    def state() -> list[object]:
        subjects = [vars(one) for one in (Replica, Leader, log_module.Log, producers, producers.ProducerStates)]
        return [getattr(getattr(value, "fget", value), "__code__", value) for each in subjects for value in each.values()
                if callable(value) or isinstance(value, property | int)]

    before = state()
    with without(name):
        assert state() != before
    assert all(now is was for now, was in zip(state(), before, strict=True))


def test_a_rule_that_is_off_shows_its_harm_and_not_an_assert() -> None:
    """Fails if a broker's asserts fall while a rule is off, or are gone afterwards."""
    beyond = Replica(1, SimpleNamespace(start_offset=0, end_offset=3), None, 10.0, high_watermark=5)  # type: ignore[arg-type]
    with without("never_resigns"):
        beyond.check()
    with pytest.raises(AssertionError, match="I-HW-1"):
        beyond.check()


def test_a_function_of_ours_in_the_place_of_the_brokers() -> None:
    """Fails if `instead` loses an argument, takes a closure for a function, or stays."""
    seen = []

    def rule(self: Replica, now: float) -> list[object]:
        seen.append((self, now))
        return []

    replica = Replica(1, SimpleNamespace(end_offset=3), None, 10.0, leader=1)  # type: ignore[arg-type]
    with instead(Replica._advance, rule), instead(Replica.effective_min_insync, lambda self: 7):
        assert (replica._advance(now=4.0), replica.effective_min_insync, seen) == ([], 7, [(replica, 4.0)])
    assert replica.effective_min_insync == 0
    with pytest.raises(CannotSwap), instead(len, rule):
        pass
    with pytest.raises(CannotSwap), instead(lambda: seen, rule):
        pass
