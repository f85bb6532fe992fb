"""The source of a lab, `solutions/source/NN-title.md`, read into cells.

    ---
    title: One partition is a file
    minutes: 60
    here: topic, brokers
    ---
    Markdown. A heading (#, ##) begins a new text cell; so does a line `+++`.
    <!-- seeds: S1.4 S2.9 -->          what this text cell covers: before its first line, or right after its heading
    ```python seeds=S1.4,S2.9 tags=solution-only id=kill
    code of a code cell
    ```
    ```python misconceptions=23 claims=S3.18
    a cell whose output refutes misconception 23, and tests what item S3.18 of the lectures claims (minikafka/lab/beliefs.tsv)
    ```

Fences of any other kind (```text, ```console) stay in the text. A source that does not begin with `# ` gets a title cell.
`here` says which parts of the course's map the lab is about (here.py); the map stands under the title.

Invariants
  the same source gives the same cells, ids included: a cell's id is its lab and place, or what `id=` says
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from . import here

NAME = re.compile(r"(\d\d-[a-z0-9-]+|playground)\.md")
FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
FENCE = re.compile(r"^(`{3,}|~{3,})\s*(.*)$")
HEADING = re.compile(r"^##? ")
SEEDS = re.compile(r"^\s*<!--\s*seeds:\s*(.*?)\s*-->\s*$")
PLUS = re.compile(r"^\+\+\+\s*$")
LISTS = ("seeds", "misconceptions", "claims", "tags")
WORDS = (*LISTS, "id")


class LabError(Exception):
    """A source that cannot be made into notebooks; the text says where and why."""


@dataclass
class Cell:
    """One cell as the source has it."""

    kind: str                                   # "markdown" or "code"
    lines: list[str] = field(default_factory=list)
    seeds: list[str] = field(default_factory=list)
    misconceptions: list[str] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    id: str = ""

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip("\n")


@dataclass(frozen=True)
class Lab:
    """A source: what stands between its `---` lines, and its cells."""

    name: str                                   # "06-replication"
    title: str
    minutes: int
    cells: list[NotebookNode]
    here: tuple[str, ...] = ()                  # parts of the map

    @property
    def number(self) -> int:
        return int(self.name[:2])


def read(path: Path) -> Lab:
    """LabError if the file's name, its front matter or a fence is not as above."""
    named = NAME.fullmatch(path.name)
    if not named:
        raise LabError(f"{path.name}: a source is called NN-title.md")
    return parse(path.read_text(), path.stem)


def parse(text: str, name: str) -> Lab:
    front = FRONT.match(text)
    if not front:
        raise LabError(f"{name}: the first lines are `---`, `title: ...`, `minutes: ...`, `---`")
    facts = dict(re.findall(r"^(\w+):\s*(.+?)\s*$", front[1], re.MULTILINE))
    if "title" not in facts or not facts.get("minutes", "").isdigit():
        raise LabError(f"{name}: title and minutes (a number) are needed between the `---` lines")
    cells = [cell for cell in split(text[front.end():], name) if cell.text]
    if not cells or not cells[0].text.startswith("# "):
        cells.insert(0, Cell("markdown", [f"# Lab {int(name[:2])} · {facts['title']}"]))
    parts = tuple(ids(facts.get("here", "")))
    if strangers := [part for part in parts if part not in here.PARTS]:
        raise LabError(f"{name}: here: {strangers[0]} is no part of the map; its parts are {', '.join(here.PARTS)}")
    if parts:
        title, *rest = cells[0].text.splitlines()
        cells[0].lines = [title, "", here.markdown(parts), *rest]
    return Lab(name, facts["title"], int(facts["minutes"]), numbered(cells, name), parts)


def split(text: str, name: str) -> Iterator[Cell]:
    """The cells of a source in order; text cells may be empty."""
    cell = Cell("markdown")
    fence = ""                                  # the fence that is open inside a text cell, or that of the code cell
    for line in text.splitlines():
        opened = FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence) and not opened[2]:
                fence = ""
                if cell.kind == "code":
                    yield cell
                    cell = Cell("markdown")
                    continue
            cell.lines.append(line)
        elif opened:
            fence = opened[1]
            if opened[2].split()[:1] == ["python"]:
                yield cell
                cell = described(Cell("code"), opened[2].split()[1:], name)
            else:
                cell.lines.append(line)
        elif SEEDS.match(line):
            if any(line.strip() for line in cell.lines if not HEADING.match(line)):
                yield cell
                cell = Cell("markdown")
            cell.seeds += ids(SEEDS.match(line)[1])
        elif PLUS.match(line) or (HEADING.match(line) and cell.text):
            yield cell
            cell = Cell("markdown", [] if PLUS.match(line) else [line])
        else:
            cell.lines.append(line)
    if fence:
        raise LabError(f"{name}: a fence is never closed:\n" + "\n".join(cell.lines[:5]))
    yield cell


def described(cell: Cell, words: list[str], name: str) -> Cell:
    """A code cell with what its info string says: `seeds=S1.4,S2.9 tags=solution-only id=kill`."""
    for word in words:
        key, _, value = word.partition("=")
        if key not in WORDS or not value:
            raise LabError(f"{name}: ```python {' '.join(words)}: only {', '.join(w + '=' for w in WORDS)} may follow")
        setattr(cell, key, value if key == "id" else ids(value))
    return cell


def ids(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text) if word]


def numbered(cells: list[Cell], name: str) -> list[NotebookNode]:
    """The cells as nbformat has them, with their ids. LabError if two have the same."""
    made, taken = [], set()
    for place, cell in enumerate(cells):
        own = cell.id or f"lab{name[:2]}-{place:02d}"
        if own in taken:
            raise LabError(f"{name}: two cells have the id {own}")
        taken.add(own)
        metadata = {key: words for key in LISTS if (words := getattr(cell, key))}
        made.append(as_nbformat(cell, own, metadata))
    return made


def as_nbformat(cell: Cell, own: str, metadata: dict[str, list[str]]) -> NotebookNode:
    """Return what `new_code_cell` or `new_markdown_cell` return; those judge each cell by a schema, `write` the whole."""
    made = NotebookNode(id=own, cell_type=cell.kind, metadata=NotebookNode(metadata), source=cell.text)
    if cell.kind == "code":
        made |= NotebookNode(execution_count=None, outputs=[])
    return made
