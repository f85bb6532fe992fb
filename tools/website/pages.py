"""The pages of the site: an index of the course, one page a lab, one page a demo, the words, the misconceptions.

Every page works from a disk and from any host: links are relative, and a page loads nothing from other hosts.

Owns: the names of pages and films, what is on which page.
Invariants
  I-SITE-1  every link and every source in a page is a file of the site, or a place in it
  I-SITE-2  pictures that show the same partition of the same run share one film: that of the longest recording
"""
from __future__ import annotations

import html
import re
import shutil
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from minikafka.lab.demos.demo import Demo
from minikafka.lab.demos.runner import record
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.view.front import RUN
from tools.notebooks import here
from tools.notebooks.source import Lab
from tools.teach.slides import deck
from tools.website import cells, films, frame

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
MOTION = ROOT / "minikafka" / "lab" / "view" / "motion.js"
ROW = re.compile(r"^\| \[((?:Elective )?\d+ · [^\]]+)\]\(([\w-]+)\.ipynb\) \| (\d+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
TEXTS = {"labs/WORDS.md": "words", "labs/COVERAGE.md": "misconceptions"}  # pages made of one text
SOLVED = ("These pages are the notebooks with their answers: what the cells put out when they ran, each picture with its run. "
          "Fold-outs hide the solutions.")
UNSOLVED = ("These pages are the notebooks as students get them, with what the cells put out when they ran. Cells that you fill "
            "in are empty.")
TYPE = "To type the answers yourself, get the project and run <code>make lab</code>."
BROWSER = f'{TYPE[:-1]}, or do <a href="browser/index.html">labs 0 to 10 in this browser</a>, with nothing installed.'
HERO = (ROOT / "labs" / "pictures" / "readme.mk", "flights-2", 36.2)     # the run of the README's picture


@dataclass
class Shot:
    """One film of a notebook: the run, the partition, the moments that its pictures show."""

    name: str
    run: RecordedRun
    tp: str | None
    shown: list[float]
    film: films.Film | None = None


class Site:
    """The folder that is written."""

    def __init__(self, folder: Path, labs: Sequence[Lab], demos: Sequence[Demo], solutions: bool = True) -> None:
        self.folder, self.labs, self.demos, self.solutions = folder, labs, demos, solutions
        self._decks: dict[int, str] = {}       # number of a lab -> page of its slides
        self._least: dict[str, int] = {}       # of each film: the pixels that it needs on a phone, if that has fewer

    def write(self, name: str, content: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def begin(self) -> None:
        """Empty the folder and put in what all pages share."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.write("style.css", (HERE / "style.css").read_text())
        self.write("player.js", f"{MOTION.read_text()}\n{(HERE / 'player.js').read_text()}")

    def figure(self, shot: Shot, t: float, words: str) -> str:
        """The place of a picture in a page, which shows the moment `t` first; its film is written once."""
        shot.film = shot.film or self._film(
            shot.name, lambda place: films.of_run(shot.run, shot.tp, shot.shown, place, f"mk-{shot.name}"))
        return self._figure(shot.name, shot.film, t, words)

    def _film(self, name: str, make: Callable[[str], films.Film]) -> films.Film:
        """Write a film, once for each width of the page; return the wide one."""
        made = {place: make(place) for place in films.PLACES}
        for place, film in made.items():
            self.write(f"films/{name}-{place}.js", film.script(f"{name}-{place}"))
        self._least[name] = made["slim"].least
        return made["wide"]

    def _figure(self, name: str, film: films.Film, t: float, words: str, caption: bool = False) -> str:
        number = film.at(t)
        still = f"films/{name}-{number}.svg"
        self.write(still, film.moments[number].svg)
        return frame.figure(name, number, still, film.moments[number], words, caption, self._least[name])

    # --- pages ------------------------------------------------------------------------------------------------------

    def lab(self, lab: Lab, notebook: NotebookNode) -> None:
        """The page of a lab, with its map and its films."""
        if lab.here:
            self.write(f"pictures/{here.name(lab.here)}", here.drawing(lab.here))
        shots = shots_of(notebook, lab.name[:2])

        def place(bundle: dict[str, Any]) -> str:
            still = bundle[RUN]
            return self.figure(shots[still["run"], still["tp"]], still["t"], bundle["text/plain"])

        body = cells.rendered(notebook.cells, place, self.solutions)
        slides = self._decks.get(lab.number)
        link = f'<p><a href="{slides}">Slides of this lab</a></p>' if slides else ""
        at = [each.name for each in self.labs].index(lab.name)
        before, after = neighbours([(f"{each.name}.html", f"Lab {each.number} · {each.title}") for each in self.labs], at)
        self._page(f"{lab.name}.html", f"Lab {lab.number} · {lab.title}", body + link, before, after)

    def slides(self, lab: Lab) -> None:
        """The slides of a lab, to which its page links; call it before `lab`."""
        self._decks[lab.number] = f"slides-{lab.number:02}.html"
        self.write(self._decks[lab.number], deck(lab.number, self.solutions))

    def demo(self, demo: Demo) -> None:
        """The page of a demo: the question, the answers, a film of each scene, and with solutions what to say."""
        parts = [f"<h1>{demo.name} · {html.escape(demo.title)}</h1><p class=lead>{html.escape(demo.question)}</p>",
                 *(frame.answer(each, self.solutions) for each in demo.answers)]
        for number, scene in enumerate(demo.scenes):
            recording, name = record(scene), f"demo-{demo.name.lower()}-{number}"
            film = self._film(name, partial(films.of_scene, recording, demo.counters, name=f"mk-{name}"))
            seen = "".join(f"<li>{html.escape(line.text)}</li>" for line in recording.check())
            parts += [f'<h2 id="scene-{number}">{html.escape(scene.title)}</h2>', self._figure(name, film, 0.0, "", caption=True),
                      f"<details><summary>What there was to see</summary><ul>{seen}</ul></details>"]
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in demo.notes)
        parts += [f"<p>Do it yourself: exercise {demo.exercise[0]}, {html.escape(demo.exercise[1])}</p>"]
        if self.solutions:
            parts += [f'<h2 id="notes">In front of a class</h2><p>{html.escape(demo.purpose)}</p><ul>{notes}</ul>'
                      f"<p><code>.venv/bin/python -m minikafka demos {demo.name}</code> shows it on a projector.</p>"]
        at = [each.name for each in self.demos].index(demo.name)
        before, after = neighbours([(f"{demo_page(each)}", f"{each.name} · {each.title}") for each in self.demos], at)
        self._page(demo_page(demo), f"{demo.name} · {demo.title}", "\n".join(parts), before, after)

    def texts(self) -> None:
        """The pages that are made of one text each."""
        for path, name in TEXTS.items():
            body = cells.text((ROOT / path).read_text())
            self._page(f"{name}.html", cells.title(body), body)

    def browser(self, folder: Path) -> None:
        """The page in which labs run (tools/browser.py), if it has been made. Call it before `index`, which then links to it."""
        if (folder / "index.html").is_file():
            shutil.copytree(folder, self.folder / "browser")

    def index(self) -> None:
        """The first page: what it is, a picture that can be played, the labs, the demos."""
        path, tp, t = HERO
        run = RecordedRun.open(path)
        hero = self.figure(Shot("hero", run, tp, [t]), t, "")
        rows = {name: (title, minutes, able, question) for title, name, minutes, able, question
                in ROW.findall((ROOT / "labs" / "README.md").read_text())}
        labs = "".join(frame.card(f"{lab.name}.html", rows[lab.name][0], rows[lab.name][3], f"{lab.minutes} minutes")
                       for lab in self.labs)
        demos = "".join(frame.card(demo_page(demo), f"{demo.name} · {demo.title}", demo.question) for demo in self.demos)
        decks = ", ".join(f'<a href="{page}">lab {number}</a>' for number, page in self._decks.items())
        body = cells.text((HERE / "index.md").read_text())
        there = (self.folder / "browser").is_dir()
        for word, made in (("hero", hero), ("labs", f"<ul class=cards>{labs}</ul>"), ("demos", f"<ul class=cards>{demos}</ul>"),
                           ("type", f"<p>{BROWSER if there else TYPE}</p>"),
                           ("about", f"<p>{SOLVED if self.solutions else UNSOLVED}</p>"),
                           ("slides", f"<p>Slides: {decks}.</p>" if decks else "")):
            body = body.replace(f"<p>[{word}]</p>", made)
        self._page("index.html", "minikafka", body)

    def _page(self, name: str, title: str, body: str, before: frame.Link = None, after: frame.Link = None) -> None:
        self.write(name, frame.page(title, linked(body), cells.sections(body), before, after))


def demo_page(demo: Demo) -> str:
    return f"demo-{demo.name.lower()}.html"


def neighbours(pages: Sequence[tuple[str, str]], at: int) -> tuple[frame.Link, frame.Link]:
    """The pages before and after number `at`."""
    return pages[at - 1] if at else None, pages[at + 1] if at + 1 < len(pages) else None


# --- films of a notebook --------------------------------------------------------------------------------------------


def bundles(notebook: NotebookNode) -> Iterator[tuple[str, dict[str, Any]]]:
    """(cell's id, the run as text) for every picture with a run."""
    for cell in notebook.cells:
        for found in cell.get("outputs", []):
            if RUN in found.get("data", {}):
                yield cell.id, found.data[RUN]


def shots_of(notebook: NotebookNode, number: str) -> dict[tuple[str, str | None], Shot]:
    """The films of a notebook, by what a picture's bundle tells: the packed run, and the partition."""
    runs = [(cell, each, RecordedRun.unpacked(b64decode(each["run"]))) for cell, each in bundles(notebook)]
    made: list[Shot] = []
    found = {}
    for cell, each, run in sorted(runs, key=lambda one: -len(one[2].events)):  # the longest first
        shot = next((shot for shot in made if shot.tp == each["tp"]
                     and shot.run.events[:len(run.events)] == run.events), None)
        if shot is None:
            made.append(shot := Shot(f"{number}-{cell}", run, each["tp"], []))
        shot.shown.append(each["t"])
        found[each["run"], each["tp"]] = shot
    return found


# --- links ----------------------------------------------------------------------------------------------------------


def linked(body: str) -> str:
    """The page with links to notebooks and texts turned into links to their pages, and those to maps likewise."""
    body = re.sub(r'href="(?:\.\./)?(?:labs/)?(\d\d-[\w-]+)\.ipynb', r'href="\1.html', body)
    for path, name in TEXTS.items():
        body = re.sub(rf'href="(?:\.\./)?(?:labs/)?{Path(path).name}', f'href="{name}.html', body)
    return body.replace('src="../labs/pictures/', 'src="pictures/')
