"""`inside`: the adversary finds each wrong answer of solutions/wrong by name, and lets each right one through."""
from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

import pytest

from minikafka.lab import Todo, check
from minikafka.lab.inside import front, inside, student
from minikafka.lab.inside.table import RULES
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.view.front import Still
from minikafka.sim.world.replaced import replaced
from tests.lab.inside.falls import FALLS, HARMLESS

NIGHT = re.compile("night [A-D]")
FEW = 2  # random nights of a right rule; `make long` plays all
# What the picture of a wrong answer shows at the moment that the verdict names.
PICTURES = {
    ("4.6", "deals each topic by itself"): ("rides partition 2", "delivered 12,", "fares-1 by C2: position 3"),
    ("4.6", "gives everything to everybody"): ("rides partition 0", "C2 position 1", "rides-0 by C1", "rides-0 by C2"),
    ("5.7", "looks for offsets that go back"): ("meter committed 30", "positions-0 by C2: position ?"),
    ("6.2", "a majority of all"): ("3 held", "high watermark 15, end 15"),
    ("8.10", "at the high watermark"): ("1 killed, leads 0; 2 slow, leads 1", "5 of epoch 0 cut off, 1 acknowledged"),
    ("8.10", "cuts nothing"): ("1 running, leads 0; 2 running, leads 1", "acknowledged 0-4, 6-7"),
    ("9.6", "votes twice"): ("the metadata log", "101 and 103 both lead __cluster_metadata-0 in epoch 2"),
    ("9.6", "votes for shorter logs"): ("the metadata log", "high watermark 14, end 15", "end 16"),
    ("2.2", "never the last segment"): ("log start 6", "6 can be read, all before is deleted"),
    ("8.6", "counts records"): ("It is still in the ISR, so that the high watermark waits at 5",),
    ("9.3", "never changes"): ("1 killed", "Broker 3: replica, running, in sync"),
    ("9.11", "half of them"): ("Broker 103: leader, cut, in sync ?, epoch 2, start 0, high watermark 16, end 17",
        "Broker 1: follower, running, in sync ?, epoch 1, start 0, high watermark 27",
        "104: leads epoch 1"),
    ("9.11", "an older epoch by counting"): ("101: killed", "102: unattached, cut, voted for 103, end 27",
        "103: leader", "16-26 of epoch 1 cut off"),
    ("10.7", "the one that began last"): ("last stable 3, end 5", "producer 1000: open"),
}


def answers(kind: str, exercise: str) -> dict[str, Any]:
    return getattr(importlib.import_module(f"solutions.{kind}.lab{int(exercise.split('.')[0]):02}"), kind.upper())[exercise]


def night(exercise: str, kind: str, name: str) -> tuple[str, ...]:
    """Return what a test of this answer is for: of a wrong one the night in which it falls, of a right one the answer."""
    return exercise, *(NIGHT.findall(FALLS[exercise][name]) if kind == "wrong" else [name])


def each(kind: str) -> Iterator[Any]:
    """Yield the answers to all exercises. In `make long` only: wrong ones that are harmless, and those that fall in a night in
    which another one has fallen, but for those of PICTURES."""
    seen = {night(exercise, kind, name) for exercise, name in PICTURES if kind == "wrong"}
    for row in RULES:
        for name, answer in answers(kind, row.exercise).items():
            harmless = kind == "wrong" and FALLS[row.exercise][name] is HARMLESS
            again = night(row.exercise, kind, name) in seen and (row.exercise, name) not in PICTURES
            yield pytest.param(row.exercise, name, answer, id=f"{row.exercise}: {name}",
                               marks=pytest.mark.soak if harmless or again else ())
            seen.add(night(row.exercise, kind, name))


def high_watermark(leo: dict[int, int], isr: list[int]) -> int:
    return min(leo[broker] for broker in isr)


@pytest.mark.proof
@pytest.mark.parametrize("exercise, name, answer", list(each("wrong")))
def test_the_adversary_finds_each_wrong_answer(exercise, name, answer, monkeypatch):
    """Fails if a wrong answer withstands the nights, or falls for another reason than the one that falls.py names; if its
    picture shows another partition than the sentence, or the cluster before that moment or after it was mended."""
    monkeypatch.setattr(front, "RANDOM", 0)
    played = inside(exercise, answer[0])
    assert bool(played) == (FALLS[exercise][name] is HARMLESS) and FALLS[exercise][name] in repr(played), played
    if (exercise, name) in PICTURES:
        run = RecordedRun(played.events, engine="sim")
        text = Still.of(run, played.fall.t - run.events[0]["t"], played.fall.tp).text
        assert all(words in text for words in PICTURES[exercise, name]), text


class Call(NamedTuple):
    """A call of a student's function by a broker."""

    form: Callable[[Any], Any]   # what the broker makes of the value
    before: tuple[Any, ...]
    value: Any
    after: tuple[Any, ...]       # the arguments as the function left them


