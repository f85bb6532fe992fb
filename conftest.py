"""Notebooks as tests: every .ipynb under labs/ and solutions/ is run by nbval (`--nbval-lax`, the environment's kernel).

Only cells marked `# NBVAL_CHECK_OUTPUT` are compared, and only by their plain text: pictures and HTML may be drawn anew.
The solved notebooks run strictly (LAB_STRICT=1): an exercise that does not pass is an error there. In the students' an
unsolved exercise is what one expects, so they must run from top to bottom without it. Nothing goes into a student's progress
file. `make test` runs labs 0 to 10, `make proof` those on Spark and the electives.

On Apache Kafka only the hands-on part is run (the simulated world says the same beside every engine), of labs that have changed
since `tools/labs.py --gate` judged them; MINIKAFKA_NOTEBOOKS=whole (`make long`) runs that of all. Of a student's notebook only
what differs from the solved one is run, and what that needs; `make long` runs all.

Students run cells again. In the solved notebooks of TWICE, with MINIKAFKA_NOTEBOOKS=whole in all, each cell is run a second time
at once, and once more after the end of the lab, the last one first, back to the one that starts the cluster (whole: all of them,
then all in order). A second run must do the same, the marked figures too, or end in one sentence that says what to do.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from nbval.plugin import NbCellError

ROOT = Path(__file__).parent
WHOLE = os.environ.get("MINIKAFKA_NOTEBOOKS") == "whole"
TWICE = ("00",)  # brokers that are killed, a view, exercises; `make long` has all
SENTENCE = re.compile(r"\n(?!.*(lambda|Traceback)).{20,500} \(The whole error: `%tb`\)")  # minikafka/lab/trouble.py
START = re.compile(r"^cluster = Cluster\(", re.MULTILINE)
NOT_COMPARED = ("text/html", "image/svg+xml", "application/javascript", "application/vnd.jupyter.widget-view+json", "stderr")


def pytest_configure() -> None:
    os.environ.setdefault("MINIKAFKA_PROGRESS", "off")


def pytest_collectstart(collector: pytest.Collector) -> None:
    if collector.path.suffix == ".ipynb":
        collector.skip_compare += NOT_COMPARED


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the cells: on Apache Kafka (MINIKAFKA_ENGINE=apache, as `make judge` sets it) they belong to the judge's half.

    The students' notebooks of labs that were judged as they are now are in `make long` only, and there all are run whole.
    """
    if item.path.suffix != ".ipynb":
        return
    if "11" <= item.path.name[:2] <= "99":  # on Spark, and the electives
        item.add_marker(pytest.mark.proof)
    if os.environ.get("MINIKAFKA_ENGINE") == "apache":
        item.add_marker(pytest.mark.judge)
    elif item.path.parent == ROOT / "solutions" and WHOLE:
        item.add_marker(pytest.mark.soak)
        item.add_marker(pytest.mark.timeout(3600))  # the last cell runs all of them twice; nbval ends each that hangs
    if item.path.parent == ROOT / "labs" and (WHOLE or was_judged(item.path)):
        item.add_marker(pytest.mark.soak)


class Judged(NamedTuple):
    """The ids of a notebook's cells that run on Apache Kafka, and of those among them that work on the live cluster."""

    run: frozenset[str]
    hands_on: frozenset[str]


@cache
def judged(path: Path) -> Judged:
    from tools.notebooks.hands_on import hands_on, hands_on_part
    cells = nbformat.read(path, as_version=4).cells
    return Judged(*(frozenset(cell.id for cell in chosen(cells)) for chosen in (hands_on_part, hands_on)))


@cache
def unsolved(path: Path) -> frozenset[str]:
    """Return the ids of the cells of a student's notebook that say more than the solved one; all where there is none."""
    student, solved = nbformat.read(path, as_version=4).cells, ROOT / "solutions" / path.name
    if solved.exists():
        from tools.notebooks.parts import unsolved_part
        student = unsolved_part(student, nbformat.read(solved, as_version=4).cells)
    return frozenset(cell.id for cell in student)


@cache
def was_judged(path: Path) -> bool:
    """Return whether `tools/labs.py --gate` has run the notebooks of this lab, with the cells and checks of now."""
    source = ROOT / "solutions" / "source" / f"{path.stem}.md"
    if not source.exists():
        return False
    from tools.notebooks.gate import is_judged
    return is_judged(source)


def is_told_by_solved(item: pytest.Item) -> bool:
    """Return whether this is a cell of a student's notebook that does only what it does in the solved one, too."""
    of_student = item.path.suffix == ".ipynb" and item.path.parent == ROOT / "labs"
    return of_student and not WHOLE and item.cell.id not in unsolved(item.path)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what need not run, and put notebooks last; workers have an order of their own (tests/schedule.py)."""
    told = set(filter(is_told_by_solved, items))
    config.hook.pytest_deselected(items=list(told))
    items[:] = [item for item in items if item not in told]
    if os.environ.get("MINIKAFKA_ENGINE") == "apache":
        left_out = {item for item in items if item.path.suffix == ".ipynb" and (
            item.cell.id not in judged(item.path).run or was_judged(item.path) and not WHOLE)}
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
        for item in items:
            if item.path.suffix == ".ipynb" and item.cell.id not in judged(item.path).hands_on:
                item.options["check"] = False  # of the simulated world only what is needed has run
    items.sort(key=lambda item: item.path.suffix == ".ipynb")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Only a solved notebook is strict: its kernel inherits this process's environment when its first cell is set up."""
    os.environ["LAB_STRICT"] = "1" if item.path.suffix == ".ipynb" and item.path.parent == ROOT / "solutions" else "0"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run a cell a second time, and after the last one the others once more."""
    yield
    if item.path.suffix != ".ipynb" or item.path.parent != ROOT / "solutions" or item.get_closest_marker("judge"):
        return
    if WHOLE or item.path.name[:2] in TWICE:
        cells = [other for other in item.session.items if other.path == item.path]
        again(item, "at once")
        if item is cells[-1]:
            for other in after_the_end(cells):
                again(other, "after the end")


def after_the_end(cells: list[pytest.Item]) -> list[pytest.Item]:
    """Return the cells that are run after the end of a lab, in this order."""
    back = cells[::-1]
    starts = next((place for place, item in enumerate(back) if START.search(item.cell.source)), len(back) - 1)
    return back + cells if WHOLE else back[:starts + 1]


def again(item: pytest.Item, when: str) -> None:
    """Run a cell again. What a closed cluster's cells show then is not compared: they may say what to do."""
    check = item.options["check"]
    item.options["check"] = check and when == "at once"
    try:
        item.runtest()
    except NbCellError as error:
        if not SENTENCE.fullmatch(error.inner_traceback or ""):
            error.args = (f"run again {when}: {error}",)
            raise
    finally:
        item.options["check"] = check
