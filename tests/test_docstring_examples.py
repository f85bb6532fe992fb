"""The examples in the docstrings of modules: every class and function that an example calls exists and takes these arguments.

An example is not carried out (most start a cluster). It is read: names are looked up in the module, then in its folder and below,
then in minikafka and in kafka-python; a call is bound to the signature of what it names, and a method to the class of its object.
"""
from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
import textwrap
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import kafka.protocol.admin
import kafka.protocol.consumer
import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCSTRING = re.compile(r'(?:#.*\n)*r?""".*?"""', re.DOTALL)  # of a module: to parse all of each file takes a second
INDENTED = re.compile(r"(?:^    .*\n?)+", re.MULTILINE)
CALL = re.compile(r"#.*?\b([A-Z]\w*(?:\.\w+)?\([^()]*\))")  # in a comment
WORDS = re.compile(r"(?<=\S) {2,}(?!#).*$", re.MULTILINE)  # what a line does, said in a second column
FILES = sorted((ROOT / "minikafka").rglob("*.py"))


def python(block: str) -> ast.Module | None:
    try:
        return ast.parse(textwrap.dedent(block))
    except SyntaxError:
        return None


def examples(text: str) -> Iterator[ast.Module]:
    """Yield the indented parts of a module's docstring that are Python, and call or import something; a call in a comment, such
    as `# or RecordedRun.open("run.mk")`, is a part of its own.
    """
    docstring = DOCSTRING.match(text)
    for block in INDENTED.findall(ast.get_docstring(ast.parse(docstring[0])) or "") if docstring else ():
        tree = python(block) or python(WORDS.sub("", block))
        if tree and any(isinstance(node, (ast.Call, ast.ImportFrom)) for node in ast.walk(tree)):
            yield tree
            yield from map(ast.parse, (call for call in CALL.findall(block) if "=..." not in call and ", ..." not in call))


@cache
def definitions() -> dict[str, list[Path]]:
    """By name: the files that define a class or a function of this name."""
    found: dict[str, list[Path]] = {}
    for path in FILES:
        for name in re.findall(r"^(?:async def|def|class) (\w+)", path.read_text(), re.MULTILINE):
            found.setdefault(name, []).append(path)
    return found


def module_of(path: Path) -> ModuleType:
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))


def candidates(name: str, path: Path) -> list[Any]:
    """Return what a name of an example may stand for, in the nearest place that has it."""
    if hasattr(module := module_of(path), name):
        return [getattr(module, name)]
    places = definitions().get(name, [])
    near = [place for place in places if path.parent in place.parents]
    if near or places:
        return [getattr(module_of(place), name) for place in near or places]
    others = (builtins, kafka, kafka.protocol.admin, kafka.protocol.consumer)
    return [getattr(where, name) for where in others if hasattr(where, name)]


