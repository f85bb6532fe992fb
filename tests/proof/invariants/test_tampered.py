"""Worlds that are tampered with: what no row of the table of weakened rules breaks, each in a few lines, and what the watch says.

That every invariant falls for a broken rule is shown by tests/proof/weakened/test_table.py. Here is the rest: I7 and I20, which
fall for none in a whole cluster, and the parts of other invariants that need more than a broken rule to fall.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from minikafka.broker.coordinator.shell.coordinator_log import UNGUARDED, CoordinatorLog
from minikafka.broker.groups.records import offset_value
from minikafka.broker.metadata.records import ZERO_UUID
from minikafka.broker.raft.effects import ElectionState
from minikafka.broker.raft.wire import encode_election_state
from minikafka.broker.replication.effects import HighWatermark
from minikafka.broker.replication.isr import ProposedIsr
from minikafka.broker.replication.shell.delayed_operations import DelayedProduce
from minikafka.broker.transactions import records as txns
from minikafka.broker.transactions.states import STATUS, TransactionState
from minikafka.client import Admin
from minikafka.log import Log
from minikafka.log.markers import marker
from minikafka.log.producers import ProducerIdAndEpoch
from tests.proof.invariants.kit import Kit, Story

LOG = "/data/t-0/00000000000000000000.log"
METADATA = "/metadata/__cluster_metadata-0"
TAMPERED: list[Any] = []


def falls(invariant: str, *words: str, **watch: Any) -> Callable[[Story], Story]:
    """Add a way to tamper with a world, the invariant that falls, and words of its reports; "": none may fall."""
    def add(tamper: Story) -> Story:
        TAMPERED.append(pytest.param(invariant, words, tamper, watch, id=f"{invariant}-{tamper.__name__}"))
        return tamper
    return add


@pytest.mark.parametrize("invariant, words, tamper, watch", TAMPERED)
def test_it_falls(invariant: str, words: tuple[str, ...], tamper: Story, watch: dict[str, Any]) -> None:
    """Fails if the invariant no longer sees what is wrong here, or reports something else; or one falls where all is well."""
    async def story(kit: Kit) -> None:
        await kit.send(20)
        await kit.world.sleep(1.0)
        kit.watch.sample()
        await tamper(kit)
        kit.watch.check_everything()
        kit.watch.sample()
        await kit.watch.at_end()

    kit = Kit(**watch)
    kit.run(story)
    texts = [violation.text for violation in kit.watch.violations if violation.id == invariant or not invariant]
    assert bool(texts) is bool(invariant) and all(any(word in text for text in texts) for word in words), kit.watch.violations


# --- what is committed -----------------------------------------------------------------------------------------------------


@falls("I2", "follows with HW 25, the highest any leader has had is 20")
async def a_follower_knows_more_than_any_leader(kit: Kit) -> None:
    kit.partition(kit.followers()[0]).replica.high_watermark = 25


@falls("I3", "with LEO 20, true HW is 21", without=("I7",))
async def a_leader_commits_in_the_step_in_which_it_is_deposed(kit: Kit) -> None:
    partition = kit.partition(kit.leader())
    for node in kit.followers():
        kit.world.hold_follower(node)
    await kit.world.sleep(1.0)
    kit.env.spawn(kit.send(), "send")
    await kit.world.until(lambda: partition.log.end_offset == 21)
    partition.replica.high_watermark = 21
    partition.carry_out([HighWatermark(21)])
    partition.replica.leader = kit.followers()[0]
    await kit.world.sleep(0.0)


# --- leaders, the quorum and its metadata --------------------------------------------------------------------------------


@falls("I7", "lead in leader epoch")
async def a_second_leader(kit: Kit) -> None:
    node = kit.followers()[0]
    kit.partition(node).replica.leader = node


@falls("I7", "leader epoch went back")
async def a_replica_returns_to_a_former_epoch(kit: Kit) -> None:
    kit.partition(kit.followers()[0]).replica.leader_epoch -= 1


@falls("I7", "the leader changed")
async def another_leader_in_the_same_epoch(kit: Kit) -> None:
    image = kit.watch.cluster.image
    assert image is not None
    partitions = image.topics["t"].partitions
    partitions[0] = replace(partitions[0], leader=kit.followers()[0])
    image.offset += 1


@falls("I8", "lead the quorum")
async def a_second_leader_of_the_quorum(kit: Kit) -> None:
    controller = kit.world.controller()
    assert controller is not None
    other = next(n for n in kit.world.nodes if n != controller)
    kit.world.hosts[other].env.trace("raft", role="leader", epoch=kit.world.hosts[controller].broker.quorum.epoch, leader=other)


@falls("I8", "voted of epoch 9 changed from 1 to 2", "went back from 9 to 8")
async def a_vote_changes_on_disk(kit: Kit) -> None:
    for epoch, voted in ((9, 1), (9, 2), (8, 2)):
        data = encode_election_state(ElectionState(epoch, -1, voted), (1, 2, 3))
        kit.world.hosts[3].env.fs.write_atomic(f"{METADATA}/quorum-state", data)
        kit.watch.sample()


@falls("I8", "was committed")
async def committed_metadata_is_cut(kit: Kit) -> None:
    kit.world.hosts[2].broker.quorum.log.log.truncate(3)


@falls("I8", "but the voters' logs end at")
async def metadata_is_committed_by_no_majority(kit: Kit) -> None:
    kit.world.hosts[kit.world.controller()].broker.quorum.raft.state.high_watermark += 5
    kit.watch.sample()


@falls("I8", "its metadata log differs")
async def metadata_logs_differ(kit: Kit) -> None:
    node = next(n for n in kit.world.nodes if n != kit.world.controller())
    await kit.world.stop(node)
    log = kit.world.hosts[node].disk.names[f"{METADATA}/00000000000000000000.log"]
    assert log is not None
    log.content[15] ^= 1  # the first batch's leader epoch, which its checksum does not cover
    kit.world.boot(node)


@falls("I9", "an image holds")
async def an_image_is_ahead_of_the_quorum(kit: Kit) -> None:
    kit.world.hosts[2].broker.image.offset += 500


@falls("I9", "are not equal")
async def two_images_differ(kit: Kit) -> None:
    kit.world.hosts[3].broker.image.configs[2, "t"] = {"retention.ms": "1"}


@falls("I20", "broker 2 is unfenced")
async def a_broker_serves_before_it_knows_of_itself(kit: Kit) -> None:
    image = kit.watch.cluster.image
    assert image is not None
    known = image.brokers[2]
    image.brokers[2] = replace(known, epoch=known.epoch + 1, registration_offset=1000)
    image.offset += 1


# --- coordinators ----------------------------------------------------------------------------------------------------------


def decision(kit: Kit, *states: TransactionState) -> None:
    """Append these states of a transactional id to a log of `__transaction_state`."""
    homes = [kit.world.hosts[node].broker.transactions.partitions for node in kit.world.brokers]
    log = next(home.log for partitions in homes for home in partitions.values())
    for state in states:
        value = txns.TransactionLogValue(
            producer_id=4711, previous_producer_id=-1, next_producer_id=-1, producer_epoch=3, transaction_timeout_ms=1000,
            transaction_status=STATUS[state], transaction_partitions=None, transaction_last_update_timestamp_ms=0,
            transaction_start_timestamp_ms=0, client_transaction_version=2)
        log.append([(txns.transaction_key("forged"), txns.transaction_value(value))])


@falls("I12", "coordinator")
async def a_coordinator_forgets_an_offset(kit: Kit) -> None:
    (await kit.coordinator()).offsets.groups.clear()


@falls("I12", "t-0: coordinator", "t-1: coordinator", without=("I13",))
async def a_coordinator_shows_a_transaction_s_offsets_for_a_moment(kit: Kit) -> None:
    home = await kit.coordinator()
    shown, value = home.offsets.groups["g"], offset_value(ZERO_UUID, 7, -1, "", kit.env.wall_ms())
    truly = shown["t", 0]
    shown["t", 0] = replace(truly, offset=7)  # with the records of the transaction
    home.write_pending_offsets("g", {("t", 0): value, ("t", 1): value}, ProducerIdAndEpoch(4711, 0), UNGUARDED)
    await kit.world.until(lambda: home.offsets.pending)
    shown["t", 0] = truly
    shown["t", 1] = replace(truly, offset=7)  # with its abort
    home.log.write(marker(4711, 0, 0, False, kit.env.wall_ms()), lambda _: home.offsets.settle(4711, False))
    await kit.world.until(lambda: not home.offsets.pending)
    del shown["t", 1]


@falls("I13", "PrepareCommit, then PrepareAbort")
async def two_outcomes_of_one_epoch(kit: Kit) -> None:
    await kit.transact()
    decision(kit, TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT,
             TransactionState.ONGOING, TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)
    await kit.world.sleep(1.0)


@falls("I13", "CompleteCommit")
async def a_state_that_cannot_follow(kit: Kit) -> None:
    await kit.transact()
    decision(kit, TransactionState.ONGOING, TransactionState.COMPLETE_COMMIT)
    await kit.world.sleep(1.0)


@falls("I13", "prepared for other partitions")
async def a_marker_for_another_partition(kit: Kit) -> None:
    await kit.transact()
    decision(kit, TransactionState.ONGOING, TransactionState.PREPARE_COMMIT)
    await kit.world.sleep(1.0)
    kit.partition(kit.leader()).append(marker(4711, 3, 0, True, kit.env.wall_ms()), -1, "coordinator")
    await kit.world.sleep(1.0)


@falls("I13", "3 transactions have ended so, of which 2")
async def a_second_marker_ends_the_next_transaction(kit: Kit) -> None:
    producer = await kit.transact("classic", "classic", transaction_version=1)
    await producer.begin()
    await producer.send("t", "of the third", partition=0)
    partition = kit.partition(kit.leader())
    producer_id, entry = next(item for item in partition.log.producers.entries.items() if item[1].txn_first_offset >= 0)
    partition.append(marker(producer_id, entry.epoch, 0, True, kit.env.wall_ms()), -1, "coordinator")
    await kit.world.sleep(1.0)


# --- at rest -----------------------------------------------------------------------------------------------------------------


@falls("I14", "nobody thought of this")
async def a_task_dies(kit: Kit) -> None:
    async def fails() -> None:
        raise ValueError("nobody thought of this")

    host = kit.world.hosts[kit.followers()[0]]
    with host.loop.entered():
        host.env.spawn(fails(), "fails")
    await kit.world.sleep(1.0)
    await kit.world.mend()


@falls("I14", "ZeroDivisionError")
async def a_callback_raises(kit: Kit) -> None:
    kit.world.hosts[2].loop.call_soon(lambda: 1 // 0)
    await kit.world.sleep(0.1)


@falls("I14", "1 produce requests wait for their acknowledgement", "its coordinator waits for 1 records")
async def a_producer_and_a_coordinator_wait_in_vain(kit: Kit) -> None:
    partition, host = kit.partition(kit.leader()), kit.world.hosts[kit.leader()]
    beyond = partition.log.end_offset + 1
    with host.loop.entered():
        DelayedProduce(host.env, {partition: beyond}).watch([partition], timeout=1000.0)
        CoordinatorLog(host.env, partition, timeout_s=1000.0).expect(beyond, beyond - 1, None)


@falls("I14", "is still proposed")
async def a_proposal_gets_no_answer(kit: Kit) -> None:
    core = kit.partition(kit.leader()).replica
    members = tuple((node, -1) for node in core.isr.committed)
    core.isr.proposal = ProposedIsr(members, core.leader_epoch, core.partition_epoch, "nobody will say")


@falls("I14", "are plenty", "tasks of broker", "files of broker", "connections of broker")
async def tasks_files_and_connections_grow(kit: Kit) -> None:
    node = kit.followers()[0]
    host, (name, port) = kit.world.hosts[node], dict(zip(kit.world.brokers, kit.world.bootstrap, strict=True))[node]

    async def leak() -> None:
        for number in range(300):
            for _ in range(20):
                host.env.spawn(host.env.sleep(1000), "leaked")
            host.env.fs.open(f"/data/leaked-{number}.tmp")
            await host.env.sleep(0.5)

    async def connect() -> None:
        for _ in range(300):
            await kit.env.connect(name, port, asyncio.Protocol, node)
            await kit.env.sleep(0.5)

    kit.env.spawn(connect(), "connect")
    with host.loop.entered():
        host.env.spawn(leak(), "leak")


@falls("I15", "t-0 has")
async def a_follower_never_comes_back(kit: Kit) -> None:
    kit.world.hold_follower(kit.followers()[0])
    await kit.send(5)


@falls("")
async def a_broker_is_dead_for_good(kit: Kit) -> None:
    kit.world.kill(kit.leader())
    await kit.send(5)


@falls("I15", "there is no controller", "does not serve", "t-0 is not hosted by [")
async def nobody_is_where_he_should_be(kit: Kit) -> None:
    node = kit.followers()[0]
    kit.world.controller = lambda: None  # type: ignore[method-assign]
    kit.world.hosts[node].serving = False
    del kit.world.hosts[node].broker.replicas.partitions["t", 0]


@falls("I15", "t-0 is in leader epoch", config={"replica.lag.time.max.ms": 1_000_000}, without=("I7",))
async def a_follower_is_in_a_former_epoch(kit: Kit) -> None:
    kit.partition(kit.followers()[0]).replica.leader_epoch -= 1


@falls("I15", "t-0 is in leader epoch")
async def a_leader_does_not_know_that_it_leads(kit: Kit) -> None:
    kit.partition(kit.leader()).replica.leader = -1


@falls("I15", "hangs's poll", "the consumer has read all")
async def an_operation_has_no_end_and_a_goal_is_missed(kit: Kit) -> None:
    kit.history.invoke("hangs", "poll", group="g")
    kit.watch.goals.append(("the consumer has read all", lambda: False))


@falls("I15", "t-0 begins at")
async def followers_keep_what_was_deleted(kit: Kit) -> None:
    for node in kit.followers():
        kit.partition(node)._begin_at = lambda start: None
    kit.env.spawn(Admin(kit.env, kit.world.bootstrap).delete_records(("t", 0), 10), "delete")


@falls("I16", "is not what was committed there")
async def a_byte_of_a_follower_changes(kit: Kit) -> None:
    content_of(kit, kit.followers()[0])[300] ^= 1


@falls("I16", "its bytes end at 19, HW is 20", "recovery ends at 19, LEO is 20")
async def the_end_of_a_followers_file_is_gone(kit: Kit) -> None:
    del content_of(kit, kit.followers()[0])[-10:]


@falls("I16", "'ghost' was acknowledged", "'v4'")
async def another_record_is_acknowledged(kit: Kit) -> None:
    sent = kit.history.invoke("p", "send", topic="t", partition=0, value="ghost", acks=-1)
    kit.history.ok(sent, partition=0, offset=3)


@falls("I16", "recovered t-0 up to 19, it ended at 20")
async def a_restart_after_a_kill_loses_bytes(kit: Kit) -> None:
    node = kit.followers()[0]
    kit.world.kill(node)
    del content_of(kit, node)[-10:]
    await kit.world.restart(node)


def test_recovery_that_is_not_idempotent_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if recovering twice may give other bytes than recovering once (I16)."""
    recover = Log.open

    def open_and_scribble(fs: Any, path: str, *args: Any, **named: Any) -> Log:
        log = recover(fs, path, *args, **named)
        note = fs.open(f"{path}/recoveries")
        note.pwrite(b"x", note.size())
        return log

    monkeypatch.setattr(Log, "open", staticmethod(open_and_scribble))

    async def nothing(kit: Kit) -> None:
        await kit.watch.at_end()

    kit = Kit()
    assert kit.run(nothing) == ["I16"] and "a second recovery changed" in kit.watch.violations[0].text


def content_of(kit: Kit, node: int) -> bytearray:
    """Return the bytes of a replica's file, as on the disk."""
    log = kit.world.hosts[node].disk.names[LOG]
    assert log is not None
    return log.content
