"""A drawing whose colours stand in its elements: it looks the same on a page, in a mail, in an office program and on paper.

    sheet = Sheet(1000); sheet.rect(...); sheet.text(...); svg = sheet.svg(200, "what it shows")

Owns: SVG elements in order on a white card (a dark one on a dark page), and the box of every label (tests look at them).
Paper (paper.py) draws the live picture instead, which follows the page's theme by a style sheet.
"""
from __future__ import annotations

from minikafka.lab.picture.draw.element import element
from minikafka.lab.picture.draw.paper import ASCENT, DESCENT, Label, escape, shorten, width

INK, SOFT, LINE, CARD, PAPER = "#16181d", "#565e6c", "#c9ced6", "#f4f6f8", "#ffffff"
TURN = ".mk-card{filter:invert(.9) hue-rotate(180deg)}"  # light and dark change places, hues stay
# As an image a drawing follows the page's own colour scheme, in a page's markup JupyterLab's theme wins over the system's.
ON_DARK = (f"<style>@media (prefers-color-scheme:dark){{{TURN}}}[data-jp-theme-light=true] .mk-card{{filter:none}}"
           f"[data-jp-theme-light=false] {TURN}</style>")
BLUE, GREEN, ORANGE, VERMILLION = "#0072b2", "#006b4e", "#855700", "#b33c00"  # for letters and lines on white: 4.5 to 1


class Sheet:
    """A drawing as it grows; `width` in units of which letters are at least 14."""

    def __init__(self, width: float) -> None:
        self.width = width
        self.parts: list[str] = []
        self.labels: list[Label] = []

    def raw(self, markup: str) -> None:
        """Add markup as it is; the caller has escaped it."""
        self.parts.append(markup)

    def rect(self, x: float, y: float, w: float, h: float, fill: str, stroke: str = "none", *, wide: float = 1.0,
             radius: float = 0.0, dash: str = "") -> None:
        self.raw(f'<rect x="{x:g}" y="{y:g}" width="{max(0.0, w):g}" height="{h:g}" rx="{radius:g}" fill="{fill}" '
                 f'stroke="{stroke}" stroke-width="{wide:g}"{_dashed(dash)}/>')

    def path(self, shape: str, stroke: str = "none", *, wide: float = 2.0, fill: str = "none", dash: str = "",
             opacity: float = 1.0) -> None:
        faded = f' opacity="{opacity:g}"' if opacity < 1 else ""
        self.raw(f'<path d="{shape}" fill="{fill}" stroke="{stroke}" stroke-width="{wide:g}" stroke-linejoin="round"'
                 f'{_dashed(dash)}{faded}/>')

    def text(self, x: float, y: float, text: str, fill: str = INK, *, size: float = 14, bold: bool = False,
             anchor: str = "start", room: float | None = None) -> float:
        """Write a label that stands on the line y, at most `room` wide; return the width that it takes."""
        shown = text if room is None else shorten(text, room, size, bold)
        wide = width(shown, size, bold)
        left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * wide
        self.labels.append(Label(shown, left, y - ASCENT * size, left + wide, y + DESCENT * size))
        weight = ' font-weight="bold"' if bold else ""
        self.raw(f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{fill}" text-anchor="{anchor}"{weight}>'
                 f"{escape(shown)}</text>")
        return wide

    def svg(self, height: float, said: str) -> str:
        """Return the drawing as one SVG element on a white card; `said` is its sentence for those who hear it."""
        card = f'<rect width="{self.width:g}" height="{height:g}" fill="{PAPER}"/>'
        return element(self.width, height, said, f'{ON_DARK}{card}{"".join(self.parts)}', 'class="mk-card" ')


def _dashed(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""
