"""What is blank in the texts of clients: Java's characters, not Python's."""

from __future__ import annotations

import pytest

from minikafka.protocol.text import listed, trim


@pytest.mark.parametrize(("text", "trimmed"), [
    (" a b ", "a b"), ("\0\x1f\ta\r\n", "a"), ("\u00a0a", "\u00a0a"), ("\u2003a\u3000", "\u2003a\u3000"), ("\x7fa", "\x7fa"),
    (" \0 ", ""), ("", "")])
def test_blanks_at_the_ends(text: str, trimmed: str) -> None:
    """Fails if a character up to the blank stays, or any other goes: a no-break space is a letter to Java."""
    assert trim(text) == trimmed


@pytest.mark.parametrize(("text", "words"), [
    ("a,b", ["a", "b"]), (" a \t,\n b ", ["a", "b"]), ("a,\0b", ["a", "\0b"]), ("a\u00a0,b", ["a\u00a0", "b"]),
    ("a,,b", ["a", "", "b"]), ("a,", ["a", ""]), (" \0", []), ("", []), ("a  b", ["a  b"])])
def test_words_of_a_list(text: str, words: list[str]) -> None:
    """Fails if a comma takes other characters with it than blanks, tabs and ends of lines, or if an empty word is lost."""
    assert listed(text) == words
