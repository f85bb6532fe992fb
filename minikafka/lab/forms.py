"""What a guess has to look like, so that it can be compared with what is measured.

    fitted(5, "3 %")          3.0: one number is wanted, and a text that is one will do
    fitted((5, 5), [1])       raises Misshapen: "[1] cannot be compared with the answer, which has this form: guess = (5, 5)"

A form is an example: a number, True, a pair or a list of a fixed length, a dictionary with these keys. A set of texts means one
of them, a list of texts any number of them. A question of a lab that has no form here asks for a number.

Owns: the forms of the labs' questions. Each is tried with the guess of its source (tests/lab/labs/test_course.py).
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

from minikafka.lab.values import shown

NUMBER, LABS = 5, (*range(15), 20, 21, 22, 23)
FORMS: dict[str, Any] = {
    "0.6": {"write": True, "read": True, "keep": True}, "1.3": {"queue": NUMBER, "topic": NUMBER},
    "8.5": {"first", "second", "both", "neither"}, "8.7": (True, True), "9.7": ["write", "read", "create a topic"], "11.6": True,
    "12.1": [NUMBER] * 8, "14.1": {"PASS", "FAIL", "UNKNOWN"}, "14.3": (NUMBER, NUMBER),
    **dict.fromkeys(("21.3", "21.6"), {"client", "broker", "both", "neither"}), "21.8": True, "21.10": {"error", "time"}}


class Misshapen(ValueError):
    """An error: a guess that cannot be compared; its text is the sentence for the student."""


def of(question: str) -> Any:
    """Return the form of a question's answer; None for a question of the student's own, which may have any."""
    return FORMS.get(question, NUMBER if int(question.partition(".")[0]) in LABS else None)


def fitted(form: Any, guess: Any) -> Any:
    """Return a guess in this form, so that equality can judge it. Raises Misshapen."""
    try:
        return guess if form is None else _fitted(form, guess)
    except (KeyError, TypeError, ValueError):
        raise Misshapen(f"{shown(guess, 60)} cannot be compared with the answer, which has this form: guess = {example(form)}") \
            from None


def _fitted(form: Any, guess: Any) -> Any:
    match form:
        case bool():
            return {"true": True, "false": False, "1": True, "0": False}[str(guess).strip().lower()]
        case int():
            return as_number(guess)
        case set():
            return {name.lower(): name for name in form}[str(guess).strip().lower()]
        case [str(), *_]:
            return {_fitted(set(form), each) for each in ([guess] if isinstance(guess, str) else guess)}
        case dict() if isinstance(guess, Mapping) and len(guess) == len(form):
            said = {str(key).strip().lower(): value for key, value in guess.items()}
            return {key: _fitted(each, said.pop(key)) for key, each in form.items()}
        case dict():
            return dict(zip(form, _fitted(tuple(form.values()), guess)))
    if not isinstance(guess, (list, tuple)):
        raise TypeError
    return type(form)(_fitted(each, said) for each, said in zip(form, guess, strict=True))


def as_number(guess: Any) -> Any:
    """Return a number, also one that is written as "10 %", "1,000" or "52 ms". Raises ValueError if it is none."""
    if isinstance(guess, Real) and not isinstance(guess, bool):
        return guess
    if found := re.fullmatch(r"\s*([-+]?[\d,_]*\.?\d+)\s*(%|[a-z]*)\s*", guess, re.IGNORECASE):
        return float(re.sub("[,_]", "", found[1]))
    raise ValueError


def example(form: Any) -> str:
    """Return a form as a student types it."""
    def quoted(names: Iterable[str]) -> list[str]:
        return [f'"{name}"' for name in sorted(names)]
    match form:
        case set():
            return " or ".join(quoted(form))
        case [str(), *_]:
            return f"[{quoted(form)[0]}], with any of {', '.join(quoted(form))}"
    return repr(form).replace("'", '"')
