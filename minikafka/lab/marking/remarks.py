"""Remarks: what a teacher should look at before the marks are given. A remark is a question to a student, and no verdict.

Owns: what is unlikely.
  a pass that is none     the file says that an exercise is passed, and its code does not pass here, or there is no code
  shared code             two students have the same code, but for names, layout, comments and lines that do nothing, in
                          several exercises in which hardly anybody else has it
  too few minutes         the exercises of a lab passed in a small part of the time that the lab says
  a reach                 code that takes hold of what no exercise needs, such as the check itself, or the brokers' own rule
"""
from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations

from minikafka.lab.classroom import HandIn
from minikafka.lab.marking.apart import Judged
from minikafka.lab.marking.cell import FILE
from minikafka.lab.report import Lab

FEW = 3         # students who may have the same code and are still few
SEVERAL = 3     # exercises in which two students have it
PART = 0.1      # of the minutes of a lab: who passes all of it in less has hardly read it
REACHES = frozenset("attrgetter builtins __builtins__ checks ctypes __dict__ eval exec exercise gc getattr "
                    "__globals__ globals importlib inspect io judge __loader__ marking mmap open os pathlib pickle __import__ "
                    "setattr shutil signal socket __spec__ __subclasses__ subprocess sys urllib vars verdict".split())
OURS, LABS = "minikafka.", "minikafka.lab"      # an answer is the student's own, and not the code that it stands for
UNREAD = (SyntaxError, ValueError, RecursionError, MemoryError)     # of code that is made to be unreadable, too


def of_passes(one: HandIn, found: dict[str, Judged]) -> Iterator[str]:
    """Yield what is odd in the passes that a file claims."""
    claimed = [e for e, entry in one.kept["exercises"].items() if entry.get("passed")]
    if bare := [e for e in claimed if e not in found]:
        yield f"passed, and there is no code: {', '.join(bare)}"
    for exercise in claimed:
        verdict = found.get(exercise)
        if verdict is not None and not verdict:
            yield f"{exercise} passed, and here it is {verdict.outcome}: {verdict.why}"


def of_minutes(one: HandIn, labs: Iterable[Lab]) -> Iterator[str]:
    """Yield the labs of which all exercises are passed in a small part of their time."""
    for lab in labs:
        done = [e for e in lab.exercises if one.kept["exercises"].get(e, {}).get("passed")]
        minutes = one.kept["labs"].get(str(lab.number), {}).get("seconds", 0.0) / 60
        if len(done) == len(lab.exercises) > 0 and minutes < PART * lab.minutes:
            yield f"all of lab {lab.number} in {minutes:.0f} of {lab.minutes} minutes"


def of_reaches(code: dict[str, str]) -> Iterator[str]:
    """Yield the exercises whose code uses a name of REACHES; a file that is a program of its own may use any."""
    for exercise, source in code.items():
        names, modules = ((set(), set()) if FILE.match(source) else _names(source))
        if used := sorted(REACHES & names) + sorted(m for m in modules if m.startswith(OURS) and not m.startswith(LABS)):
            yield f"{exercise} uses {', '.join(used)}"


def of_shared_code(class_: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    """Return by student with whom code is shared, and in which exercises. `class_`: the code by student and exercise."""
    have: dict[tuple[str, str], list[str]] = defaultdict(list)
    for student, code in class_.items():
        for exercise, source in code.items():
            have[exercise, alike(source)].append(student)
    pairs: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (exercise, _), students in have.items():
        if len(students) <= FEW:
            for pair in combinations(students, 2):
                pairs[pair].append(exercise)
    told: dict[str, list[str]] = defaultdict(list)
    for (a, b), exercises in pairs.items():
        if len(exercises) >= SEVERAL:
            told[a].append(f"the same code as {b}: {', '.join(exercises)}")
            told[b].append(f"the same code as {a}: {', '.join(exercises)}")
    return dict(told)


def alike(source: str) -> str:
    """Return code without layout, comments, idle lines and own names: what remains is equal where somebody only renamed."""
    try:
        tree = _working(ast.parse(FILE.sub("", source)))
    except UNREAD:
        return source
    own: dict[str, str] = {}
    for node in ast.walk(tree):
        name = node.name if isinstance(node, ast.FunctionDef | ast.ClassDef) else node.arg if isinstance(node, ast.arg) else \
            node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None
        if name is not None:
            own.setdefault(name, f"name {len(own)}")
    for node in ast.walk(tree):
        for field in ("name", "arg", "id"):
            if isinstance(name := getattr(node, field, None), str):
                setattr(node, field, own.get(name, name))
    return ast.dump(tree)


def without_layout(source: str) -> str:
    """Return code without layout and comments; a file, and what is no Python, as it is."""
    try:
        return ast.dump(ast.parse(source))
    except UNREAD:
        return source


def _working(tree: ast.Module) -> ast.Module:
    """Return the tree without what does nothing: texts and numbers that stand alone, `pass`, annotations."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            if isinstance(lines := getattr(node, field, None), list):
                setattr(node, field, [line for line in lines if not isinstance(line, ast.Pass) and not (
                    isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))])
        for field in ("annotation", "returns"):
            if hasattr(node, field):
                setattr(node, field, None)
    return tree


def _names(source: str) -> tuple[set[str], set[str]]:
    """Return the names that code uses, and the modules that it imports from. A name with underscores counts in quotes, too."""
    try:
        tree = ast.parse(source)
    except UNREAD:
        return set(), set()
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)
             and isinstance(node.value, str) and node.value.startswith("__")}
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules |= {module} if (module := getattr(node, "module", None)) else {alias.name for alias in node.names}
            used |= {part for alias in node.names for part in alias.name.split(".")}
            used |= set((getattr(node, "module", "") or "").split("."))
    return used, modules
