"""A run: the events of a cluster from its first to its last, and the picture of any moment in between.

    run = RecordedRun.of(cluster); run.refresh(); frame = run.at(None, "flights-0")
    run.save("run.mk"); RecordedRun.open("run.mk").at(31.4)

Checkpoints of the state every few hundred events make any moment cheap; what a live trace adds is folded on, and an event
that arrives late is put in its place, which costs folding from the checkpoint before it.

Owns: the events in their order, the checkpoints, the marks.
Invariants
  I-RUN-1  `at(t)` is a function of the events up to t: however one came there, by steps, backwards or at once
  I-RUN-2  the live trace is only read; a dead broker or a closed cluster leaves the run as it was
"""
from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from minikafka.cluster.trace import Trace, order
from minikafka.lab.picture.compose import compose
from minikafka.lab.picture.facts import recording
from minikafka.lab.picture.facts.fold import fold
from minikafka.lab.picture.facts.marks import Marker
from minikafka.lab.picture.facts.state import RunState
from minikafka.lab.picture.frame import Frame, Mark, MomentKind
from minikafka.lab.picture.scene import PictureScene, names

Event = dict[str, Any]
EVERY = 300                            # events between two checkpoints


class RecordedRun:
    """Events and the moments between them; times in seconds since the first event. Threads may share it."""

    def __init__(self, events: Iterable[Event], live: bool = False, engine: str = "", seed: Any = None,
                 title: str = "") -> None:
        self.events: list[Event] = []
        self.live, self.engine, self.seed, self.title = live, engine, seed, title
        self._times: list[float] = []
        self._checkpoints = [(RunState(), Marker())]      # as they were before event number i * EVERY
        self._state = RunState()                          # after all events
        self._marker = Marker()
        self._marks: list[Mark] | None = None          # as they were asked for last
        self._asked: tuple[int, RunState] = (0, RunState())  # the state that was composed last: stepping on is cheap
        self._source: Callable[[], list[Event]] = list
        self._now: Callable[[], float | None] = lambda: None
        self._closed: Callable[[], bool] = lambda: True
        self._lock = threading.RLock()
        self.add(events)

    @classmethod
    def of(cls, cluster: Any) -> RecordedRun:
        """Follow the trace of a cluster, live or simulated."""
        run = cls([], live=True, engine=cluster.engine, seed=getattr(cluster, "seed", None))
        trace = cluster.trace

        def source() -> list[Event]:
            _ = cluster.trace                          # what the cluster itself said is written out
            return trace.new()

        run._source = source
        world = getattr(cluster, "world", None)
        run._now = (lambda: world.now()) if world is not None else time.monotonic
        run._closed = lambda: bool(getattr(cluster, "_closed", False))
        run.refresh()
        return run

    @classmethod
    def open(cls, path: str | Path) -> RecordedRun:
        """Return a run that `save` wrote, or the trace of a cluster that ended (its folder, or a file of `Trace.save`)."""
        if Path(path).is_dir() or Path(path).suffix == ".trace":
            return cls(Trace.open(path).events(), title=Path(path).name)
        return cls.unpacked(Path(path).read_bytes(), path)

    @classmethod
    def unpacked(cls, packed: bytes, name: str | Path = "this") -> RecordedRun:
        """Return the run of which `packed` gave the bytes. Raises ValueError for other bytes."""
        head, events = recording.unpack(packed, name)
        return cls(events, engine=head.get("engine", ""), seed=head.get("seed"), title=head.get("title", ""))

    def packed(self) -> bytes:
        """Return the run as a few bytes."""
        with self._lock:
            return recording.pack({"engine": self.engine, "seed": self.seed, "title": self.title}, self.events)

    def save(self, path: str | Path) -> Path:
        """Write the run to one small file that `open` reads without a cluster; return its path."""
        Path(path).write_bytes(self.packed())
        return Path(path)

    # --- events ---------------------------------------------------------------------------------------------------

    def refresh(self) -> int:
        """Add the events that the trace has got since the last call; return how many they were."""
        with self._lock:
            new = self._source()
            self.add(new)
            if self.live and self._closed():
                self.live = False
            return len(new)

    def add(self, events: Iterable[Event]) -> None:
        """Add events, each at its place in the order of time."""
        with self._lock:
            new = sorted(events, key=order)
            if new and self.events and order(new[0]) < order(self.events[-1]):
                new = self._back_to_before(new)
            self._marks = None if new else self._marks
            for event in new:
                if len(self.events) % EVERY == 0 and self.events:
                    self._checkpoints.append((self._state.copy(), self._marker.copy()))
                fold(self._state, event)
                self._marker.look(len(self.events), event, self._state)
                self.events.append(event)
                self._times.append(event["t"])

    def _back_to_before(self, new: list[Event]) -> list[Event]:
        """Undo the events that come after the first new one, to be folded again together with it."""
        at = bisect_left(self.events, order(new[0]), key=order)
        last = at // EVERY
        self._checkpoints = self._checkpoints[: last + 1]
        again = self.events[last * EVERY :]
        del self.events[last * EVERY :], self._times[last * EVERY :]
        state, marker = self._checkpoints[-1]
        self._state, self._marker = state.copy(), marker.copy()
        if last:
            self._checkpoints.pop()                    # `add` makes it again
        self._asked = (0, RunState())
        return sorted([*again, *new], key=order)

    def events_between(self, a: float, b: float) -> list[Event]:
        """Return the events with a < t <= b, as the trace wrote them."""
        with self._lock:
            zero = self._zero
            return self.events[bisect_right(self._times, zero + a) : bisect_right(self._times, zero + b)]

    # --- time -----------------------------------------------------------------------------------------------------

    @property
    def _zero(self) -> float:
        return self._times[0] if self._times else 0.0

    @property
    def begin(self) -> float:
        return 0.0

    @property
    def end(self) -> float:
        """Return the present time while the cluster lives, else the time of the last event; in seconds since the run began."""
        last = self._times[-1] - self._zero if self._times else 0.0
        now = self._now() if self.live and self._times else None
        return last if now is None else max(last, now - self._zero)

    def step(self, t: float, direction: int) -> float:
        """Return the time of the next event (+1) or of the one before (-1); t itself at either end."""
        with self._lock:
            zero = self._zero
            if direction > 0:
                at = bisect_right(self._times, zero + t + 1e-9)
                return self._times[at] - zero if at < len(self._times) else t
            at = bisect_left(self._times, zero + t - 1e-9) - 1
            return self._times[at] - zero if at >= 0 else t

    @property
    def marks(self) -> list[Mark]:
        """Return the moments worth a jump, in order."""
        with self._lock:
            return list(self._all_marks())

    def next_mark(self, t: float, direction: int, *kinds: MomentKind) -> Mark | None:
        """Return the next mark after `t` (+1), or the last before it (-1), of these kinds if any are given; None if
        there is none."""
        marks = [mark for mark in self.marks if not kinds or mark.kind in kinds]
        if direction > 0:
            return next((mark for mark in marks if mark.t > t + 1e-9), None)
        return next((mark for mark in reversed(marks) if mark.t < t - 1e-9), None)

    def _all_marks(self) -> list[Mark]:
        if self._marks is None:
            self._marks = self._marker.marks(self._zero)
        return self._marks

    # --- the picture ----------------------------------------------------------------------------------------------

    @property
    def partitions(self) -> list[str]:
        """Return every partition by name: users' topics first."""
        with self._lock:
            return names(self._state)

    def at(self, t: float | None = None, tp: str | None = None) -> Frame:
        """Return the picture at `t` (None: now, or the end), with one partition in full (None: the first)."""
        with self._lock:
            end, zero = self.end, self._zero
            moment = end if t is None else max(self.begin, min(t, end))
            number = bisect_right(self._times, zero + moment + 1e-9)
            state = self._state_after(number)
            recent = self.events[bisect_right(self._times, zero + moment - 1) : number]
            chosen = tp if tp is not None else next(iter(names(state)), None)
            scene = PictureScene(state, zero + moment, zero, chosen, recent)
            return compose(scene, self.begin, end, self.live, self.engine, tuple(self._all_marks()))

    def _state_after(self, number: int) -> RunState:
        """Return the state after the first `number` events; it must only be read."""
        if number == len(self.events):
            return self._state
        done, state = self._asked
        nearest = number // EVERY
        if not nearest * EVERY <= done <= number:
            done, state = nearest * EVERY, self._checkpoints[nearest][0].copy()
        for event in self.events[done:number]:
            fold(state, event)
        self._asked = (number, state)
        return state
