"""What stands around the words of a page: its head, its links, the place of a film, cards and answers.

Owns: the HTML that is not made of a notebook. style.css and player.js know its class names and its data-part.
"""
from __future__ import annotations

import html
import re
from collections.abc import Sequence

from minikafka.lab.demos.demo import Choice
from tools.website.films import Moment

Link = tuple[str, str] | None  # address, words


def page(title: str, body: str, sections: Sequence[tuple[str, str]], before: Link = None, after: Link = None) -> str:
    """A whole page."""
    links = "".join(f'<li><a href="#{name}">{words}</a></li>' for name, words in sections)
    side = (f'<aside class="side"><details open><summary>On this page</summary><ul>{links}</ul></details></aside>'
            if len(sections) > 3 else "")
    ways = (f'<nav class="ways" aria-label="neighbours"><span>{_link(before, "← ")}</span>'
            f'<span>{_link(after, "", " →")}</span></nav>' if before or after else "")
    here = "" if title == "minikafka" else f'<span class="name">{html.escape(title)}</span>'
    name = title if title == "minikafka" else f"{title} · minikafka"
    return f"""<!doctype html>
<html lang="en" data-theme="auto">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(name)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
<script src="player.js" defer></script>
</head>
<body>
<header class="top"><a class="home" href="index.html">minikafka</a>{here}
<nav aria-label="pages">{_link(before and (before[0], "back"), "← ")}{_link(after and (after[0], "next"), "", " →")}</nav>
<button type="button" data-part="theme" title="light, dark, or as the system says" aria-label="light or dark">◐ auto</button>
</header>
<div class="{"columns" if side else "column"}">{side}<main>
{body}
{ways}
</main></div>
<footer>minikafka, a small Kafka in Python. Licence: Apache 2.0. Apache Kafka and Kafka are trademarks of the Apache Software
Foundation; this project is not affiliated with it.</footer>
</body>
</html>
"""


def _link(to: Link, before: str = "", after: str = "") -> str:
    return f'<a href="{to[0]}">{before}{html.escape(to[1])}{after}</a>' if to else ""


def figure(name: str, number: int, still: str, shown: Moment, words: str, caption: bool = False,
           least: int = 0) -> str:
    """The place of a film: without JavaScript the frame `number`, with it the player.

    `caption`: what a frame says does not stand in the picture already. `least`: pixels of width below which a phone lets one
    push the picture sideways, so that its letters stay large enough.
    """
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', shown.svg)
    wide, high = size.groups() if size else ("960", "600")
    push = f' style="--least: {least}px"' if least else ""
    in_words = f"<details><summary>This picture in words</summary><pre>{html.escape(words)}</pre></details>" if words else ""
    text = html.escape(shown.text)
    return f"""<figure class="film" data-film="{name}" data-shows="{number}">
<div class="pan"{push}><div data-part="screen">
<img src="{still}" alt="{text}" width="{wide}" height="{high}" style="width:100%;height:auto"></div></div>
<div data-part="bar" hidden>
{_button("back", "to the mark before", "M3 2v12M14 2 5 8l9 6z")}
<button type="button" data-part="play">▶ Play</button>
{_button("on", "to the next mark", "M13 2v12M2 2l9 6-9 6z")}
<input type="range" min="0" value="{number}" data-part="slider" aria-label="moment of the run">
<span data-part="clock"></span>
<button type="button" data-part="speed" title="faster, then slow again" aria-label="speed">×1</button>
</div>
<p data-part="says"{' class="caption"' if caption else ""}>{text}</p>{in_words}
</figure>"""


def _button(part: str, title: str, icon: str) -> str:
    return (f'<button type="button" data-part="{part}" title="{title}" aria-label="{title}">'
            f'<svg viewBox="0 0 16 16" aria-hidden="true"><path d="{icon}"/></svg></button>')


def card(address: str, title: str, text: str, more: str = "") -> str:
    """One entry of the index."""
    small = f"<span>{html.escape(more)}</span>" if more else ""
    return f'<li><a href="{address}"><b>{html.escape(title)}</b><span class="ask">{html.escape(text)}</span>{small}</a></li>'


def answer(answer: Choice, told: bool) -> str:
    """One answer to a demo's question; what is to be said about it is folded, or not there if it is not told."""
    if not told:
        return f'<p class="answer">{html.escape(answer.text)}</p>'
    style, mark = ("answer right", "✔ ") if answer.right else ("answer", "")
    return (f'<details class="{style}"><summary>{html.escape(answer.text)}</summary><p>{mark}{html.escape(answer.why)}</p>'
            "</details>")
