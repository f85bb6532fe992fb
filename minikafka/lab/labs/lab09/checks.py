"""Checks of lab 9: majorities (9.5), leadership from the metadata log (9.3), ZooKeeper's duties (9.8)."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from minikafka.lab.exercise import Wrong, checks, hints

HEARTBEATS, ELECTION, RECORDS, FETCH, OFFSETS = "ABCDE"  # the places of section 8, and its duties, in the order of its table
DUTIES = {"which brokers are alive": HEARTBEATS, "which node is the controller": ELECTION, "topics and their replicas": RECORDS,
          "leader and ISR of a partition": RECORDS, "configurations": RECORDS, "telling brokers what has changed": FETCH,
          "what groups have committed": OFFSETS}


# --- 9.5 -------------------------------------------------------------------------------------------------------------

hints("9.5", "Two halves of four voters are cut off from each other. How many of the halves may decide?",
      "A majority is more than half: the smallest number that two separate sets of voters cannot both reach.",
      "minikafka/broker/raft/election.py: how many votes a candidate needs")


@checks("9.5", matters="An even voter costs a machine and survives nothing more.",
        wants="a pair: the majority, and how many may die")
def majorities(answer: Callable[[int], Any]) -> str:
    """Check with one to nine voters."""
    for voters in range(1, 10):
        said = tuple(answer(voters))
        assert len(said) == 2, f"two numbers are wanted: the majority, and how many may die; you gave {said!r}"
        most, may_die = said
        if 2 * most <= voters:
            raise Wrong(f"{voters} voters: {most} is no majority, for it is not more than half")
        if most != int(most) or 2 * (most - 1) > voters:
            raise Wrong(f"{voters} voters: {most} is not the smallest majority in whole numbers")
        if most + may_die != voters:
            raise Wrong(f"{voters} voters: if {may_die} die, {voters - may_die} are left, and {most} are needed")
    return "one to nine voters: the majority, and how many may die"


# --- 9.3 -------------------------------------------------------------------------------------------------------------

hints("9.3", "A change names no leader. Who leads after it, and in which epoch?",
      "Start with the record of kind new: its leader, epoch 0. Each later record that names a leader begins the next epoch; "
      "what a record does not name stays as it was.",
      "minikafka/broker/metadata/registrations.py: Partition; minikafka/lab/labs/lab09/metadata.py: history")


@checks("9.3", matters="Every broker does this, and so each of them knows at each offset who leads. Nobody has to be asked.")
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
            assert isinstance(said, (tuple, list)) and len(said) == 2, f"a pair is wanted: (leader, epoch); you gave {said!r}"
            if tuple(said) != right:
                raise Wrong(f"at offset {at}, that record included: you said {said!r}, it is {right} (leader, epoch)",
                            [str(r) for r in records])
    return "eighty histories, each at four offsets"


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
def duties(answer: Callable[[], Any]) -> str:
    """Compare seven letters with the table of section 8."""
    given = answer()
    assert isinstance(given, Iterable), f"seven letters are wanted, such as ABCDEAB; you gave {given!r}"
    said = "".join(letter for letter in "".join(map(str, given)).upper() if letter.isalnum())
    assert len(said) == len(DUTIES), f"seven letters are wanted, one for each duty; you gave {len(said)}"
    for number, (duty, place, letter) in enumerate(zip(DUTIES, DUTIES.values(), said), start=1):
        assert letter in DUTIES.values(), f"{letter} is no place of the table: A to E"
        assert letter == place, f"{number}, {duty}: not at {letter}"
    return "seven duties of ZooKeeper, and where each of them lives now"