@cache
def calls_of(exercise: str, random: int) -> list[Call]:
    """Play the nights of an exercise, and so many random ones, with its first right answer, which withstands; return all calls
    of it."""
    calls, read = [], student.Student.read

    def noted(self: student.Student, form: Any, wanted: str, otherwise: Any, *arguments: Any) -> Any:
        before = deepcopy(arguments)
        value = read(self, form, wanted, otherwise, *arguments)
        calls.append(Call(form, before, value, deepcopy(arguments)))
        return value
    with replaced(student.Student, "read", noted), replaced(front, "SECONDS", float("inf")), \
            replaced(front, "RANDOM", random):
        played = inside(exercise, next(iter(answers("right", exercise).values())))
    said = repr(played)
    assert played and " 0 lost" in said and f"{random} random ones" in said, (played, played.verdict.excerpt)
    return calls


@pytest.mark.proof
@pytest.mark.parametrize("random", [FEW, pytest.param(front.RANDOM, marks=pytest.mark.soak)])
@pytest.mark.parametrize("row", RULES, ids=lambda row: row.exercise)
def test_a_right_rule_withstands_all_nights(row, random):
    """Fails if a night of the adversary or a random one accuses a right rule, or if a broker keeps the rule afterwards."""
    before = getattr(row.owner, row.name)
    assert calls_of(row.exercise, random)
    assert getattr(row.owner, row.name) is before


def is_the_same_rule(exercise: str, answer: Callable[..., Any]) -> bool:
    """Return whether an answer does with the arguments of those nights what the first right answer did. A night in which all
    calls return the same is the same night; who keeps another table, or shares out otherwise, is not the same."""
    same = student.Student(answer)
    for call in calls_of(exercise, FEW):
        arguments = deepcopy(call.before)
        if same.read(call.form, "", None, *arguments) != call.value or arguments != call.after:
            return False
    return True


@pytest.mark.proof
@pytest.mark.parametrize("exercise, name, answer", list(each("right")))
def test_the_adversary_lets_each_right_answer_through(exercise, name, answer, monkeypatch):
    """Fails if a right answer, in whatever form, falls in a night that was made for its rule."""
    if not is_the_same_rule(exercise, answer):
        monkeypatch.setattr(front, "RANDOM", 0)
        played = inside(exercise, answer)
        assert played and " 0 lost" in repr(played), (played, played.verdict.excerpt)


def endless(leo, isr):
    while True:
        pass


def swallows_all(leo, isr):
    while True:
        try:
            len(isr)
        except:  # noqa: E722
            pass


def unsolved(leo, isr):
    raise Todo("who counts?")


@pytest.mark.parametrize("answer, told", [
    (endless, "a loop that never ends"), (swallows_all, "a loop that never ends"),
    (lambda leo, isr: None, "returned None"), (lambda leo, isr: "47", "a number is wanted"),
    (lambda leo, isr: float("inf"), "a whole number is wanted"), (lambda leo: 3, "gets 2 arguments"),
    (lambda leo, isr: leo[17], "KeyError: 17"), (lambda leo, isr: exit(3), "ends the program"),
    (lambda leo, isr: 10 ** 6, "nobody has what it would promise"), (47, "the name of your function"),
    (unsolved, "not solved yet. Hint: who counts?"), (..., "goes behind the number")])
def test_whatever_a_function_does_in_a_broker_is_a_sentence(answer, told, monkeypatch):
    """Fails if an error, a loop or a value of another kind ends a broker or the notebook instead of being told."""
    monkeypatch.setattr(student, "LIMIT", 0.2)
    played = inside("6.2", answer)
    assert not played and told in repr(played)


def test_a_busy_machine_plays_fewer_random_nights(monkeypatch):
    """Fails if random nights begin after their time, or if the verdict counts nights that nobody played."""
    monkeypatch.setattr(front, "SECONDS", 0.0)
    assert "and no time was left for random ones" in repr(inside("6.2", high_watermark))


def test_an_exercise_without_a_place_in_brokers():
    """Fails if `inside` raises for a number that it does not know, or does not say which it knows."""
    assert "6.2" in repr(inside("6.4", high_watermark)) and not inside("6.99", high_watermark) and not inside(6.2, high_watermark)


def longest(leo: dict[int, int], isr: list[int]) -> int:
    return max(leo.values())


def test_a_failed_check_offers_it():
    """Fails if a FAIL does not name the call, or if one is named where there is none."""
    failed = check("6.2", longest)
    assert 'inside("6.2", longest)' in repr(failed) and "inside(&quot;6.2&quot;, longest)" in failed._repr_html_()
    assert "a cluster" not in repr(check("6.2", high_watermark)) and not check("6.4", lambda b, p, c: []).offer
