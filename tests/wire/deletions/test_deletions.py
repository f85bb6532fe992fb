"""Every deletion beside every work that it concerns: both engines give the same answers, and leave the same."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.transcripts import compare
from tests.wire.deletions.deletions import DELETIONS
from tests.wire.deletions.scene import Scene, named
from tests.wire.deletions.work import WORKS

HERE = Path(__file__).parent
CALM = 0.6  # seconds for which nothing changes when a transcript is written


# On our brokers `make test` plays these three, `make long` all of them; `make judge` plays all on Apache Kafka.
OFTEN = ("DeleteGroups", "DeleteTopics, and CreateTopics with the same name", "InitProducerId of another producer")


@pytest.mark.parametrize("title", [
    title if title in OFTEN else pytest.param(title, marks=pytest.mark.judge_first) for title in DELETIONS])
def test_a_deletion_meets_work_in_flight(cluster: Any, name: str, title: str, rewrite: bool) -> None:
    """Fails if an answer, or what is left of topic, group, offset or transaction, is not Apache Kafka's."""
    delete, touches = DELETIONS[title]
    path, told = HERE / f"{named(title)}.txt", [f"# {title}: what Apache Kafka 4.3 answers, and leaves\n"]
    known = {} if rewrite else blocks(path.read_text())
    with ExitStack() as closing:
        for number, (work, (play, holds)) in enumerate(WORKS.items()):
            if holds & touches:
                scene = Scene(cluster, f"{name}-{number}", closing, known.get(work, []))
                steps = play(scene)
                next(steps)
                delete(scene)
                see(scene)
                assert next(steps, None) is None
                see(scene)
                told.append("\n".join([work, *scene.lines]) + "\n")
    compare(path, "\n".join(told), rewrite)


def blocks(text: str) -> dict[str, list[str]]:
    """Return the lines of each work of a transcript."""
    found = [block.splitlines() for block in text.split("\n\n")]
    return {lines[0]: lines[1:] for lines in found[1:]}


def see(scene: Scene) -> None:
    """Add what is left, as soon as it is what is expected (it takes a moment until each broker has heard); without an
    expectation, what is left when nothing has changed for a while."""
    wanted = []
    for line in scene.expected[len(scene.lines):]:
        if not line.startswith("    "):
            break
        wanted.append(line)
    deadline, calm, last = time.monotonic() + (10 if wanted else 30), time.monotonic(), scene.left()
    while last != wanted and time.monotonic() < deadline and (wanted or time.monotonic() < calm + CALM):
        time.sleep(0.05)
        now = scene.left()
        calm, last = (calm if now == last else time.monotonic()), now
    scene.lines += last
