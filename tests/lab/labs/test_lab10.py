"""Lab 10: that each figure follows its fault; strict cells compare the figures themselves."""
from __future__ import annotations

import tempfile

import pytest

from minikafka.broker.server.live import LiveFs
from minikafka.lab.labs.lab10 import checks, exactly, outside
from minikafka.lab.labs.lab10 import experiment as lab10
from minikafka.log.producers import ProducerStates


def test_every_lost_answer_is_a_twin():
    """Section 2: fails if the twins did not come from the lost answers, one for each."""
    run = lab10.lost_answers(idempotent=False, every=25)
    assert len(run.log) == len(run.attempts) == 104 and len(run.twins) == 4 and len(run.told) == 100


def test_the_coordinator_ends_what_nobody_ends():
    """Section 6: readers stand still until the time of the transaction is over; fails if it was the same for any time."""
    *held, freed = exactly.open_transaction(8.0)
    assert {row[1:] for row in held} == {(31, 0, 0)} and freed[1:] == (32, 32, 30)


@pytest.mark.parametrize("crash, times", [
    ("before the database", 1), ("inside the database", 1), ("after the database", 2), ("never", 1)])
def test_the_border(crash, times):
    """Section 8: the table of the text."""
    assert outside.rows(outside.book_and_crash(outside.naive, crash)).count(4) == times


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
