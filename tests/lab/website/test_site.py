"""The site of a small lab: built as `make site` does, opened from the disk, played in a real browser."""
from __future__ import annotations

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_output

from minikafka.lab.demos import demo
from minikafka.lab.picture.facts.run import RecordedRun
from tests.lab.view.page import MARKS, PATIENCE, SCREENSHOTS, chromium
from tools import site
from tools.notebooks.build import Project
from tools.notebooks.source import read
from tools.teach.minutes import labs
from tools.website import cells, films
from tools.website.pages import HERO, ROW, Site

NAME = "06-replication"  # a lab that the first page knows
SOURCE = """---
title: Replication
minutes: 5
here: leader
---
## 1 · A leader dies

| who | what |
|---|---|
| [words](../labs/WORDS.md) | [this lab](06-replication.ipynb) |

```python id=start
from minikafka import Cluster
cluster = Cluster(engine="sim", seed=5, preset="class")
cluster.admin().create_topic("flights", partitions=1)
producer = cluster.watch(cluster.producer(), "pilot")
producer.send("flights", "one")
view = cluster.view()
```

## 2 · Look

```python id=kill
dead = cluster.leader("flights", 0)
cluster.kill(dead)
cluster.sleep(2)
view.snapshot()
```

## 3 · Solve

```python id=solve
def twice(x):
    ### BEGIN SOLUTION add it to itself
    return x + x
    ### END SOLUTION
print(twice(21))
guess = 3  ### GUESS
```

## 4 · Go on

```python id=end
cluster.sleep(20)
cluster.close()
```
"""


class Links(HTMLParser):
    """Every address in a page, and every place that an address may name."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.places: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.found += [told[name] or "" for name in ("href", "src") if name in told]
        self.places.add(told.get("id") or "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a project with one lab, and of one demo."""
    root = tmp_path_factory.mktemp("project")
    project = Project(root)
    project.source.mkdir(parents=True)
    (project.source / f"{NAME}.md").write_text(SOURCE)
    assert site.main(["06"], project) == 0
    made = root / "build" / "site"
    Site(made, [], [demo("D8")]).demo(demo("D8"))
    return made


def test_every_link_is_a_file_of_the_site_or_a_place_in_it(folder):
    """I-SITE-1. Fails if a page names a notebook, a file that is not written, a heading that is not there, or another host."""
    pages = {path.name: Links(path.read_text()) for path in folder.glob("*.html")}
    assert {f"{NAME}.html", "index.html", "words.html", "misconceptions.html", "demo-d8.html"} <= set(pages)
    others = {f"{path.stem}.html" for path in (site.Project().labs).glob("*.ipynb")}  # labs that were not asked for
    for name, page in pages.items():
        for address in page.found:
            file, _, place = address.partition("#")
            if address == "data:," or file in others - set(pages):
                continue
            assert (folder / (file or name)).is_file(), f"{name}: {address}"
            assert not place or place in pages[file or name].places, f"{name}: {address}"
    assert "pictures/here-leader.svg" in pages[f"{NAME}.html"].found


@pytest.mark.parametrize("made", [True, False])
def test_the_first_page_leads_to_the_labs_in_a_browser_if_they_are_there(tmp_path, made):
    """I-SITE-1. Fails if the page that `make browser` has made is not beside the site with a link to it, or if a link
    leads to no page."""
    if made:
        (tmp_path / "build" / "browser" / "lab").mkdir(parents=True)
        for name in ("index.html", "lab/index.html"):
            (tmp_path / "build" / "browser" / name).write_text(name)
    built = Site(tmp_path / "site", [], [])
    built.begin()
    built.browser(tmp_path / "build" / "browser")
    built.index()
    assert ("browser/index.html" in Links((built.folder / "index.html").read_text()).found) is made
    assert (built.folder / "browser" / "lab" / "index.html").is_file() is made
    assert "run <code>make lab</code>" in (built.folder / "index.html").read_text()


