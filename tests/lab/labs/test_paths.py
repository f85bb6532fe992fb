"""Every file, module and name of the source that the labs send a reader to is there: texts, hints, pages, docstrings."""
from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LAB = ROOT / "minikafka" / "lab"
TEXTS = sorted([*ROOT.glob("solutions/source/*.md"), *ROOT.glob("labs/*.md"), *LAB.glob("demos/*.html")])
MODULES = sorted([*LAB.rglob("*.py"), *ROOT.glob("tools/notebooks/*.py"), ROOT / "tools" / "labs.py"])
FILE = r"(?<![\w/.{}-])(?:[\w-]+/)+[\w-]+\.(?:py|md|ipynb|mk|svg)\b"   # with its folder
BARE = r"(?<![\w/.{}])(?!my_)[a-z]\w*\.(?:py|js|css)\b"                # without; my_... is a student's own
FOLDER = r"`((?:minikafka|tests|tools|solutions|labs)/(?:[\w-]+/)*)`"
MODULE = r"\bminikafka(?:\.[a-z_]\w*)+(?!\w|\{)"                       # the rest of f"....lab{number}" is not known
CODE = r"[A-Za-z_]\w*(?:\.\w+)*"


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def there(name: str, near: Path = ROOT) -> bool:
    """Whether a file or folder of that name lies in the project, in minikafka/ or in `near`. NN stands for any number, "title"
    for any words.
    """
    pattern = name.rstrip("/").replace("NN", "[0-9][0-9]").replace("-title", "-*")
    return any(any(folder.glob(pattern)) for folder in (ROOT, ROOT / "minikafka", near))


def module_file(dotted: str) -> Path | None:
    path = ROOT / dotted.replace(".", "/")
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), path if path.is_dir() else None)


def says(path: Path, name: str) -> bool:
    """Whether every part of a name (`Class.method`) occurs in a file as a word."""
    text = path.read_text() if path.is_file() else ""
    return all(re.search(rf"\b{re.escape(part)}\b", text) for part in name.split("."))


def known(dotted: str) -> bool:
    """Whether a dotted name is a module, or a name in one; labNN stands for any lab."""
    dotted = dotted.replace("labNN", "lab00")
    if module_file(dotted) is not None:
        return True
    outer, _, name = dotted.rpartition(".")
    return (home := module_file(outer)) is not None and says(home, name)


def paragraphs(text: str) -> list[str]:
    return re.split(r"\n\s*\n", text)


@pytest.mark.parametrize("path", [*TEXTS, *MODULES], ids=relative)
def test_files_and_modules_that_are_named_are_there(path: Path) -> None:
    """Fails if a text, a comment or a docstring names a file or a module that was renamed or is gone."""
    text = path.read_text()
    gone = [name for name in re.findall(FILE, text) if not there(name, path.parent)]
    gone += [name for name in re.findall(FOLDER, text) if not there(name)]
    gone += [name for name in re.findall(MODULE, text) if not known(name)]
    assert gone == []


@pytest.mark.parametrize("path", TEXTS, ids=relative)
def test_a_file_without_its_folder_lies_in_a_folder_that_its_paragraph_names(path: Path) -> None:
    """Fails if a reader is told to open `fetch.py` and not where, or if it is not there."""
    lost = []
    for paragraph in paragraphs(path.read_text()):
        folders = {*re.findall(FOLDER, paragraph), *(name.rpartition("/")[0] for name in re.findall(FILE, paragraph))}
        folders |= {name.replace("labNN/", "lab00/") for name in folders}
        lost += [name for name in re.findall(BARE, paragraph) if not any((ROOT / f / name).exists() for f in folders)]
    assert lost == []


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_file_that_a_module_names_lies_near_it(path: Path) -> None:
    """Fails if a docstring or a comment names a file that is in no folder of the same part: picture/, view/, demos/, a lab."""
    inside = path.relative_to(LAB).parts if path.is_relative_to(LAB) else ()
    home = LAB / inside[0] if len(inside) > 1 else path.parent
    text = path.read_text()
    far = {name.rpartition("/")[2] for name in re.findall(FILE, text)}
    assert [name for name in re.findall(BARE, text) if name not in far and not any(home.rglob(name))] == []


