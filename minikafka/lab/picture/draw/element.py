"""The root of every picture: one SVG element, and that element as an image.

Owns: the font, and what each root has: its size, its sentence for those who hear it. Sizes are units; a letter is 14 units high.
"""
from __future__ import annotations

import re
from base64 import b64encode
from hashlib import blake2s

from minikafka.lab.picture.draw.paper import Paper, escape
from minikafka.lab.picture.draw.theme import coloured, ink, style

LETTER, LEGIBLE, LARGE = 14, 9, 16  # units of a letter; pixels that it has at least, and at most
FONT = "Inter,system-ui,'DejaVu Sans',Verdana,sans-serif"


def element(wide: float, high: float, said: str, body: str, attributes: str = "") -> str:
    """Return `body` as one SVG element, as wide as its place; `said` is its sentence. `body` and `attributes` are escaped."""
    told = escape(said)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}viewBox="0 0 {wide:g} {high:g}" width="100%" role="img" '
            f'aria-label="{told}" font-family="{FONT}" font-size="14"><title>{told}</title>{body}</svg>')


def themed(paper: Paper, high: float, said: str, theme: str, name: str | None = None, attributes: str = "") -> str:
    """Return what is on the paper as one SVG element in the colours of the theme: auto (the page's), light or dark.

    `name` is its id on the page, made from the content if not given. A view that draws again and again gives its own.
    """
    body = "".join(paper.parts)
    name = name or "mk" + blake2s(f"{theme} {paper.width:g} {body}".encode(), digest_size=5).hexdigest()
    drawn = f'{style(name, theme)}<rect class="paper" width="{paper.width:g}" height="{high:g}"/>{body}'
    return element(paper.width, high, said, coloured(drawn, name, theme), f'id="{name}" fill="{ink(theme)}" {attributes}')


def image(svg: str) -> str:
    """Return a picture as an <img>, which is what most pages show.

    JupyterLab shows no image/svg+xml of a file that it does not trust, and some repositories' pages take its style sheet out.
    A page that refuses images in data: addresses shows the picture's sentence instead. The picture is as wide as its place, as
    long as its letters are neither smaller than LEGIBLE (in a narrower place it is scrolled) nor larger than LARGE.
    """
    wide = re.search('viewBox="0 0 ([0-9.]+) ', svg)
    least, most = (round(float(wide[1] if wide else 0) * pixels / LETTER) for pixels in (LEGIBLE, LARGE))
    said = re.search('aria-label="([^"]*)"', svg)
    code = b64encode(svg.encode()).decode()
    return (f'<div style="overflow-x: auto"><img width="100%" style="min-width: {least}px; max-width: {most}px" '
            f'alt="{said[1] if said else ""}" src="data:image/svg+xml;base64,{code}"></div>')
