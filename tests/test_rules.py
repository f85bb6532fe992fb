"""What comments, docstrings, transcripts and Markdown cite by number exists, and minikafka/RULES.md names only what there is.

A citation has one of these forms. It counts in comments and docstrings of Python files, in Markdown files, and in the comment
lines (`# ...`) of transcripts; strings and names in code are no citations.

    rule 15    rules 12, 13    rules 48, 49 and 55    rules 42-47    a section `### Rule N` of RULES.md
    A5    F14    I3    K1    S2    law 3                             a row or section of RULES.md with that id
    I-HW-2                                                           stated in the header of one module
    labs/WORDS.md                                                    a file whose path ends so; NN-title.md is a pattern

One of the letters A, F, I, K, S with one or two digits is such an id wherever it is a word of its own; a text that means
something else writes it otherwise. Demos (D1) and the track record (B1, in tests/TRACK_RECORD.md) have tables of their own and
are not looked up here.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from minikafka.proof.command import main as sim
from minikafka.proof.weakened.table import weakened

ROOT = Path(__file__).parent.parent
RULES = ROOT / "minikafka" / "RULES.md"
TEXT = RULES.read_text()
FOLDERS = ("datasets", "docs", "labs", "minikafka", "solutions", "tests", "docker", "tools")

SECTION = re.compile(r"^### (Rule \d+|K\d+) · \S|^\| <a id=\"[a-z0-9-]+\"></a>(Law \d|[AFIS]\d+) \|", re.M)
NUMBERS = re.compile(r"\b[Rr]ules?\s+(\d+(?:(?:\s*[,-]\s*|,?\s+(?:and|to)\s+)\d+)*)")
ID = re.compile(r"(?<![\w.`/-])([AFIKS]\d{1,2})(?![\w/-]|\.\d)")
LAW = re.compile(r"\b[Ll]aw\s+(\d+)")
INVARIANT = re.compile(r"\bI-[A-Z][A-Z0-9]*-\d+\b")
STATED = re.compile(r"(?:^\s*|\bInvariants?:?\s+|\.\s+)(I-[A-Z][A-Z0-9]*-\d+):?\s+\S", re.M)
DOCUMENT = re.compile(r"(?<![\w*])((?:\.\./)*[\w./-]+\.md)\b(?!/)")
COMMENTED = re.compile(r"#.*?(?:\b[Rr]ules?\b|\b[Ll]aw\b|\b[AFIKS]\d|\bI-[A-Z])")
COMMAND = re.compile(r"`(?:\.venv/bin/python -m minikafka )?sim (tell|ablate) (?!NAME)(\w+)(?: --without (\w+))?`")


@cache
def files() -> list[str]:
    """The files of the repository, by their paths from its root; not those that builds and tools leave there."""
    found = [path for top in FOLDERS for path in (ROOT / top).rglob("*") if path.is_file()]
    names = [path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *found]]
    return sorted(str(name) for name in names if not any(part.startswith((".", "__pycache__")) for part in name.parts))


@cache
def docstrings(source: str) -> list[str]:
    found, todo = [], [ast.parse(source)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(ast.get_docstring(node) or "")
        todo += [each for field in ("body", "orelse", "finalbody", "handlers") for each in getattr(node, field, ())]
    return found


def comments(source: str) -> list[str]:
    if not any(form.search(source) for form in (COMMENTED, DOCUMENT)):  # most files: spares them the slow tokens
        return []
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT]


def prose(path: Path) -> str:
    """What a file says to its readers: comments and docstrings, a transcript's comments, or all of a Markdown file."""
    text = path.read_text()
    if path.suffix == ".py":
        return "\n".join([*comments(text), *docstrings(text)])
    if path.suffix == ".txt":
        return "\n".join(line.lstrip("# ") for line in text.splitlines() if line.startswith("#"))
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S) if path.suffix == ".md" else ""


@cache
def citing() -> dict[str, str]:
    """The prose of every file that may cite."""
    return {name: said for name in files() if name.endswith((".py", ".md", ".txt")) and (said := prose(ROOT / name))}


def sections() -> set[str]:
    return {first or second for first, second in SECTION.findall(TEXT)}


def numbers(text: str) -> Iterator[int]:
    """Every number in "12, 13", "48, 49 and 55" or "42-47"."""
    for part in re.split(r",\s*(?:and\s+)?|\s+and\s+", text):
        first, *last = re.split(r"\s*-\s*|\s+to\s+", part.strip())
        yield from range(int(first), int(last[0] if last else first) + 1)


def rules_of(text: str) -> set[str]:
    return {f"Rule {n}" for n in numbers(text)}


def cited_in(said: str) -> set[str]:
    """The ids that a text cites, as they stand in RULES.md."""
    rules = {rule for group in NUMBERS.findall(said) for rule in rules_of(group)}
    return rules | set(ID.findall(said)) | {f"Law {n}" for n in LAW.findall(said)}


def section_of(rule: str) -> str:
    return TEXT.split(f"### {rule} · ")[1].split("\n### ")[0].split("\n## ")[0]


