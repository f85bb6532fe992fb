"""Films: a recorded run as frames of SVG, which a page plays without Python.

A film is drawn twice: for a wide page and for a phone. Each is one file of JavaScript, so that a page on a disk can load it
too: `film(name, "...")`, and the text is JSON, deflated, in base64:

    {"pieces": ["<svg ...>", ...], "frames": [[t, says, kind, 3, 14, ...], ...]}

A frame lists the pieces of SVG that it is made of, by number: most pieces occur in many frames.

Owns: which moments of a run become frames, and the format of the file.
Invariants
  I-FILM-1  same run, same film, byte for byte
  I-FILM-2  every mark of a run has its frame, and so has every moment at which the film stops
"""
from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from minikafka.lab.demos import board
from minikafka.lab.demos.runner import Recording
from minikafka.lab.picture.draw.element import LEGIBLE, LETTER
from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.facts.run import RecordedRun

FRAMES = 100                     # of a film, besides those of marks and stops
MARK, STOP = 1, 2                # kinds of frames: one can jump here; the film stops here, too (player.js has the same)
PLACES = {"wide": (960, 600), "slim": (640, 640)}  # pixels for which a film is drawn, wide and high
PHONE = 372                      # pixels of a picture's place on a phone


@dataclass(frozen=True, slots=True)
class Moment:
    """One frame: seconds since the film began, the picture, what it says in words, and whether one jumps or stops here."""

    t: float
    svg: str
    text: str
    kind: int = 0


@dataclass(frozen=True, slots=True)
class Film:
    """Frames in the order of time."""

    moments: Sequence[Moment]

    def at(self, t: float) -> int:
        """The number of the last frame that is not after `t`."""
        return max(0, bisect_right([moment.t for moment in self.moments], t + 1e-6) - 1)

    @property
    def least(self) -> int:
        """The pixels of width in which every letter can be read; 0 where a phone has them."""
        wide = float(re.search(r'viewBox="0 0 ([\d.]+)', self.moments[0].svg)[1])  # type: ignore[index]
        least = round(wide * LEGIBLE / LETTER)
        return least if least > PHONE else 0

    def script(self, name: str) -> str:
        """The file that a page loads."""
        pieces: dict[str, int] = {}
        frames = [[round(each.t, 3), each.text, each.kind,
                   *(pieces.setdefault(piece, len(pieces)) for piece in re.split("(?=<)", each.svg) if piece)]
                  for each in self.moments]
        data = json.dumps({"pieces": list(pieces), "frames": frames}, ensure_ascii=False, separators=(",", ":"))
        packed = zlib.compressobj(9, zlib.DEFLATED, -15)
        return f'film("{name}","{b64encode(packed.compress(data.encode()) + packed.flush()).decode()}")\n'


def of_run(run: RecordedRun, tp: str | None, shown: Iterable[float], place: str, name: str) -> Film:
    """The film of a run with the partition `tp` in full; the moments that a page shows first are among its frames."""
    pixels, lines = PLACES[place]
    marks = {mark.t for mark in run.marks}
    frames = [run.at(at, tp) for at in sorted({*times(run, run.begin, run.end), *marks, *shown})]
    return Film([Moment(frame.t, to_svg(frame, size="dock", name=name, pixels=pixels, lines=lines), frame.sentence.text,
                        MARK if frame.t in marks else 0) for frame in frames])


def of_scene(recording: Recording, counters: Sequence[str], place: str, name: str) -> Film:
    """The film of a demo's scene; it stops where the page for the projector stops."""
    run, named = recording.run, recording.moments
    wide = board.slimmest([run.at(moment.t) for moment in named], counters) if place == "slim" else board.USUAL
    chosen = sorted({*times(run, recording.begin, recording.end), *(moment.t for moment in named)})
    kinds = {moment.t: STOP if moment.stop else MARK for moment in named}
    frames = [run.at(at) for at in chosen]
    high = max(board.draw(frame, counters, wide)[1] for frame in frames)
    return Film([Moment(at - recording.begin, board.to_svg(frame, counters, wide=wide, high=high, name=name),
                        [moment.caption for moment in named if moment.t <= at][-1], kinds.get(at, 0))
                 for at, frame in zip(chosen, frames)])


def times(run: RecordedRun, begin: float, end: float) -> Iterable[float]:
    """FRAMES moments from begin to end: half of them evenly in time, half where most happens."""
    half = FRAMES // 2
    happened = [event["t"] - run.events[0]["t"] for event in run.events_between(begin, end)]
    yield from (begin + (end - begin) * number / half for number in range(half + 1))
    yield from happened[:: max(1, len(happened) // half)]
