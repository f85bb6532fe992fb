"""Checks of lab 9: majorities (9.5), leadership from the metadata log (9.3), ZooKeeper's duties (9.8)."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.values import shown

HEARTBEATS, ELECTION, RECORDS, FETCH, OFFSETS = "ABCDE"  # the places of section 8, and its duties, in the order of its table
DUTIES = {"which brokers are alive": HEARTBEATS, "which node is the controller": ELECTION, "topics and their replicas": RECORDS,
          "leader and ISR of a partition": RECORDS, "configurations": RECORDS, "telling brokers what has changed": FETCH,
          "what groups have committed": OFFSETS}


# --- 9.5 -------------------------------------------------------------------------------------------------------------

hints("9.5", "Two halves of four voters are cut off from each other. How many of the halves may decide?",
      "A majority is more than half: the smallest number that two separate sets of voters cannot both reach.",
      "minikafka/broker/raft/election.py: how many votes a candidate needs")


@checks("9.5", matters="An even voter costs a machine and survives nothing more.",
        wants="a pair (majority, how many may die)")
def majorities(answer: Callable[[int], Any]) -> str:
    """Check with one to nine voters."""
    for voters in range(1, 10):
        said = answer(voters)
        pair = () if isinstance(said, str) else tuple(said)
        assert len(pair) == 2, f"a pair (majority, how many may die) is wanted; you returned {shown(said)}"
        most, may_die = pair
        if 2 * most <= voters:
            raise Wrong(f"{_voters(voters)}: {most} is no majority, for it is not more than half")
        if most != int(most) or 2 * (most - 1) > voters:
            raise Wrong(f"{_voters(voters)}: {most} is not the smallest majority in whole numbers")
        if most + may_die != voters:
            raise Wrong(f"{_voters(voters)}: if {may_die} die, {voters - may_die} are left, and {most} are needed")
    return "one to nine voters: the majority, and how many may die"


def _voters(number: int) -> str:
    return f"{number} voter{'s' * (number > 1)}"


# --- 9.3 -------------------------------------------------------------------------------------------------------------

hints("9.3", "A change names no leader. Who leads after it, and in which epoch?",
      "Start with the record of kind new: its leader, epoch 0. Each later record that names a leader begins the next epoch; "
      "what a record does not name stays as it was.",
      "minikafka/broker/metadata/registrations.py: Partition; minikafka/lab/labs/lab09/metadata.py: history")


@checks("9.3", matters="Every broker does this, and so each of them knows at each offset who leads. Nobody has to be asked.",
        wants="a pair (leader, epoch)")
def leadership(answer: Callable[[list[dict[str, Any]], int], Any]) -> str:
    """Check with eighty seeded histories of a partition: elections, changes of the ISR alone, times without a leader."""
    rng = random.Random(96)
    for _ in range(80):
        records, offset = [{"offset": rng.randrange(5, 20), "kind": "new", "leader": 1, "isr": [1, 2, 3]}], 0
        for _ in range(rng.randrange(1, 7)):
            offset = records[-1]["offset"] + rng.randrange(1, 5)
            change: dict[str, Any] = {"offset": offset, "kind": "change"}
            if rng.random() < 0.6:
                change["leader"] = rng.choice((1, 2, 3, -1))
            if "leader" not in change or rng.random() < 0.5:
                change["isr"] = sorted(rng.sample((1, 2, 3), rng.randrange(1, 4)))
            records.append(change)
        for at in (records[0]["offset"], rng.randrange(records[0]["offset"], offset + 1), offset, offset + 3):
            right, said = _leadership(records, at), answer([dict(record) for record in records], at)
            assert isinstance(said, (tuple, list)) and len(said) == 2, \
                f"a pair is wanted: (leader, epoch); you returned {shown(said)}"
            if tuple(said) != right:
                raise Wrong(f"at offset {at}, that record included: you said {shown(said)}, it is {right} (leader, epoch)"
                            f"{_overlooked(records, at, tuple(said), right)}", [str(r) for r in records])
    return "eighty histories, each at four offsets"


def _overlooked(records: list[dict[str, Any]], at: int, said: tuple[Any, ...], right: tuple[int, int]) -> str:
    """Return the rule that a wrong answer does not follow."""
    named = [record for record in records if record["offset"] <= at and "leader" in record]
    if said == _leadership(records, records[-1]["offset"]):
        return ": later records do not count"
    if said == right[::-1]:
        return ": the leader comes first"
    if said[0] != right[0] == -1:
        return ": nobody leads, which is -1"
    if said[0] != right[0]:
        left_out = said[1] == right[1] - 1 and named[-1]["offset"] == at
        return f": {'the record at the offset counts, too' if left_out else 'the last record that names a leader says who leads'}"
    if said[1] > right[1]:
        return ": the first epoch is 0, and only a record that names a leader begins the next one"
    return ": a record that names the same leader again, or -1, begins an epoch, too"


def _leadership(records: list[dict[str, Any]], at: int) -> tuple[int, int]:
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] <= at and "leader" in record:
            leader, epoch = record["leader"], epoch + 1
    return leader, epoch


# --- 9.8 -------------------------------------------------------------------------------------------------------------

hints("9.8", "Which of these change many times a second, and which only now and then?",
      "What has to survive is a record. Who is alive is not written down each time; only that somebody is not. One thing has "
      "been an ordinary topic for many years.",
      "minikafka/broker/controller/heartbeats.py; minikafka/lab/labs/lab09/metadata.py; lab 5, section 5")


@checks("9.8", matters="One system to run instead of two, and one log from which every broker can be made again.")
def duties(answer: Callable[[], Iterable[str]]) -> str:
    """Compare seven letters with the table of section 8."""
    given = answer()
    letters = list(given) if isinstance(given, Iterable) else [None]
    assert all(isinstance(letter, str) for letter in letters), \
        f"seven letters are wanted, such as \"ABCDEAB\"; you returned {shown(letters if letters != [None] else given)}"
    said = "".join(letter for letter in "".join(letters).upper() if letter.isalnum())
    assert len(said) == len(DUTIES), f"seven letters are wanted, one for each duty; you gave {len(said)}"
    for number, (duty, place, letter) in enumerate(zip(DUTIES, DUTIES.values(), said), start=1):
        assert letter in DUTIES.values(), f"{letter} is no place of the table: A to E"
        assert letter == place, f"{number}, {duty}: not at {letter}"
    return "seven duties of ZooKeeper, and where each of them lives now"
