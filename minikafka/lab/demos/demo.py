"""What a demo is made of: a question to vote on, one or more scenes, and what the class must have seen in the end.

    def story(stage):
        cluster = stage.cluster(seed=1)
        ...
        stage.moment("ask", "Ten records a second. I kill the leader.")       # the snapshot that `r` returns to
        ...
        stage.moment("freeze", "Nothing moves.")                               # the page stops here by itself
        stage.fact("read", read_all(cluster, "positions"))                     # for must_see

    def must_see(run, facts):                                                  # run: RecordedRun, facts: Facts
        yield MustSee(facts.leaders("positions-0")[-1].leader == 2, "the crown moved to broker 2")

    DEMO = Demo(..., scenes=(Scene("kill the leader", story, must_see),))

Owns: the values above and the stage, which records one scene.
Invariants
  I-STAGE-3  the moments of a scene have different names and stand in the order of time; "ask" is the first
  the cluster of a scene is closed when its story ends, however it ends
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Event = dict[str, Any]
ASK = "ask"


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer to vote for; `why` is what the speaker says about it. Exactly one of a demo's answers is right. `scene`: the
    scene that shows this answer, from 0; the page goes there if it gets most hands."""

    text: str
    why: str
    right: bool = False
    scene: int | None = None


@dataclass(frozen=True, slots=True)
class MustSee:
    """One line of the "must see" column: a sentence with the numbers, and whether it held."""

    held: bool
    text: str


@dataclass(frozen=True, slots=True)
class Moment:
    """A named moment of a recording. `t`: seconds since its first event. At `stop` the page freezes."""

    name: str
    t: float
    caption: str
    stop: bool


@dataclass(frozen=True, slots=True)
class Scene:
    """A story and what must be seen in it; most demos have one, a comparison has two or three."""

    title: str
    story: Callable[[Stage], None]
    must_see: Callable[[Any, Any], Iterable[MustSee]]
    pace: float = 1            # how many times faster than it was the page runs it, at first
    run: Callable[..., Any] | None = None   # makes the run of the events; None: RecordedRun
    beside: tuple[str, Callable[[Stage], None]] | None = None   # title and story of a second cluster, shown beside the first


@dataclass(frozen=True, slots=True)
class Demo:
    """One demo: `purpose` is the sentence to remember, `question` what the class votes on, `notes` what the speaker reads,
    `exercise` where students do it themselves, `seeds` what it teaches, `counters` what is counted below the lanes."""

    name: str
    title: str
    purpose: str
    exercise: tuple[str, str]                  # its number, such as "8.6", and what one does there
    question: str
    answers: tuple[Choice, ...]
    notes: tuple[str, ...]
    scenes: tuple[Scene, ...]
    seeds: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()             # what stands below the lanes: names that board.entries_of knows

    def __post_init__(self) -> None:
        if sum(answer.right for answer in self.answers) != 1 or len(self.answers) < 3:
            raise ValueError(f"{self.name}: one right answer and at least two wrong ones, the most common")


@dataclass
class Stage:
    """The place where a scene is played: its one cluster, its moments, its facts."""

    moments: list[Moment] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    engine: str = "sim"
    _cluster: Any = None
    _tape: list[Event] | None = None

    def replay(self, events: list[Event], engine: str) -> None:
        """Play a recorded run of real processes; its moments are its own events of the kind `moment`."""
        self._tape, self.engine = events, engine

    def cluster(self, seed: int = 1, **settings: Any) -> Any:
        """Start and return the simulated cluster of this scene (preset "class" unless `settings` say otherwise)."""
        from minikafka import Cluster
        if self._cluster is not None:
            raise RuntimeError("a scene has one cluster: make another scene")
        self._cluster = Cluster(**{"engine": "sim", "seed": seed, "preset": "class", **settings})
        return self._cluster

    @contextlib.contextmanager
    def borrow(self, room: Any) -> Iterator[Any]:
        """Play in a lab's room, which has made its own simulated cluster; the room is closed when the story ends."""
        if self._cluster is not None:
            raise RuntimeError("a scene has one cluster: make another scene")
        self._cluster = room.cluster
        yield room

    def moment(self, name: str, caption: str, stop: bool = True) -> None:
        """Name this moment; `caption` is what the class reads then, until the next."""
        if any(known.name == name for known in self.moments):
            raise ValueError(f"there is a moment {name!r} already")
        if not self.moments and name != ASK:
            raise ValueError('the first moment is "ask": the snapshot to return to')
        if self._tape is None:
            self._cluster.world.tell("moment", name=name)  # so that the recording lasts until here
        (told,) = (event for event in self.events if event["k"] == "moment" and event["name"] == name)
        self.moments.append(Moment(name, told["t"] - self.events[0]["t"], caption, stop))

    def fact(self, name: str, value: Any) -> None:
        """Keep what a client was told or has read, for must_see."""
        self.facts[name] = value

    @property
    def events(self) -> list[Event]:
        found: list[Event] = self._cluster.world.events if self._tape is None else self._tape
        return found

    def play(self, story: Callable[[Stage], None]) -> list[Event]:
        """Run the story to its end; returns the trace."""
        try:
            story(self)
            if not self.moments:
                raise RuntimeError("no moment was named")
            trace: list[Event] = self._cluster.trace.events() if self._tape is None else self._tape
            return trace
        finally:
            if self._cluster is not None:
                self._cluster.close()
