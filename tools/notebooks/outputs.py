"""Outputs of the solved notebooks: kept where a cell's code is unchanged, without what differs from run to run.

Invariants
  I-NB-5  no output holds a machine's path, a widget's state or the time of a run
  I-NB-6  a solved notebook carries the hash of the code that its outputs come from; another hash means they are stale
"""
from __future__ import annotations

import getpass
import hashlib
import json
import re
import socket
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[2]
WIDGET = "application/vnd.jupyter.widget-view+json"
PATHS = re.compile(r"(?<![\w.:/<])/(?:home|root|tmp|Users|var|work|opt|usr|private|mnt)/[^\s\"'<>\\]*")



def code_hash(cells: list[NotebookNode]) -> str:
    """What the outputs depend on: the code, in order."""
    return hashlib.sha256(json.dumps([c.source for c in cells if c.cell_type == "code"]).encode()).hexdigest()


def keep(cells: list[NotebookNode], before: list[NotebookNode]) -> None:
    """Gives cells the outputs that the same code had before; equal code in several cells: in order. A cell tagged `not-kept` has
    none: what it shows depends on what is installed.
    """
    had: dict[str, deque[NotebookNode]] = defaultdict(deque)
    for cell in before:
        if cell.cell_type == "code" and cell.execution_count is not None:
            had[cell.source].append(cell)
    for count, cell in enumerate((c for c in cells if c.cell_type == "code"), 1):
        if had[cell.source]:
            shown = had[cell.source].popleft().outputs
            cell.outputs = [] if "not-kept" in cell.metadata.get("tags", []) else tidy(shown, count)
            cell.execution_count = count


def tidy(outputs: list[NotebookNode], count: int) -> list[NotebookNode]:
    """Streams in one piece, no widget views, counts in the order of the cells, no paths of this machine."""
    kept: list[NotebookNode] = []
    for output in outputs:
        output = plain(output)
        if output.get("data") == {"text/html": ""}:  # where a wait was shown (minikafka/lab/waiting.py)
            continue
        if "data" in output and WIDGET in output.data:
            data = {kind: content for kind, content in output.data.items() if kind != WIDGET}
            if not data.keys() - {"text/plain"}:
                continue
            output = NotebookNode({**output, "data": NotebookNode(data)})
        if "execution_count" in output:
            output = NotebookNode({**output, "execution_count": count})
        if kept and output.output_type == "stream" == kept[-1].output_type and output.name == kept[-1].name:
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def plain(output: NotebookNode) -> NotebookNode:
    """The output without the folders of this project and of this user: relative to the project, `~` for home."""
    def relative(value: object) -> object:
        if isinstance(value, str):
            return value.replace(f"{ROOT}/", "").replace(str(ROOT), ".").replace(f"{Path.home()}/", "~/")
        if isinstance(value, list):
            return [relative(item) for item in value]
        if isinstance(value, dict):
            return NotebookNode({key: relative(item) for key, item in value.items()})
        return value
    return relative(output)


def personal(cells: list[NotebookNode], names: Iterable[str] = ()) -> list[str]:
    """What an output tells about the machine that it was made on, "cell-id: the words": paths, and any of these names."""
    found = []
    for cell in cells:
        for text in texts(cell.get("outputs", [])):
            words = PATHS.findall(text) + [name for name in names if re.search(rf"\b{re.escape(name)}\b", text)]
            found += [f"{cell.id}: {word[:80]}" for word in words]
    return found


def own_names() -> list[str]:
    """The names of this machine and its user. Read when a notebook is run: elsewhere such a name may be an ordinary word."""
    return sorted(name for name in {socket.gethostname(), getpass.getuser()} if len(name) > 4)


def texts(value: object) -> Iterator[str]:
    """Every string in an output."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts(item)
