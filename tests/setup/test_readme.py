"""What README.md claims is so."""
from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from minikafka.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = ["README.md", "CONTRIBUTING.md", "docs/INSTALL.md", "docs/PERFORMANCE.md", "docker/README.md", "labs/README.md",
         "tests/README.md", "tests/TRACK_RECORD.md"]


def run(page: str, folder: Path) -> str:
    """What the first example of a page prints."""
    example = "from minikafka import Cluster\n" + re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)[0]
    done = subprocess.run([sys.executable, "-c", example], cwd=folder, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_runs(tmp_path):
    """Fails if the first Python that a newcomer copies does not work: both records are acknowledged, in order."""
    assert re.findall(r"offset=(\d+)", run("README.md", tmp_path)) == ["0", "1"]


def test_the_simulated_example_runs_and_runs_alike(tmp_path):
    """Fails if the example of minikafka/README.md does not run, or if two runs of one seed differ."""
    first, second = run("minikafka/README.md", tmp_path), run("minikafka/README.md", tmp_path)
    assert first == second and re.findall(r"\(0, (\d)\)", first) == ["0", "1"]


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    """Fails if a file named in a link was moved, or a heading was given other words."""
    links = [target for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text()) if "://" not in target]
    assert [target for target in links if not _leads_somewhere(ROOT / page, *target.partition("#"))] == []


def _leads_somewhere(page, file, _, anchor):
    path = page.parent / file if file else page
    if not anchor:
        return path.exists()
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, "tools/setup.sh", ".ci/run"])
def test_every_make_command_exists(page):
    """Fails if a page names a target that the Makefile does not have."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    quoted = re.findall(r"(?:`|\n|part \d+ )make ((?:[a-z-]+ ?)+)", (ROOT / page).read_text())
    named = {word for command in quoted for word in command.split()}
    assert named <= targets, named - targets


def test_every_command_of_the_pages_has_the_options_that_they_name(capsys, monkeypatch):
    """Fails if a page names a command of `python -m minikafka`, or an option of such a command, which is not there."""
    monkeypatch.setattr("minikafka.__main__.settle", lambda: None)  # it would change this process for the tests that follow
    named = defaultdict(set)
    for page in [*PAGES, "minikafka/README.md"]:
        for line in re.findall(r"python -m minikafka ([^`|\n]+)", (ROOT / page).read_text()):
            words = line.split("  ")[0].split()  # behind two blanks stands what the command does
            named[tuple(words[:1 + (words[0] == "sim")])].update(re.findall(r"--[a-z-]+", line))
    assert len(named) > 10
    for verb, options in named.items():
        with pytest.raises(SystemExit) as ended:
            main([*verb, "--help"])
        there = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
        assert (ended.value.code, options - there) == (0, set()), verb


def test_the_readme_is_short():
    """Fails if the first page is longer than what one reads before one starts."""
    assert len(README.encode()) <= 7000


def test_every_lab_is_in_the_table():
    """Fails if a lab was added and the table of what one learns was not."""
    assert sorted(re.findall(r"\(labs/([^)]+\.ipynb)\)", README)) == sorted(p.name for p in (ROOT / "labs").glob("*.ipynb"))
