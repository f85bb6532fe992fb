"""Run the brokers of this process without one of their rules, or with another function in the place of theirs, for a while.

    with without("counts_committed_isr_only"):           a row of the table (rules.tsv)
        fallen = partition_chaos(seed)

    def never(self, now):
        return []

    with instead(Replica._advance, never):               a function of yours; it takes what the method takes, self first
        ...

`without` compiles the changed source of a module, finds each function whose code differs, and gives the living function object
the new code. The object stays the same, so it does not matter where it was imported to, or in which table it stands. Methods,
properties and closures that exist already change too. A constant of a module or class is bound anew, also where another module
has imported its name.

Owns: the exchange of code, and its end.
Invariants: I-WITHOUT-1 when the block ends, also by an exception, every function has the code that it had, every name its value;
              closures that were made inside get the unchanged code.
            I-WITHOUT-2 a change that cannot be exchanged raises CannotSwap before anything is changed.
Limits: a coroutine or generator that is under way goes on with the code that it has.
"""

from __future__ import annotations

import ast
import gc
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from minikafka.proof.weakened.table import weakened
from minikafka.sim.world.replaced import replaced

ROOT = Path(__file__).parents[3]
HOLDERS = (dict, list, tuple, set, frozenset, property, classmethod, staticmethod, cached_property, partial, CellType)
ASSERTING = ("minikafka.broker.", "minikafka.log.")
Key = tuple[str, int]  # the qualified name of a code object, and which of that name in its file
Place = tuple[str, str, int]  # file, qualified name, first line


class CannotSwap(Exception):
    """A change of source that a running process cannot take over; its text names the place."""


@contextmanager
def without(rule: str) -> Iterator[None]:
    """Switch one rule of the table off, in this process, for as long as the block lasts (I-WITHOUT-1).

    The asserts of brokers and logs are off too, as with `python -O`: they would report the missing rule before it does any harm.
    Raises KeyError if the table has no such rule, ValueError if its words do not stand in the source, CannotSwap.
    """
    one = weakened()[rule]
    paths = dict.fromkeys(change.path for change in one.changes)
    changed = [_changed(_module(path), one.apply(path, (ROOT / path).read_text())) for path in paths]
    others = [one for one in _all_without_asserts() if one.module not in [of.module for of in changed]]
    with _exchanged([*changed, *others]):
        yield


@contextmanager
def unasserted() -> Iterator[None]:
    """Switch only the asserts of brokers and logs off, as with `python -O`, for as long as the block lasts."""
    with _exchanged(_all_without_asserts()):
        yield


@contextmanager
def instead(function: Any, by: Callable[..., Any]) -> Iterator[None]:
    """Let `by` run wherever `function` is called: a function, a method as it stands in its class, or a property. Raises
    CannotSwap for a function with variables of an outer one."""
    live = getattr(function, "fget", None) or getattr(function, "__func__", function)
    if not isinstance(live, FunctionType) or live.__code__.co_freevars:
        raise CannotSwap(f"{function!r} is no function in Python without variables of an outer one")
    before = live.__code__
    live.__code__ = _calling(by, before)
    try:
        yield
    finally:
        live.__code__ = before


def _calling(by: Callable[..., Any], like: CodeType) -> CodeType:
    """Return code that passes its arguments to `by`."""
    def call(*args: Any, **named: Any) -> Any:
        function: Any = "by"
        return function(*args, **named)

    consts = tuple(by if const == "by" else const for const in call.__code__.co_consts)
    return call.__code__.replace(co_consts=consts, co_name=like.co_name, co_qualname=like.co_qualname)


# --- the exchange ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exchange:
    """The changes of one module: each function's code that changes, by place, and each constant: (owner, name, value)."""

    module: ModuleType
    codes: dict[Place, tuple[CodeType, CodeType]]
    constants: list[tuple[Any, str, Any]]


