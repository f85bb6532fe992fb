"""A client's view of a cluster: the address that it was given, the one that it has learned, and who answers at each.

    caller = CallingClient(cluster, "laptop", "kafka.internal")   # stands where `Writer` takes a cluster
    Writer(caller, "positions", count=1)          # its connections stand in the trace: "call", "called", "learned"
    run = CallerRun(events, engine="sim", title="...")
    run.at(8.0).view                              # CallerView: what the client knows at that time

Owns: the client's slow line, what it has tried, and the drawing of demo D14. Invariants
  everything that is drawn was tried by a client: an address at which nobody has called has no verdict
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from minikafka.client import Blocking, Producer
from minikafka.lab.demos.demo import Event
from minikafka.lab.picture.draw.paper import Paper
from minikafka.lab.picture.draw.shapes import draw_broker, draw_level
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.picture.frame import Frame, Level
from minikafka.sim.world.world import CLIENT_PORT

SLOW = 0.5                 # seconds in each direction: so each step of a client can be seen
POLL = 0.05
SIDE, HIGH, GAP = 12, 108, 8
WHO = 150                  # the width of the client's box


class CallingClient:
    """A cluster as a client with one address sees it."""

    def __init__(self, cluster: Any, name: str, elsewhere: str) -> None:
        """`elsewhere`: a host that no broker has."""
        self.world, self.run, self.watch = cluster.world, cluster.run, cluster.watch
        self._env, self._name = cluster.world.client_env(name), name
        bound = cluster.world.hosts[1].name
        self.given = f"{bound}:{CLIENT_PORT}"
        self.knows: dict[int, tuple[str, int]] = {}
        for one, other in ((name, bound), (bound, name), (name, elsewhere), (elsewhere, name)):
            cluster.world.net.link(one, other).latency = (SLOW, SLOW)
        self.world.tell("given", to=self.given)

    def producer(self, **settings: Any) -> Any:
        """Return a producer that starts from the one address, its calls blocking."""
        host, _, port = self.given.rpartition(":")
        with self.world.loop.entered():
            made = Producer(_ToldEnv(self._env), [(host, int(port))], **settings)
        self._env.spawn(self._follow(made), f"{self._name}: learned")
        return Blocking(self.run, made)

    async def _follow(self, producer: Any) -> None:
        """Tell of each new answer to Metadata."""
        client = producer.client
        while not client.closed:
            if client.metadata.brokers != self.knows:
                self.knows = dict(client.metadata.brokers)
                self.world.tell("learned", brokers={str(node): f"{host}:{port}" for node, (host, port) in self.knows.items()})
            await self._env.sleep(POLL)


class _ToldEnv:
    """The environment of a client that tells of its connections."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    async def connect(self, host: str, port: int, factory: Any, peer: int) -> Any:
        whom = {"to": f"{host}:{port}", "first": peer < 0}
        self._env.trace("call", **whom)
        try:
            made = await self._env.connect(host, port, factory, peer)
        except OSError:
            self._env.trace("called", opened=False, **whom)
            raise
        self._env.trace("called", opened=True, **whom)
        return made


@dataclass(frozen=True, slots=True)
class CalledAddress:
    """One address: whether a call is under way, and how many were answered, and refused."""

    address: str = ""
    calling: bool = False
    opened: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class CallerView:
    """The address that the client was given, and the one that it has learned ("" before)."""

    first: CalledAddress
    second: CalledAddress


@dataclass(frozen=True, slots=True)
class CallerFrame(Frame):
    """A picture, and the client's view."""

    view: CallerView = CallerView(CalledAddress(), CalledAddress())


class CallerRun(RecordedRun):
    """A recorded run with a client's view."""

    def at(self, t: float | None = None, tp: str | None = None) -> CallerFrame:
        """Return the picture and the view at `t`."""
        frame = super().at(t, tp)
        return CallerFrame(**{each.name: getattr(frame, each.name) for each in fields(Frame)},
                           view=view([*self.events_between(-1.0, frame.t)]))


