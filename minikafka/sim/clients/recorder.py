"""What a client tells the history of its run: each operation is an `invoke`, later one of `ok`, `fail` or `info`.

`fail` says that it certainly did not happen, `info` that nobody knows. A client that says `fail` too easily makes a
checker blind, one that says it wrongly makes it cry wolf: where in doubt, `info`.

Owns: the name under which a client appears (its process).
Invariants: I-RECORDER-1 every invoke is followed by at most one completion.
Source: Jepsen's histories (jepsen.history), whose words these are.
"""

from __future__ import annotations

from typing import Any

from minikafka.protocol.errors import KafkaError
from minikafka.sim.clients.retry import Unsure


class Operation:
    """One operation that was invoked; the first completion counts, later ones say nothing."""

    def __init__(self, recorder: Recorder, f: str, fields: dict[str, Any]) -> None:
        self.recorder, self.f, self.fields = recorder, f, fields
        self.open = True

    def ok(self, **more: Any) -> None:
        self._complete("ok", more)

    def fail(self, error: object) -> None:
        self._complete("fail", {"error": str(error)})

    def info(self, error: object) -> None:
        self._complete("info", {"error": str(error)})

    def ended(self, error: BaseException) -> None:
        """By an exception: only a KafkaError other than `Unsure` says that it did not happen."""
        if isinstance(error, KafkaError) and not isinstance(error, Unsure):
            self.fail(error)
        else:
            self.info(error)

    def _complete(self, type_: str, more: dict[str, Any]) -> None:
        if self.open:
            self.open = False
            self.recorder.record(type_, self.f, **self.fields, **more)


class Recorder:
    """The history as one client sees it; without a history everything here does nothing."""

    def __init__(self, history: Any, process: str) -> None:
        self.history, self.process = history, process

    def record(self, type_: str, f: str, **fields: Any) -> None:
        if self.history is not None:
            self.history.record(self.process, type_, f, **fields)

    def invoke(self, f: str, **fields: Any) -> Operation:
        self.record("invoke", f, **fields)
        return Operation(self, f, fields)

    def fact(self, f: str, **fields: Any) -> None:
        """Something that happened to us and has no beginning of its own: partitions assigned or taken."""
        self.record("ok", f, **fields)
