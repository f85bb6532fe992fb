"""A student's function while brokers call it: an error in a broker would end that broker, so it is kept for the night to raise.

Owns: the first error. Invariants
  no error leaves a call: after the first one the function is not called any more, and the broker goes on without an answer
"""
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from minikafka.lab import guard
from minikafka.lab.values import shown

LIMIT = 2.0   # seconds for one call
WHOLE = 8.0   # seconds for all calls

T = TypeVar("T")


class Misused(AssertionError):
    """An error: what the function returned is no answer that a broker could act on; its text is the verdict."""


def whole(said: Any) -> int:
    if int(said) != said:
        raise ValueError
    return int(said)


class Student:
    """The function, and what it has done. `error` is None until a call fails; `rests`: brokers go by their own rule as yet."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self._spent = function, 0.0
        self.error: BaseException | None = None
        self.calls, self.rests = 0, False

    def __call__(self, otherwise: Any, *arguments: Any) -> Any:
        """Return what the function returns, or `otherwise` if it has failed, now or before."""
        if self.error is not None:
            return otherwise
        began = time.monotonic()
        try:
            with guard.limited(LIMIT):
                return self._function(*arguments)
        except guard.TooLong:
            self.error = Misused(f"your function had not returned after {LIMIT:g} s, and the broker that had called it did "
                                 "nothing else. Is there a loop that never ends?")
        except SystemExit:
            self.error = Misused("your code ends the program (exit); a function ends with `return`")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.error = error
        finally:
            self.calls, self._spent = self.calls + 1, self._spent + time.monotonic() - began
            if self._spent > WHOLE and self.error is None:
                self.error = Misused(f"brokers have called your function {self.calls} times, and it took {self._spent:.0f} s in "
                                     "all; a rule of a broker has to answer at once")
        return otherwise

    def number(self, otherwise: int, *arguments: Any) -> int:
        """Return what the function returns, as a whole number, or `otherwise` if it has failed, now or before."""
        return self.read(whole, "a whole number", otherwise, *arguments)

    def read(self, form: Callable[[Any], T], wanted: str, otherwise: T, *arguments: Any) -> T:
        """Return what the function returns, in a form of which `wanted` is the name, or `otherwise` as above. `form` raises
        an AssertionError whose text is a verdict, or another error if the answer is of another kind."""
        said = self(otherwise, *arguments)
        try:
            return form(said)
        except AssertionError as wrong:
            self.refuse(str(wrong))
        except (OverflowError, TypeError, ValueError):
            self.refuse(f"your function returned {shown(said)}; {wanted} is wanted")
        return otherwise

    def refuse(self, why: str) -> None:
        """Note that an answer cannot be acted on."""
        self.error = self.error or Misused(why)
