"""A view: the picture of a cluster or of a run in a notebook, live, and with the whole run to go back to.

    view = cluster.view()          # shows itself; later cells break things and look at it
    view.at(31.4).sentence         # a frame of any moment;  view.frame is the one shown
    view.snapshot()                # its moment, for this cell: a still picture, or its sentence where the picture is beside it
    view.stop()                    # the picture stands still, and stays in the saved notebook

What it owns: the widget, the jobs that draw and carry out orders, and the places where it is shown.

Invariants
  I-VIEW-1  what a view leaves in the file of a notebook is a still picture: no widget's state, nothing to run. A stopped
            view leaves it by itself; for a live one the page puts its last picture into what it saves (view.js)
  I-VIEW-2  no broker is asked for the picture: it comes from the trace, so the dead cannot blank it
  I-VIEW-3  only orders of the control bar reach the cluster
"""
from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

from minikafka.lab.background import IN_THE_PAGE, Background
from minikafka.lab.picture.draw.group import picture as picture_of_groups
from minikafka.lab.picture.draw.head import LOOKS
from minikafka.lab.picture.draw.tasks import picture as picture_of_tasks
from minikafka.lab.picture.draw.theme import LIGHT, STILL_WIDTH, WIDTHS
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.picture.frame import Frame
from minikafka.lab.picture.sentences.words import clock
from minikafka.lab.picture.signs import LEGEND, look
from minikafka.lab.prediction import open_question
from minikafka.lab.verdict import panel
from minikafka.lab.view import front, registry
from minikafka.lab.view.cursor import SPEEDS, Cursor
from minikafka.lab.view.film import Film
from minikafka.lab.view.orders import Orders, first_line
from minikafka.lab.view.painter import Painter

REST = 120.0  # seconds without a touch after which the view of an ended cluster is a still picture (as often JupyterLab saves)
Place = tuple[float | None, float | None]  # pixels wide, and high if the picture stands beside the text; None: unknown
FAULTS_OF_OURS = ("minikafka", "sim")  # engines whose links and followers can be broken


