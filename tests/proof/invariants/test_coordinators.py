"""I12 and I13: coordinators whose logs or stores were tampered with, and healthy ones under load and faults."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest
from kafka.protocol.consumer import OffsetCommitRequest

from minikafka.broker.groups import records as groups
from minikafka.broker.metadata.records import ZERO_UUID
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.broker.transactions import records as txns
from minikafka.broker.transactions.shell.coordinator import TRANSACTION_TOPIC
from minikafka.broker.transactions.states import STATUS, TransactionState
from minikafka.client import Producer, Unsure
from minikafka.client.client import GROUP
from minikafka.log.batch import build
from minikafka.log.markers import marker
from minikafka.log.producers import UNGUARDED, ProducerIdAndEpoch
from minikafka.proof.weakened.swap import unasserted
from minikafka.protocol.errors import Err, KafkaError
from tests.proof.invariants.kit import Kit

# --- groups ---------------------------------------------------------------------------------------------------------

async def coordinator(kit: Kit) -> Any:
    """The GroupPartition of group "g", after it has committed offset 5 of t-0."""
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    part = topic.OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_leader_epoch=-1,
                                              committed_metadata="")
    request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, member_id="", group_instance_id=None,
                                  topics=[topic(name="t", partitions=[part])])
    for _ in range(400):
        error, _ = await kit.client.ask_coordinator(GROUP, "g", lambda: request, 8,
                                                    lambda answer: answer.topics[0].partitions[0].error_code)
        if error is Err.NONE:
            broker = kit.world.hosts[await kit.client.coordinator(GROUP, "g")].broker
            return next(p for p in broker.groups.partitions.values() if "g" in p.groups)
        await kit.world.sleep(0.05)
    raise AssertionError("nobody coordinates the group")


def group(generation: int, *assigned: tuple[str, int]) -> tuple[bytes, bytes]:
    """The record of group "g" with a member for each of the partitions."""
    value = groups.GroupMetadataValue
    members = [
        value.MemberMetadata(
            member_id=f"m{number}", group_instance_id=None, client_id="c", client_host="h", rebalance_timeout=1000,
            session_timeout=1000, subscription=b"",
            assignment=struct.pack(">hih", 0, 1, len(topic)) + topic.encode() + struct.pack(">ii", 1, index))
        for number, (topic, index) in enumerate(assigned)]
    stored = value(protocol_type="consumer", generation=generation, protocol="range", leader="m0",
                   current_state_timestamp=0, members=members)
    return groups.group_key("g"), groups.group_value(stored)


def of_groups(tamper: Any) -> list[str]:
    async def story(kit: Kit) -> None:
        tamper(await coordinator(kit))
        await kit.world.sleep(1.0)
        await kit.watch.at_end()

    return Kit().run(story)


def test_i12_the_coordinator_answers_another_offset() -> None:
    """Fails if the committed offset a coordinator holds may differ from the last one in the log."""
    def tamper(home: Any) -> None:
        home.offsets.groups["g"]["t", 0] = replace(home.offsets.groups["g"]["t", 0], offset=4)

    assert of_groups(tamper) == ["I12"]


@pytest.mark.parametrize("losses", [1, 2])
def test_i12_after_a_second_loss_the_log_may_have_what_the_first_one_took(losses: int) -> None:
    """Fails if a coordinator is suspected that holds what its log has since two permitted losses (seed 101209), or is not
    suspected any more after one."""
    async def story(kit: Kit) -> None:
        home = await coordinator(kit)
        (rule,) = [each for each in kit.watch.invariants if each.id == "I12"]
        for _ in range(losses):
            for key, truth in kit.watch.truths.items():
                if key[0] == "__consumer_offsets":
                    rule.on_lost(truth)
        home.offsets.groups.clear()
        await kit.watch.at_end()

    assert Kit(without=("I13",)).run(story) == (["I12"] if losses == 1 else [])


def test_i12_a_generation_falls() -> None:
    """Fails if a group may return to an older generation."""
    def tamper(home: Any) -> None:
        home.log.append([group(7, ("t", 0))])
        home.log.append([group(6, ("t", 0))])

    assert of_groups(tamper) == ["I12"]


@pytest.mark.parametrize("lie", [False, True])
@pytest.mark.parametrize("commit", [False, True])
def test_i12_offsets_of_a_transaction(commit: bool, lie: bool) -> None:
    """Fails if a coordinator may show the offsets of a transaction that was aborted, or hide those of one that was
    committed; or if one that tells the truth is suspected."""
    async def story(kit: Kit) -> None:
        home = await coordinator(kit)
        value = groups.offset_value(ZERO_UUID, 7, -1, "", kit.env.wall_ms())
        home.write_pending_offsets("g", {("t", 0): value}, ProducerIdAndEpoch(4711, 0), UNGUARDED)
        end = marker(4711, 0, 0, commit, kit.env.wall_ms())
        home.log.write(end, lambda _: home.offsets.settle(4711, commit is not lie))
        await kit.world.until(lambda: not home.offsets.pending)
        await kit.watch.at_end()

    assert Kit(without=("I13",)).run(story) == (["I12"] if lie else [])


@pytest.mark.parametrize("lies_at", ["its records", "its marker"])
def test_i12_offsets_of_a_transaction_for_a_moment(lies_at: str) -> None:
    """Fails if a coordinator may show the offsets of a transaction that is open, or of one that was aborted, as long as
    it has forgotten them in the end."""
    async def story(kit: Kit) -> None:
        home = await coordinator(kit)
        shown, truly = home.offsets.groups["g"], home.offsets.groups["g"]["t", 0]
        value = groups.offset_value(ZERO_UUID, 7, -1, "", kit.env.wall_ms())
        for what in ("its records", "its marker"):
            if what == lies_at:
                shown["t", 0] = replace(truly, offset=7)
            if what == "its records":
                home.write_pending_offsets("g", {("t", 0): value}, ProducerIdAndEpoch(4711, 0), UNGUARDED)
                await kit.world.until(lambda: home.offsets.pending)
            else:
                home.log.write(marker(4711, 0, 0, False, kit.env.wall_ms()), lambda _: home.offsets.settle(4711, False))
                await kit.world.until(lambda: not home.offsets.pending)
            shown["t", 0] = truly
        await kit.watch.at_end()

    assert Kit(without=("I13",)).run(story) == ["I12"]


def test_i14_a_coordinator_that_is_not_woken() -> None:
    """Fails if a coordinator may wait for a record that is committed."""
    async def story(kit: Kit) -> None:
        home = await coordinator(kit)
        partition = home.log.partition
        tell, partition.moved.tell = partition.moved.tell, lambda *_, **__: None  # type: ignore[method-assign]
        home.log.append([group(7, ("t", 0))])
        await kit.world.sleep(1.0)
        partition.moved.tell = tell  # type: ignore[method-assign]
        await kit.world.sleep(3.0)

    kit = Kit()
    assert kit.run(story) == ["I14"]
    assert any("a CoordinatorLog waits for what has happened" in str(v) for v in kit.watch.violations)


# --- transactions ---------------------------------------------------------------------------------------------------

def decision(state: TransactionState, epoch: int = 3) -> tuple[bytes, bytes]:
    value = txns.TransactionLogValue(
        producer_id=4711, previous_producer_id=-1, next_producer_id=-1, producer_epoch=epoch,
        transaction_timeout_ms=1000, transaction_status=STATUS[state], transaction_partitions=None,
        transaction_last_update_timestamp_ms=0,
        transaction_start_timestamp_ms=0, client_transaction_version=2)
    return txns.transaction_key("forged"), txns.transaction_value(value)


async def transact(kit: Kit, count: int = 1, name: str = "txn") -> None:
    """Transactions of one record each, every third aborted; after an error with a new producer."""
    producer = None
    for number in range(count):
        try:
            producer = producer or Producer(kit.env, kit.world.bootstrap, transactional_id=name,
                                            transaction_timeout=10.0, history=kit.history, name=name)
            await producer.begin()
            await producer.send("t", f"{name}-{number}", partition=0)
            await (producer.abort() if number % 3 == 1 else producer.commit())
        except (KafkaError, Unsure, OSError, TimeoutError):
            producer = None


def of_transactions(tamper: Any, at_end: bool = False) -> Kit:
    async def story(kit: Kit) -> None:
        await transact(kit, 4)
        tamper(kit)
        await kit.world.sleep(1.0)
        if at_end:
            await kit.watch.at_end()

    kit = Kit()
    kit.run(story)
    return kit


def state_log(kit: Kit) -> Any:
    """The CoordinatorLog of one partition of __transaction_state."""
    homes = [kit.world.hosts[node].broker.transactions.partitions for node in kit.world.brokers]
    return next(home.log for partitions in homes for home in partitions.values())


@pytest.mark.parametrize("between", [0, 1])
def test_i13_a_marker_comes_twice(between: int) -> None:
    """Fails if a marker that comes again may end the next transaction of the producer, whose epoch is the same in the
    classic protocol; or if it may not come again while there is none."""
    async def story(kit: Kit) -> None:
        producer = Producer(kit.env, kit.world.bootstrap, transactional_id="classic", transaction_version=1,
                            transaction_timeout=10.0, history=kit.history)
        for _ in range(2):
            await producer.begin()
            await producer.send("t", kit.history.events[-1]["t"].hex(), partition=0)
            await producer.commit()
        await producer.begin()
        partition = kit.partition(kit.leader())
        if between:
            await producer.send("t", "of the third", partition=0)
        (pid, entry), = partition.log.producers.entries.items()
        partition.append(marker(pid, entry.epoch, 0, True, kit.env.wall_ms()), -1, "coordinator")
        await kit.world.sleep(1.0)

    kit = Kit()
    found = kit.run(story)
    assert found == ["I13"] * between, [str(violation) for violation in kit.watch.violations]
    assert all("3 transactions have ended so, of which 2" in violation.text for violation in kit.watch.violations)


def test_i13_two_outcomes_of_one_epoch() -> None:
    """Fails if what was prepared may be decided again, the other way."""
    def tamper(kit: Kit) -> None:
        for state in (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT,
                      TransactionState.ONGOING, TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT):
            state_log(kit).append([decision(state)])

    kit = of_transactions(tamper)
    assert [v.id for v in kit.watch.violations] == ["I13"]
    assert "PrepareCommit, then PrepareAbort" in kit.watch.violations[0].text


def test_i13_a_marker_for_a_partition_of_another_transaction() -> None:
    """Fails if what was prepared for some partitions may be marked in any."""
    async def story(kit: Kit) -> None:
        await transact(kit, 4)
        for state in (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT):
            state_log(kit).append([decision(state)])
        await kit.world.sleep(1.0)
        kit.partition(kit.leader()).append(marker(4711, 3, 0, True, kit.env.wall_ms()), -1, "coordinator")
        await kit.world.sleep(1.0)

    kit = Kit()
    assert kit.run(story) == ["I13"] and "prepared for other partitions" in kit.watch.violations[0].text


def test_i13_a_state_that_cannot_follow() -> None:
    """Fails if a transaction may be complete before it was prepared."""
    def tamper(kit: Kit) -> None:
        for state in (TransactionState.ONGOING, TransactionState.COMPLETE_COMMIT):
            state_log(kit).append([decision(state)])

    kit = of_transactions(tamper)
    assert [v.id for v in kit.watch.violations] == ["I13"] and "CompleteCommit" in kit.watch.violations[0].text


@pytest.mark.parametrize("stranger", [False, True])
def test_i13_only_what_a_coordinator_forgot_with_permission_may_stay_open(stranger: bool) -> None:
    """Fails if a transaction of which the coordinators lost every record, with permission, is a violation; or if that
    excuses one that they never knew."""
    async def story(kit: Kit) -> None:
        producer = Producer(kit.env, kit.world.bootstrap, transactional_id="forgotten", transaction_timeout=10.0)
        await producer.begin()
        await producer.send("t", "forgotten", partition=0)
        producer.kill()
        for node in kit.world.brokers:
            for index in (0, 1):
                partition = kit.partition(node, TRANSACTION_TOPIC, index)
                partition.carry_out(partition.replica._cut(0))
        await kit.world.sleep(0.1)
        for node in kit.world.brokers:
            kit.world.kill(node)
        await kit.world.mend()
        await kit.world.until(lambda: kit.leader() > 0)
        assert kit.partition(kit.leader()).log.producers.first_undecided_offset == 0
        if stranger:
            data = build([(b"k", b"v")], timestamp_ms=kit.env.wall_ms(), producer_id=4711, producer_epoch=0,
                         base_sequence=0, transactional=True)
            kit.partition(kit.leader()).append(data, 1)
        await kit.watch.at_end()

    kit = Kit(unclean=True, without=("I1", "I2"))
    with unasserted():  # a leader that is cut asserts that this cannot be
        assert kit.run(story) == (["I13"] if stranger else []), [str(v) for v in kit.watch.violations]
    assert TRANSACTION_TOPIC in {loss.name.rpartition("-")[0] for loss in kit.watch.losses}
    assert all("a transaction is open from offset 1 on" in violation.text for violation in kit.watch.violations)


# --- healthy --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(2))
def test_coordinators_that_die_break_nothing(seed: int) -> None:
    """Fails if kills of coordinators lead to wrong offsets or transactions, or if I12 or I13 cry wolf."""
    async def story(kit: Kit) -> None:
        task = kit.env.spawn(transact(kit, 30), "transactions")
        for _ in range(2):
            await coordinator(kit)
            for topic in (OFFSETS_TOPIC, TRANSACTION_TOPIC):
                node = kit.leader(topic, 0)
                if node > 0:
                    kit.world.kill(node)
                    await kit.world.sleep(1.0)
                    await kit.world.mend()
        await task
        await kit.watch.at_end()

    kit = Kit(seed)
    assert kit.run(story) == [], [str(v) for v in kit.watch.violations]
    assert kit.watch.truths[TRANSACTION_TOPIC, 0].end + kit.watch.truths[TRANSACTION_TOPIC, 1].end > 20
