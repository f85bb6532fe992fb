"""The transaction coordinator's shell on real brokers in virtual time: a decision is written first, never changes, and is
finished by the next coordinator (rules 48, 49, 55); the next transaction does not wait for the markers of the last (rule 52)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from kafka.protocol.admin.transactions import DescribeTransactionsRequest
from kafka.protocol.producer import InitProducerIdRequest
from kafka.protocol.producer.transaction import AddPartitionsToTxnRequest, EndTxnRequest, WriteTxnMarkersRequest

from minikafka.broker.broker import Broker
from minikafka.broker.transactions.records import stored_value, transaction_key, transaction_value
from minikafka.broker.transactions.states import PREPARED, TransactionState
from minikafka.log.batch import batches, build
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err
from minikafka.sim.world.hold import Message
from tests import requests
from tests.stage import Stage, staged

ID = "copier"
Who = tuple[int, int]


class Transactions(Stage):
    """A world with a topic `t` and a producer that knows the protocol, and waits for `pause` seconds before it tries again."""

    partitions: ClassVar[int] = 2
    pause: ClassVar[float] = 0.05

    extra = {"transaction.state.log.num.partitions": "1", "min.insync.replicas": "2",
             "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
             "transactional.id.expiration.ms": "20000",
             "transaction.remove.expired.transaction.cleanup.interval.ms": "1000"}

    async def begin(self) -> tuple[int, Who]:
        """Start, create the topic, initialise the producer; return the producer's coordinator and identity."""
        await self.start()
        await self.ask(1, requests.create_topics(requests.topic("t", self.partitions, 3)), 7)
        node = await self.coordinator()
        return node, await self.init(node)

    async def coordinator(self, instead_of: int | None = None) -> int:
        """Return the node that coordinates the id, once it answers for it."""
        node = await self.coordinator_of(ID, 1, instead_of)
        assert (await self.describe(node))[0] in (0, Err.TRANSACTIONAL_ID_NOT_FOUND)
        return node

    async def init(self, node: int, timeout_ms: int = 60_000) -> Who:
        request = InitProducerIdRequest(transactional_id=ID, transaction_timeout_ms=timeout_ms)
        while (answer := await self.ask(node, request, 4)).error_code in (
                Err.CONCURRENT_TRANSACTIONS, Err.COORDINATOR_LOAD_IN_PROGRESS):
            await self.client.sleep(0.05)
        assert answer.error_code == 0
        return answer.producer_id, answer.producer_epoch

    async def add(self, node: int, who: Who, *partitions: int) -> Err:
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="t", partitions=list(partitions))
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=ID, v3_and_below_producer_id=who[0], v3_and_below_producer_epoch=who[1],
            v3_and_below_topics=[topic])
        answer = await self.ask(node, request, 3)
        return Err(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    async def write(self, who: Who, partition: int, sequence: int = 0, leader: int = -1) -> None:
        """Produce one transactional record, which adds the partition. `leader`: the partition's leader, if it is known."""
        data = build([(b"k", b"v")], timestamp_ms=self.client.wall_ms(), producer_id=who[0], producer_epoch=who[1],
                     base_sequence=sequence, transactional=True)
        request = requests.produce("t", data, transactional_id=ID)
        request.topic_data[0].partition_data[0].index = partition
        while True:
            answer = await self.ask(leader if leader >= 0 else await self.leader_of("t", partition), request, 12)
            error = answer.responses[0].partition_responses[0].error_code
            if error not in (Err.NOT_LEADER_OR_FOLLOWER, Err.CONCURRENT_TRANSACTIONS, Err.NOT_ENOUGH_REPLICAS):
                break
            await self.client.sleep(self.pause)
        assert error == 0

    async def end(self, node: int, who: Who, commit: bool) -> Err:
        request = EndTxnRequest(transactional_id=ID, producer_id=who[0], producer_epoch=who[1], committed=commit)
        return Err((await self.ask(node, request, 4)).error_code)

    async def end_and_go_on(self, node: int, who: Who, commit: bool) -> Who:
        """End the transaction as a client of KIP-890 does; return the identity for the next one."""
        request = EndTxnRequest(transactional_id=ID, producer_id=who[0], producer_epoch=who[1], committed=commit)
        while (answer := await self.ask(node, request, 5)).error_code == Err.CONCURRENT_TRANSACTIONS:
            await self.client.sleep(self.pause)
        assert answer.error_code == 0
        return answer.producer_id, answer.producer_epoch

    async def describe(self, node: int) -> tuple[int, str]:
        answer = await self.ask(node, DescribeTransactionsRequest(transactional_ids=[ID]), 0)
        return answer.transaction_states[0].error_code, answer.transaction_states[0].transaction_state

    async def until(self, node: int, state: TransactionState) -> None:
        while (await self.describe(node))[1] != state.value:
            await self.client.sleep(0.05)

    async def read(self, partition: int) -> tuple[int, int, int]:
        """Return high watermark, last stable offset, and the batches that read_committed gets."""
        request = requests.fetch("t", isolation_level=1)
        request.topics[0].partitions[0].partition = partition
        p = (await self.ask(await self.leader_of("t", partition), request, 12)).responses[0].partitions[0]
        return p.high_watermark, p.last_stable_offset, len(list(batches(bytes(p.records))))

    async def stop(self, node: int) -> None:
        """Shut the broker down in a controlled way; later requests go to other brokers."""
        del self.peers[node]
        await self.world.stop(node)


@pytest.mark.parametrize("seed", range(3))
@staged(Transactions)
async def test_rule_48_a_decision_is_answered_when_it_is_replicated(world: Transactions, seed: int) -> None:
    """Fails if EndTxn is answered, or a marker sent, before the decision is on the followers of the coordinator."""
    node, who = await world.begin()
    await world.write(who, 0)
    release = world.hold()
    ending = world.loop.create_task(world.end(node, who, True))
    await world.client.sleep(5)
    world.connect(node)
    assert not ending.done() and (await world.describe(node))[1] == "Ongoing"
    assert await world.add(node, who, 1) is Err.CONCURRENT_TRANSACTIONS
    assert world.brokers[await world.leader_of("t")].replicas.get("t", 0).log.end_offset == 1, "no marker yet"
    release()
    assert await ending is Err.NONE
    await world.until(node, TransactionState.COMPLETE_COMMIT)
    assert await world.read(0) == (2, 2, 2)


@pytest.mark.parametrize("seed", range(3))
@staged(Transactions)
async def test_rule_48_a_decision_that_took_too_long_still_happens(world: Transactions, seed: int) -> None:
    """Fails if a decision in the log is forgotten because its producer got a timeout."""
    node, who = await world.begin()
    await world.write(who, 0)
    world.brokers[node].transactions.partitions[0].log.timeout_s = 2.0
    release = world.hold()
    assert await world.end(node, who, True) is Err.COORDINATOR_NOT_AVAILABLE
    assert await world.end(node, who, False) is Err.CONCURRENT_TRANSACTIONS, "it is too late for another outcome"
    release()
    await world.until(node, TransactionState.COMPLETE_COMMIT)
    assert await world.end(node, who, True) is Err.NONE


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("seed", range(3))
@staged(Transactions)
async def test_rule_55_the_next_coordinator_finishes_what_is_prepared(world: Transactions, seed: int, commit: bool) -> None:
    """Fails if a prepared transaction in the loaded log gets no markers: its partitions would be blocked for ever."""
    node, who = await world.begin()
    await world.write(who, 0)
    await world.write(who, 1)
    home = world.brokers[node].transactions.partitions[0]
    state = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
    prepared = replace(home.transactions[ID].data, state=state)
    record = build([(transaction_key(ID), transaction_value(stored_value(prepared)))], timestamp_ms=0)
    manager = world.brokers[node].replicas
    await world.world.call(node, manager.append("__transaction_state", 0, record, origin="coordinator"))
    await world.stop(node)                       # it has written the decision and done nothing about it
    node = await world.coordinator(instead_of=node)
    await world.until(node, TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT)
    assert [await world.read(p) for p in (0, 1)] == [(2, 2, 2), (2, 2, 2)]


@pytest.mark.parametrize("seed", range(3))
@staged(Transactions)
async def test_rule_55_the_next_coordinator_has_the_open_transaction(world: Transactions, seed: int) -> None:
    """Fails if partitions, identity or timeout are lost at a failover."""
    node, who = await world.begin()
    await world.write(who, 0)
    await world.stop(node)
    node = await world.coordinator(instead_of=node)
    assert await world.describe(node) == (0, "Ongoing")
    await world.write(who, 1)
    assert await world.end(node, who, True) is Err.NONE
    await world.until(node, TransactionState.COMPLETE_COMMIT)
    assert [(await world.read(p))[:2] for p in (0, 1)] == [(2, 2), (2, 2)]
    assert (await world.init(node))[1] == who[1] + 1


@pytest.mark.parametrize("lost_on_the_way_back", [False, True])
@staged(Transactions, 1)
async def test_rule_49_a_lost_marker_is_sent_again(world: Transactions, lost_on_the_way_back: bool) -> None:
    """Fails if a transaction is complete though a partition has no marker, or if a marker counts twice."""
    node, who = await world.begin()
    await world.write(who, 0)
    await world.write(who, 1)

    def markers(message: Message) -> bool:
        return message.api is WriteTxnMarkersRequest and message.is_response is lost_on_the_way_back

    lost = world.world.hold(markers)
    assert await world.end(node, who, True) is Err.NONE
    await world.world.until(lambda: lost.frames)
    lost.drop()
    again = world.world.hold(markers)
    await world.client.sleep(5)
    assert again.frames and (await world.describe(node))[1] == TransactionState.PREPARE_COMMIT.value
    again.release()
    await world.until(node, TransactionState.COMPLETE_COMMIT)
    assert [(await world.read(p))[1] for p in (0, 1)] == [2 + lost_on_the_way_back, 2 + lost_on_the_way_back]


@staged(Transactions, 1)
async def test_rule_51_markers_carry_the_epoch_of_their_coordinator(world: Transactions) -> None:
    """Fails if the markers of a new coordinator look like those of the one before it, which may still be alive."""
    node, who = await world.begin()
    await world.write(who, 0)
    await world.stop(node)
    node = await world.coordinator(instead_of=node)
    sent = world.world.hold(lambda message: message.api is WriteTxnMarkersRequest and not message.is_response)
    assert await world.end(node, who, True) is Err.NONE
    await world.world.until(lambda: sent.frames)
    epoch = world.brokers[node].image.partition("__transaction_state", 0).leader_epoch
    assert epoch > 0 and sent.frames[0].body.markers[0].coordinator_epoch == epoch
    sent.release()


@staged(Transactions, 1)
async def test_rule_55_while_a_partition_loads_nothing_is_decided(world: Transactions) -> None:
    """Fails if a loading coordinator answers from half of its log."""
    node, who = await world.begin()
    world.brokers[node].transactions.partitions[0].loading = True
    assert await world.add(node, who, 0) is Err.COORDINATOR_LOAD_IN_PROGRESS
    assert await world.end(node, who, True) is Err.COORDINATOR_LOAD_IN_PROGRESS
    assert (await world.describe(node))[0] == Err.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize("seed", range(3))
@staged(Transactions)
async def test_rule_50_time_runs_out_on_a_silent_producer(world: Transactions, seed: int) -> None:
    """Fails if a transaction whose producer is gone keeps read_committed waiting."""
    node, _ = await world.begin()
    who = await world.init(node, timeout_ms=3000)
    await world.write(who, 0)
    assert (await world.read(0))[1] == 0
    await world.until(node, TransactionState.COMPLETE_ABORT)
    assert await world.read(0) == (2, 2, 2)
    assert await world.end(node, who, True) is Err.PRODUCER_FENCED


@pytest.mark.parametrize("seed", range(3))
@staged(Transactions)
async def test_time_runs_out_just_as_the_producer_ends_the_transaction(world: Transactions, seed: int) -> None:
    """Fails if the abort is decided before its turn to be written comes: then both decisions are, and the broker dies."""
    node, _ = await world.begin()
    who = await world.init(node, timeout_ms=3000)
    await world.write(who, 0)
    coordinator = world.brokers[node].transactions

    async def both() -> None:
        """Let the time run out, and end the transaction in the same step: the abort's task can only begin after it."""
        coordinator.partitions[0].abort_timed_out(world.brokers[node].env.wall_ms() + 4000, coordinator.version)
        await coordinator.end(ID, ProducerIdAndEpoch(*who), True, 0)

    await world.world.call(node, both())
    await world.until(node, TransactionState.COMPLETE_COMMIT)
    assert (await world.read(0))[2] == 2


@staged(Transactions, 1)
async def test_an_unused_id_is_forgotten_and_stays_forgotten(world: Transactions) -> None:
    """Fails if no tombstone is written, or if it is not read."""
    node, _ = await world.begin()
    await world.client.sleep(30)
    assert (await world.describe(node))[0] == Err.TRANSACTIONAL_ID_NOT_FOUND
    await world.stop(node)
    node = await world.coordinator(instead_of=node)
    assert (await world.describe(node))[0] == Err.TRANSACTIONAL_ID_NOT_FOUND


@pytest.mark.parametrize("seed", range(5))
@staged(Transactions)
async def test_no_append_waits_for_the_end_of_a_long_poll(world: Transactions, seed: int) -> None:
    """Fails if a replica's fetch registers later than it has looked: what is appended in between would wait 500 ms.

    The end of an empty transaction is two appends, the second right after the fetch that commits the first.
    """
    node, who = await world.begin()
    for _ in range(10):
        before = world.loop.time()
        who = await world.end_and_go_on(node, who, False)
        await world.until(node, TransactionState.COMPLETE_ABORT)
        assert world.loop.time() - before < 0.2


class BackToBack(Transactions):
    """Four partitions, and a producer that tries again at once."""

    partitions, pause = 4, 0.002


@pytest.mark.parametrize("seed", range(2))
@staged(BackToBack)
async def test_rule_52_a_transaction_begins_while_the_last_markers_are_on_their_way(world: BackToBack, seed: int) -> None:
    """Fails if EndTxn with the next epoch is PRODUCER_FENCED, or a first batch refused, while the last transaction is being
    marked: with KIP-890 nothing separates the two. Some transactions are aborted without partitions."""
    node, who = await world.begin()
    leaders = [await world.leader_of("t", partition) for partition in range(4)]
    world.net.latency = (0.0002, 0.03)
    for number in range(20):
        await asyncio.gather(*(world.write(who, partition, leader=leader) for partition, leader in enumerate(leaders)))
        who = await world.end_and_go_on(node, who, number % 2 == 0)
        if number % 3 == 0:
            who = await world.end_and_go_on(node, who, False)
    await world.write(who, 0)
    assert await world.read(0) == (41, 40, 40)


class SlowLink:
    """A connection between brokers whose requests leave only after `delay`."""

    def __init__(self, peer: Any, delay: Callable[[], Awaitable[None]]) -> None:
        self.peer, self.delay = peer, delay

    async def request(self, *args: Any) -> Any:
        await self.delay()
        return await self.peer.request(*args)


def slow(broker: Broker, purpose: str, delay: Callable[[], Awaitable[None]]) -> None:
    """Delay the requests that this broker sends to other brokers for that purpose."""
    peer = broker.peers.shared

    def delayed(node_id: int, wanted: str = "") -> Any:
        found = peer(node_id, wanted)
        return SlowLink(found, delay) if wanted == purpose else found

    broker.peers.shared = delayed  # type: ignore[method-assign, assignment]


@staged(BackToBack, 1)
async def test_rule_52_a_marker_overtakes_the_question_to_the_coordinator(world: BackToBack) -> None:
    """Fails if the first batch of a transaction is INVALID_TXN_STATE because the marker of the last one came while the
    leader's question was on its way, though the question was sent in time: the leader must send it again."""
    node, who = await world.begin()
    await world.write(who, 0)
    leader, coordinator = world.brokers[await world.leader_of("t")], world.brokers[node].transactions
    asked, complete = asyncio.Event(), asyncio.Event()

    async def marked() -> None:
        asked.set()
        while coordinator.find(ID)[1].data.state in PREPARED:
            await leader.env.sleep(0.001)
        complete.set()

    async def after_the_question() -> None:
        await asked.wait()

    slow(world.brokers[node], "markers", after_the_question)
    who = await world.end_and_go_on(node, who, True)
    slow(leader, "transactions", marked)
    await world.write(who, 0)
    assert complete.is_set()


@staged(Transactions, 1)
async def test_the_trace_tells_every_state(world: Transactions) -> None:
    """Fails if a picture of a transaction could miss a change."""
    node, who = await world.begin()
    await world.write(who, 0)
    await world.end(node, who, False)
    await world.until(node, TransactionState.COMPLETE_ABORT)
    events = world.events(node, "transaction")
    assert [(e["id"], e["state"], e["partitions"]) for e in events] == [
        (ID, "Empty", []), (ID, "Ongoing", ["t-0"]), (ID, "PrepareAbort", ["t-0"]), (ID, "CompleteAbort", [])]
