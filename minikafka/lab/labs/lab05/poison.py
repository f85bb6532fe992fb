"""Records that cannot be parsed, on paper: what they do to a loop, and whether a loop gets past them without losing a ride.

    starts = restarts(5)                       # the naive loop: a supervisor starts the loop again after each error
    for world in every_end(loop): ...          # dead at every step, and the bank out of reach at every charge

The topic has two partitions of thirteen rides, each a JSON object; two records are none: half of one, and bytes that are no text.

Owns: those records, the bank and the topic of what was set aside.
Invariants
  a charge that raised has charged nothing; what is set aside stays
"""
from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from minikafka.lab.exercise import Wrong
from minikafka.lab.labs.lab05.paper import PaperConsumer, PaperWorld, Place, ProcessKilled, Ride
from minikafka.lab.wants import kind

POISON = {(0, 7): b'{"ride": "0-7", "fare": 12.', (1, 3): b"\xff\xfe\x00ride"}
TWO = {"partitions": 2, "size": 13}
Loop = Callable[[Any, Callable[[Any], None], Callable[[Any], None]], Any]


class BankIsDown(ConnectionError):
    """The bank does not answer; it will in a minute."""


@dataclass
class PoisonWorld(PaperWorld):
    """A paper world with a bank and a topic for what was set aside."""

    charged: list[Place] = field(default_factory=list)
    aside: list[Place] = field(default_factory=list)

    def value(self, partition: int, offset: int) -> bytes:
        """Return the JSON of a ride, or what stands there instead."""
        ride = {"ride": f"{partition}-{offset}", "fare": 10.0 + offset}
        return POISON.get((partition, offset), json.dumps(ride).encode())


class PoisonConsumer(PaperConsumer):
    """A consumer of that world. With `fails` its step, if it is a charge, meets a bank that is down."""

    world: PoisonWorld

    def charge(self, ride: Any) -> None:
        """Charge a ride, as it was parsed."""
        if not isinstance(ride, dict) or "ride" not in ride:
            raise Wrong(f"charge() takes a ride as json.loads returns it, a dictionary; your loop gives it {kind(ride)}")
        place = tuple(int(part) for part in ride["ride"].split("-"))
        self._step(f"charge ride {ride['ride']}", lambda: self.world.charged.append(place))

    def set_aside(self, record: Any) -> None:
        """Write a record to the topic `rides.dead`."""
        if not isinstance(record, Ride):
            raise Wrong(f"set_aside() takes the record as it came; your loop gives it {kind(record)}")
        place = record.partition, record.offset
        self._step(f"set aside {self.world.told(*place)}", lambda: self.world.aside.append(place))

    def fail(self, what: str) -> Exception:
        return BankIsDown(what)


def live(loop: Loop, world: PoisonWorld, dies: int | None = None, after: bool = False, fails: bool = False) -> Exception | None:
    """Run one process to its death or its end; return the error that ended it, if one did."""
    consumer = PoisonConsumer(world, dies, after, fails)
    try:
        loop(consumer, consumer.charge, consumer.set_aside)
    except ProcessKilled:
        return None
    except (AssertionError, NotImplementedError):  # of the check, or a gap that is not filled
        raise
    except Exception as error:
        return error
    return None


def every_end(loop: Loop) -> Iterator[PoisonWorld]:
    """Yield the world after each possible death, and after each charge that the bank did not answer; a second process goes on."""
    calm = PoisonWorld(**TWO)
    live(loop, calm)
    for dies, what in enumerate(calm.said, 1):
        for after, fails in [(False, False), (True, False), (False, True)][:3 if what.startswith("charge") else 2]:
            struck = PoisonWorld(**TWO)
            live(loop, struck, dies, after, fails)
            if error := live(loop, struck):
                raise error
            yield struck


def naive(consumer: Any, charge: Callable[[Any], None], _: Any) -> None:
    """Parse and charge, as if every record were a ride."""
    while batch := consumer.poll(timeout_ms=2000):
        for records in batch.values():
            for record in records:
                charge(json.loads(record.value))
        consumer.commit()


def restarts(times: int = 5) -> list[dict[str, Any]]:
    """Start the naive loop again after each of its errors; return a row for each start."""
    world, rows = PoisonWorld(**TWO), []
    for number in range(1, times + 1):
        before = len(world.charged)
        error = live(naive, world)
        rows.append({"start": number, "charged": len(world.charged) - before, "committed": f"{world.committed}",
                     "ends with": type(error).__name__ if error else "no error"})
    return rows
