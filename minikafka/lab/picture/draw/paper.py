"""The paper a picture is drawn on: SVG elements in order, and where every label stands.

Owns: escaping, widths of words, shortening and wrapping, the list of label boxes that tests look at.

Widths are those of DejaVu Sans, which is as wide as fonts on screens come: a label that fits here fits in any other.

Invariants
  I-PAPER-1  whatever a name holds (markup, control characters), the picture is well-formed XML
  every label is recorded with the box that it covers; a label too long for its place ends in an ellipsis
    and keeps its full text in a <title>
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

PLAIN = (
    32, 41, 46, 84, 64, 95, 78, 28, 39, 39, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34,
    34, 84, 84, 84, 54, 100, 69, 69, 70, 77, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64, 62, 74,
    69, 99, 69, 62, 69, 39, 34, 39, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64,
    64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84)
BOLD = (
    35, 46, 53, 84, 70, 101, 88, 31, 46, 46, 53, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 40,
    40, 84, 84, 84, 58, 100, 78, 77, 74, 83, 69, 69, 83, 84, 38, 38, 78, 64, 100, 84, 85, 74, 85, 77, 72, 69,
    82, 78, 111, 78, 73, 73, 46, 37, 46, 84, 50, 50, 68, 72, 60, 72, 68, 44, 72, 72, 35, 35, 67, 35, 105, 72,
    69, 72, 72, 50, 60, 48, 72, 66, 93, 65, 66, 59, 72, 37, 72, 84)
WIDTHS = tuple({chr(32 + i): hundredths / 100 for i, hundredths in enumerate(table)} | {"·": 0.38}
               for table in (PLAIN, BOLD))
DIGIT = WIDTHS[0]["0"]
ASCENT, DESCENT = 0.76, 0.24  # of the type's size, above and below the line that letters stand on
LEAST = 20      # pixels: a place too small for a word stays empty
BANNED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not allowed in XML, even escaped


class Label(NamedTuple):
    """A piece of text and the box that it covers."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


@lru_cache(8192)
def width(text: str, size: float = 14, bold: bool = False) -> float:
    """Return how many pixels `text` covers at most."""
    table = WIDTHS[bold]
    return size * sum([table.get(letter, 1.0) for letter in text])


@lru_cache(8192)
def shorten(text: str, room: float, size: float = 14, bold: bool = False) -> str:
    """Return `text`, or the part of it that fits into `room` pixels with an ellipsis."""
    if width(text, size, bold) <= room:
        return text
    keep = len(text)
    while keep and width(text[:keep], size, bold) + size > room:
        keep -= 1
    return text[:keep].rstrip() + "…"


@lru_cache(1024)
def shorten_name(name: str, room: float, size: float = 14, bold: bool = False) -> str:
    """Return a partition's name in `room` pixels: what is cut is the topic, and never the number at its end unless no
    topic fits."""
    topic, dash, number = name.rpartition("-")
    if not topic or width(name, size, bold) <= room:
        return shorten(name, room, size, bold)
    tail = dash + number
    short = shorten(topic, room - width(tail, size, bold), size, bold)
    return short + tail if len(short) > 2 else shorten(name, room, size, bold)


def wrap(text: str, room: float, size: float, lines: int) -> list[str]:
    """Return `text` in at most `lines` lines; what is left over is replaced by an ellipsis."""
    result: list[str] = []
    line = ""
    words = text.split()
    for place, word in enumerate(words):
        longer = f"{line} {word}".strip()
        if not line or width(longer, size) <= room:
            line = longer
        elif len(result) == lines - 1:
            line = " ".join([line, *words[place:]])
            break
        else:
            result.append(line)
            line = word
    return [shorten(each, room, size) for each in [*result, line]]


@lru_cache(8192)
def escape(text: str) -> str:
    """Return `text` as it may stand between tags and in attributes."""
    if text.isalnum() and text.isascii():
        return text
    clean = BANNED.sub("\ufffd", text)
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


