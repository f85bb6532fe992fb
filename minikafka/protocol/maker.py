"""Messages made quickly: a constructor that is written for one class and compiled.

kafka-python's own constructor reads every field of the schema. It leaves out the fields that it was not given, and these are
looked up in the schema each time they are read. For a small answer that costs more than all the rest.

Owns: nothing.
Invariants: I-MAKE-1 what `maker(cls)` makes equals `cls(**fields)` to every reader and writer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kafka.protocol.api_message import ApiMessage

Message = TypeVar("Message")  # an ApiMessage, or a struct within one


def maker(cls: type[Message]) -> Callable[..., Message]:
    """Return a function that takes some of the fields of `cls` by name and returns an instance, for example

        def make(*, partition_index=default_0, records=default_1):
            item = new(cls)
            item._version = item.tags = item.unknown_tags = None
            item.partition_index = partition_index
            item.records = records
            return item
    """
    fields = cls._struct._fields  # type: ignore[attr-defined]
    names: dict[str, Any] = {f"default_{number}": field.default for number, field in enumerate(fields)}
    arguments = "".join(f", {field.name}=default_{number}" for number, field in enumerate(fields))
    lines = [f"def make(*{arguments}):", "item = new(cls)", "item._version = item.tags = item.unknown_tags = None"]
    if issubclass(cls, ApiMessage):
        lines.append("item._header = item._min_version = item._max_version = None")
    lines += [f"item.{field.name} = {field.name}" for field in fields]
    names |= {"new": object.__new__, "cls": cls}
    exec("\n    ".join([*lines, "return item"]), names)
    return names["make"]  # type: ignore[no-any-return]
