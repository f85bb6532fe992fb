"""Every transcript in tests/stories/groups/ happens as it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.broker.groups.group_transcript import SCENARIOS, do
from tests.broker.groups.lone_classic_group import LoneClassicGroup
from tests.transcripts import compare, replay


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.txt")), ids=lambda path: path.stem)
def test_transcript(path: Path, rewrite: bool) -> None:
    """Fails when any change of groups/classic/ changes an answer, or the order of effects."""
    compare(path, replay(path.read_text(), LoneClassicGroup(), do), rewrite)


def test_there_are_transcripts() -> None:
    """Fails if the folder is emptied or renamed, which would make the test above pass on nothing."""
    assert len(list(SCENARIOS.glob("*.txt"))) >= 10