class View:
    """A picture in a notebook that moves with its run; made by `cluster.view()` and `show(run)`."""

    _told: Place = (None, None)  # as a page told last: the next view's place is likely to be like it

    def __init__(self, run: RecordedRun, cluster: Any = None, tp: str | None = None, *, theme: str = "auto",
                 controls: bool = True, size: str = "page", beside: bool = True, signs: int | None = None) -> None:
        self.run, self.cluster = run, cluster
        self.cell, self.execution = front.cell(), front.count()
        self._lab = front.lab() if signs is None else signs
        self._asks = signs is None and self._lab is not None    # the lab has guesses, and this may be the run that answers one
        self._film = Film(run, theme, size, self._seen)
        self._painter = Painter(self._film, self._show_frame, self._say, self._going_on, tp)
        self._orders = Orders(cluster, self._say, lambda: self._painter.wish(do="look"))
        self._shown: list[str] = []        # display ids
        self._shown_in: int | None = None  # the execution that displayed last
        self._sights: dict[str, tuple[bool, Place]] = {}  # by place in the page: can be seen, and how large it is
        self._stopped = False
        self._lines = 0
        self._fixed = {"controls": controls, "size": size, "theme": theme, "speeds": list(SPEEDS),
                       "beside": beside and size == "page",
                       "engine": getattr(cluster, "engine", None), "ids": list(cluster.ids) if cluster else [],
                       "faults": getattr(cluster, "engine", None) in FAULTS_OF_OURS, "legend": LEGEND}
        self._widget: Any = None
        self._rest: Background | None = None

    @property
    def places(self) -> int:
        """Return at how many places of pages the view stands, in sight or not; 0 also before a page has answered."""
        return len(self._sights)

    # --- what a cell uses ---------------------------------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        """Return the frame where the viewer stands: now, unless the viewer moved the slider."""
        return self.at(self._painter.cursor.t)

    def at(self, t: float | None = None) -> Frame:
        """Return the frame at `t` seconds of the run; None: now."""
        self._film.refresh()
        return self._film.frame(t, self._painter.cursor.tp)

    def svg(self, t: float | None = None) -> str:
        """Return the picture at `t` as a string of SVG; None: now."""
        return self._film.svg(self.at(t))

    def snapshot(self, t: float | None = None) -> Snapshot:
        """Return the moment `t` (None: now, wherever the viewer looks), for this cell to display: as a still picture, or, where
        the view stands beside the text, as its sentence, and the view moves to that moment."""
        return Snapshot(self, t, self.at(t))

    def charts(self, tp: str | None = None) -> Any:
        """Return rates, latency, lag, high watermark and log end over the whole run, as a plotly figure with a still
        picture of it."""
        from minikafka.lab.picture.draw.charts import charts
        self._film.refresh()
        return charts(self.run, tp or self._painter.cursor.tp)

    def groups(self, *names: str) -> front.Still:
        """Return the consumer groups at one glance where the viewer stands (partitions down, members across), for this cell to
        display. `names`: only these groups."""
        return front.Still(*picture_of_groups(self.frame, names))

    def spark(self, *names: str) -> front.Still:
        """Return what watched Spark queries read (partitions down, micro-batches across) where the viewer stands, for this cell
        to display. `names`: only these queries."""
        return front.Still(*picture_of_tasks(self.frame, names))

    def save(self, path: str | Path) -> Path:
        """Write the run into one small file; `RecordedRun.open(path)` opens it without a cluster."""
        return self._film.save(path)

    def go(self, t: float | None) -> None:
        """Move the picture to `t` seconds (None: follow the run again)."""
        self._painter.wish(**({"do": "live"} if t is None else {"do": "go", "t": t}))

    def show(self) -> None:
        """Show the view below the running cell; a stopped one starts again, to look back."""
        place = front.kind()
        if place == front.NOWHERE:
            return
        if self._stopped:
            self._stopped, self._painter = False, Painter(
                self._film, self._show_frame, self._say, self._going_on, self._painter.cursor.tp)
        registry.enter(self)
        self._film.refresh()
        first = self._film.frame(self._painter.cursor.t, self._painter.cursor.tp)
        bundle = front.still(*self._still(first))
        if place == front.PAGE:
            self._make_widget()
            self._show_frame(first, self._painter.cursor, 0)
            bundle[front.WIDGET] = {"version_major": 2, "version_minor": 0, "model_id": self._widget.model_id}
        self._shown.append(front.show(bundle))
        self._shown_in = front.count()
        if place == front.PAGE:
            self._painter.wish(do="look")
            if not self._going_on():
                self._rest_later()

    @property
    def is_beside(self) -> bool:
        """Return whether the view stands beside the text of a page, in sight."""
        return any(seen and high is not None for seen, (_, high) in tuple(self._sights.values()))

    def stop(self) -> None:
        """Let the picture stand still: no job, no widget, and a still picture of the last frame where it was shown."""
        if self._stopped:
            return
        self._stopped = True
        if self._rest is not None:
            self._rest.stop()
            self._rest = None
        self._painter.stop()
        self._leave_still()
        registry.leave(self)
        if self._widget is not None:
            self._widget.close()
            self._widget = None
        self._shown = []

    def cluster_closed(self) -> None:
        """Take note that the cluster has ended. In a page the run can still be looked at; elsewhere its last frame stays."""
        self._film.refresh()
        if self._widget is None:
            self.stop()
        else:
            self._painter.wish(do="look")
            self._rest_later()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _ipython_display_(self) -> None:
        if self._stopped or self._shown_in is None or self._shown_in != front.count():
            self.show()  # and not again, if this very cell has just made it

    def __repr__(self) -> str:
        state = "stopped" if self._stopped else self._painter.cursor.mode
        return f"<View of {self.run.begin:.1f} to {self.run.end:.1f} s, {state}>"

    # --- towards the page ---------------------------------------------------------------------------------------

    def _make_widget(self) -> None:
        if self._widget is None:
            from minikafka.lab.view.widget import Picture, listen
            name = uuid.uuid4().hex
            self._widget = Picture(model_id=name, fixed={**self._fixed, "id": name, "channel": IN_THE_PAGE})
            listen(self._widget, self._from_page)

    def _show_frame(self, frame: Frame, cursor: Cursor, granted: int) -> None:
        widget = self._widget
        if widget is None:
            return
        svg = self._film.svg(frame, *self._place())
        state, marks = self._state(frame, cursor, granted), _marks(self.run.marks)
        with widget.hold_sync():
            if len(marks) != len(widget.marks):
                widget.marks = marks
            if svg != widget.svg:
                widget.svg = svg
            widget.state = state  # last: what it says of a wish that was granted can be seen by then

    def _place(self) -> Place:
        """Return how large the place of the picture is: the narrowest of those that can be seen, if there are several."""
        places = self._sights.values()
        return min([place for seen, place in places if seen] or [place for _, place in places], default=View._told,
                   key=lambda place: place[0] or 0)

    def _state(self, frame: Frame, cursor: Cursor, granted: int) -> dict[str, Any]:
        """Return what the controls need to know."""
        now = frame if cursor.t is None else self._film.frame(None, cursor.tp)
        return {"t": frame.t, "begin": frame.begin, "end": now.end, "mode": cursor.mode, "speed": cursor.speed,
                "tp": f"{frame.chosen.topic}-{frame.chosen.index}" if frame.chosen else None,
                "partitions": list(self.run.partitions), "open": self._going_on(), "busy": self._orders.busy,
                "brokers": [[b.id, b.process] for b in now.brokers], "controllers": _controllers(now), "members": self._members(),
                "sentence": frame.sentence.text, "granted": granted}

    def _members(self) -> list[list[str]]:
        """Return (name, state) of the members of groups that this notebook started and that have not left."""
        return [[name, member.state] for name, member in getattr(self.cluster, "members", {}).items() if member.state != "left"]

    def _say(self, level: str, text: str) -> None:
        if self._widget is not None:
            self._lines += 1
            self._widget.said = {"level": level, "text": text, "n": self._lines}

    def _seen(self, frame: Frame) -> Frame:
        """Return the frame with the signs of this lab, its ledger covered while a question about it is open."""
        question = open_question() if self._asks else None
        opener = "" if question is None else f'reveal("{question}", ...)' if question else "the first reveal(...)"
        return look(frame, self._lab, opener)

    def _still(self, frame: Frame) -> tuple[str, str]:
        """Return the SVG and the text of a frame that will not move: nothing on it is "now"."""
        frame = replace(frame, live=False)
        return self._film.svg(frame, STILL_WIDTH if self._fixed["size"] == "page" else None), self._film.text(frame)

    def _leave_still(self) -> None:
        if not self._shown:
            return
        self._film.refresh()
        last = self._film.frame(None, self._painter.cursor.tp)
        bundle = front.still(*self._still(last), front.LAST) | front.recorded(self.run, last)
        for place in self._shown:
            front.replace(place, bundle)

    def _rest_later(self) -> None:
        """Stop in a while, so that the notebook is saved with a picture; each touch of the picture postpones that."""
        self._rest = self._rest or Background("view-rest", self.stop)
        self._rest.wake(REST if self.cluster is not None else 5 * REST)

    def _going_on(self) -> bool:
        """Return whether the run may still grow."""
        return self.cluster is not None and not self.cluster.closed and not self._stopped

    # --- from the page ------------------------------------------------------------------------------------------

    def _from_page(self, message: dict[str, Any]) -> None:
        """Take one message of the page; it may come in any thread of the kernel."""
        try:
            self._take(message)
        except Exception as error:
            self._say("bad", first_line(error))

    def _take(self, message: dict[str, Any]) -> None:
        self._painter.heard()
        if self._rest is not None:
            self._rest_later()
        do = message.get("do")
        if do == "visible":
            self._see(message["view"], message["on"], (message.get("wide") or WIDTHS["page"], message.get("high")))
        elif do == "order" and self.cluster is not None:
            self._orders.begin(message["name"], *message.get("args", []))
            self._painter.wish(do="look")
        elif do != "ack":
            self._painter.wish(**message)

    def _see(self, name: str, on: bool | None, place: Place) -> None:
        """Note that a place in the page can be seen, cannot be, or is gone (None); it may have become larger or smaller."""
        before = self._place()
        if on is None:
            self._sights.pop(name, None)
        else:
            self._sights[name] = on, place
            View._told = self._place()
        self._painter.seen = any(seen for seen, _ in self._sights.values())
        if self._place() != before:
            self._painter.wish(do="look")


