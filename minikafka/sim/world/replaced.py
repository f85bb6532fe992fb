"""A function, method or property of the brokers that stands for another one for a while.

Owns: nothing. Invariants: I-REPLACED-1 whatever was replaced is back when the context ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace `owner.name` by `value` for a while (I-REPLACED-1). For a method, `value` takes self."""
    inherited = name not in vars(owner)
    before = vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
