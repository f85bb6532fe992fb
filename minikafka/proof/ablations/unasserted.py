"""The brokers without their asserts, as `python -O` runs them: a rule that is off must show its harm, not the assert beside it.

Owns: the code of each function that asserts, with its asserts and without.
Invariants: I-UNASSERTED-1 when the context ends, each function has its own code again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

PARTS = ("minikafka.broker.", "minikafka.log.")


@contextmanager
def unasserted() -> Iterator[None]:
    """Run what is loaded of the brokers and logs without asserts for a while (I-UNASSERTED-1)."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith(PARTS)]
    swaps = [swap for module in modules for swap in _asserting(module)]
    for function, _, bare in swaps:
        function.__code__ = bare
    try:
        yield
    finally:
        for function, own, _ in swaps:
            function.__code__ = own


@cache
def _asserting(module: ModuleType) -> list[tuple[FunctionType, CodeType, CodeType]]:
    """Return (function, its code, that code without asserts) for each function of a module that asserts."""
    path = Path(str(module.__file__))
    source = path.read_text()
    if "assert " not in source:
        return []
    bare = {code.co_qualname: code for code in _codes(compile(source, str(path), "exec", optimize=1))}
    return [(function, function.__code__, code) for function in _functions(module)
            if (code := bare.get(function.__qualname__)) is not None and code.co_code != function.__code__.co_code]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    owners = [module, *(one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__)]
    for owner in owners:
        for one in vars(owner).values():
            function = one.fget if isinstance(one, property) else getattr(one, "__func__", one)
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                yield function
