"""The job that draws: at most ten frames a second, and only where there is something new to see.

It goes on while a run grows before a page that looks at it, or while the viewer moves in time. `wish` wakes it.

Owns: the job, the cursor, and the order in which wishes are granted.
Invariants
  Between two frames at least as much time passes as the last one took to draw, so a kernel with work is not
    slowed to less than half
  I-PAINTER-3  an error in drawing is said in one line; the job goes on
"""
from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from minikafka.lab.background import Background
from minikafka.lab.view.cursor import LIVE, PLAY, Cursor, moved, passed
from minikafka.lab.view.film import Film
from minikafka.lab.view.orders import first_line

FRAME_SECONDS = 0.1
OUT_OF_SIGHT = 1.0    # seconds between frames that nobody sees: scrolled away, or another tab
TICK = 1.0            # seconds between frames of a cluster that rests, or while one looks back
AFTERGLOW = 1.5       # rates are of the last second: they fall to nothing after the last event
LINGER = 3.0          # seconds that it waits for the next wish of a run that has ended
PAGE_GONE = 30.0      # seconds of frames without an answer: nobody is there

Show = Callable[[Any, Cursor, int], None]  # frame, cursor, number of the last wish granted


class Painter:
    """Draws a film for one page."""

    def __init__(self, film: Film, show: Show, say: Callable[[str, str], None], going_on: Callable[[], bool],
                 tp: str | None = None) -> None:
        self._film, self._show, self._say, self._going_on = film, show, say, going_on
        self.cursor = Cursor(tp=tp)
        self.seen = True
        self._wishes: deque[dict[str, Any]] = deque()
        self._job = Background("view-painter", self._step)
        self._last_step: float | None = None   # None: it has come to an end since
        self._last_wish = self._due = 0.0      # when the page last asked for something; when the next frame is due without that
        self._unanswered: float | None = None  # when the first frame was shown that the page has not answered
        self._granted = 0
        self._drawn = 0.0
        self._glow_until = 0.0
        self._running_clock = False

    @property
    def running(self) -> bool:
        return self._job.running

    def wish(self, **wish: Any) -> None:
        """Ask for another moment; the next step grants it."""
        self._wishes.append(wish)
        self._unanswered = None
        self._job.wake()

    def heard(self) -> None:
        """Take note that the page has shown a frame; a painter that had stopped for lack of an answer goes on."""
        self._unanswered = None
        if not self.running and self._going_on():
            self.wish(do="look")

    def stop(self) -> None:
        """Draw no more; returns when no frame is being drawn."""
        self._job.stop()

    # --- a step of the job --------------------------------------------------------------------------------------

    def _step(self) -> float | None:
        """Carry out requests of the page and draw; return the seconds until the next frame, None when no page needs it.

        A request is carried out early, but frames keep their distance.
        """
        now = time.monotonic()
        due = min(self._due, self._drawn + FRAME_SECONDS) if self._wishes else self._due
        if now < due:
            return due - now
        wishes = [self._wishes.popleft() for _ in range(len(self._wishes))]
        self._last_wish = now if wishes else self._last_wish
        try:
            self._draw(wishes, now - (self._last_step or now))
        except Exception as error:  # I-PAINTER-3
            self._say("bad", first_line(error))
        after = time.monotonic()
        idle = not self._wishes and self._idle(after - self._last_wish)
        self._last_step = None if idle else now
        # a kernel with work is not slowed down
        self._due = 0.0 if idle else now + max(FRAME_SECONDS if self.seen else OUT_OF_SIGHT, 2 * (after - now))
        return None if idle else max(0.0, self._due - after)

    def _draw(self, wishes: list[dict[str, Any]], seconds: float) -> None:
        grew = self._film.refresh()
        now = time.monotonic()
        if grew:
            self._glow_until = now + AFTERGLOW
        cursor = passed(self.cursor, seconds, self._film.run)
        for wish in wishes:
            with self._film.lock:
                cursor = moved(cursor, wish, self._film.run)
            self._granted = wish.get("n", self._granted)
        moves = wishes or cursor != self.cursor or cursor.mode == PLAY
        alive = cursor.mode == LIVE and (grew or self._running_clock or now < self._glow_until)
        tick = self._going_on() and now > self._drawn + TICK  # the clock goes on, and the end of the time line
        self.cursor = cursor
        if moves or alive or tick:
            self._running_clock = self._paint(cursor)

    def _paint(self, cursor: Cursor) -> bool:
        """Show the frame at the cursor; true if something on it runs by itself."""
        frame = self._film.frame(cursor.t, cursor.tp)
        self._show(frame, cursor, self._granted)
        self._drawn = time.monotonic()
        self._unanswered = self._unanswered or self._drawn
        return clock_runs(frame)

    def _idle(self, since_wish: float) -> bool:
        """Return whether the job may end: the run has ended or the page is gone, and nothing moves."""
        gone = self._unanswered is not None and time.monotonic() - self._unanswered > PAGE_GONE
        return gone or not self._going_on() and self.cursor.mode != PLAY and since_wish > LINGER


def clock_runs(frame: Any) -> bool:
    """Return whether a stopwatch of this frame runs, so that the next moment looks different without any event."""
    if not frame.live:
        return False
    watched = frame.chosen is not None and any((lane.behind_for or 0) > 0 for lane in frame.chosen.lanes)
    return watched or any(p.oldest_wait is not None for p in frame.producers)
