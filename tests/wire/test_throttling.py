"""Quotas at work, by value: who has used more than its own is answered and then not listened to; both engines alike.

The first use of a client is counted over ten seconds, at any time of day, so its wait is exact: used/10 against the
limit. No test waits for a throttled connection longer than a moment: it takes another one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka.protocol.admin import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest

from minikafka import Cluster
from minikafka.log.batch import build
from minikafka.protocol.codec import RESPONSES, decode_response, encode_request
from minikafka.protocol.errors import Err
from tests.requests import create_topics, fetch, produce, topic
from tests.wire.conftest import Place
from tests.wire.raw import Raw
from tests.wire.test_client_quotas import CLIENT, FETCH, MUTATE, PRODUCE, USER, Entity, alter, describe

Ask = Callable[..., Any]
HUGE = 2.0**50


class Sent(Raw):
    """A connection of a client with a name; it knows the sizes of the last frames."""

    def __init__(self, address: str, client: str) -> None:
        super().__init__(address)
        self.client = client

    def tell(self, request: ApiMessage, version: int) -> int:
        """Send; how many bytes the broker counts."""
        frame = encode_request(request, version, 1, self.client)
        self.send(frame)
        return len(frame) - 4

    def ask(self, request: ApiMessage, version: int, correlation: int = 1) -> Any:
        self.told = self.tell(request, version)
        frame = self.receive()
        assert frame is not None, f"{request.name} v{version} closed the connection"
        self.heard = len(frame)
        return decode_response(RESPONSES[request.API_KEY], version, memoryview(frame))


# --- quotas that are kept ---------------------------------------------------------------------------------------------


@pytest.fixture
def limit(cluster: Cluster) -> Iterator[Callable[..., None]]:
    """Sets quotas and returns when every node keeps them; takes all away at the end."""
    with Raw(cluster.bootstrap) as raw:
        yield lambda *quotas: put(cluster, raw, *quotas)
        put(cluster, raw, *[(entity, dict.fromkeys(found)) for entity, found in describe(raw)])


def put(cluster: Cluster, raw: Raw, *wanted: tuple[Entity, dict[str, Any]]) -> None:
    """What is described need not be kept yet. But nodes take metadata in order: when they keep, or keep no more, what
    was said after they described this, they keep this."""
    entities = [entity for entity, _ in wanted]
    left = [(entity, kept) for entity, quotas in wanted if (kept := {k: v for k, v in quotas.items() if v is not None})]
    assert all(code == 0 for code, _, _ in alter(raw, *wanted))
    addresses = cluster.bootstrap.split(",")
    for address in addresses:
        with Raw(address) as other:
            cluster.wait(lambda other=other: sorted((q for q in describe(other) if q[0] in entities), key=str)
                         == sorted(left, key=str), timeout=60)
    for rate in (1.0, None):
        alter(raw, ({CLIENT: "probe"}, {PRODUCE: rate}))
        for address in addresses:
            cluster.wait(lambda rate=rate, address=address: bool(probe(address)) == (rate is not None), timeout=60)


def probe(address: str, client: str = "probe") -> int:
    """The throttle time of a client's small request."""
    with Sent(address, client) as one:
        return int(one.ask(produce_request("nowhere", b""), 9).throttle_time_ms)


def wait_of(used: int, limit: float) -> int:
    """Kafka's arithmetic for a first use: the rate over ten seconds, and how much longer they would have to be."""
    return round((used / 10 - limit) / limit * 10_000)


# --- producers --------------------------------------------------------------------------------------------------------


def produce_request(topic: str, value: bytes, acks: int = 1) -> ProduceRequest:
    return produce(topic, build([(None, value)], timestamp_ms=int(time.time() * 1000)), acks=acks, timeout_ms=30000)


@pytest.mark.parametrize("version", [3, 9])
def test_a_producer_gets_its_throttle_time(at: Place, limit: Ask, name: str, version: int) -> None:
    """Fails if requests are counted otherwise than whole, what is above the limit is refused, or others pay for it."""
    limit(({CLIENT: name}, {PRODUCE: 300.0}))
    with Sent(at.addresses[at.leader], name) as own, Sent(at.addresses[at.leader], "other") as other:
        assert other.ask(produce_request(at.name, b"x" * 9000), version).throttle_time_ms == 0
        answer = own.ask(produce_request(at.name, b"x" * 9000), version)
        assert answer.throttle_time_ms == wait_of(own.told, 300.0) > 0
        row = answer.responses[0].partition_responses[0]
        assert (row.error_code, row.base_offset) == (0, 1)
        assert other.ask(produce_request(at.name, b""), version).throttle_time_ms == 0