def _controllers(now: Frame) -> list[list[Any]]:
    """Return (id, process) of the controllers that are no brokers."""
    brokers = {broker.id for broker in now.brokers}
    return [[each.id, each.process] for each in now.quorum.each if each.id not in brokers]


class Snapshot(front.Still):
    """A moment of a view, for a cell to display."""

    def __init__(self, view: View, t: float | None, frame: Frame) -> None:
        super().__init__(*view._still(frame), front.recorded(view.run, frame))
        self._view, self._t, self._sentence = view, t, frame.sentence

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        if not self._view.is_beside:
            return super()._repr_mimebundle_()
        self._view.go(self._t)
        moment = "" if self._t is None else f"{clock(self._t)} (Live, below the picture, follows the run again)"
        return {"text/plain": f"{moment} {self._sentence.text}".strip(),
                "text/html": panel(LIGHT[LOOKS[self._sentence.level]], moment, self._sentence.text)}


def _marks(marks: Any) -> list[list[Any]]:
    return [[mark.t, str(mark.kind), str(mark.level), mark.text] for mark in marks]


def show(run: RecordedRun, tp: str | None = None, **options: Any) -> View:
    """Show a run without its cluster, recorded or read from a file, and return the view. Options as `cluster.view`
    takes them."""
    view = View(run, None, tp, **options)
    view.show()
    return view


def view_of(cluster: Any, tp: str | None = None, **options: Any) -> View:
    """Show a live or simulated cluster and return the view: what `cluster.view()` calls. Options as `cluster.view`
    takes them."""
    view = View(RecordedRun.of(cluster), cluster, tp, **options)
    view.show()
    return view