def takes(function: Any, call: ast.Call, bound: bool = True) -> str:
    """Return "" if a function takes the arguments of a call, else why not. A call with `...` or `*args` may have any."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if any(isinstance(each, ast.Starred) or isinstance(each, ast.Constant) and each.value is ... for each in given):
        return ""
    try:
        inspect.signature(function).bind(*([] if bound else [None]), *call.args, **{each.arg: each for each in call.keywords})
    except (TypeError, ValueError) as error:
        return f"{ast.unparse(call)}: {error}"
    return ""


def has(cls: type, name: str) -> bool:
    """Return whether objects of a class or of its subclasses have this attribute: it is defined, annotated, assigned to in a
    method, or found by `__getattr__`."""
    if hasattr(cls, name) or hasattr(cls, "__getattr__") or any(has(each, name) for each in cls.__subclasses__()):
        return True
    return any(name in getattr(base, "__annotations__", ()) or re.search(
        rf"self\.{name}\b.*=", inspect.getsource(base)) for base in cls.__mro__ if base.__module__.startswith("minikafka"))


class Reader:
    """Reads one example of a module, statement by statement, and notes what does not exist."""

    def __init__(self, path: Path) -> None:
        self.path, self.types, self.problems = path, {}, []
        self.own: set[str] = set()

    def read(self, tree: ast.Module) -> list[str]:
        self.own = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))} | {
            argument.arg for node in ast.walk(tree) if isinstance(node, ast.arguments) for argument in node.args}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                module = importlib.import_module(node.module or "")
                self.problems += [f"no {name.name} in {node.module}" for name in node.names if not hasattr(module, name.name)]
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.types[node.targets[0].id] = self.type_of(node.value)
            elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
                self.types[node.optional_vars.id] = self.type_of(node.context_expr)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self.problems += filter(None, [self.wrong_call(node)])
            elif isinstance(node, ast.Attribute):
                cls = self.type_of(node.value)
                if isinstance(cls, type) and not has(cls, node.attr):
                    self.problems.append(f"{cls.__name__} has no {node.attr}")
        return self.problems

    def type_of(self, node: ast.expr) -> Any:
        """Return the class of an expression's value; None where nothing says it. Of a class that is named: the class."""
        if isinstance(node, ast.Await):
            return self.type_of(node.value)
        if isinstance(node, ast.Name):
            return self.types.get(node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in self.own:
            made = [each if isinstance(each, type) else returned(each) for each in candidates(node.func.id, self.path)]
            return made[0] if len(made) == 1 and getattr(made[0], "__module__", "").startswith("minikafka") else None
        return None

    def wrong_call(self, call: ast.Call) -> str:
        if isinstance(call.func, ast.Name):
            if call.func.id in self.own | set(self.types):
                return ""
            found = candidates(call.func.id, self.path)
            wrong = [takes(each, call) for each in found if each.__module__.startswith("minikafka")]
            return f"there is no {call.func.id}" if not found else wrong[0] if wrong and all(wrong) else ""
        if not isinstance(call.func, ast.Attribute):
            return ""
        owner, name = call.func.value, call.func.attr
        if isinstance(owner, ast.Name) and owner.id[:1].isupper() and owner.id not in self.types:  # a class method
            there = any(hasattr(each, name) for each in candidates(owner.id, self.path))
            return "" if there else f"there is no {owner.id}.{name}"
        cls = self.type_of(owner)
        method = inspect.getattr_static(cls, name, None) if isinstance(cls, type) else None
        return takes(method, call, bound=False) if inspect.isfunction(method) else ""


def returned(function: Any) -> Any:
    try:
        found = typing.get_type_hints(function).get("return")
    except (NameError, TypeError, AttributeError):
        return None
    return found if isinstance(found, type) else None


WITH_EXAMPLES = [path for path in FILES if any(examples(path.read_text()))]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(ROOT / "minikafka")))
def test_an_example_names_what_is_there(path):
    """Fails if a class, a function, a method or an argument of an example was renamed or is gone: the page of lab/picture went
    on with `Run` when the class had become RecordedRun.
    """
    assert [problem for example in examples(path.read_text()) for problem in Reader(path).read(example)] == []


@pytest.mark.parametrize("example, problem", [
    ("run = Run.of(cluster)", "there is no Run.of"), ("run = RecordedRun.open('x'); to_svg(frame, 3, 4, 5, 6, 7, 8)", "too many"),
    ("view = RecordedRun(events)\nview.nothing(1)", "RecordedRun has no nothing"),
    ("from minikafka import Klaster", "no Klaster"),
    ("run = RecordedRun(events)\nrun.save()", "missing a required argument")])
def test_a_wrong_example_is_seen(example, problem):
    """Fails if the reader lets a name, a method, an import or an argument pass that is not there."""
    assert problem in "".join(Reader(ROOT / "minikafka" / "lab" / "picture" / "__init__.py").read(ast.parse(example)))


def test_examples_are_found():
    """Fails if the reader finds no examples any more: then the tests above say nothing."""
    assert len(WITH_EXAMPLES) > 100