def test_what_is_within_the_limit_is_free(at: Place, limit: Ask, name: str) -> None:
    limit(({CLIENT: name}, {PRODUCE: 100_000.0}))
    with Sent(at.addresses[at.leader], name) as own:
        for _ in range(5):
            assert own.ask(produce_request(at.name, b"x" * 9000), 9).throttle_time_ms == 0


def test_quotas_are_shared_by_the_connections_of_a_client(at: Place, limit: Ask, name: str) -> None:
    """Fails if each connection has a quota to itself; 9000 of 10000 bytes are free, the next 9000 are not, unless this
    machine needs so long for them that the first ones are forgotten."""
    limit(({CLIENT: name}, {PRODUCE: 1000.0}))
    with Sent(at.addresses[at.leader], name) as one, Sent(at.addresses[at.leader], name) as two:
        before = time.monotonic()
        assert one.ask(produce_request(at.name, b"x" * 8900), 9).throttle_time_ms == 0
        found = two.ask(produce_request(at.name, b"x" * 8900), 9).throttle_time_ms
        assert 0 < found <= wait_of(one.told + two.told, 1000.0) or time.monotonic() - before > 9


@pytest.mark.parametrize("acks", [0, 1])
def test_whoever_is_above_the_limit_is_not_listened_to(at: Place, limit: Ask, name: str, acks: int) -> None:
    """Fails if the waiting is left to the client; with acks=0 there is no answer that names it."""
    limit(({CLIENT: name}, {PRODUCE: 900.0}))
    with Sent(at.addresses[at.leader], name) as own:
        before = time.monotonic()
        used = own.tell(produce_request(at.name, b"x" * 11_000, acks), 9)
        if acks:
            own.receive()
        own.ask(fetch_request(at.name, wait_ms=0), 12)
        assert time.monotonic() - before >= wait_of(used, 900.0) / 1000 - 0.01 > 2



def test_a_quota_that_is_removed_while_its_client_waits(at: Place, limit: Ask, name: str) -> None:
    """Fails if the removal ends the wait of a connection that is not listened to, or if a new connection still has the limit."""
    limit(({CLIENT: name}, {PRODUCE: 900.0}))
    with Sent(at.addresses[at.leader], name) as own, Sent(at.addresses[at.leader], name) as new:
        told_at, wait_ms = time.monotonic(), own.ask(produce_request(at.name, b"x" * 12_000), 9).throttle_time_ms
        assert wait_ms > 2000
        limit(({CLIENT: name}, {PRODUCE: None}))
        assert new.ask(produce_request(at.name, b"x" * 12_000), 9).throttle_time_ms == 0
        assert own.ask(produce_request(at.name, b"x" * 12_000), 9).throttle_time_ms == 0
        assert time.monotonic() - told_at >= wait_ms / 1000 - 0.1


def test_what_a_client_used_without_a_limit_counts_if_another_has_one(at: Place, limit: Ask, name: str) -> None:
    """Fails if a limit that is removed and set again forgets what was used in between while another client was limited, unless
    this machine needs so long that it is over (I-QUOTA-4)."""
    limit(({CLIENT: "another"}, {PRODUCE: HUGE}), ({CLIENT: name}, {PRODUCE: 900.0}))
    limit(({CLIENT: name}, {PRODUCE: None}))
    with Sent(at.addresses[at.leader], name) as own:
        before = time.monotonic()
        assert [own.ask(produce_request(at.name, b"x" * 90_000), 9).throttle_time_ms for _ in range(3)] == [0, 0, 0]
        limit(({CLIENT: name}, {PRODUCE: 900.0}))
        assert own.ask(produce_request(at.name, b"x" * 100), 9).throttle_time_ms > 60_000 or time.monotonic() - before > 9


# --- consumers --------------------------------------------------------------------------------------------------------


def fetch_request(topic: str, offset: int = 0, most: int = 1 << 20, session: tuple[int, int] = (0, -1),
                  wait_ms: int = 500) -> FetchRequest:
    return fetch(topic, offset, most, max_wait_ms=wait_ms, max_bytes=most, session_id=session[0], session_epoch=session[1])


