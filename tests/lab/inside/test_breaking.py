"""Break it: a student's night against a weakened rule, and against the brokers' own."""
from __future__ import annotations

from dataclasses import replace

import pytest

from minikafka.lab import Night, check, inside
from minikafka.lab.exercise import Wrong
from minikafka.lab.inside.breaking import judged
from minikafka.lab.inside.goals import GOALS
from minikafka.lab.inside.night import TP
from minikafka.lab.inside.table import rule

SHORTEST = {"6.8": Night().holds(2).writes(5).kills(1), "9.10": Night().kills(2).writes(5).kills(1)}


@pytest.mark.parametrize("exercise", GOALS)
def test_the_shortest_night_is_one(exercise):
    """Fails if the shortest night known loses nothing, if it loses a record by Kafka's own rule too, if the wall names another
    number of moves, or if a broker keeps the weakened rule afterwards."""
    row = rule(GOALS[exercise].rule)
    before = getattr(row.owner, row.name)
    verdict = check(exercise, SHORTEST[exercise])
    assert verdict and verdict.moves == len(SHORTEST[exercise]) == GOALS[exercise].shortest, verdict
    assert "acknowledged and 0 lost" in repr(verdict) and "no shorter night is known" in repr(verdict)
    assert getattr(row.owner, row.name) is before


def test_a_night_that_loses_by_kafkas_own_allowance_does_not_count():
    """Fails if a night passes that breaks nothing: with unclean elections Kafka itself loses what only the leader had."""
    night = Night().holds(2).holds(3).writes(1).passes(20).writes(2).kills(1).passes(6)
    goal = replace(GOALS["6.8"], most=9, configs={"unclean_leader_election_enable": "true"})
    with pytest.raises(Wrong, match="does not count: with Kafka's own rule it loses something too"):
        judged(goal, night)


def test_inside_shows_the_moment():
    """Fails if the picture of a loss stands anywhere but at the promise, or if a night without a loss shows none."""
    broken, kept = inside("6.8", SHORTEST["6.8"]), inside("6.8", Night().holds(3).writes(5).kills(1))
    raised = next(event["t"] for event in broken.events if event["k"] == "hw" and event["tp"] == TP and event["hw"] == 5)
    assert broken and broken.fall.t == raised
    died = next(event["t"] for event in kept.events if event["k"] == "fault" and event["fault"] == "kill")
    assert not kept and died <= kept.fall.t < kept.events[-1]["t"]


@pytest.mark.parametrize("night, told", [
    (Night(), "not solved yet"), (Night().kills(1), "writes nothing"), (Night().writes(0), "a number of records is wanted"),
    (Night().writes(True), "a number of records"), (Night().passes(1e9).writes(), "a number of seconds is wanted, 60 at most"),
    (Night().passes(float("nan")).writes(), "a number of seconds"), (Night().holds([1, 2]), "there is no broker [1, 2]"),
    (Night().holds(7).writes(), "move 1, holds(7): there is no broker 7; there are 1, 2, 3"),
    (Night().writes().kills(1).holds(1), "broker 1 is dead, and copies nothing anyway"),
    (Night().writes().kills(1).restarts(1).restarts(1), "move 4, restarts(1): broker 1 lives"),
    (Night().cuts(2, 2).writes(), "two different brokers"), (Night().holds(2).writes().kills(1, 2, 3).frees(), "6 moves"),
    (lambda: None, "does it end with `return night`?"), (lambda: Night().flies(), "no move 'flies'; it has writes, holds"),
    (3, "a night is wanted"), (..., "goes behind the number")])
def test_a_night_that_cannot_be_played_is_a_sentence(night, told):
    """Fails if a move that cannot be made raises, is passed over, or is told without the remedy."""
    verdict = check("6.8", night)
    assert not verdict and told in repr(verdict) and len(verdict.why) < 300, verdict
