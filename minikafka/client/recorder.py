"""The lines that a client writes into the history of its run: for each operation `invoke`, later `ok`, `fail` or `info`.

`fail` says that the operation certainly did not happen, `info` that this is unknown. If a client says `fail` wrongly, the
checker reports losses and duplicates that are none; if it says `info` too often, the checker misses real ones.

Owns: the name under which a client appears (its process).
Invariants: every invoke is followed by at most one end.
Source: Jepsen's histories (jepsen.history), whose words these are; the fields are those of `minikafka.proof.history`.
"""

from __future__ import annotations

from typing import Any

from minikafka.client.history import History
from minikafka.client.metadata import Tp
from minikafka.client.retry import Unsure
from minikafka.protocol.errors import KafkaError


class Operation:
    """One invoked operation; the first end counts, later ends do nothing."""

    def __init__(self, history: History | None, process: str, f: str, fields: dict[str, Any]) -> None:
        self.history = history
        self.invoked = history.invoke(process, f, **fields) if history is not None else None

    def ok(self, **fields: Any) -> None:
        self._end("ok", fields)

    def fail(self, error: object) -> None:
        self._end("fail", {"error": str(error)})

    def info(self, error: object, **fields: Any) -> None:
        self._end("info", {"error": str(error), **fields})

    def ended(self, error: BaseException) -> None:
        """End by an exception: only a KafkaError other than `Unsure` says that the operation did not happen."""
        if isinstance(error, KafkaError) and not isinstance(error, Unsure):
            self.fail(error)
        else:
            self.info(error or type(error).__name__)

    def _end(self, type_: str, fields: dict[str, Any]) -> None:
        invoked, self.invoked = self.invoked, None
        if self.history is not None and invoked is not None:
            getattr(self.history, type_)(invoked, **fields)


class Recorder:
    """The history as one client writes it; without a history all methods do nothing."""

    def __init__(self, history: History | None, process: str) -> None:
        self.history, self.process = history, process

    def invoke(self, f: str, **fields: Any) -> Operation:
        return Operation(self.history, self.process, f, fields)

    def fact(self, f: str, **fields: Any) -> None:
        """Record an event without duration: partitions assigned or revoked, a seek."""
        if self.history is not None:
            self.history.record(self.process, "ok", f, **fields)


def plain(offsets: dict[Tp, int]) -> dict[str, int]:
    """Return offsets as a history writes them: {"topic-0": 12}."""
    return {f"{topic}-{partition}": offset for (topic, partition), offset in offsets.items()}
