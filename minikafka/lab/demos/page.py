"""The page for the projector: it listens on loopback only, needs no internet, and answers GET requests only.

    /                       the page itself (page.html): list, keys, captions, the vote; /#D4/2 is scene 2 of D4
    /presenter              a window for the speaker (presenter.html): notes, what is next, votes, clock; /list: the same
                            page, which has the list of all demos only while no page for the projector is open
    /demos.json             the demos: question, answers, notes, scenes, minutes
    /scene.json?demo&scene  one recording: begin, end, moments (recorded when first asked for)
    /frame.svg?demo&scene&t&theme&shape   shape: how many times wider than high the picture's place is
    /step.json?demo&scene&t&by     the time of the next or previous event

Owns: the recordings, each made once; one lock, because only one request at a time may read a recording.
Invariants
  I-STAGE-6  the server listens on 127.0.0.1 and answers only requests that name it so (no page elsewhere can read it)
"""
from __future__ import annotations

import contextlib
import json
import threading
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from minikafka.lab.demos import minutes
from minikafka.lab.demos.demo import Demo, Scene
from minikafka.lab.demos.runner import Recording, record

PAGE, PRESENTER = (Path(__file__).parent / name for name in ("page.html", "presenter.html"))
LOOPBACK = "127.0.0.1"
THEMES = ("auto", "light", "dark")
Query = dict[str, str]
Answer = tuple[str, bytes]  # content type, body


class Theatre:
    """The demos to show and their recordings."""

    def __init__(self, demos: Sequence[Demo], play: Callable[[Scene], Recording] = record) -> None:
        self._play = play
        self.demos = {demo.name: demo for demo in demos}
        self._recordings: dict[tuple[str, int], Recording] = {}
        self._widths: dict[tuple[str, int, float], float] = {}
        self._lock = threading.RLock()
        self.paths: dict[str, Callable[[Query], Answer]] = {
            "/": partial(_file, PAGE), "/presenter": partial(_file, PRESENTER), "/list": partial(_file, PRESENTER),
            "/demos.json": self._list,
            "/scene.json": self._scene, "/frame.svg": self._frame, "/step.json": self._step}

    def recording(self, demo: str, scene: int) -> Recording:
        """Return the recording of a scene, which is made when it is first asked for."""
        with self._lock:
            if (demo, scene) not in self._recordings:
                self._recordings[demo, scene] = self._play(self.demos[demo].scenes[scene])
            return self._recordings[demo, scene]

    def width(self, demo: str, scene: int, shape: float) -> float:
        """Return how many units wide the board is, so that letters are as large as a place of this shape allows.

        The width follows from the height, and the height is that of the scene's tallest moment, so that nothing grows or shrinks
        while the scene plays.
        """
        from minikafka.lab.demos.board import USUAL, draw, fitting, slimmest
        if (demo, scene, shape) not in self._widths:
            found, told, wide = self.recording(demo, scene), self.demos[demo].counters, USUAL
            frames = [found.run.at(moment.t) for moment in found.moments]
            least = slimmest(frames, told)
            first = fitting(max(draw(frame, told, wide)[1] for frame in frames), shape, least)
            again = fitting(max(draw(frame, told, first)[1] for frame in frames), shape, least)  # narrow: perhaps a line more
            self._widths[demo, scene, shape] = max(first, again)
        return self._widths[demo, scene, shape]

    def prepare(self) -> None:
        """Record everything beforehand, so that no class waits."""
        for demo in self.demos.values():
            for scene in range(len(demo.scenes)):
                self.recording(demo.name, scene)

    def answer(self, path: str, query: Query) -> Answer:
        """Return content type and body. Raises KeyError, IndexError or ValueError for an unknown path, demo, scene or value."""
        with self._lock:
            return self.paths[path](query)

    # --- what can be asked ----------------------------------------------------------------------------------------

    def _list(self, query: Query) -> Answer:
        taken = minutes.kept()
        return _json([{"name": d.name, "title": d.title, "purpose": d.purpose, "question": d.question,
                       "exercise": d.exercise, "minutes": taken[d.name].minutes,
                       "answers": [asdict(a) for a in d.answers], "notes": d.notes,
                       "scenes": [scene.title for scene in d.scenes]} for d in self.demos.values()])

    def _asked(self, query: Query) -> Recording:
        return self.recording(query["demo"], int(query.get("scene", "0")))

    def _scene(self, query: Query) -> Answer:
        found = self._asked(query)
        return _json({"pace": found.scene.pace, "begin": found.begin, "end": found.end,
                      "moments": [asdict(m) for m in found.moments]})

    def _frame(self, query: Query) -> Answer:
        from minikafka.lab.demos.board import USUAL, to_svg
        found, theme, t = self._asked(query), query.get("theme", "auto"), float(query["t"])
        if theme not in THEMES:
            raise ValueError(f"no theme {theme!r}")
        which, shape = (query["demo"], int(query.get("scene", "0"))), float(query.get("shape", "0"))
        wide = self.width(*which, shape) if shape else USUAL
        board = to_svg(found.run.at(t), self.demos[query["demo"]].counters, theme, wide, wide / shape if shape else 0)
        return "image/svg+xml; charset=utf-8", board.encode()

    def _step(self, query: Query) -> Answer:
        found = self._asked(query)
        t = found.run.step(float(query["t"]), 1 if int(query["by"]) > 0 else -1)
        return _json({"t": min(max(t, found.begin), found.end)})


def _file(path: Path, query: Query) -> Answer:
    return "text/html; charset=utf-8", path.read_bytes()


def _json(value: Any) -> Answer:
    return "application/json; charset=utf-8", json.dumps(value).encode()


def server(theatre: Theatre, port: int = 0) -> ThreadingHTTPServer:
    """Return a server on loopback that does not serve yet; port 0 takes any free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers.get("Host", "").rpartition(":")[0] not in (LOOPBACK, "localhost"):
                return self._send(HTTPStatus.FORBIDDEN, "text/plain", b"this page is for this machine")
            asked = urlsplit(self.path)
            try:
                kind, body = theatre.answer(asked.path, {k: v[-1] for k, v in parse_qs(asked.query).items()})
            except (KeyError, IndexError, ValueError) as unknown:
                return self._send(HTTPStatus.NOT_FOUND, "text/plain", repr(unknown).encode())
            self._send(HTTPStatus.OK, kind, body)

        def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            with contextlib.suppress(ConnectionError):  # the page may have gone on to another picture
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    made = ThreadingHTTPServer((LOOPBACK, port), Handler)
    made.daemon_threads = True
    return made


def serve(demos: Sequence[Demo], port: int, browser: bool) -> None:
    """Show demos until Ctrl-C."""
    theatre = Theatre(demos)
    with server(theatre, port) as made:
        address = f"http://{LOOPBACK}:{made.server_address[1]}/"
        print(f"{', '.join(theatre.demos)} at {address}\n"
              "space runs and freezes, arrows step, r resets, v votes, l lists, n opens the presenter's window, h all keys; "
              "Ctrl-C ends", flush=True)
        threading.Thread(target=theatre.prepare, daemon=True, name="demos: recording").start()
        if browser:
            webbrowser.open(address)
        try:
            made.serve_forever()
        except KeyboardInterrupt:
            print()