@contextmanager
def _exchanged(exchanges: list[Exchange]) -> Iterator[None]:
    codes = {place: pair for one in exchanges for place, pair in one.codes.items()}
    modules = [one.module for one in exchanges]
    todo = [(live, codes[_place(live.__code__)][1]) for live in _living(modules) if _place(live.__code__) in codes]
    for function, code in todo:
        _check(function, code)
    before = [(function, function.__code__) for function, _ in todo]
    with ExitStack() as stack:
        for owner, name, value in (constant for one in exchanges for constant in one.constants):
            stack.enter_context(replaced(owner, name, value))
        stack.callback(_put_back, modules, before, {id(new): old for old, new in codes.values()})
        for function, code in todo:
            function.__code__ = code
        yield


def _put_back(modules: list[ModuleType], before: list[tuple[FunctionType, CodeType]], unchanged: dict[int, CodeType]) -> None:
    for function, code in before:
        function.__code__ = code
    for function in _living(modules):  # closures that were made meanwhile
        if id(function.__code__) in unchanged:
            function.__code__ = unchanged[id(function.__code__)]


def _module(path: str) -> ModuleType:
    return importlib.import_module(".".join(Path(path).with_suffix("").parts).removesuffix(".__init__"))


def _changed(module: ModuleType, source: str) -> Exchange:
    """Return what makes a module run as if `source` were its source, without asserts. Raises CannotSwap."""
    own = Path(str(module.__file__)).read_text()
    constants = list(_constants(module, ast.parse(own), ast.parse(source)))
    if not constants and not _differing(module, own, source, optimize=-1):
        raise CannotSwap(f"{module.__name__}: the change changes no function")
    return Exchange(module, _differing(module, own, source, optimize=1), constants)


def _all_without_asserts() -> list[Exchange]:
    return [_without_asserts(name) for name in sorted(sys.modules) if name.startswith(ASSERTING)]


@cache
def _without_asserts(name: str) -> Exchange:
    module = sys.modules[name]
    own = Path(str(module.__file__)).read_text()
    return Exchange(module, _differing(module, own, own, optimize=1) if "assert " in own else {}, [])


def _differing(module: ModuleType, own: str, source: str, optimize: int) -> dict[Place, tuple[CodeType, CodeType]]:
    """Return (code as it is, code of `source`) of each function whose code differs."""
    file = str(module.__file__)
    old, new = _own_codes(own, file), _codes(compile(source, file, "exec", optimize=optimize))
    return {_place(code): (code, new[key]) for key, code in old.items()
            if key in new and code.co_flags & CO_OPTIMIZED and _plain(code) != _plain(new[key])}


def _check(function: FunctionType, code: CodeType) -> None:
    """Raise CannotSwap if the function's arguments or outer variables are not those of the new code."""
    was = function.__code__
    for what, same in (("arguments", was.co_varnames[:_arguments(was)] == code.co_varnames[:_arguments(code)]),
                       ("variables of an outer function", was.co_freevars == code.co_freevars)):
        if not same:
            raise CannotSwap(f"{function.__qualname__}: the change gives it other {what}")


def _arguments(code: CodeType) -> int:
    return code.co_argcount + code.co_kwonlyargcount


# --- code ---------------------------------------------------------------------------------------------------------------


@cache
def _own_codes(source: str, file: str) -> dict[Key, CodeType]:
    return _codes(compile(source, file, "exec"))


def _codes(module: CodeType) -> dict[Key, CodeType]:
    """Return all code objects of a module."""
    found: dict[Key, CodeType] = {}
    todo = [module]
    while todo:
        code = todo.pop(0)
        number = sum(1 for name, _ in found if name == code.co_qualname)
        found[code.co_qualname, number] = code
        todo += [const for const in code.co_consts if isinstance(const, CodeType)]
    return found


