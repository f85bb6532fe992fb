"""Slides of a lab, one idea each: the questions to vote on, its demos stop by stop, and what was seen.

    deck(8)                  the page: 1280x720 a slide, on a screen or as PDF; it asks nothing of a network
    deck(8, answers=False)   the same without the answers to the votes

Owns: what becomes a slide, and their style. Everything on a slide stands in the lab's source, in labs/README.md or in a recorded
demo. Invariants
  I-SLIDE-1  no letter is smaller than SMALLEST pixels; a picture is drawn for that
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from minikafka.lab import demos
from minikafka.lab.demos import board
from minikafka.lab.demos.runner import record
from tools.notebooks import here
from tools.notebooks.build import ROOT
from tools.notebooks.source import Lab
from tools.teach.minutes import labs
from tools.teach.paper import page
from tools.website import cells

SMALLEST, LETTER = 24, 14       # pixels; units of a picture's smallest letter
PIXELS, UNITS = 1180, 660       # a picture's width on the slide, and in its own units
SHORT, LONG = 120, 450          # letters of a question that needs more words, and of a paragraph that is too many
PROSE = re.compile(r"[A-Z\"*`]")
ALIKE = re.compile(r"(D\d+)(?:(?: and| to) (D\d+))?(?: go)? with labs? ([\d,\sand]+)")
STYLE = f"""
@page {{ size: 1280px 720px; margin: 0; }}
body {{ margin: 0; font: 36px/1.35 Inter, system-ui, "DejaVu Sans", Verdana, sans-serif; color: #16181d; background: #fff; }}
section {{ width: 1280px; height: 720px; box-sizing: border-box; padding: 70px 70px 50px; position: relative; overflow: hidden;
  break-after: page; break-inside: avoid; }}
h1 {{ font-size: 60px; line-height: 1.15; margin: 60px 0 30px; }} p, li {{ margin: 0 0 18px; }} code {{ font-size: 0.92em; }}
.label {{ font-size: 28px; color: #555; }}
.foot {{ position: absolute; left: 70px; bottom: 10px; margin: 0; font-size: {SMALLEST}px; color: #555; }}
.picture {{ padding: 12px 50px 0; }} .picture p {{ font-size: 30px; line-height: 1.2; height: 74px; margin: 0; }}
.picture .foot {{ left: 50px; bottom: 3px; height: auto; font-size: {SMALLEST}px; }} .picture svg {{ width: {PIXELS}px; }}
.title svg {{ width: {PIXELS}px; height: auto; margin-left: -20px; }}
ol {{ list-style: lower-alpha; font-size: 32px; }}
@media screen {{ section {{ border-bottom: 4px solid #888; }} }}
"""


def deck(number: int, answers: bool = True) -> str:
    """Return the page. Raises KeyError for a lab that does not exist."""
    lab = labs()[number]
    return page(f"Lab {number} · {lab.title}", [*opening(lab), *questions(lab), *shown(lab, answers), *seen(lab)], STYLE)


def slide(body: str, foot: str = "", kind: str = "") -> str:
    return f"<section class='{kind}'>{body}{f'<p class=foot>{escape(foot)}</p>' if foot else ''}</section>"


def prose(markdown: str) -> str:
    """Return a paragraph as HTML without links: what a link says stays."""
    return re.sub(r"</?a\b[^>]*>", "", cells.text(markdown))


def labelled(label: str, markdown: str) -> str:
    return f"<p class=label>{escape(label)}</p>{prose(markdown)}"


def opening(lab: Lab) -> Iterator[str]:
    """The title with the question that the lab answers and its place on the map, and what one can do afterwards."""
    row = next(line for line in (ROOT / "labs" / "README.md").read_text().splitlines() if f"]({lab.name}.ipynb)" in line)
    _, _, minutes, can, question = (cell.strip() for cell in row.split("|")[:-1])
    abilities = "\n".join(f"* {one.strip()}" for one in can.split(";"))
    yield slide(f"<h1>{lab.number} · {escape(lab.title)}</h1>{prose(question)}{here.drawing(lab.here) if lab.here else ''}",
                f"{minutes} minutes, with all exercises", "title")
    yield slide(labelled("Afterwards you can", abilities), lab.title)


def questions(lab: Lab) -> Iterator[str]:
    """What the class guesses before a cell runs: the paragraph with the last bold question above each prediction. A question that
    stands alone gets the paragraph before it."""
    above, section = "", ""
    for cell in lab.cells:
        if cell.cell_type == "markdown":
            above = cell.source
            section = (re.findall(r"^## (.+)$", above, re.MULTILINE) or [section])[-1]
        for exercise in re.findall(r'predict\("([\d.]+)"', cell.source if cell.cell_type == "code" else ""):
            parts = above.split("\n\n")
            at = max(place for place, part in enumerate(parts) if re.search(r"\*\*[^*]+\?\*\*", part))
            alone = bool(at and len(parts[at]) < SHORT and PROSE.match(parts[at - 1]) and len(parts[at - 1]) < LONG)
            yield slide(labelled(section, "\n\n".join(parts[at - alone:at + 1])), f"What do you expect? Prediction {exercise}")


def of_labs() -> dict[int, list[str]]:
    """Return the demos of each lab, as labs/README.md names them."""
    found: dict[int, list[str]] = {}
    for first, last, numbers in ALIKE.findall((ROOT / "labs" / "README.md").read_text()):
        names = [f"D{n}" for n in range(int(first[1:]), int((last or first)[1:]) + 1)]
        for number in re.findall(r"\d+", numbers):
            found.setdefault(int(number), []).extend(names)
    return found


def shown(lab: Lab, answers: bool) -> Iterator[str]:
    """Each demo of the lab: the vote, a slide for each stop, the answer if it is wanted."""
    for name in of_labs().get(lab.number, ()):
        demo = demos.demo(name)
        options = "".join(f"<li>{escape(one.text)}</li>" for one in demo.answers)
        yield slide(f"<p class=label>{escape(demo.title)}</p><p>{escape(demo.question)}</p><ol>{options}</ol>", name)
        for scene in demo.scenes:
            played = record(scene)
            for moment in played.moments:
                picture = board.to_svg(played.run.at(moment.t), demo.counters, theme="light", wide=UNITS)
                yield slide(f"<p>{escape(moment.caption)}</p>{picture}", f"{name} · {scene.title}", "picture")
        if not answers:
            continue
        right = next(one for one in demo.answers if one.right)
        answer = f"<p><b>{escape(right.text)}</b></p><p>{escape(right.why)}</p>"
        yield slide(f"<p class=label>{escape(demo.question)}</p>{answer}", name)


def seen(lab: Lab) -> Iterator[str]:
    """Each point, or each row, of the section that sums the lab up."""
    text = next(cell.source for cell in lab.cells if re.match(r"## \d+ · What you have seen", cell.source))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    for said, counted in (row[:2] for row in rows[2:]):
        yield slide(labelled(rows[0][0], said) + labelled(rows[0][1], counted), lab.title)
    for point in re.findall(r"^\* (.+?)(?=^\* |^\n|\Z)", text, re.MULTILINE | re.DOTALL):
        yield slide(labelled("What you have seen", " ".join(point.split())), lab.title)
