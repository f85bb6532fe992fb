"""Each weakened rule is still seen at the seed that its row names, and every invariant falls for a row of the table."""

from __future__ import annotations

import argparse
import ast
import io
import sys
from functools import cache

import pytest

from minikafka.proof.invariants.table import ALL
from minikafka.proof.stories.telling.quorum_story import QuorumStory
from minikafka.proof.stories.telling.script import load
from minikafka.proof.weakened import command, showing, table
from minikafka.proof.weakened.showing import BY_NAME, fallen
from minikafka.proof.weakened.swap import ROOT
from minikafka.proof.weakened.table import TABLE, SourceChange, Weakened, weakened

RULES = weakened()
IN_WORLDS = [name for name, one in RULES.items() if one.world]


@cache
def with_every_rule(world: str, seed: int) -> tuple[str, ...]:
    """What falls at a seed with every rule on; many rules fall at the same one."""
    return BY_NAME[world](seed)


# A world of groups takes a minute; what it shows is shown by the tests of groups, too.
@pytest.mark.proof
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.soak if RULES[name].shown_by == "groups_struck" else ())
                                  for name in IN_WORLDS])
def test_a_recorded_seed_falls_and_only_without_the_rule(name: str) -> None:
    """Fails when invariants, checker or faults have become too tame to see this rule missing, or cry wolf at the very
    seed that falls without it."""
    one = RULES[name]
    assert one.world is not None
    assert with_every_rule(*one.world) == ()
    assert set(fallen(one, one.world[1])) == set(one.falls)


def test_every_invariant_falls_for_a_row_of_the_table() -> None:
    """Fails when an invariant is new, or its last row is gone, and nothing shows that it can fall. What the rows say is proven
    by the test above and by the stories' transcripts (tests/proof/stories). Three fall for none: the worlds with weakened quorums
    have judges of their own for I7 and I8, and in each world a broker replays its registration as soon as it is committed (I20).
    They are shown in tampered worlds (tests/proof/invariants)."""
    watched = [one for one in RULES.values() if one.story and load()[one.story].stage is not QuorumStory
               or one.shown_by in ("partition_chaos", "partition_moves")]
    assert {invariant.id for invariant in ALL} - {fall for one in watched for fall in one.falls} == {"I7", "I8", "I20"}


@cache
def program(source: str) -> str:
    """What a file says but for comments and layout; many rules stand in the same one."""
    return ast.dump(ast.parse(source))


def test_every_weakened_rule_is_where_the_table_says() -> None:
    """I-MUTANT-2. Fails when a line of a safety rule is not what rules.tsv has, so that the rule would not be weakened."""
    for name, one in RULES.items():
        for change in one.changes:
            source = (ROOT / change.path).read_text()
            assert program(change.apply(source)) != program(source), f"{name}: the same program"
            assert change.before.strip("\n").splitlines()[0] in source.splitlines()[change.line(source) - 1], name


def test_every_row_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if two rules share a name, so that one of them is never weakened, or if what shows a rule is not there."""
    rows = TABLE.read_text().splitlines()[1:]
    assert len(RULES) == sum(not row.startswith("\t") for row in rows)
    assert sum(len(one.changes) for one in RULES.values()) == len(rows)
    assert {one.story for one in RULES.values()} - {None} <= set(load())
    assert {one.world[0] for one in RULES.values() if one.world} <= set(BY_NAME)
    assert all(one.title and one.falls for one in RULES.values() if one.shown_by)
    twice = TABLE.read_text() + rows[0] + "\n"
    monkeypatch.setattr(table, "TABLE", argparse.Namespace(read_text=lambda: twice))
    with pytest.raises(AssertionError, match="two rules"):
        weakened()


def test_words_that_are_gone_are_an_error() -> None:
    """Fails if a rule whose line has changed is left on, and believed to be off."""
    with pytest.raises(ValueError, match="stands 0 times in broker/x.py"):
        SourceChange("broker/x.py", "a rule", "none").apply("something else")


def test_each_row_is_printed_as_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a hunt of minutes is silent until its end, or something counts that the table does not name."""
    pipe, told = io.BytesIO(), []

    def at_once(seed: int) -> tuple[str, ...]:
        return ("I5", "I1")

    def later(seed: int) -> tuple[str, ...]:
        told.append(pipe.getvalue().decode().splitlines())
        return ("I2",) if seed == 3 else ("I5",)

    change = RULES["never_resigns"].changes
    rules = [Weakened("never_resigns", "7", "", change, ("I1", "I2"), world=(world, 0)) for world in ("at_once", "later")]
    monkeypatch.setattr(command, "weakened", lambda: dict(enumerate(rules)))
    monkeypatch.setattr(showing, "BY_NAME", {"at_once": at_once, "later": later})
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe))
    assert command.run(argparse.Namespace(which=["7"], record=False)) == 0
    rows = ["rule  name           found by  seed  what falls",
            "7     never_resigns  at_once   0     I1",
            "7     never_resigns  later     3     I2"]
    assert told == [rows[:2]] * 4
    assert pipe.getvalue().decode().splitlines() == rows


def test_a_seed_that_is_recorded_changes_its_row_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """Fails if `--record` loses another row, or a rule's second change."""
    written: list[str] = []
    monkeypatch.setattr(command, "TABLE", argparse.Namespace(read_text=TABLE.read_text, write_text=written.append))
    command.record({"takes_any_high_watermark": 17})
    changed = [row for row in written[0].splitlines() if row not in TABLE.read_text().splitlines()]
    assert len(changed) == 1 and changed[0].endswith("\tpartition_chaos 17")
