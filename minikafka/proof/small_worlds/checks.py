"""What the judges of the small worlds say when a rule falls.

    same("I-SESSION-3", "the partitions told", found, wanted)      raises RuleFallen if the two differ
    that("I-HW-1", high <= end, "the high watermark is beyond the end")
    answered(txn.end, who)                                         what a call returns, or the error code of its refusal
    Twin("I12", store, history).same("get", group, key)            compares a part with its model
    fallen(life.live)                                              () if every rule was kept, else the rule that fell

Owns: RuleFallen, Twin.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from minikafka.protocol.errors import KafkaError


class RuleFallen(AssertionError):
    """A part of the broker did what no rule allows; `id` is the invariant that it broke."""

    def __init__(self, id: str, text: str) -> None:
        super().__init__(text)
        self.id = id


def that(id: str, holds: object, otherwise: str) -> None:
    """Raise RuleFallen, with what is wrong, unless it `holds`."""
    if not holds:
        raise RuleFallen(id, otherwise)


def same(id: str, what: str, found: object, wanted: object) -> None:
    """Raise RuleFallen unless what was found is what was wanted."""
    if found != wanted:
        raise RuleFallen(id, f"{what}: {found!r}, not {wanted!r}")


def answered(ask: Callable[..., Any], *arguments: object) -> Any:
    """Return what a call returns, or the error code if it raises KafkaError."""
    try:
        return ask(*arguments)
    except KafkaError as refused:
        return refused.code


class Twin:
    """A part of the broker and its model, which is simpler: every event goes to both, and both return the same answers."""

    def __init__(self, id: str, part: Any, model: Any) -> None:
        self.id, self.part, self.model = id, part, model

    def apply(self, event: object) -> Any:
        """Let something happen to both; return what the part returns."""
        self.model.apply(event)
        return self.part.apply(event)

    def same(self, what: str, *arguments: object, form: Callable[[Any], object] = lambda answer: answer) -> Any:
        """Call a method of both, compare the answers or error codes, and return the part's."""
        found, wanted = (form(answered(getattr(one, what), *arguments)) for one in (self.part, self.model))
        same(self.id, f"{what}{arguments}", found, wanted)
        return found


def fallen(live: Callable[[], object]) -> tuple[str, ...]:
    """Run one life; return () if every rule was kept, else the rule that fell, or the error that ended the life."""
    try:
        live()
    except RuleFallen as rule:
        return (f"{rule.id}: {rule}",)
    except AssertionError as own:
        return (str(own) or repr(own),)
    except Exception as error:  # whatever it is: the seed that shows it must be told
        at = traceback.extract_tb(error.__traceback__)[-1]
        return (f"it ends with {error!r} at {at.name}, line {at.lineno}",)
    return ()
