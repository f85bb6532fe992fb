"""Every script of minikafka/proof/stories against its transcript (tests/transcripts.py).

NAME.txt is the story with every rule on; NAME.without.RULE.txt the same story with one rule switched off.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from minikafka.proof.stories.telling import script
from minikafka.proof.weakened import without
from minikafka.proof.weakened.table import weakened
from tests.transcripts import compare

FOLDER = Path(__file__).parents[2] / "stories" / "brokers"
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


def test_every_transcript_has_its_script() -> None:
    """Fails when a script is renamed or lost and its transcript stays behind, checked by nobody."""
    told = {f"{name}.txt" for name in SCRIPTS} | {f"{one.story}.without.{name}.txt" for name, one in WITHOUT.items()}
    assert {path.name for path in FOLDER.glob("*.txt")} == told
