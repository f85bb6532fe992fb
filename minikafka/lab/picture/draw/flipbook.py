"""Drawings with a slider, in one piece of HTML: no kernel, no server, no Python behind it once it is made.

    Flipbook([(svg, text), ...], captions)      the last expression of a cell

Without JavaScript (a repository's page) the last drawing stands alone; `print` gives its text.

Owns: the HTML of the slider.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minikafka.lab.picture.draw.paper import escape
from minikafka.lab.verdict import AS_IT_IS

TURN = ("const b=this.closest('[data-flipbook]');"
        "b.querySelectorAll('[data-page]').forEach((p,i)=>{p.hidden=i!=+this.value});")


@dataclass(frozen=True, slots=True)
class Flipbook:
    """Pages in order; each is a drawing as SVG and in words, with a caption."""

    pages: Sequence[tuple[str, str]]
    captions: Sequence[str]

    def __repr__(self) -> str:
        return self.pages[-1][1] if self.pages else "nothing yet"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.html()}

    def html(self) -> str:
        """Return the slider and all pages; the last one shows."""
        last = len(self.pages) - 1
        slider = (f'<input type="range" min="0" max="{last}" value="{last}" aria-label="step" style="width:100%" '
                  f'oninput="{TURN}">') if last > 0 else ""
        shown = "".join(f'<div data-page="{number}"{"" if number == last else " hidden"}><p style="margin:4px 0">'
                        f"{escape(caption)}</p>{svg}</div>"
                        for number, ((svg, _), caption) in enumerate(zip(self.pages, self.captions, strict=True)))
        return f'<div data-flipbook="1" {AS_IT_IS} style="max-width:1280px">{slider}{shown}</div>'
