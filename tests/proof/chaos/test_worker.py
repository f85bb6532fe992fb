"""Clients as threads: errors are survived and counted, a new life is a new process."""

from __future__ import annotations

import threading

from minikafka.proof.chaos.worker import Worker
from minikafka.proof.history import History


class Clumsy(Worker):
    """Fails in its third step; in its second life it waits to be ended, or hangs."""

    def __init__(self, hangs: bool = False) -> None:
        super().__init__("clumsy", "nowhere", History())
        self.hangs, self.steps, self.closed = hangs, 0, 0
        self.second, self.released = threading.Event(), threading.Event()

    def open(self) -> None:
        self.history.record(self.name, "ok", "open")

    def step(self) -> None:
        self.steps += 1
        if self.steps == 3:
            raise ValueError("clumsy")
        if self.steps > 3:
            self.second.set()
            self.released.wait(30 if self.hangs else 0.01)

    def close(self) -> None:
        self.closed += 1


def test_an_error_is_counted_and_a_new_life_begins() -> None:
    """Fails if a library's error ends the thread, is not told, or the next life has the same name (I-CHAOS-1, 2)."""
    worker = Clumsy()
    worker.start()
    assert worker.second.wait(30)
    worker.finish()
    assert worker.wait(30)
    assert worker.errors == {"ValueError in step": 1}
    assert [e["process"] for e in worker.history if e["f"] == "open"] == ["clumsy", "clumsy#2"]
    assert [e["where"] for e in worker.history if e["f"] == "error"] == ["step"]
    assert worker.closed == 2


def test_one_that_hangs_is_seen_and_replaced() -> None:
    """Fails if a hanging client holds up the campaign, does not show where it stands, or gives its name away."""
    worker = Clumsy(hangs=True)
    worker.start()
    assert worker.second.wait(30)
    worker.finish()
    assert not worker.wait(0.01)
    assert "self.released.wait" in worker.where()
    other = worker.successor()
    other.hangs = False
    other.start()
    other.finish()
    worker.released.set()
    assert worker.wait(30) and other.wait(30)
    assert other.name == "clumsy#101" and other.errors == {}
