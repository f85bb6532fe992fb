"""Lab 10: the stories of its third exercise. Strict cells compare the figures."""
from __future__ import annotations

import tempfile

from minikafka.broker.server.live import LiveFs
from minikafka.lab.labs.lab10 import checks
from minikafka.log.producers import ProducerStates


def test_the_stories_of_exercise_3_hold_every_answer():
    """Fails if the oracle never says one of the four answers: then a wrong solution could pass."""
    said = {answer for story in checks.stories() for answer in verdicts(story)}
    assert said == {"append", "duplicate", "out of order", "fenced"}


def verdicts(story):
    with tempfile.TemporaryDirectory() as folder:
        states, end = ProducerStates(LiveFs(), folder, "trips-0"), 0
        for batch in story:
            verdict, _ = checks.judge(states, end, batch)
            end += batch.count if verdict == "append" else 0
            yield verdict
