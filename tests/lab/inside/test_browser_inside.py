"""The verdicts of `inside` in a real JupyterLab: the sentence, and the picture at its moment; see build/screenshots."""
from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.view.page import MARKS, chromium, jupyter, visit, write_notebook

pytestmark = MARKS
START = """from minikafka.lab import check, inside
def longest(leo, isr): return max(leo[b] for b in isr)
def everybody(leo, isr): return min(leo.values())
def right(leo, isr): return min(leo[b] for b in isr)
def endless(leo, isr):
    while True: pass"""
NIGHTS = """from minikafka.lab import Night
good, bad = Night().holds(2).writes(5).kills(1), Night().holds(3).writes(5).kills(1)"""
CELLS = {"lost": 'inside("6.2", longest)', "stood": 'inside("6.2", everybody)', "right": 'inside("6.2", right)',
         "endless": 'inside("6.2", endless)', "offer": 'check("6.2", longest)',
         "nights": NIGHTS, "broken": 'inside("6.8", good)', "kept": 'inside("6.8", bad)'}
MOMENT = """() => [document.querySelector('.mk-dock .mk-slider')?.getAttribute('aria-valuetext'),
    document.querySelectorAll('.mk-dock .mk-stage svg').length]"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab")


@pytest.mark.soak
def test_a_rule_that_falls_opens_its_picture(folder: Path):
    """Fails if a wrong rule shows no picture beside the text, or one of another moment than that of the promise; if a right rule
    opens one, or leaves that of an earlier answer beside its verdict; if a loop without an end stops the notebook."""
    write_notebook(folder, "06-inside.ipynb", start=START, **CELLS)
    with jupyter(folder, "06") as address, chromium() as opened, visit(opened, address, "06-inside") as page:
        assert page.run("start") and page.run("right"), page.errors()
        assert "0 lost" in page.words("right") and page.page.locator(".mk-dock").count() == 0
        page.picture("inside-right")
        assert page.run("offer") and 'inside("6.2", longest)' in page.words("offer"), page.errors()
        assert page.run("lost") and "15 acknowledged. Broker 1 promised 10 to 14" in page.words("lost"), page.errors()
        page.page.wait_for_selector(".mk-dock .mk-stage svg")
        page.page.wait_for_function("() => document.querySelector('.mk-live').getAttribute('aria-pressed') === 'false'")
        assert "is covered" not in page.page.text_content(".mk-dock .mk-stage")   # no guess is about this run
        page.picture("inside-lost")
        assert page.run("stood") and "stood still" in page.words("stood"), page.errors()
        page.picture("inside-stood")
        assert page.run("endless") and "a loop that never ends" in page.words("endless"), page.errors()
        page.picture("inside-endless")
        assert page.run("nights") and page.run("broken") and "lost in 3 moves" in page.words("broken"), page.errors()
        page.picture("inside-broken")
        assert page.run("kept") and "all are in the log of broker 2" in page.words("kept"), page.errors()
        page.picture("inside-kept")
        assert page.run("right")
        page.page.wait_for_function("() => !document.querySelector('.mk-dock')")
        assert page.strangers == set() and page.complaints == []
