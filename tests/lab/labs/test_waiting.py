"""What a cell shows while it waits (lab/waiting.py), in a kernel; and the picture of a stream that grows (labs/streaming.py)."""
from __future__ import annotations

from typing import Any

import pytest

from minikafka.lab.waiting import waiting
from tests.lab.labs.kernel import run_cells

CELLS = {
    "import": "import time\nfrom minikafka.lab.waiting import waiting",
    "long": "with waiting('<Spark>'):\n    time.sleep(3.5)\nprint('there')",
    "short": "with waiting('Spark'):\n    pass\nprint('there')",
    "inner": "with waiting('outer'), waiting('inner'):\n    time.sleep(2.5)",
    "failed": "with waiting('a check'):\n    time.sleep(2.5)\n    raise ValueError('no')",
    "again": "with waiting('once more'):\n    time.sleep(2.5)",
}


@pytest.fixture(scope="module")
def ran() -> dict[str, tuple[list[Any], list[str]]]:
    """By cell: its outputs in the end, and every HTML that was shown on the way."""
    return run_cells(CELLS)


def test_a_long_wait_shows_its_condition_and_time_and_leaves_nothing(ran):
    """I-WAIT-1. Fails if nobody sees that a cell works, if seconds stand still, or if a saved notebook keeps them."""
    outputs, shown = ran["long"]
    assert all("&lt;Spark&gt;" in html and "s so far" in html for html in shown[:-1]) and len(set(shown)) >= 3
    assert [output.get("data") for output in outputs] == [{"text/html": ""}, None] and outputs[1].text == "there\n"


def test_what_is_there_at_once_shows_nothing_and_a_wait_within_another_neither(ran):
    """Fails if every step of a stream leaves an empty line, or two lines count beside each other."""
    assert ran["short"][1] == [] and len(ran["short"][0]) == 1
    assert any("outer" in html for html in ran["inner"][1]) and not any("inner" in html for html in ran["inner"][1])


def test_a_wait_that_ends_by_an_error_is_over(ran):
    """Fails if the line stays, hides the error, or keeps the next wait from being shown."""
    outputs, shown = ran["failed"]
    assert shown[-1] == "" and outputs[-1].ename == "ValueError"
    assert any("once more" in html for html in ran["again"][1])


def test_without_a_notebook_nothing_is_shown(capsys):
    """Fails if a test or a program prints what is for a cell."""
    with waiting("Spark"):
        pass
    assert capsys.readouterr() == ("", "")
