"""The room of one answer: how many bytes of rows it may still get before it is refused.

Kafka answers as often as a resource is named: 20 KB of requests ask for half a gigabyte. What is said again costs no
memory while it is the same object, but every byte is written. So rows are counted before they are made.

Owns: the bytes that are left.
Invariants: I-ANSWERSIZE-1 the rows of an answer are at most LARGEST bytes; a resource without room gets INVALID_REQUEST, the
              others what they asked for.
What Kafka does differently: it has no limit, and may run out of memory.
"""

from __future__ import annotations

from minikafka.protocol.errors import Err, KafkaError

LARGEST = 64 << 20  # bytes; all settings of a few thousand topics with their documentation fit
ROW = 32  # bytes of a row beside its texts, about
TEXT = f"The answer would be larger than {LARGEST >> 20} MiB: ask for less in one request."


class AnswerBudget:
    """The number of bytes that one answer may still grow."""

    def __init__(self, size: int = LARGEST) -> None:
        self.left = size

    def check(self, size: int) -> None:
        """Raise KafkaError if there is no room for so many bytes."""
        if size > self.left:
            raise KafkaError(Err.INVALID_REQUEST, TEXT)

    def take(self, size: int) -> None:
        """Take note of so many bytes; raise KafkaError, and take nothing, if there is no room for them."""
        self.check(size)
        self.left -= size