def fill(at: Place, *sizes: int) -> None:
    for size in sizes:
        assert at.raw.ask(produce_request(at.name, b"x" * size, acks=-1), 9).responses[0].partition_responses[0].error_code == 0


def records(answer: Any) -> int:
    return sum(len(p.records) for topic in answer.responses for p in topic.partitions)


@pytest.mark.parametrize("version", [4, 12])
def test_a_consumer_above_its_limit_gets_nothing_yet(at: Place, limit: Ask, name: str, version: int) -> None:
    """Fails if the answer is not empty, its size is counted otherwise, or what was not sent is counted after all."""
    fill(at, 9000)
    limit(({CLIENT: name}, {FETCH: 300.0}))
    with Sent(at.addresses[at.leader], "other") as other:
        answer = other.ask(fetch_request(at.name), version)
        assert answer.throttle_time_ms == 0 and records(answer) > 9000
        size = other.heard - (1 if version >= 12 else 0)         # with its own length and no header
    waits = []
    for _ in range(3):
        with Sent(at.addresses[at.leader], name) as own:
            answer = own.ask(fetch_request(at.name), version)
            assert (answer.responses, getattr(answer, "error_code", 0)) == ([], 0)
            waits.append(answer.throttle_time_ms)
    assert waits[0] == wait_of(size, 300.0)
    assert all(0 < wait <= waits[0] for wait in waits)


def test_a_throttled_session_goes_on_and_loses_nothing(at: Place, limit: Ask, name: str) -> None:
    """Fails if an empty answer makes or ends a session, or counts as having told what it kept back."""
    fill(at, 9000)
    limit(({CLIENT: name}, {FETCH: 300.0}))
    with Sent(at.addresses[at.leader], name) as own:
        answer = own.ask(fetch_request(at.name, session=(0, 0)), 12)
        assert (answer.session_id, answer.error_code, answer.responses) == (0, 0, []) and answer.throttle_time_ms > 0
    with Sent(at.addresses[at.leader], "other") as other:
        opened = other.ask(fetch_request(at.name, offset=1, session=(0, 0), wait_ms=0), 12)
        assert opened.session_id != 0
    with Sent(at.addresses[at.leader], name) as own:
        answer = own.ask(fetch_request(at.name, offset=0, session=(opened.session_id, 1)), 12)
        assert (answer.session_id, answer.error_code, answer.responses) == (opened.session_id, 0, [])
        assert answer.throttle_time_ms > 0
    with Sent(at.addresses[at.leader], "other") as other:
        answer = other.ask(fetch_request(at.name, offset=0, session=(opened.session_id, 2)), 12)
        assert (answer.session_id, answer.error_code) == (opened.session_id, 0) and records(answer) > 9000


def test_a_consumer_is_sent_no_more_at_once_than_its_window_takes(cluster: Cluster, at: Place, limit: Ask, name: str) -> None:
    """Fails if it gets more, or waits for long: what is more than the window takes is not even read for it. Apache
    fills the window to the last byte with half a batch, and has it wait for the bytes around the records."""
    fill(at, *[1000] * 8)
    limit(({CLIENT: name}, {FETCH: 400.0}))

    def some(client: str) -> int:
        with Sent(at.addresses[at.leader], client) as own:
            answer = own.ask(fetch_request(at.name), 12)
            assert answer.throttle_time_ms < 1000
            return records(answer)

    assert 3000 < cluster.wait(lambda: some(name), timeout=60) <= 4000
    assert some("other") > 8000


# --- whose limit ------------------------------------------------------------------------------------------------------


def test_the_most_specific_limit_counts(cluster: Cluster, at: Place, limit: Ask, name: str) -> None:
    """Fails if the order is another: all less specific limits are the opposite of the one that must count."""
    me = "ANONYMOUS"
    order: list[Entity] = [{USER: me, CLIENT: name}, {USER: me, CLIENT: None}, {USER: me}, {USER: None, CLIENT: name},
                           {USER: None, CLIENT: None}, {USER: None}, {CLIENT: name}, {CLIENT: None}]
    address = at.addresses[at.leader]
    for number, entity in enumerate(order):
        gone, less = order[:number][-1:], order[number + 1:]
        for own, others in ((1.0, HUGE), (HUGE, 1.0)):
            wanted = [(entity, {PRODUCE: own}), *((e, {PRODUCE: None}) for e in gone), *((e, {PRODUCE: others}) for e in less)]
            with Raw(address) as raw:
                assert all(code == 0 for code, _, _ in alter(raw, *wanted))
            cluster.wait(lambda own=own: (probe(address, name) > 0) == (own == 1.0), timeout=60)
    limit()


