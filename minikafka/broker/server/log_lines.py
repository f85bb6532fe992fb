"""Log entries that stay one line each, whatever names a client sends.

Invariants: text from outside cannot begin a new line, move a terminal's cursor, or fill the disk with one entry.
"""

from __future__ import annotations

import logging

FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
LONGEST = 1000  # characters of one message


def escaped(text: str) -> str:
    """Return `text` with control characters escaped as in Python, cut after LONGEST characters."""
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]} ... ({len(text)} characters)"
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class OneLine(logging.Formatter):
    """A formatter that escapes the message only: the traceback of a bug keeps its lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = escaped(record.message)
        return super().formatMessage(record)


def log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine(FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