def _plain(code: CodeType) -> CodeType:
    """Return the code without its lines: a function further down in the file is not changed by a line more above it."""
    consts = tuple(_plain(const) if isinstance(const, CodeType) else const for const in code.co_consts)
    return code.replace(co_firstlineno=1, co_linetable=b"", co_consts=consts)


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _living(modules: list[ModuleType]) -> list[FunctionType]:
    """Return the functions that were made by these modules' sources: those that the modules reach, and what the collector
    knows, which leaves out objects from before a `gc.freeze()`."""
    files = {module.__file__ for module in modules}
    collected = (one for one in gc.get_objects() if type(one) is FunctionType and one.__code__.co_filename in files)
    found = {id(one): one for one in _reached(frozenset(modules), gc.get_freeze_count())}
    return list((found | {id(one): one for one in collected}).values())


@cache
def _reached(modules: frozenset[ModuleType], frozen: int) -> list[FunctionType]:
    """Return the functions of these modules that they reached when they were first walked over with `frozen` frozen objects:
    what is made later is not frozen, so that the collector knows it."""
    files, names = {module.__file__ for module in modules}, {module.__name__ for module in modules}
    found: list[FunctionType] = []
    seen: set[int] = set()
    todo: list[Any] = [vars(module) for module in modules]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, FunctionType) and one.__code__.co_filename in files:
            found.append(one)
        elif not (isinstance(one, HOLDERS) or isinstance(one, type) and one.__module__ in names):
            continue
        todo += [held for held in gc.get_referents(one) if isinstance(held, (FunctionType, type, *HOLDERS))]
    return found


# --- constants ----------------------------------------------------------------------------------------------------------


def _constants(owner: Any, old: ast.Module | ast.ClassDef, new: ast.Module | ast.ClassDef) -> Iterator[tuple[Any, str, Any]]:
    """Yield (module or class, name, value) for each constant that is changed in a body. Raises CannotSwap for other changes."""
    if len(old.body) != len(new.body):
        raise CannotSwap(f"{owner.__name__}: the change adds or removes a statement outside of functions")
    for was, now in zip(old.body, new.body, strict=True):
        if _head(was) == _head(now):
            if isinstance(was, ast.ClassDef) and isinstance(now, ast.ClassDef):
                yield from _constants(getattr(owner, was.name), was, now)
        elif isinstance(was, ast.Assign) and isinstance(now, ast.Assign):
            yield from _bound(owner, old, was, now)
        else:
            raise CannotSwap(f"{owner.__name__}, line {was.lineno}: only functions and constants can be exchanged")


def _head(node: ast.stmt) -> str:
    """Return what a function or class is but for its body; what any other statement is."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        rest = {field: value for field, value in ast.iter_fields(node) if field != "body"}
        return ast.dump(type(node)(**rest, body=[]))
    return ast.dump(node)


def _bound(owner: Any, body: ast.Module | ast.ClassDef, was: ast.Assign, now: ast.Assign) -> Iterator[tuple[Any, str, Any]]:
    module = owner if isinstance(owner, ModuleType) else sys.modules[owner.__module__]
    values: dict[str, Any] = {}
    exec(compile(ast.Module([now], []), str(module.__file__), "exec"), {**vars(module), **vars(owner)}, values)
    readers = [one for one in body.body if one is not was and _reads(one, values)]
    if readers or isinstance(owner, type) and type(owner) is not type:
        raise CannotSwap(f"{owner.__name__}: {', '.join(values)} is used while the module is loaded, not only when it runs")
    for name, value in values.items():
        yield owner, name, value
        before = getattr(owner, name)
        for other in [*sys.modules.values()] if owner is module else []:
            if other is not module and getattr(other, "__name__", "").startswith("minikafka.") \
                    and vars(other).get(name, values) is before:
                yield other, name, value


def _reads(statement: ast.stmt, names: dict[str, Any]) -> bool:
    """Return whether a statement of a body reads one of the names before any function is called."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        parts: list[ast.AST] = [*statement.decorator_list, *statement.args.defaults, *filter(None, statement.args.kw_defaults)]
    elif isinstance(statement, ast.ClassDef):
        if any(_reads(one, names) for one in statement.body):
            return True
        parts = [*statement.decorator_list, *statement.bases]
    else:
        parts = [statement]
    return any(isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names
               for part in parts for node in ast.walk(part))
