"""The traffic of a playground as a state machine: settings and time come in, the next records to send come out.

    traffic = Traffic(Settings(rate=10))
    for record in traffic.due(now):               # the shell sends it, and says later what became of it:
        traffic.acknowledged()                    # or failed(error), or unanswered() with acks=0

It knows no client and no clock; seconds of any clock do, the simulator's too.

Owns: the settings, the counts, the time of the next record.
Invariants
  sent = acknowledged + failed + unanswered + waiting
  at most MOST_WAITING records wait for their answer: a dead cluster is not buried under records
  within t seconds at most rate * (t + CATCH_UP) + 1 records are due: a stall is not made up for in one burst
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

MOST_WAITING = 2000  # records
CATCH_UP = 0.5       # seconds
NO_KEY = 0           # as the number of keys
NAME = "taxis"       # of the producer
SESSION = 6000       # milliseconds, of a member
BATCH = 0.2          # seconds of work that a member takes on at once


@dataclass(frozen=True, slots=True)
class Settings:
    """Places of the sliders. `rate`: records a second; `work`: milliseconds for a record; `keys` NO_KEY: records have none."""

    rate: int = 10
    keys: int = 6
    acks: str = "all"
    idempotence: bool = True
    members: int = 2
    protocol: str = "classic"
    work: int = 10

    @property
    def producer(self) -> dict[str, Any]:
        """Return what a producer must be told, by Kafka's names; when it changes, another producer is needed."""
        return {"acks": self.acks, "enable.idempotence": self.idempotence}


@dataclass(frozen=True, slots=True)
class ToSend:
    """One record to send."""

    key: str | None
    value: str


class Traffic:
    """Decides what is sent when, and counts."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.sent = self.acked = self.gave_up = self.no_answer = 0
        self.last_error: str | None = None
        self._next: float | None = None  # seconds: when the next record is due

    @property
    def waiting(self) -> int:
        """Return how many records were sent and not answered yet."""
        return self.sent - self.acked - self.gave_up - self.no_answer

    def change(self, now: float, **settings: Any) -> None:
        """Take other settings; they count from `now` on."""
        before, self.settings = self.settings, replace(self.settings, **settings)
        if self.settings.rate != before.rate:
            self._next = now

    def due(self, now: float) -> list[ToSend]:
        """Return the records that are to be sent now; they count as sent."""
        if not self.settings.rate:
            return []
        records, pause = [], 1 / self.settings.rate
        self._next = now if self._next is None else max(self._next, now - CATCH_UP)
        while self._next <= now and self.waiting < MOST_WAITING:
            records.append(self._record())
            self._next += pause
        return records

    def _record(self) -> ToSend:
        keys, number = self.settings.keys, self.sent
        self.sent += 1
        return ToSend(None if keys == NO_KEY else f"taxi-{number % keys}", f"ride {number}")

    def acknowledged(self) -> None:
        self.acked += 1

    def unanswered(self) -> None:
        """Take note of a record that no broker answers: acks=0."""
        self.no_answer += 1

    def failed(self, error: str) -> None:
        """Take note of a record that the producer gave up, and of the error's name."""
        self.gave_up, self.last_error = self.gave_up + 1, error
