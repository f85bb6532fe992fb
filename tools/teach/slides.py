"""Slides of a lab, one idea each: the questions to vote on, its demos stop by stop, and what was seen.

    deck(8)                  the page: 1280x720 a slide, on a screen or as PDF; it asks nothing of a network
    deck(8, answers=False)   the same without the answers to the votes

Owns: what becomes a slide, and their style. Everything on a slide stands in the solved lab, in labs/README.md or in a recorded
demo. Invariants
  I-SLIDE-1  no letter is smaller than SMALLEST pixels on a slide; a picture is drawn for that
  I-SLIDE-2  where a page is narrower than a slide, lines break and nothing but a picture is wider than the page
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from minikafka.lab import demos
from minikafka.lab.demos import board
from minikafka.lab.demos.runner import record
from minikafka.lab.picture.draw.element import LEGIBLE, LETTER
from tools.notebooks import here
from tools.notebooks.build import ROOT
from tools.notebooks.source import Lab
from tools.teach.guesses import Ran, guesses
from tools.teach.minutes import labs
from tools.teach.paper import page
from tools.website import cells

SMALLEST = 24                   # pixels of a letter
PIXELS, UNITS = 1180, 660       # a picture's width on the slide, and in its own units
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
.vote {{ list-style: lower-alpha; font-size: 32px; }}
.long {{ font-size: 30px; }} .seen {{ font-size: 48px; line-height: 1.25; }} .seen.many {{ font-size: 36px; }}
table {{ border-collapse: collapse; margin: 0 0 18px; }} tr + tr td {{ border-top: 2px solid #ccc; }}
th, td {{ padding: 6px 24px 6px 0; text-align: left; vertical-align: top; }}
pre {{ font: {SMALLEST}px/1.25 "DejaVu Sans Mono", monospace; white-space: pre-wrap; margin: 0 0 20px; }}
pre.printed {{ border-left: 6px solid #888; padding-left: 20px; }}
@media screen {{ section {{ border-bottom: 4px solid #888; }} }}
@media screen and (max-width: 1279px) {{
  body {{ font-size: max(17px, 2.8vw); }}
  section {{ width: auto; height: auto; padding: 1em; }}
  .long, .vote, .picture p, section.seen {{ font-size: 1em; height: auto; }}
  h1 {{ font-size: 1.6em; margin: .5em 0; }} .label {{ font-size: .85em; }}
  pre {{ font-size: max(12px, 1.8vw); white-space: pre; overflow-x: auto; }}
  .picture {{ overflow-x: auto; padding: 1em; }}
  .picture svg {{ width: 100%; min-width: {LEGIBLE * UNITS // LETTER}px; margin-top: .5em; }}
  .title svg {{ width: 100%; margin: 0; }} .foot, .picture .foot {{ position: static; font-size: .8em; margin: .8em 0 0; }}
}}
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
    """What the class guesses before a cell runs: what the last cell did, the story, the question."""
    for guess in guesses(lab):
        before = f"Before prediction {guess.exercise}"
        if guess.cell.printed:
            yield slide(f"<p class=label>{escape(guess.section)}</p>{ran(guess.cell.fitting())}", before, "long")
        if guess.story:
            yield slide(labelled(guess.section, guess.story), before, "long")
        yield slide(labelled(guess.section, guess.text), f"What do you expect? Prediction {guess.exercise}",
                    "long" if guess.long else "")


def ran(cell: Ran) -> str:
    """What a cell did, its code and what it printed, as far as each is there."""
    code = f"<p class=label>The cell:</p><pre>{escape(cell.code)}</pre>" if cell.code else ""
    label = "It printed:" if cell.code else "A cell has printed:"
    return f"{prose(cell.words)}{code}<p class=label>{label}</p><pre class=printed>{escape(cell.printed)}</pre>"


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
        yield slide(f"<p class=label>{escape(demo.title)}</p><p>{escape(demo.question)}</p><ol class=vote>{options}</ol>", name)
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
    kind = "seen many" if rows and len(rows[0]) > 2 else "seen"
    for row in rows[2:]:
        yield slide("".join(labelled(head, said) for head, said in zip(rows[0], row)), lab.title, kind)
    for point in re.findall(r"^\* (.+?)(?=^\* |^\n|\Z)", text, re.MULTILINE | re.DOTALL):
        yield slide(labelled("What you have seen", " ".join(point.split())), lab.title, "seen")
