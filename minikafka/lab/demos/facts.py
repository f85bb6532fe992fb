"""Answer what "must see" lines ask of a recorded scene, from its trace.

    facts.acked("positions-0")            [Acked(t, offset, client), ...]
    facts.leaders("positions-0")          [Led(t, leader, epoch, isr), ...]
    facts["read"]                         what the story kept with stage.fact("read", ...)
    facts.t("freeze")                     a moment's time

Times are seconds since the first event, as in the picture. Owns: nothing.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka.lab.demos.demo import Event, Moment


class Acked(NamedTuple):
    t: float
    offset: int
    client: str


class Led(NamedTuple):
    t: float
    leader: int
    epoch: int
    isr: tuple[int, ...]


class InSync(NamedTuple):
    t: float
    isr: tuple[int, ...]
    why: str


class Cut(NamedTuple):
    """A replica cut its log back from `end` to `to`."""

    t: float
    broker: int
    end: int
    to: int


@dataclass(frozen=True, slots=True)
class SceneFacts:
    """The events of one scene, its moments, and what its story kept."""

    events: Sequence[Event]
    moments: Sequence[Moment]
    kept: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.kept[name]

    def t(self, moment: str) -> float:
        return next(m.t for m in self.moments if m.name == moment)

    def of(self, kind: str, **fields: Any) -> list[Event]:
        """Return the events of a kind whose fields have these values; each has its time in seconds since the run began
        as "at"."""
        zero = self.events[0]["t"]
        return [e | {"at": e["t"] - zero} for e in self.events
                if e["k"] == kind and all(e.get(k) == v for k, v in fields.items())]

    def acked(self, tp: str, client: str | None = None) -> list[Acked]:
        found = [Acked(e["at"], e["offset"], e["client"]) for e in self.of("acked", tp=tp)]
        return [a for a in found if client in (None, a.client)]

    def failed(self, client: str | None = None) -> list[Event]:
        return [e for e in self.of("failed") if client in (None, e["client"])]

    def leaders(self, tp: str) -> list[Led]:
        """Return each replica that became leader, in order."""
        return [Led(e["at"], e["leader"], e["epoch"], tuple(e["isr"])) for e in self.of("role", tp=tp, role="leader")]

    def isrs(self, tp: str) -> list[InSync]:
        """Return each ISR that a leader learned of, in order."""
        return [InSync(e["at"], tuple(e["isr"]), e["why"]) for e in self.of("isr", tp=tp)]

    def high_watermark(self, tp: str, broker: int, at: float) -> int:
        """Return the high watermark that this replica knew at that time; 0 before it first moved."""
        return max((e["hw"] for e in self.of("hw", tp=tp, b=broker) if e["at"] <= at), default=0)

    def cuts(self, tp: str) -> list[Cut]:
        """Return where replicas cut records off, in order."""
        return [Cut(e["at"], e["b"], e["from"], e["to"]) for e in self.of("truncate", tp=tp) if e["from"] > e["to"]]

    def silence(self, tp: str, after: float = 0.0) -> tuple[float, float]:
        """Return the longest time without an acknowledgement, as (from, until) in seconds."""
        times = [a.t for a in self.acked(tp) if a.t >= after]
        return max(zip(times, times[1:]), key=lambda pair: pair[1] - pair[0], default=(after, after))
