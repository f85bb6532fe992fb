"""Every transcript in group_scenarios/ happens as it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.group_transcript import SCENARIOS, replay


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.txt")), ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    """Fails when any change of core/group*.py changes what a member is told, or the order of effects.

    If the change is meant: python -m tests.core.group_transcript --rewrite, and read the difference.
    """
    assert replay(path.read_text()) == path.read_text()


def test_there_are_transcripts() -> None:
    """Fails if the folder is emptied or renamed, which would make the test above pass on nothing."""
    assert len(list(SCENARIOS.glob("*.txt"))) >= 10
