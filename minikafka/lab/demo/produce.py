"""The producer of the demo: real flights, keyed by plane, acks=all, idempotent.

Owns: what was sent, and where each acknowledged record lies, as the producer itself learned it.

Invariants
  `acknowledged` holds a flight only after its future succeeded: the cluster promised not to lose it.
"""
from collections.abc import Callable, Sequence
from typing import Any

from kafka import KafkaProducer

from ..datasets import Flight

PATIENCE_MS = 120_000                            # how long one record may take: a leader dies in between


class FlightProducer:
    """Sends flights; counters may be read from another thread while `run` is at work."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.topic = topic
        self.sent = 0
        self.acknowledged: dict[int, tuple[int, int]] = {}           # seq -> (partition, offset)
        self.failures: list[Exception] = []
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap.split(","), client_id="demo-producer",
            acks="all", enable_idempotence=True,                     # no acknowledged record lost, none written twice
            linger_ms=20, batch_size=64 * 1024,                      # a batch waits 20 ms for company
            delivery_timeout_ms=PATIENCE_MS, max_block_ms=PATIENCE_MS)

    def run(self, flights: Sequence[Flight], halfway: Callable[[], Any]) -> None:
        """Send them all and wait for the last acknowledgement; `halfway` is called with batches in flight."""
        for flight in flights:
            if self.sent == len(flights) // 2:
                halfway()
            future = self._producer.send(
                self.topic, key=flight.key, value=flight.encode(), timestamp_ms=flight.timestamp_ms
            )
            future.add_callback(self._acked, flight.seq)
            future.add_errback(self.failures.append)
            self.sent += 1
        self._producer.flush(timeout=PATIENCE_MS / 1000)

    def _acked(self, seq: int, metadata: Any) -> None:
        self.acknowledged[seq] = (metadata.partition, metadata.offset)

    def close(self) -> None:
        """Give up what is still unsent, and the connections."""
        self._producer.close(timeout=5)