def test_pictures_of_one_run_share_a_film_and_each_shows_its_own_moment(folder):
    """I-SITE-2. Fails if the snapshot gets a film of its own, or shows the end."""
    page = (folder / f"{NAME}.html").read_text()
    shown = re.findall('data-film="([^"]*)" data-shows="([^"]*)"', page)
    assert len(shown) == 2 and len({name for name, _ in shown}) == 1
    last, early = (int(number) for _, number in shown)
    assert early < last
    names = {path.name for path in (folder / "films").glob("06-*")}
    assert names == {"06-start-wide.js", "06-start-slim.js", f"06-start-{last}.svg", f"06-start-{early}.svg"}


def test_a_solution_is_folded_and_every_output_is_there(folder):
    """I-CELLS-1. Fails if a page shows the solution in the open, a marker, or loses what a cell printed."""
    page = (folder / f"{NAME}.html").read_text()
    shown, _, folded = page.partition('<details class="solution">')
    assert "todo" in shown and "add it to itself" in shown and "x + x" not in re.sub("<[^>]*>", "", shown)
    assert re.search(r"x</span> <span[^>]*>\+", folded) and ">42\n<" in page
    assert "###" not in page and "NBVAL" not in page


def test_a_site_for_students_has_no_solution(folder, tmp_path):
    """I-CELLS-2. Fails if a solution, a guess, or an answer to a vote is on a page, or if the other cells lose their outputs."""
    project = Project(folder.parents[1])
    assert site.main(["06", "--unsolved", "--to", str(tmp_path)], project) == 0
    made = Site(tmp_path, [], [demo("D8")], solutions=False)
    made.demo(demo("D8"))
    made.slides(labs()[1])
    pages = [(tmp_path / name).read_text() for name in (f"{NAME}.html", "demo-d8.html")]
    page, vote = (re.sub("<[^>]*>", "", each) for each in pages)
    assert "add it to itself" in page and "your guess" in page and pages[0].count("data-film") == 2
    assert "x + x" not in page and "guess = 3" not in page and ">42\n<" not in pages[0]
    assert demo("D8").answers[2].text in vote and not any(each in vote for each in (demo("D8").notes[0], "✔", "Right."))
    assert labs()[1].title in (tmp_path / "slides-01.html").read_text()


@pytest.mark.parametrize("solutions", [True, False])
def test_an_output_that_prints_a_solution(solutions):
    """I-CELLS-2. Fails if the code of a solution is on a page for students because another cell has printed it."""
    line = 'db.execute("INSERT OR IGNORE INTO trips")'
    solved = new_code_cell(f"def f():\n    ### BEGIN SOLUTION add\n    {line}\n    ### END SOLUTION")
    given = "print(inspect.getsource(f), 'and more of it')"
    printed = [new_output("stream", text=f"    {line}\nPASS"), new_output("stream", text=f"{given}\n42")]
    page = cells.rendered([solved, new_code_cell(given, outputs=printed)], pytest.fail, solutions)
    plain = html.unescape(re.sub("<[^>]*>", "", page))
    assert (line in plain) is solutions is ("PASS" in plain) and "42" in plain


@pytest.mark.parametrize("solutions", [True, False])
def test_what_answers_a_guess_is_folded_for_students(solutions):
    """I-CELLS-2. Fails if a student reads the answer before the guess, or if a page with solutions hides it."""
    cell = new_code_cell('reveal("1.1", 46)', outputs=[new_output("stream", text="46")])
    before, folded, _ = cells.code(cell, pytest.fail, solutions).partition("<details")
    assert bool(folded) is not solutions and ("<pre>46" in before) is solutions


def test_the_first_page_knows_every_lab():
    """Fails if labs/README.md has no row for a lab, or one that the first page cannot read: no site could be made."""
    rows = {name for _, name, *_ in ROW.findall((site.Project().labs / "README.md").read_text())}
    assert rows == {lab.name for lab in labs().values()}


def test_a_film_has_a_frame_for_every_mark_and_is_made_alike_again():
    """I-FILM-1, I-FILM-2. Fails if marks fall between frames, or if two films of a run differ."""
    path, tp, t = HERO
    made = [films.of_run(RecordedRun.open(path), tp, [t], "slim", "mk-x") for _ in range(2)]
    times = [moment.t for moment in made[0].moments]
    marks = {round(mark.t, 6) for mark in RecordedRun.open(path).marks}
    assert marks <= {round(moment.t, 6) for moment in made[0].moments if moment.kind == films.MARK}
    assert times == sorted(set(times)) and times[made[0].at(t)] == t
    assert made[0].script("a") == made[1].script("a")


