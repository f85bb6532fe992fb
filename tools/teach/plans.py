"""The plans of a term, a week and an afternoon: plans.md with the minutes of labs and demos put in.

`{6}` becomes lab 6 with a link and minutes, `{D5}` a demo with minutes, `{demos}` the table of all demos, `{total}` the sums.

Owns: docs/teaching/PLANS.md.
"""
from __future__ import annotations

import re
from pathlib import Path

from minikafka.lab.demos import minutes
from minikafka.lab.demos.minutes import DemoMinutes
from tools.notebooks.build import ROOT
from tools.notebooks.source import Lab
from tools.teach.minutes import labs

SOURCE = Path(__file__).with_name("plans.md")
PAGE = ROOT / "docs" / "teaching" / "PLANS.md"
TEST_MINUTES = 25  # one minute for each question of a form


def plans() -> str:
    """Return the page. Raises KeyError for a lab or a demo that does not exist."""
    lab, demo = labs(), minutes.kept()
    words = {str(number): _lab(number, one) for number, one in lab.items()}
    words |= {name: f"{name} ({one.minutes})" for name, one in demo.items()}
    words |= {"demos": _table(demo), "test": str(TEST_MINUTES), "total": _total(lab, demo)}
    return re.sub(r"\{(\w+)\}", lambda found: words[found[1]], SOURCE.read_text())


def _lab(number: int, one: Lab) -> str:
    return f"[lab {number}](../../labs/{one.name}.ipynb) ({one.minutes})"


def _table(demo: dict[str, DemoMinutes]) -> str:
    rows = [f"| {name} | {one.title} | {one.scenes} | {one.stops} | {one.minutes} |" for name, one in demo.items()]
    return "\n".join(["| demo | title | scenes | stops | minutes |", "|---|---|---|---|---|", *rows])


def _total(lab: dict[int, Lab], demo: dict[str, DemoMinutes]) -> str:
    course = sum(one.minutes for number, one in lab.items() if number < 20)
    shown = sum(one.minutes for one in demo.values())
    return f"labs 0 to 14 take {course} minutes ({course / 60:.0f} hours), the demos {shown}, both tests {2 * TEST_MINUTES}"
