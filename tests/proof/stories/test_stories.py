"""Every script of minikafka/proof/stories against its transcript (tests/transcripts.py).

NAME.txt is the story with every rule on; NAME.without.RULE.txt the same story with one rule switched off.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from minikafka.broker.controller.controller import Controller
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.metadata.registrations import PartitionRegistration
from minikafka.broker.raft.raft import Raft
from minikafka.broker.replication.fetch_session import FetchSessions
from minikafka.broker.replication.replica import Replica
from minikafka.broker.transactions.transaction import Transaction
from minikafka.log import Log
from minikafka.proof.stories.telling import script
from minikafka.proof.weakened import without
from minikafka.proof.weakened.table import weakened
from tests.transcripts import compare

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "tests" / "stories" / "brokers"
SCRIPTS = script.load()
WITHOUT = {name: one for name, one in weakened().items() if one.story is not None}


@pytest.mark.parametrize("name", SCRIPTS)
def test_transcript(name: str, rewrite: bool) -> None:
    """Fails when a broker does anything else in that story, or an invariant falls in it with every rule on."""
    compare(FOLDER / f"{name}.txt", script.tell(SCRIPTS[name]).text, rewrite)


@pytest.mark.parametrize("name", WITHOUT)
def test_transcript_without_its_rule(name: str, rewrite: bool) -> None:
    """Fails when the harness no longer sees what this rule is for, or the anomaly takes another course."""
    one = WITHOUT[name]
    told = script.tell(SCRIPTS[str(one.story)], without=without(name))
    assert set(one.falls) <= set(told.violations), f"of {one.falls} only {told.violations} fell\n{told.text}"
    compare(FOLDER / f"{one.story}.without.{name}.txt", told.text, rewrite)


CHECKED = {Raft: {"Quorum.carry_out"}, Replica: {"Partition.carry_out"}, FetchSessions: {"ServedFetch._answer"},
           ClassicGroup: {"GroupCoordinatorShard.run"},
           Transaction: {"TransactionPartition.write", "TransactionPartition._stored"},
           Controller: {"Controller.apply"}, PartitionRegistration: {"Controller.check"},
           Log: {"Log.open", "SegmentedLog._disk", "SegmentedLog.finish_flush"}}


def test_brokers_that_run_check_what_their_parts_assert(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a shell no longer calls the check() of a part whose effects it carries out: then its asserts are asserted in the
    small worlds only. A consumer group is checked by the line that checks a classic one."""
    callers: dict[type, set[str]] = {part: set() for part in CHECKED}
    for part in CHECKED:
        def noted(self: Any, *given: Any, part: type = part, check: Any = part.check) -> None:  # type: ignore[attr-defined]
            callers[part].add(sys._getframe(1).f_code.co_qualname)
            check(self, *given)

        monkeypatch.setattr(part, "check", noted)
    script.tell(SCRIPTS["r61_offsets_wait"])
    assert callers == CHECKED
    sources = [path.read_text() for room in ("broker", "log") for path in (ROOT / "minikafka" / room).rglob("*.py")]
    nodes = [node for text in sources if "def check(self" in text for node in ast.parse(text).body]
    asserting = {each.name for each in nodes if isinstance(each, ast.ClassDef) for method in each.body
                 if isinstance(method, ast.FunctionDef) and method.name == "check"
                 and any(isinstance(node, ast.Assert) for node in ast.walk(method))}
    assert asserting == {part.__name__ for part in CHECKED} | {"ConsumerGroup", "SegmentedLog"}, "a part that is not in CHECKED"


def test_every_transcript_has_its_script() -> None:
    """Fails when a script is renamed or lost and its transcript stays behind, checked by nobody."""
    told = {f"{name}.txt" for name in SCRIPTS} | {f"{one.story}.without.{name}.txt" for name, one in WITHOUT.items()}
    assert {path.name for path in FOLDER.glob("*.txt")} == told
