"""What goes on beside the cells: a job takes a step, returns when the next one is due, and can be woken before that.

    job = Background("view-painter", step)      # step() returns the seconds until the next one; None: nothing more to do
    job.wake()                                  # the next step is due now;  job.wake(120.0): in two minutes
    job.stop()                                  # no step any more

Where there are threads, a job has one as long as a step is due. A browser's page has none. There the steps are taken in turns of
the page's event loop and, while a cell drives a simulated world, between two steps of that world (`pulse`).

Owns: when each step is due; whether a cell runs, where there are no threads.
Invariants
  I-BESIDE-1  two steps of a job never overlap, also where the first one drives a world
  I-BESIDE-2  a job that is woken during a step takes one more, whatever that step returns
  I-BESIDE-3  no step is taken in a turn of the loop that a cell gives while it drives a world, but right after it: a step that
              drives the world ends before the cell goes on. None is taken while a guest's thread runs: with JSPI the loop has a
              turn between the switch to that thread and its first line, and the step would drive the world from inside it
              (tests/lab/view/test_background.py tries this with threads of a world, in no browser)
  I-BESIDE-4  no cell begins during a step, also where that step drives a world and gives turns to the loop
  I-BESIDE-5  a turn that a cell gives lasts LONG seconds, so that it takes in what the page has sent. What comes in it is done
              right after it. A job that may not take its step in a turn asks again after TURN seconds, and not over and over
"""
from __future__ import annotations

import asyncio
import sys
import threading
import time
from asyncio import events
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minikafka.sim.guest.threads import Threads

IN_THE_PAGE = sys.platform == "emscripten"  # a browser's page has this Python inside
PULSE = 32  # steps of a world between two looks at what is due
TURN = 0.05  # seconds between two turns of the page's event loop while a cell drives a world
LONG = 0.004  # seconds of such a turn; for less than 3 ms Pyodide waits by messages to itself, which come before the page's
LOOP: asyncio.AbstractEventLoop | None = None  # where there are no threads: the event loop in whose turns the steps are taken
planned: dict[Background, asyncio.TimerHandle] = {}
in_a_step: set[Background] = set()
in_a_cell = False
_world_steps, _last_turn, _cell_is_aside = 0, 0.0, False
_guests: type[Threads]


class Background:
    """One thing that goes on beside the cells."""

    def __init__(self, name: str, step: Callable[[], float | None]) -> None:
        self.name, self._step = name, step
        self._changed = threading.Condition()
        self._due: float | None = None
        self._stopped = False
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Return whether a step is under way or due."""
        return self in in_a_step or self._due is not None

    def wake(self, after: float = 0.0) -> None:
        """Let the next step be due `after` seconds from now, whatever was planned; a stopped job takes none."""
        with self._changed:
            if self._stopped:
                return
            self._due = time.monotonic() + after
            if LOOP is not None:
                self._plan(LOOP)
            elif self._thread is None:
                self._thread = threading.Thread(target=self._live, name=self.name, daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def stop(self, patience: float = 10.0) -> None:
        """Take no step any more; returns when none is under way, or after `patience` seconds."""
        with self._changed:
            self._stopped, self._due, thread = True, None, self._thread
            self._changed.notify_all()
        self._forget_plan()
        if thread is not None and thread is not threading.current_thread():
            thread.join(patience)

    def _take(self) -> None:
        self._due, pause = None, None
        in_a_step.add(self)
        try:
            pause = self._step()
        finally:
            with self._changed:
                in_a_step.discard(self)
                if pause is not None and self._due is None and not self._stopped:  # I-BESIDE-2
                    self._due = time.monotonic() + pause

    # --- with a thread --------------------------------------------------------------------------------------------------

    def _live(self) -> None:
        while self._is_due():
            self._take()

    def _is_due(self) -> bool:
        """Wait for the next step; false if there is none."""
        with self._changed:
            while self._due is not None and (left := self._due - time.monotonic()) > 0:
                self._changed.wait(left)
            if self._due is None:
                self._thread = None
            return self._due is not None

    # --- without threads ------------------------------------------------------------------------------------------------

    def _plan(self, loop: asyncio.AbstractEventLoop, least: float = 0.0) -> None:
        self._forget_plan()
        assert self._due is not None
        planned[self] = loop.call_later(max(least, self._due - time.monotonic()), self._turn, loop)

    def _forget_plan(self) -> None:
        if (timer := planned.pop(self, None)) is not None:
            timer.cancel()

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        if self in in_a_step:  # I-BESIDE-1
            return
        if _cell_is_aside or _guests.running:  # I-BESIDE-3
            return self._plan(loop, TURN)
        self._forget_plan()
        if self._due is not None:
            self._take()
        if self._due is not None:
            self._plan(loop)


def pulse() -> None:
    """Take the steps that are due; every simulated world calls this after each of its own, where there are no threads."""
    global _world_steps, _last_turn, _cell_is_aside
    _world_steps += 1
    if _world_steps % PULSE or LOOP is None:
        return
    world = events._get_running_loop()
    events._set_running_loop(LOOP)  # what follows is done as in a turn of the page's loop
    try:
        if time.monotonic() > _last_turn + TURN:
            _cell_is_aside = True
            try:
                _give_a_turn()
            finally:
                _last_turn, _cell_is_aside = time.monotonic(), False
        for job in [job for job in planned if job._due is not None and job._due <= time.monotonic()]:
            job._turn(LOOP)
    finally:
        events._set_running_loop(world)


def cell_begins(*_: object) -> None:
    """Return when a cell may begin (I-BESIDE-4)."""
    global in_a_cell
    while in_a_step:
        _give_a_turn()
    in_a_cell = True


def cell_ends(*_: object) -> None:
    global in_a_cell
    in_a_cell = False


def within(seconds: float, name: str, act: Callable[[], None]) -> None:
    """Do something; return when it is done, or after `seconds` while it goes on. Without threads: when it is done."""
    if LOOP is not None:
        return act()
    thread = threading.Thread(target=act, name=name, daemon=True)
    thread.start()
    return thread.join(seconds)


def without_threads(loop: asyncio.AbstractEventLoop | None, give_a_turn: Callable[[], None] = lambda: None) -> None:
    """Take the steps from now on in turns of this loop and in pulses of each world that is made; None: with threads again.

    `give_a_turn` lets the loop take in what the page has sent while a cell runs.
    """
    global LOOP, _give_a_turn, _guests
    from minikafka.sim.guest.threads import Threads as _guests
    from minikafka.sim.world.loop import Timeline
    LOOP, _give_a_turn, Timeline.beside = loop, give_a_turn, [] if loop is None else [pulse]


if IN_THE_PAGE:
    from pyodide.ffi import can_run_sync, run_sync
    without_threads(asyncio.get_event_loop(), lambda: run_sync(asyncio.sleep(LONG)) if can_run_sync() else None)
