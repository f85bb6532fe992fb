"""Hostile clients against live brokers: real sockets, real processes, hundreds of connections, both engines."""

from __future__ import annotations

import contextlib
import random
import selectors
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from minikafka import Cluster
from minikafka.proof.chaos.frames import absurd, corpus, mutated
from minikafka.protocol.codec import encode_request
from tests import requests
from tests.wire.conftest import Place
from tests.wire.raw import Raw, header
from tests.wire.test_alter_configs import BROKER, DELETE, SET, incremental
from tests.wire.test_produce import batch, end, produce

API_VERSIONS = header(18, 0)
CROWD = 60  # connections at once


@contextlib.contextmanager
def crowd(address: str, count: int) -> Iterator[list[socket.socket]]:
    """So many connections at once, closed at the end."""
    host, _, port = address.rpartition(":")
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection((host, int(port)), timeout=10)) for _ in range(count)]


def ended(sockets: list[socket.socket], patience: float) -> dict[socket.socket, bytes]:
    """What came on each within `patience` seconds, until its first answer; b"" where the broker hung up."""
    heard: dict[socket.socket, bytes] = {}
    until = time.monotonic() + patience
    with selectors.DefaultSelector() as waiting:
        for each in sockets:
            waiting.register(each, selectors.EVENT_READ)
        while len(heard) < len(sockets) and (left := until - time.monotonic()) > 0:
            for key, _ in waiting.select(left):
                waiting.unregister(key.fileobj)
                try:
                    heard[key.fileobj] = key.fileobj.recv(1 << 16)
                except ConnectionResetError:
                    heard[key.fileobj] = b""
    return heard


def serves(address: str) -> bool:
    with Raw(address) as raw:
        raw.send_frame(API_VERSIONS)
        return raw.receive() is not None


@pytest.fixture
def unharmed(cluster: Cluster, at: Place) -> Iterator[None]:
    """Around a test: a record before it and one after it, next to each other in the log, and a broker that lives."""
    assert produce(at, batch()).base_offset == 0
    yield
    with Raw(at.addresses[at.leader]) as fresh:
        after = at._replace(raw=fresh)
        assert end(after) == 1
        assert produce(after, batch()).base_offset == 1
    assert all(serves(address) for address in at.addresses.values())


@pytest.mark.parametrize("seed", [1, 2])
def test_hundreds_of_spoiled_requests(cluster: Cluster, at: Place, unharmed: None, seed: int) -> None:
    """Fails if a broker dies of a frame, appends one, or does not serve the next connection."""
    rng = random.Random(seed)
    good = list(corpus(at.id, rng))
    others = [body for _, body in good]
    bodies = [mutated(body, rng, [body] if name.startswith("DeleteTopics") else others) for name, body in good]
    bodies += [body for _, body in absurd(at.id, rng)]
    address, fates = at.addresses[at.leader], {"answered": 0, "closed": 0, "silent": 0}
    for first in range(0, len(bodies), CROWD):
        some = bodies[first : first + CROWD]
        with crowd(address, len(some)) as sockets:
            for each, body in zip(sockets, some, strict=True):
                with contextlib.suppress(ConnectionError):
                    each.sendall(struct.pack(">i", len(body)) + body)
            heard = ended(sockets, 0.7)
        fates["answered"] += sum(map(bool, heard.values()))
        fates["closed"] += sum(not data for data in heard.values())
        fates["silent"] += len(some) - len(heard)
    assert fates["answered"] > 20 and fates["closed"] > 20, fates


@pytest.fixture(autouse=True)
def nothing_unexpected_in_the_log(request: pytest.FixtureRequest) -> Iterator[None]:
    """On our engine: no request of these tests raised anything that nobody expected."""
    cluster = request.getfixturevalue("cluster") if "cluster" in request.fixturenames else None
    logs: dict[Path, int] = {}
    if cluster is not None and cluster.plan.engine == "minikafka":
        logs = {node.log: node.log.stat().st_size for node in cluster.plan.nodes.values()}
    yield
    for file, size in logs.items():
        with file.open("rb") as lines:
            lines.seek(size)
            assert [line for line in lines if b" ERROR " in line or b"Traceback" in line] == []


def test_hundreds_of_connections_with_half_a_frame(cluster: Cluster, at: Place, unharmed: None) -> None:
    """Fails if those who send slowly keep others from being served.

    The frames are small because Apache sets memory aside for what is claimed: 300 times 1 MiB end a small machine.
    """
    with crowd(at.addresses[at.leader], 300) as sockets:
        for number, each in enumerate(sockets):
            each.sendall((struct.pack(">i", 1000) + API_VERSIONS)[: 1 + number % 15])
        assert serves(at.addresses[at.leader])
        assert end(at) == 1
        assert ended(sockets, 0.1) == {}, "served while all of them are still waited for"


def memory(pid: int) -> int:
    """Resident bytes of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def test_answers_that_nobody_reads_do_not_fill_the_memory(cluster: Cluster, at: Place) -> None:
    """Fails if the answers to a client that never reads pile up: its requests are for 2 GB."""
    assert produce(at, batch(b"x" * 900_000)).error_code == 0
    fetch = encode_request(requests.fetch(at.name), 4, 1, "never reads")
    pid = cluster.pid(at.leader)
    before = memory(pid)
    with crowd(at.addresses[at.leader], 20) as sockets:
        for each in sockets:
            each.sendall(fetch * 100)
        assert serves(at.addresses[at.leader])
        assert memory(pid) - before < 300 << 20
    assert serves(at.addresses[at.leader])


def test_connections_of_one_address_have_a_maximum(engine: str) -> None:
    """Fails if max.connections.per.ip is not kept, if a place is lost when its holder leaves, or if the removal of a limit
    that was set at run time drops a connection or still lets new ones in."""
    with Cluster(brokers=1, engine=engine, config={"max.connections.per.ip": 100}) as cluster, Raw(cluster.bootstrap) as admin:
        with crowd(cluster.bootstrap, 200) as sockets:
            for each in sockets:
                with contextlib.suppress(ConnectionError):
                    each.sendall(struct.pack(">i", len(API_VERSIONS)) + API_VERSIONS)
            heard = ended(sockets, 5)
            answered = sum(map(bool, heard.values()))
            assert 80 <= answered <= 100 and len(heard) == 200  # the cluster's own connections count too
            limit = "max.connections.per.ip"
            assert incremental(admin, (BROKER, "", [(limit, SET, "1000")]))[0][2] == 0
            cluster.wait(lambda: _tries(cluster.bootstrap), timeout=60)
            with Raw(cluster.bootstrap) as late:
                assert incremental(admin, (BROKER, "", [(limit, DELETE, None)]))[0][2] == 0
                cluster.wait(lambda: not _tries(cluster.bootstrap), timeout=60)
                late.send_frame(API_VERSIONS)
                assert late.receive() is not None
        assert cluster.wait(lambda: _tries(cluster.bootstrap), timeout=60)


def _tries(address: str) -> bool:
    with contextlib.suppress(OSError, AssertionError):
        return serves(address)
    return False
