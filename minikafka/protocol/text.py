"""Blanks as Java defines them: a broker in Python must count the same characters as blank.

Owns: trim() and listed(). Python's own `strip` removes the blanks of all scripts, but few control characters.
Source: java.lang.String.trim; `\\s` in java.util.regex.Pattern.
"""

from __future__ import annotations

_TRIMMED = "".join(map(chr, range(ord(" ") + 1)))
_SPACES = " \t\n\v\f\r"  # what \s matches


def trim(text: str) -> str:
    """Return the text without blanks and control characters at its ends."""
    return text.strip(_TRIMMED)


def listed(text: str) -> list[str]:
    """Return the words of a list whose commas may stand between blanks; none if the text is blank."""
    trimmed = trim(text)
    return [word.strip(_SPACES) for word in trimmed.split(",")] if trimmed else []
