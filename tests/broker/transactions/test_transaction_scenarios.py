"""Every transcript in tests/stories/transactions/ happens as it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.broker.transactions.transaction_transcript import SCENARIOS, World
from tests.transcripts import compare, replay


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.txt")), ids=lambda path: path.stem)
def test_transcript(path: Path, rewrite: bool) -> None:
    """Fails when any change of transactions/transaction.py changes what a producer is told, or what is appended."""
    compare(path, replay(path.read_text(), World(), World.do), rewrite)


def test_there_are_transcripts() -> None:
    """Fails if the folder is emptied or renamed, which would make the test above pass on nothing."""
    assert len(list(SCENARIOS.glob("*.txt"))) >= 9