def test_a_kept_run_is_used_until_the_code_changes(folder, capsys):
    """Fails if every build runs the notebook, or if a changed cell shows what the old one put out."""
    project = Project(folder.parents[1])
    lab = read(project.source / f"{NAME}.md")
    first = site.with_runs(lab, project, pytest.fail)
    lab.cells[-1].source += "\nprint('changed')"
    told: list[str] = []
    again = site.with_runs(lab, project, told.append)
    assert len(told) == 1 and again.cells[-1].outputs[-1].text == "changed\n" and not first.cells[-1].outputs
    assert len(list((project.root / ".cache" / "site").iterdir())) == 1


# --- in a browser ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(params=[(1280, 720, "light"), (390, 844, "dark")], ids=["wide light", "phone dark"])
def opened(folder: Path, browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A function that opens a page from the disk; afterwards: no error, no request but for files of the site."""
    wide, high, scheme = request.param
    context = browser.new_context(viewport={"width": wide, "height": high}, color_scheme=scheme)
    context.set_default_timeout(PATIENCE)
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: asked.url.startswith((folder.as_uri(), "data:")) or wrong.append(asked.url))

    def go(name: str) -> Any:
        page.goto((folder / name).as_uri())
        figure = page.locator("figure").first
        figure.scroll_into_view_if_needed()
        page.wait_for_selector("figure[data-ready]")
        return page

    yield go
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"site-{wide}-{scheme}.png")
    narrow = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()
    assert wrong == [] and narrow, "errors, requests to elsewhere, or a page that is wider than its window"


PICTURE = "figure svg[data-part=picture]"


def slide(page: Any, number: str) -> None:
    page.evaluate("""number => {
        const slider = document.querySelector('[data-part=slider]');
        slider.value = number ?? slider.max;
        slider.dispatchEvent(new Event('input'));
    }""", number)


def faster(page: Any) -> None:
    while page.inner_text("[data-part=speed]") != "×10":
        page.locator("[data-part=speed]").first.click()


def test_a_recorded_run_is_played_without_python(opened):
    """Fails if the slider, the buttons or Play do not move the picture, or if the page needs a server."""
    page = opened(f"{NAME}.html")
    end = page.inner_text("[data-part=clock]")
    assert float(end.split()[0]) > 3 and page.locator(f"{PICTURE} [data-process=killed]").count() > 0
    slide(page, "0")
    assert page.inner_text("[data-part=clock]") == "0.0 s"
    assert page.locator("figure").first.locator("[data-process=killed]").count() == 0
    page.locator("[data-part=on]").first.click()
    assert page.inner_text("[data-part=clock]") != "0.0 s", "a mark is a place to jump to"
    faster(page)
    page.locator("[data-part=play]").first.click()
    page.wait_for_function("end => document.querySelector('[data-part=clock]').textContent === end", arg=end)
    page.wait_for_function("document.querySelector('[data-part=play]').textContent.includes('Play')")
    assert page.locator("figure").first.locator("[data-process=killed]").count() > 0
    ratio = page.evaluate(f"(svg => svg.clientWidth / svg.viewBox.baseVal.width)(document.querySelector('{PICTURE}'))")
    assert ratio > 0.64, "letters of the picture are smaller than nine pixels"


def test_a_demo_stops_where_there_is_something_to_say(opened):
    """Fails if Play runs past a moment of the demo, or if its words do not change with it."""
    page = opened("demo-d8.html")
    first = page.inner_text("[data-part=says]")
    faster(page)
    page.locator("[data-part=play]").first.click()
    page.wait_for_function("document.querySelector('[data-part=slider]').value > 0"
                           " && document.querySelector('[data-part=play]').textContent.includes('Play')")
    at, most = page.evaluate("(s => [Number(s.value), Number(s.max)])(document.querySelector('[data-part=slider]'))")
    assert 0 < at < most and page.inner_text("[data-part=says]") != first
    page.locator("[data-part=theme]").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


for each in (test_a_recorded_run_is_played_without_python, test_a_demo_stops_where_there_is_something_to_say):
    for mark in MARKS:
        mark(each)