def stories(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The rules of each story, as `sim tell` lists them."""
    assert sim(["tell"]) == 0
    return {line.split()[0]: re.split(r"\s{2,}", line)[1] for line in capsys.readouterr().out.splitlines()[1:]}


# --- citations ------------------------------------------------------------------------------------------------------


def test_the_forms_of_citations_are_seen() -> None:
    """Fails if the search goes blind, or takes other things for citations."""
    assert cited_in("(rules 42-44, 46 and 52; Rule 3)") == {"Rule 42", "Rule 43", "Rule 44", "Rule 46", "Rule 52", "Rule 3"}
    assert cited_in("as in A5 (F14), I3 and law 3; BA4, A4-6, I-HW-1, x/A7, I64x") == {"A5", "F14", "I3", "Law 3"}
    assert len(sections()) > 68 + 18 + 28 + 17 + 9
    assert sum(len(cited_in(said)) for said in citing().values()) > 400


def test_every_number_that_is_cited_has_a_text() -> None:
    """Fails for a rule, story, fault, invariant, law, fact or limit that a text cites and RULES.md does not have."""
    there = sections()
    assert {name: sorted(cited_in(said) - there) for name, said in citing().items() if cited_in(said) - there} == {}


def test_every_invariant_of_a_module_that_is_cited_is_stated() -> None:
    """Fails if no module of minikafka/ or tools/ states an I-AREA-n: the id and what it promises, not the id in brackets."""
    stated = {one for name in files() if name.startswith(("minikafka/", "tools/")) and name.endswith(".py")
              for doc in docstrings((ROOT / name).read_text()) for one in STATED.findall(doc)}
    missing = {name: sorted({*INVARIANT.findall(said)} - stated) for name, said in citing().items()}
    assert {name: lacking for name, lacking in missing.items() if lacking} == {}


def test_every_document_that_is_cited_is_in_the_repository() -> None:
    """Fails if a text sends its reader to a document that only its author had."""
    there = [f"/{name}" for name in files()]
    missing = {name: [doc for doc in DOCUMENT.findall(said) if not doc.startswith("NN-") and "/NN-" not in doc
                      and not any(path.endswith("/" + doc.replace("../", "")) for path in there)]
               for name, said in citing().items()}
    assert {name: lacking for name, lacking in missing.items() if lacking} == {}


# --- what RULES.md names ----------------------------------------------------------------------------------------------


def test_files_and_tests_named_in_the_rules_exist() -> None:
    """Fails if a file moved, or a test was renamed, and RULES.md still has the old name."""
    missing = []
    for path, test in re.findall(r"`([a-z_]+(?:/[\w.]+)+\.(?:py|txt|tsv))(?:::(\w+))?`", TEXT):
        file = ROOT / path if path.startswith("tests/") else ROOT / "minikafka" / path
        if not file.is_file() or test and f"def {test}(" not in file.read_text():
            missing.append(f"{path}::{test}" if test else path)
    assert missing == []


def test_every_rule_names_where_it_is_kept_and_what_proves_it() -> None:
    """Fails if a rule lacks one of its parts, or names none of the functions in brackets in the files before them."""
    for rule in sorted(one for one in sections() if one.startswith("Rule")):
        text = section_of(rule)
        assert all(f"\n- *{part}:*" in text for part in ("Without it", "Kept in", "Proved by", "Source")), rule
        kept = text.split("- *Kept in:*")[1].split("\n- *")[0]
        for path, inside in re.findall(r"`([\w/]+\.py)`\s+\((`[^)]*)\)", kept):
            source = (ROOT / "minikafka" / path).read_text()
            assert [name for name in re.findall(r"`(\w+)`", inside) if name not in source] == [], f"{rule}: {path}"


def test_commands_in_the_rules_are_of_stories_and_weakened_rules_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a command would answer that there is no such story or rule, or names another story than the table does."""
    told, rules = stories(capsys), weakened()
    commands = COMMAND.findall(TEXT)
    assert len(commands) > 100
    for verb, name, without in commands:
        if verb == "tell":
            assert name in told, name
            assert not without or rules[without].story == name, f"{without} is not shown by {name}"
        else:
            assert rules[name].world is not None, name
    assert len(re.findall(r"\bsim (?:tell|ablate) (?!NAME)\w+", TEXT)) == len(commands) + 2, "the two in the preface apart"


def test_every_weakened_rule_and_story_is_named_at_its_rules(capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a rule is switched off somewhere, or told of, and its section does not show it."""
    for name, one in weakened().items():
        if not one.shown_by:
            continue
        assert rules_of(one.rule) <= sections(), name
        assert any(f" {name}`" in section_of(rule) for rule in rules_of(one.rule)), f"{name} stands at none of rule {one.rule}"
    for name, rules in stories(capsys).items():
        assert rules_of(rules) <= sections(), name
        assert f"sim tell {name}" in TEXT, name


def test_links_within_the_rules_lead_somewhere() -> None:
    """Fails if the list of sections and the sections part."""
    headings = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^## (.+)$", TEXT, re.M)}
    assert {*re.findall(r"\]\(#([^)]+)\)", TEXT)} <= headings
