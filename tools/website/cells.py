"""A solved notebook's cells as HTML: text, code, what the code put out, and a place for each film.

An exercise shows what students get; its solution is folded, or, on a page without solutions, not there. Code and words are those
of the notebook, nothing is drawn anew.

Owns: the HTML of one cell.
Invariants
  I-CELLS-1  every output of the notebook is on the page: as a film, as HTML, or as text
  I-CELLS-2  a page without solutions has no solution and no guess, and no output of a cell that students fill in, or that
             prints a line of a solution; what answers a guess is folded
"""
from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from minikafka.lab.view.front import RUN
from tools.notebooks.student import BEGIN, END, GUESS, TEST_MARK, unsolved

COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # of a terminal
MARKER = re.compile("|".join(each.pattern for each in (BEGIN, END, TEST_MARK)))
TELLING = 25  # letters of a line that somebody wrote for this solution
GUESSED = re.compile(r"\s*### GUESS\s*$", re.MULTILINE)
HEADING = re.compile(r'<h2 id="([^"]*)">(.*?)</h2>', re.DOTALL)
Place = Callable[[dict[str, Any]], str]  # what a mime bundle with a run becomes


def rendered(cells: list[NotebookNode], place: Place, solutions: bool = True) -> str:
    """All cells in order."""
    shown = [cell for cell in cells if solutions or "solution-only" not in cell.metadata.get("tags", [])]
    secret = frozenset() if solutions else solved_lines(shown)
    return "\n".join(text(cell.source) if cell.cell_type == "markdown" else code(cell, place, solutions, secret)
                     for cell in shown)


def solved_lines(cells: list[NotebookNode]) -> frozenset[str]:
    """The lines that stand in a solution and that no student is given: a cell may print its neighbour's code."""
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    lines = {line.strip() for source in sources for line in source.splitlines()}
    given = {line.strip() for source in sources for line in unsolved(source).splitlines()}
    return frozenset(line for line in lines - given if len(line) >= TELLING and not line.startswith("#"))


def text(source: str) -> str:
    """Markdown as HTML; tables get a box that can be scrolled."""
    made = MarkdownWithMath(renderer=IPythonRenderer(escape=False, exclude_anchor_links=True)).render(source)
    made = re.sub("<h2>(.*?)</h2>", lambda found: f'<h2 id="{slug(found[1])}">{found[1]}</h2>', made)
    return made.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")


def sections(body: str) -> list[tuple[str, str]]:
    """(id, title) of every section of a page."""
    return [(name, re.sub("<[^>]*>", "", title)) for name, title in HEADING.findall(body)]


def slug(words: str) -> str:
    """A heading as the name of its place: "2 · One partition" -> "2-one-partition"."""
    return re.sub(r"\W+", "-", re.sub("<[^>]*>|&[^;]*;", "", words).lower()).strip("-")


def title(body: str) -> str:
    """The first heading of a page."""
    found = re.search("<h1[^>]*>(.*?)</h1>", body, re.DOTALL)
    return re.sub("<[^>]*>", "", found[1]) if found else ""


def code(cell: NotebookNode, place: Place, solutions: bool, secret: frozenset[str] = frozenset()) -> str:
    """A cell of code and its outputs."""
    lines, name = cell.source.splitlines(), html.escape(cell.id)
    if not solutions and any(BEGIN.match(line) or GUESS.match(line) for line in lines):
        return f'<div class="cell" id="{name}">{python(unsolved(cell.source))}</div>'
    solved = GUESSED.sub("", "\n".join(line for line in lines if not MARKER.match(line)))
    shown = python(solved)
    if any(BEGIN.match(line) for line in lines):
        shown = f'{python(unsolved(cell.source))}<details class="solution"><summary>A solution</summary>{shown}</details>'
    outputs = "".join(f'<div class="out">{output(each, place)}</div>' for each in cell.outputs
                      if not any(line in all_of(each) for line in secret))
    if not solutions and "reveal(" in cell.source:
        outputs = f'<details class="solution"><summary>What came out</summary>{outputs}</details>'
    return f'<div class="cell" id="{name}">{shown}{outputs}</div>'


def python(source: str) -> str:
    return highlight(source.strip("\n"), PythonLexer(), HtmlFormatter(cssclass="code"))


def output(found: NotebookNode, place: Place) -> str:
    """One output, in the richest form that a page without a kernel can show."""
    if found.output_type == "stream":
        return printed(found.text)
    if found.output_type == "error":
        return f"<pre>{plain(chr(10).join(found.traceback))}</pre>"
    if RUN in found.data:
        return place(found.data)
    if "text/html" in found.data:
        return f'<div class="wide">{found.data["text/html"]}</div>'
    if "image/svg+xml" in found.data:
        return f'<div class="wide">{found.data["image/svg+xml"]}</div>'
    return printed(found.data.get("text/plain", ""))


def printed(words: str) -> str:
    """What a cell printed, a line each; the sentences of `recall` break where the page is narrow."""
    return f'<pre{" class=said" * ("Your answers: recall(" in words)}>{plain(words)}</pre>'


def all_of(found: NotebookNode) -> str:
    """One output in all its forms, as letters."""
    return html.unescape("\n".join([found.get("text", ""), *map(str, found.get("data", {}).values())]))


def plain(words: str) -> str:
    return html.escape(COLOURS.sub("", words))