@dataclass(slots=True, init=False)
class Paper:
    """A drawing as it grows: what has been drawn so far."""

    width: float
    parts: list[str]
    labels: list[Label]
    hidden: frozenset[str]
    _open: list[tuple[int, int] | None]

    def __init__(self, width: float, hidden: frozenset[str] = frozenset()) -> None:
        """`hidden`: parts that are not drawn; their room stays, so that a sign that comes later moves no other."""
        self.width, self.parts, self.labels, self.hidden = width, [], [], hidden
        self._open = []  # for each open group, how much there was before it if it is hidden

    def raw(self, markup: str) -> None:
        """Add markup as it is; the caller has escaped it."""
        self.parts.append(markup)

    def open(self, part: str, title: str | None = None, **data: object) -> None:
        """Begin a group that a page can find by its data-part; end it with `close`."""
        extra = "".join(f' data-{name}="{escape(str(value))}"' for name, value in data.items() if value is not None)
        inside = "" if title is None else f"<title>{escape(title)}</title>"
        self._begin(part, f'<g data-part="{part}"{extra}>{inside}')

    def dimmed(self, part: str) -> None:
        """Begin a group of paler colours."""
        self._begin(part, f'<g data-part="{part}" class="dim">')

    def _begin(self, part: str, markup: str) -> None:
        self._open.append((len(self.parts), len(self.labels)) if part in self.hidden else None)
        self.parts.append(markup)

    def close(self) -> None:
        """End the group."""
        self.parts.append("</g>")
        if (before := self._open.pop()) is not None:
            del self.parts[before[0]:], self.labels[before[1]:]

    def rect(self, x: float, y: float, w: float, h: float, look: str, radius: float = 0, extra: str = "") -> None:
        """Draw a box with rounded corners."""
        corners = f' rx="{radius:g}"' if radius else ""
        box = f'x="{x:g}" y="{y:g}" width="{max(0.0, w):g}" height="{h:g}"'
        self.parts.append(f'<rect {box}{corners} class="{look}"{extra}/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, look: str, extra: str = "") -> None:
        """Draw a straight line."""
        self.parts.append(f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" class="{look}"{extra}/>')

    def path(self, shape: str, look: str, x: float = 0, y: float = 0, extra: str = "") -> None:
        """Draw a shape, moved to (x, y)."""
        move = f' transform="translate({x:g} {y:g})"' if x or y else ""
        self.parts.append(f'<path d="{shape}" class="{look}"{move}{extra}/>')

    def circle(self, x: float, y: float, r: float, look: str) -> None:
        """Draw a circle."""
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}" class="{look}"/>')

    def text(self, x: float, y: float, text: str, look: str = "", size: float = 14, bold: bool = False,
             anchor: str = "start", room: float | None = None, full: str | None = None) -> float:
        """Draw a label that stands on the line y, at most `room` pixels wide (nothing, if `room` is too small for a label).

        `full` is shown when the mouse points at the label. Return the width that it takes.
        """
        if room is not None and room < LEAST:
            return 0.0
        shown = text if room is None else shorten(text, room, size, bold)
        wide = width(shown, size, bold)
        left = x if anchor == "start" else x - wide if anchor == "end" else x - wide / 2
        self.labels.append(Label(shown, left, y - ASCENT * size, left + wide, y + DESCENT * size))
        halo = "halo" in look.split()
        plain = " ".join([*(each for each in look.split() if each != "halo"), *(["b"] if bold else [])])
        place = "".join((f'x="{x:g}" y="{y:g}"', f' font-size="{size:g}"' if size != 14 else "",
                         f' text-anchor="{anchor}"' if anchor != "start" else ""))
        if halo:  # letters of their own behind the letters: few programs know paint-order
            self.parts.append(f'<text {place} class="halo{" b" if bold else ""}" aria-hidden="true">{escape(shown)}</text>')
        self.parts.append("".join((
            f"<text {place}", f' class="{plain}"' if plain else "", ">",
            f"<title>{escape(full or text)}</title>" if full or shown != text else "", escape(shown), "</text>")))
        return wide

    def upright(self, x: float, y: float, text: str, look: str = "", size: float = 14) -> None:
        """Draw a bold label that reads upwards, centred at (x, y)."""
        wide = width(text, size, True)
        self.labels.append(Label(text, x - ASCENT * size, y - wide / 2, x + DESCENT * size, y + wide / 2))
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{look} b" text-anchor="middle" '
                          f'transform="rotate(-90 {x:g} {y:g})">{escape(text)}</text>')

    def number(self, x: float, y: float, text: str, wide: float, look: str, halo: bool = False) -> None:
        """Draw the offset in a cell, centred at x: like `text`, but simpler and faster, because there are hundreds of them."""
        self.labels.append(Label(text, x - wide / 2, y - ASCENT * 14, x + wide / 2, y + DESCENT * 14))
        if halo:
            self.parts.append(f'<text x="{x:g}" y="{y:g}" class="halo n" aria-hidden="true">{text}</text>')
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{look}">{text}</text>')
