"""Every transcript in transaction_scenarios/ happens as it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.transaction_transcript import SCENARIOS, replay


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.txt")), ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    """Fails when any change of core/transaction*.py changes what a producer is told, or what is appended.

    If the change is meant: python -m tests.core.transaction_transcript --rewrite, and read the difference.
    """
    assert replay(path.read_text()) == path.read_text()


def test_there_are_transcripts() -> None:
    """Fails if the folder is emptied or renamed, which would make the test above pass on nothing."""
    assert len(list(SCENARIOS.glob("*.txt"))) >= 9
