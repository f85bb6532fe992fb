"""tools/pace.py: what a notebook takes, and when the first window was seen, on a tiny notebook of its own."""
from __future__ import annotations

import re

from tools import pace
from tools.notebooks.build import Project, build

SOURCE = """---
title: Busy
minutes: 5
---
```python id=work
total = sum(n * n for n in range(3_000_000))
```
```python id=window
display({"text/plain": "step 4: 31 arrived; emitted [0, 10) = 4"}, raw=True)
```
```python id=more
total = sum(n * n for n in range(3_000_000))
```
"""


def test_the_duration_of_a_notebook_and_of_its_first_window_is_shown(tmp_path, monkeypatch):
    """Fails if the work of the kernel, a process of its own, is not counted, if cells behind the wanted one run, or if the first
    window is taken for the end."""
    project = Project(tmp_path)
    project.source.mkdir(parents=True)
    path = project.source / "42-busy.md"
    path.write_text(SOURCE)
    build(path, project)
    number, spent, longest = pace.whole(path, project)
    window = pace.Watched.window
    assert number == "42" and longest.partition(",")[0] in ("work", "more")
    assert processors(spent) > processors(window) + 0.05 > 0.1
    assert [cell for _, cell in pace.run(path, project, last="emitted [")] == ["work", "window"]


def processors(text: str) -> float:
    """The second figure of "3 s (1.4)"."""
    found = re.fullmatch(r"\d+ s \(([\d.]+)\)", text)
    assert found is not None, text
    return float(found[1])
