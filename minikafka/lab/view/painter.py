"""The thread that draws: at most ten frames a second, and only where there is something new to see.

It lives while a run grows before a page that looks at it, or while the viewer moves in time; otherwise there is no thread
at all. `wish` wakes it, or starts it again.

Owns: the thread, the cursor, and the order in which wishes are granted.
Invariants
  one painter has at most one thread
  Between two frames at least as much time passes as the last one took to draw, so a kernel with work is not
    slowed to less than half
  I-PAINTER-3  an error in drawing is said in one line; the thread goes on
"""
from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from minikafka.lab.view.cursor import LIVE, PLAY, Cursor, moved, passed
from minikafka.lab.view.film import Film
from minikafka.lab.view.orders import first_line

FRAME_SECONDS = 0.1
OUT_OF_SIGHT = 1.0    # seconds between frames that nobody sees: scrolled away, or another tab
TICK = 1.0            # seconds between frames of a cluster that rests, or while one looks back
AFTERGLOW = 1.5       # rates are of the last second: they fall to nothing after the last event
LINGER = 3.0          # seconds that a thread waits for the next wish of a run that has ended
PAGE_GONE = 30.0      # seconds of frames without an answer: nobody is there

Show = Callable[[Any, Cursor, int], None]  # frame, cursor, number of the last wish granted


class Painter:
    """Draws a film for one page."""

    def __init__(self, film: Film, show: Show, say: Callable[[str, str], None], going_on: Callable[[], bool],
                 tp: str | None = None) -> None:
        self._film, self._show, self._say, self._going_on = film, show, say, going_on
        self.cursor = Cursor(tp=tp)
        self.seen = True
        self._wishes: list[dict[str, Any]] = []
        self._waiting = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._unanswered: float | None = None  # when the first frame was shown that the page has not answered
        self._granted = 0
        self._drawn = 0.0
        self._glow_until = 0.0
        self._running_clock = False

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def wish(self, **wish: Any) -> None:
        """Ask for another moment; the thread grants it."""
        with self._waiting:
            if self._stopped:
                return
            self._wishes.append(wish)
            self._unanswered = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._live, name="view-painter", daemon=True)
                self._thread.start()
            self._waiting.notify_all()

    def heard(self) -> None:
        """Take note that the page has shown a frame; a painter that had stopped for lack of an answer goes on."""
        self._unanswered = None
        if not self.running and self._going_on():
            self.wish(do="look")

    def stop(self) -> None:
        """End the thread; returns when it has ended."""
        with self._waiting:
            self._stopped = True
            self._waiting.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(10.0)

    # --- the thread ---------------------------------------------------------------------------------------------

    def _live(self) -> None:
        """Carry out requests of the page and draw, until no page needs it."""
        last_wish = before = time.monotonic()
        due = before
        while True:
            wishes = self._wait_until(due)
            now = time.monotonic()
            last_wish = now if wishes else last_wish
            began = now
            try:
                self._draw(wishes, now - before)
            except Exception as error:  # I-PAINTER-3
                self._say("bad", first_line(error))
            before, took = now, time.monotonic() - began
            due = now + max(FRAME_SECONDS if self.seen else OUT_OF_SIGHT, 2 * took)  # a kernel with work is not slowed down
            with self._waiting:
                if self._stopped or not self._wishes and self._idle(time.monotonic() - last_wish):
                    self._thread = None
                    return

    def _wait_until(self, due: float) -> list[dict[str, Any]]:
        """Return the requests that came until then; a request is carried out early, but frames keep their distance."""
        soonest = min(due, self._drawn + FRAME_SECONDS)
        with self._waiting:
            self._waiting.wait_for(lambda: self._stopped or self._wishes, max(0.0, due - time.monotonic()))
            self._waiting.wait_for(lambda: self._stopped, max(0.0, soonest - time.monotonic()))
            wishes, self._wishes = self._wishes, []
            return wishes

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
        """Return whether the thread may end: the run has ended or the page is gone, and nothing moves."""
        gone = self._unanswered is not None and time.monotonic() - self._unanswered > PAGE_GONE
        return gone or not self._going_on() and self.cursor.mode != PLAY and since_wish > LINGER


def clock_runs(frame: Any) -> bool:
    """Return whether a stopwatch of this frame runs, so that the next moment looks different without any event."""
    if not frame.live:
        return False
    watched = frame.chosen is not None and any((lane.behind_for or 0) > 0 for lane in frame.chosen.lanes)
    return watched or any(p.oldest_wait is not None for p in frame.producers)
