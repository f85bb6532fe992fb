"""Regular expressions of clients: names of topics and of transactional ids, in the language of RE2.

RE2 matches in time linear in the name, whatever a client sends. Kafka uses re2j, its translation to Java, which refuses a few
expressions that RE2 takes, and has other texts for the same errors.

Owns: compile_expression().
Invariants: I-REGEX-1 an expression that is not RE2 is refused before anything of it is kept.
What Kafka does differently: re2j has no bound on the product of nested repetitions, as in (a{500}){3}; RE2 takes 1000 at most.
Source: com.google.re2j.Parser.
"""

from __future__ import annotations

import re
from typing import Any

import re2

# RE2's error texts, and re2j's for the same errors.
TEXTS = {"missing ]": "missing closing ]", "missing )": "missing closing )",
         "no argument for repetition operator": "missing argument to repetition operator",
         "bad repetition operator": "invalid nested repetition operator",
         "invalid repetition size": "invalid repeat count",
         "trailing \\": "trailing backslash at end of expression",
         "invalid perl operator": "invalid or unsupported Perl syntax",
         "unexpected )": "regexp/syntax: internal error",
         "invalid named capture group": "invalid named capture"}
# The parts of an expression with a meaning of their own: quoted text, an escape, a class, a group's name, a repetition.
TOKENS = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(?P<escape>.)|\[\^?\]?(?>\\.|\[:\w*:\]|[^\]\\])*+\]|"
                    r"\(\?P?<(?P<name>[^>]*)>|\{(?P<count>[0-9]+(?:,[0-9]*)?)\}", re.DOTALL)
HUGE = re.compile("[1-9][0-9]{8}")     # RE2 takes braces around such a number for text


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    return options


_OPTIONS = _options()


def compile_expression(expression: str) -> Any:  # Any: re2 has no types
    """Return the compiled expression. Raises ValueError with re2j's reason if it is not in re2j's language."""
    try:
        compiled = re2.compile(expression, _OPTIONS)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace").partition(": ")[0]
        raise ValueError(TEXTS.get(reason, reason)) from None
    names: set[str] = set()
    for token in TOKENS.finditer(expression):
        name, count = token["name"], token["count"]
        if token["escape"] == "C":
            raise ValueError("invalid escape sequence")
        if count is not None and any(HUGE.match(number) for number in count.split(",")):
            raise ValueError("invalid repeat count")
        if name is not None:
            if not name.isascii():
                raise ValueError("invalid named capture")
            if name in names:
                raise ValueError("duplicate capture group name")
            names.add(name)
    return compiled
