"""What the judges of the small worlds say when a rule falls.

    same("I-SESSION-3", "the partitions told", found, wanted)      raises RuleFallen if the two differ
    that("I-HW-1", high <= end, "the high watermark is beyond the end")
    fallen(life.live)                                              () if every rule was kept, else the one that fell

Owns: RuleFallen.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable


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
