"""The room of one answer: how many bytes of rows it may still get before it is refused.

Kafka answers as often as a resource is named: 20 KB of requests ask for half a gigabyte. What is said again costs no
memory while it is the same object, but every byte is written. So rows are counted before they are made.

Owns: the bytes that are left.
Invariants: I-ANSWERSIZE-1 the rows of an answer are at most LARGEST bytes; a resource without room gets INVALID_REQUEST, the
              others their rows.
What Kafka does differently: it has no limit, and may run out of memory.
"""

from __future__ import annotations

import logging

from minikafka.protocol.errors import Err, OwnLimit

log = logging.getLogger("minikafka.server")

LARGEST = 64 << 20  # bytes; all settings of a few thousand topics with their documentation fit
ROW = 32  # bytes of a row beside its texts, about
TEXT = f"The answer would be larger than {LARGEST >> 20} MiB: ask for less in one request."


class AnswerBudget:
    """The number of bytes that one answer may still grow."""

    def __init__(self, size: int = LARGEST) -> None:
        self.left, self.full = size, False

    def check(self, size: int) -> None:
        """Raise OwnLimit if there is no room for that number of bytes."""
        if size > self.left:
            if not self.full:                  # once for each answer, though each row that follows is refused
                log.warning(TEXT)
            self.full = True
            raise OwnLimit(Err.INVALID_REQUEST, TEXT)

    def take(self, size: int) -> None:
        """Count these bytes; raise OwnLimit, and count nothing, if there is no room for them."""
        self.check(size)
        self.left -= size