def view(events: Iterable[Event]) -> CallerView:
    """Return what a client has tried and learned in these events."""
    given = learned = ""
    calls: dict[bool, list[Event]] = {True: [], False: []}
    for event in events:
        if event["k"] == "given":
            given = event["to"]
        elif event["k"] == "learned":
            learned = ", ".join(event["brokers"].values())
        elif event["k"] in ("call", "called"):
            calls[event["first"]].append(event)
    return CallerView(_door(given, calls[True]), _door(learned, calls[False]))


def _door(address: str, calls: list[Event]) -> CalledAddress:
    ended = [event["opened"] for event in calls if event["k"] == "called"]
    return CalledAddress(address, bool(calls) and calls[-1]["k"] == "call", sum(ended), len(ended) - sum(ended))


# --- the drawing ----------------------------------------------------------------------------------------------------

def draw_caller(paper: Paper, frame: CallerFrame, y: float) -> float:
    """Draw the client with its record, and an address in each row; return where they end."""
    bottom = y + 2 * HIGH + GAP
    paper.open("caller")
    paper.rect(SIDE, y, WHO, bottom - y, "card", 8)
    paper.text(SIDE + 12, y + 30, "client", "", 20, True)
    for line, (text, look) in enumerate(_record(frame)):
        paper.text(SIDE + 12, y + 76 + 26 * line, text, look, 16, True, room=WHO - 18)
    paper.close()
    _draw_door(paper, frame.view.first, "bootstrap.servers", "not called yet", y)
    _draw_door(paper, frame.view.second, "from the answer", "no answer yet", y + HIGH + GAP)
    return bottom


def _record(frame: Frame) -> list[tuple[str, str]]:
    producer = frame.producers[0] if frame.producers else None
    if producer is None:
        return [("one record", ""), ("to send", "")]
    if producer.acked:
        return [("the record", ""), ("is stored", "good")]
    if producer.last_error:
        return [("the record", ""), ("timed out", "bad")]
    return [("the record", ""), ("waits", "wait")]


def _draw_door(paper: Paper, door: CalledAddress, what: str, nothing: str, y: float) -> None:
    """Draw an address, the arrow to it, and who is there."""
    left, right, middle = SIDE + WHO, paper.width - SIDE, y + 67
    card = left + 62
    served = door.opened > 0
    known = served or door.refused > 0
    look = "good" if served else "bad" if known else "soft"
    paper.open("door", address=door.address or None, opened=door.opened, refused=door.refused, calling=str(door.calling).lower())
    paper.text(card, y + 20, what, "soft", 16)
    paper.rect(card, y + 28, right - card, HIGH - 30, "card" if door.address else "sunk", 8)
    if known or door.calling:
        _draw_call(paper, left + 6, card - 6, middle, known and not served)
    paper.text(card + 58, middle - 6, door.address or "?", "", 20, True)
    says = "open" if served else f"nobody answers, {_times(door.refused)}" if known else "calling" if door.calling else nothing
    paper.text(card + 58, middle + 22, says, look, 16, True)
    if served:
        draw_broker(paper, 1, "running", card + 30, middle, 18)
    elif known:
        draw_level(paper, Level.BAD, card + 30, middle)
    paper.close()


def _times(count: int) -> str:
    return "once" if count == 1 else "twice" if count == 2 else f"{count} times"


def _draw_call(paper: Paper, x: float, end: float, y: float, broken: bool) -> None:
    """Draw the arrow of a call; one that nobody takes has a cross."""
    paper.path(f"M{x:g} {y:g}H{end:g}M{end - 8:g} {y - 6:g}L{end:g} {y:g}L{end - 8:g} {y + 6:g}", "arrow")
    if broken:
        middle = (x + end) / 2
        paper.path(f"M{middle - 7:g} {y - 9:g}l14 18m0-18l-14 18", "cross")
