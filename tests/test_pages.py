"""Each folder's page names its files, links lead somewhere, and an invariant has one home."""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import minikafka.broker.handlers  # noqa: F401  (the handlers register themselves)
from minikafka.broker.server.registry import CLIENTS, HANDLERS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "minikafka"


@cache
def page(folder: Path) -> str:
    """The docstrings of a folder and of those that it lies in: a room's page may speak for its shell/ and api/."""
    init = folder / "__init__.py"
    own = ast.get_docstring(ast.parse(init.read_text())) or "" if init.exists() else ""
    return own if folder == SOURCE else own + "\n" + page(folder.parent)


def test_each_folder_s_page_names_its_files() -> None:
    """Fails when a module is new, or gone, and a reader who follows the page of its folder does not meet it."""
    files = list(SOURCE.rglob("*.py"))
    unnamed = [str(path.relative_to(SOURCE)) for path in files if path.name != "__init__.py"
               and path.name not in re.findall(r"\b\w+\.py\b", page(path.parent))]
    known = {path.name for path in files} | {path.name for path in (ROOT / "tests").rglob("*.py")}
    gone = [f"{path.relative_to(SOURCE)}: {name}" for path in files if path.name == "__init__.py"
            for name in re.findall(r"\b\w+\.py\b", path.read_text()) if name not in known]
    assert (sorted(unnamed), gone) == ([], [])


def test_every_link_of_the_source_s_pages_leads_somewhere() -> None:
    """README.md, RULES.md and FIDELITY.md of minikafka/ link to files and to headings that exist."""
    broken = [f"{page.name}: {link}" for page in sorted(SOURCE.glob("*.md"))
              for link in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text())
              if link != "RULES.md" and not (SOURCE / link).exists()]
    broken += [f"{page.name}: #{anchor}" for page in sorted(SOURCE.glob("*.md")) for text in [page.read_text()]
               for anchor in re.findall(r"\]\(#([^)]+)\)", text)
               if anchor not in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
                                 for heading in re.findall(r"^#+ (.+)", text, re.M)}]
    assert broken == []


def test_every_invariant_is_stated_once() -> None:
    """An id names one promise: two modules that state the same id mean two things by it."""
    stated = Counter(
        invariant
        for path in sorted(SOURCE.rglob("*.py"))
        for invariant in re.findall(r"^(?:Invariants?: +| {2,})(I-[A-Z]+-\d+)\s(?!\()", path.read_text(), re.M)
    )
    assert len(stated) > 100
    assert [invariant for invariant, times in stated.items() if times > 1] == []


def test_the_fidelity_table_names_tests_that_exist() -> None:
    """A grade that nothing shows is a claim."""
    named = re.findall(r"`(tests/[^`]+)`", (SOURCE / "FIDELITY.md").read_text())
    assert len(named) > 15
    assert [pattern for pattern in named if not list(ROOT.glob(pattern))] == []


def test_the_track_record_names_tests_that_exist() -> None:
    """Fails if a test that shows an old bug was moved, renamed or deleted."""
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?", (ROOT / "tests" / "TRACK_RECORD.md").read_text())
    assert len(named) > 50
    assert [(path, name) for path, name in named
            if not (ROOT / path).exists() or f"def {name}(" not in (ROOT / path).read_text() and name] == []


def test_each_handler_lists_what_its_versions_change() -> None:
    """Fails if an API is served to clients in versions that differ, and its module does not say what each version changes."""
    with (ROOT / "tools" / "fidelity.tsv").open() as file:
        names = {int(row["key"]): row["name"] for row in csv.DictReader(file, delimiter="\t")}
    served = {names[key]: api for key, api in HANDLERS[CLIENTS].items() if api.min < api.max}
    pages = {name: sys.modules[api.handler.__module__].__doc__ or "" for name, api in served.items()}
    assert len(served) > 40
    assert [name for name, page in pages.items() if name not in " ".join(re.findall(r"Versions of ([^:;\n]+)", page))] == []
