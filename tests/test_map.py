"""The map of the source in minikafka/README.md is what the modules' docstrings say, and invariants have one home each."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_map_is_current() -> None:
    """Fails when a module is new, gone or says something else; `python tools/map.py` mends it."""
    checked = subprocess.run([sys.executable, str(ROOT / "tools" / "map.py"), "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_every_invariant_is_stated_once() -> None:
    """An id names one promise: two modules that state the same id mean two things by it."""
    stated = Counter(
        invariant
        for path in sorted((ROOT / "minikafka").rglob("*.py"))
        for invariant in re.findall(r"^(?:Invariants?: +| {2,})(I-[A-Z]+-\d+)\s(?!\()", path.read_text(), re.M)
    )
    assert len(stated) > 100
    assert [invariant for invariant, times in stated.items() if times > 1] == []


def test_the_fidelity_table_names_tests_that_exist() -> None:
    """A grade that nothing shows is a claim."""
    named = re.findall(r"`(tests/[^`]+)`", (ROOT / "minikafka" / "README.md").read_text())
    assert len(named) > 15
    assert [pattern for pattern in named if not list(ROOT.glob(pattern))] == []


def test_the_simulators_order_names_all_of_it() -> None:
    """Fails when a module of the simulator is new, or gone, and whoever reads it in the order given does not meet it."""
    folder = ROOT / "minikafka" / "sim"
    told = (folder / "__init__.py").read_text()
    there = {f"{path.name}/" if path.is_dir() else path.name for path in folder.glob("[!_]*")}
    named = re.findall(r"(?<![\w/])[a-z_]+(?:\.py|/)(?= |[;:,]|$)", told, re.M)
    assert sorted(named) == sorted(there)