@pytest.mark.parametrize("path", [p for p in TEXTS if p.suffix == ".md"], ids=relative)
def test_links_lead_somewhere(path: Path) -> None:
    """Fails if a link inside the project leads to no file. Sources are read as notebooks in labs/ and solutions/."""
    folder = ROOT / "labs" if path.parent.name == "source" else path.parent
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text())
    assert [link for link in links if not (folder / link).exists()] == []


@pytest.mark.parametrize("path", [p for p in TEXTS if p.parent.name == "source"], ids=relative)
def test_a_name_that_stands_beside_its_file_is_in_that_file(path: Path) -> None:
    """Fails if a text says "`Class.method` (minikafka/...py)" or "minikafka/...py, function `name`", and the file has no such
    name.
    """
    text = path.read_text()
    named = re.findall(rf"`({CODE})` \(`?({FILE})`?\)", text)
    named += [(name, file) for file, name in re.findall(rf"({FILE})`?,\s(?:function|class)?\s?`({CODE})`", text)]
    assert [f"{file}: {name}" for name, file in named if not says(ROOT / file, name)] == []


def imports(text: str) -> list[tuple[str, str]]:
    """(module, name) for each `from minikafka... import name` in the code of a source."""
    cells = re.findall(r"^```python[^\n]*\n(.*?)^```", text, re.S | re.M)
    trees = [ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", cell, flags=re.M)) for cell in cells]
    return [(node.module, alias.name) for tree in trees for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("minikafka") for alias in node.names]


@pytest.mark.parametrize("path", [p for p in TEXTS if p.parent.name == "source"], ids=relative)
def test_what_the_cells_import_is_there(path: Path) -> None:
    """Fails if a cell imports a module or a name that was renamed: here at once, and not first when notebooks run."""
    found = imports(path.read_text())
    assert found
    assert [pair for pair in found if not known(".".join(pair))] == []


def hints() -> dict[str, str]:
    """The third hint of every exercise: where to read."""
    import importlib

    from minikafka.lab.hints import HINTS
    for checks in sorted(LAB.glob("labs/lab*/checks.py")):
        importlib.import_module(f"minikafka.lab.labs.{checks.parent.name}.checks")
    return {exercise: texts[2] for exercise, texts in HINTS.items() if not exercise.startswith("99.")}


def test_where_to_read_is_there() -> None:
    """Fails if a third hint names a file or a function that is gone; a clause (up to ";") speaks of the file that it names."""
    wrong, names = [], 0
    for exercise, hint in hints().items():
        assert re.search(rf"{FILE}|pyspark\.", hint), f"{exercise}: the third hint says where to read: {hint}"
        for clause in hint.split(";"):
            files = [ROOT / name for name in re.findall(FILE, clause)]
            rest = re.sub(FILE, "", clause)
            quoted = [code for code in re.findall(r"`([^`]+)`", rest) if "..." not in code]
            words = re.findall(r"\b(?:[A-Za-z]\w*[._]\w+|_\w+|[A-Z][a-z]+[A-Z]\w*)\b", re.sub(r"`[^`]+`", "", rest))
            names += len(quoted) + len(words) if files else 0
            wrong += [f"{exercise}: {relative(file)} is gone" for file in files if not file.exists()]
            wrong += [f"{exercise}: no {code} in {relative(file)}" for file in files for code in quoted
                      if not (says(file, code) if re.fullmatch(CODE, code) else file.exists() and code in file.read_text())]
            wrong += [f"{exercise}: no {word} in {relative(file)}" for file in files for word in words if not says(file, word)]
    assert wrong == []
    assert names >= 10
