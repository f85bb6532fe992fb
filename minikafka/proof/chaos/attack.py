"""A process of hostile connections: random requests of all APIs (grammar.py), one after the other or in heaps, on every broker.

It is a process of its own, so that its work is not what the probe client waits for. Each request is answered, or the
broker hangs up, or nothing comes for a while (long polls); all three are counted by API with the codes of the answers.

Owns: the connections, the counts.
Invariants: what a thread does is decided by its seed; only what it learns from answers depends on the moment.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from multiprocessing.connection import Connection
from random import Random
from typing import Any
from uuid import UUID

from minikafka.cluster import wire
from minikafka.proof.chaos.grammar import Grammar, values
from minikafka.protocol.codec import REQUESTS, RESPONSES, decode_response, encode_request

PATIENCE_S = 2.0  # then a request counts as waiting, and its connection is closed
HEAP = 40  # requests that are sent in one piece, now and then
LARGEST_READ = 1 << 18  # a longer answer is not looked into
KEPT = 40  # of the last requests of each thread: shown when a broker has died
Served = dict[int, tuple[int, int]]  # versions by API key


def attack(results: Connection, addresses: list[str], served: Served, spared: set[UUID], seed: int, threads: int,
           seconds: float) -> None:
    """Send requests for a number of seconds, then send the counts and the last requests through the pipe."""
    until = time.monotonic() + seconds
    attackers = [Attacker(addresses, served, spared, seed * 1000 + number, until) for number in range(threads)]
    workers = [threading.Thread(target=attacker.run, daemon=True) for attacker in attackers]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(seconds + 60)
    counts: Counter[tuple[str, str]] = Counter()
    for attacker in attackers:
        counts.update(attacker.counts)
    results.send((counts, [line for attacker in attackers for line in attacker.last]))


class Attacker:
    """One thread: one connection at a time, to one broker after the other."""

    def __init__(self, addresses: list[str], served: Served, spared: set[UUID], seed: int, until: float) -> None:
        self.addresses, self.served, self.until = addresses, served, until
        self.rng = Random(seed)
        self.grammar = Grammar(self.rng, spared)
        self.counts: Counter[tuple[str, str]] = Counter()
        self.last: deque[str] = deque(maxlen=KEPT)

    def run(self) -> None:
        """Connect again and again until the time is over."""
        while time.monotonic() < self.until:
            try:
                host, _, port = self.rng.choice(self.addresses).rpartition(":")
                with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
                    self._use(connection)
            except OSError:
                time.sleep(0.2)  # its broker is being restarted, or has enough connections

    def _use(self, connection: socket.socket) -> None:
        """Send requests on one connection until the broker hangs up or lets one wait, or we have enough of it."""
        while time.monotonic() < self.until and self.rng.random() > 0.01:
            if self.rng.random() < 0.02:
                connection.sendall(b"".join(self._frame()[2] for _ in range(HEAP)))
                if self.rng.random() < 0.5:
                    return  # and nobody reads the answers
                self.counts["a heap", _drained(connection)] += HEAP
                return
            key, version, frame = self._frame()
            try:
                connection.sendall(frame)
                answer = wire.read_frame(connection)
            except TimeoutError:
                self.counts[REQUESTS[key].name, "waits"] += 1
                return
            except OSError:
                self.counts[REQUESTS[key].name, "closed"] += 1
                self.last.append(f"^ closed: {frame[:2000].hex()}")
                return
            self._take(key, version, answer)

    def _frame(self) -> tuple[int, int, bytes]:
        """Return a request with its key and version, as bytes."""
        key = self.rng.choice([*self.served])
        low, high = self.served[key]
        version = self.rng.randint(low, high)
        request = self.grammar.request(key, version)
        self.last.append(f"{time.time():.3f} {request.name} v{version} {repr(request)[:600]}")
        name = self.rng.choice(("hostile",) * 20 + ("", "x" * 32000, None))
        return key, version, encode_request(request, version, 7, name)

    def _take(self, key: int, version: int, answer: bytes) -> None:
        name = REQUESTS[key].name
        if len(answer) > LARGEST_READ:
            self.counts[name, "large"] += 1
            return
        message = decode_response(RESPONSES[key], version, memoryview(answer))
        self.counts[name, "answered"] += 1
        for code in {*_codes(message)}:
            self.counts[name, f"code {code}"] += 1
            if code == -1:
                self.last.append("^ answered -1")
        self.grammar.learn(message)


CODES = "error_code", "partition_error_code", "topic_config_error_code"


def _codes(message: Any) -> Iterator[int]:
    return (code for _, code in values(message, CODES) if isinstance(code, int))


def _drained(connection: socket.socket) -> str:
    """Read what comes until the broker hangs up or nothing more comes."""
    with contextlib.suppress(TimeoutError, OSError):
        while connection.recv(1 << 20):
            pass
        return "closed"
    return "answered"