# --- changes of topics ------------------------------------------------------------------------------------------------


def creation(names: list[str], partitions: int = 1, check: bool = False) -> CreateTopicsRequest:
    return create_topics(*(topic(name, partitions) for name in names), check=check)


def growth(name: str, count: int) -> CreatePartitionsRequest:
    topic = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=None)
    return CreatePartitionsRequest(topics=[topic], timeout_ms=30000, validate_only=True)


def verdicts(cluster: Cluster, client: str, request: ApiMessage, version: int) -> tuple[int, list[Any]]:
    """(throttle time, [(name, code, text)])"""
    with Sent(cluster.bootstrap, client) as own:
        answer = own.ask(request, version)
    rows = next(found for field in ("topics", "responses", "results") if (found := getattr(answer, field, None)))
    return answer.throttle_time_ms, sorted((r.name, r.error_code, r.error_message) for r in rows)


def test_changes_above_the_quota_are_refused(cluster: Cluster, limit: Ask, name: str) -> None:
    """Fails if the first change is not taken whatever it costs, if others are, or if what is wrong costs anything."""
    limit(({CLIENT: name}, {MUTATE: 0.01}))
    wait, found = verdicts(cluster, name, creation([f"{name}-a"] * 2 + ["!"]), 7)
    assert wait == 0 and [code for _, code, _ in found] == [17, 42]
    wait, found = verdicts(cluster, name, creation([f"{name}-a", f"{name}-b"], 10), 7)
    assert 0 < wait <= 989_000, "10 partitions for 0.11 tokens, at 0.01 a second"
    assert sorted((code, text) for _, code, text in found) == [(0, None), (Err.THROTTLING_QUOTA_EXCEEDED, None)]
    (there, other) = sorted(found, key=lambda row: row[1])
    for request, version in ((creation(["c"], check=True), 6), (DeleteTopicsRequest(topic_names=[there[0]], timeout_ms=30000), 5),
                             (growth(there[0], 11), 3)):
        again, found = verdicts(cluster, name, request, version)
        assert 0 < again <= wait and [(code, text) for _, code, text in found] == [(Err.THROTTLING_QUOTA_EXCEEDED, None)]
    assert verdicts(cluster, name, DeleteTopicsRequest(topic_names=[other[0]], timeout_ms=30000), 5)[0] == 0
    assert verdicts(cluster, "other", growth(there[0], 11), 3) == (0, [(there[0], 0, None)])


def test_clients_that_know_no_refusal_wait(cluster: Cluster, limit: Ask, name: str) -> None:
    """Fails if an old version is refused, or pays less than a new one."""
    limit(({CLIENT: name}, {MUTATE: 0.01}))
    first, found = verdicts(cluster, name, creation([f"{name}-a", f"{name}-b"], 5), 5)
    assert 0 < first <= 989_000 and [code for _, code, _ in found] == [0, 0]
    second, found = verdicts(cluster, name, growth(f"{name}-a", 10), 2)
    assert 989_000 < second <= first + 500_000 and [code for _, code, _ in found] == [0]
    third, found = verdicts(cluster, name, DeleteTopicsRequest(topic_names=[f"{name}-a"], timeout_ms=30000), 4)
    assert second < third <= second + 500_000 and [code for _, code, _ in found] == [0]


def test_a_client_above_its_quota_of_changes_is_not_listened_to(cluster: Cluster, limit: Ask, name: str) -> None:
    limit(({CLIENT: name}, {MUTATE: 1.0}))
    with Sent(cluster.bootstrap, name) as own:
        before = time.monotonic()
        wait = own.ask(creation([f"{name}-a"], 13, check=True), 5).throttle_time_ms
        own.ask(creation([f"{name}-a"], 1, check=True), 7)
        assert 0 < wait <= 2000 and time.monotonic() - before >= wait / 1000 - 0.01
