"""The page's first page: what it is, how long one waits, where one's work stays, and the way to each lab."""
from __future__ import annotations

import html
import json
import re
from pathlib import Path

HERE = Path(__file__).parent
HEAD = """<title>minikafka</title>
    <link rel="icon" href="favicon.ico">
    <script src="waiting.js"></script>"""
LAST = 10  # the labs from 11 on need Spark, processes or other programs


def write(folder: Path) -> None:
    """Write index.html, and the line that a notebook shows while Python starts.

    Each lab has a workspace of its own: JupyterLab opens again what was open in one, and each notebook starts a Python.
    """
    labs = sorted((folder / "files" / "labs").glob("[0-9][0-9]-*.ipynb"))
    rows = [f'<li><a href="lab/index.html?workspace={path.stem}&amp;path=labs/{path.name}">{html.escape(title(path))}</a></li>'
            for path in labs]
    here = sum(int(path.name[:2]) <= LAST for path in labs)
    text = (HERE / "first.html").read_text().replace("[here]", "\n".join(rows[:here]))
    (folder / "index.html").write_text(text.replace("[elsewhere]", "\n".join(rows[here:])))
    (folder / "lab" / "waiting.js").write_bytes((HERE / "waiting.js").read_bytes())
    page = folder / "lab" / "index.html"
    page.write_text(page.read_text().replace("<title>JupyterLite</title>", HEAD, 1))


def title(notebook: Path) -> str:
    """Return the words of a lab's first heading, without its number."""
    for cell in json.loads(notebook.read_text())["cells"]:
        found = re.search(r"^# (?:Lab \d+|Elective \d+)?\W*(.+)$", "".join(cell["source"]), re.MULTILINE)
        if found is not None:
            return found[1]
    return notebook.stem
