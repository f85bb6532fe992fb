"""Every deletion beside every work that it concerns: both engines give the same answers, and leave the same."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.transcripts import compare
from tests.wire.deletions.deletions import DELETIONS
from tests.wire.deletions.play import begin
from tests.wire.deletions.scene import named

HERE = Path(__file__).parent

# On our brokers `make test` plays these three, `make long` all of them; `make judge` plays all on Apache Kafka.
OFTEN = ("DeleteGroups", "DeleteTopics, and CreateTopics with the same name", "InitProducerId of another producer")


@pytest.mark.parametrize("title", [
    title if title in OFTEN else pytest.param(title, marks=pytest.mark.judge_first) for title in DELETIONS])
def test_a_deletion_meets_work_in_flight(cluster: Any, name: str, title: str, rewrite: bool) -> None:
    """Fails if an answer, or what is left of topic, group, offset or transaction, is not Apache Kafka's (I-SESSION-2)."""
    delete, touches = DELETIONS[title]
    path, told = HERE / f"{named(title)}.txt", [f"# {title}: what Apache Kafka 4.3 answers, and leaves\n"]
    with ExitStack() as closing:
        for cell in begin(cluster, name, closing, touches, path, rewrite):
            delete(cell.scene)
            told.append(cell.go_on())
    compare(path, "\n".join(told), rewrite)
