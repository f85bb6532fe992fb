"""I23, what if: a core that is pure can be asked what it would do. Nothing need go wrong in the world for that.

    ask(broker, turn)       one partition, transaction and group of the broker, its controller and its quorum: `turn` says which

Each is asked for what must not be: requests of former epochs and lives, answers and metadata that are too late, records out of
their order, votes for shorter logs. What changes its state is asked of a copy; what is refused changes nothing. The checks around
the decisions judge what is decided (listening.py).

Owns: the questions. Invariants: I-DECIDE-2 no question draws chance, writes, sends, or changes a state machine of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

from minikafka.broker.controller.alter_partition import ANY_EPOCH, IsrMember, Proposal
from minikafka.broker.controller.controller import Controller, Registration
from minikafka.broker.controller.heartbeats import BrokerHeartbeat
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.consumer import group as consumer_group
from minikafka.broker.groups.consumer import heartbeat_steps
from minikafka.broker.groups.consumer.reconciliation import Goal
from minikafka.broker.groups.group import GroupContext, OffsetCommit
from minikafka.broker.metadata.records import ZERO_UUID
from minikafka.broker.replication.effects import EpochEnd
from minikafka.broker.replication.isr import Isr, ProposedIsr
from minikafka.broker.replication.replica import NO_EPOCH, Replica
from minikafka.broker.transactions.states import TransactionState
from minikafka.broker.transactions.transaction import Transaction
from minikafka.log.batch import BatchHeader, build
from minikafka.log.log import Log
from minikafka.log.markers import marker
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError

T = TypeVar("T")
NOBODY_KNOWS = 1 << 40  # an offset, or an epoch of a broker, that nobody has reached


def ask(broker: Any, turn: int) -> None:
    """Ask the state machines of one broker."""
    now, wall_ms = broker.replicas.env.now(), broker.replicas.env.wall_ms()
    for question in _of_broker(broker, turn, now, wall_ms):
        try:
            question()
        except KafkaError:
            pass  # it is refused


def _of_broker(broker: Any, turn: int, now: float, wall_ms: int) -> Iterator[Callable[[], object]]:
    partitions = list(broker.replicas.partitions.values())
    if partitions:
        partition = _one(partitions, turn)
        yield from _of_replica(partition.replica, now)
        yield from _of_log(partition.log, turn, wall_ms)
        yield lambda: partition.delete_records(partition.high_watermark + 1)
    for shard in broker.transactions.partitions.values():
        if shard.transactions:
            yield from _of_transaction(_one(list(shard.transactions.values()), turn), wall_ms)
    for shard in broker.groups.partitions.values():
        for group in [_one(list(shard.groups.values()), turn)] if shard.groups else ():
            yield from _of_classic(group, now) if isinstance(group, ClassicGroup) else _of_consumer(group)
    if broker.controller.controller is not None:
        yield from _of_controller(broker.controller.controller, turn, now)


def _one(those: Sequence[T], turn: int) -> T:
    return those[turn % len(those)]


# --- partitions -------------------------------------------------------------------------------------------------------


def _of_replica(replica: Replica, now: float) -> Iterator[Callable[[], object]]:
    def like(**fields: Any) -> Replica:
        followers = {number: copy(follower) for number, follower in replica.followers.items()}
        return replace(replica, **{"followers": followers, "isr": copy(replica.isr), **fields})

    epoch, end, high = replica.leader_epoch, replica.log.end_offset, replica.high_watermark
    alone, elsewhere = Isr((replica.node_id,)), like(leader=NOBODY_KNOWS)
    for other in (epoch - 1, epoch + 1):
        if other >= 0:
            yield partial(replica.check_epoch, other)
            yield partial(replica.check_leader, other)
    yield elsewhere.check_leader
    yield lambda: elsewhere.check_append(1)
    yield lambda: elsewhere.ack(high)
    yield lambda: like(isr=alone).check_append(-1)
    yield lambda: like(isr=alone).ack(high)
    yield lambda: like().ack(high + 1)
    yield lambda: like().divergence(end + 1, replica.log.epochs.latest)
    yield lambda: like().divergence(end, replica.log.epochs.latest - 1)
    late = SimpleNamespace(replicas=replica.replicas, isr=replica.isr.committed, adding=replica.adding, leader=NOBODY_KNOWS,
                           leader_epoch=epoch, partition_epoch=replica.partition_epoch - 1)
    yield lambda: like().on_metadata(late, now)
    if replica.is_leader:
        yield from _of_leader(replica, like, now)
    elif epoch > NO_EPOCH:
        yield lambda: like().on_diverging(EpochEnd(replica.log.epochs.latest, end - 1))
        yield lambda: like().on_diverging(EpochEnd(replica.log.epochs.latest, end + 1))
        yield lambda: like().on_out_of_range(replica.log.start_offset, end)


def _of_leader(replica: Replica, like: Callable[..., Replica], now: float) -> Iterator[Callable[[], object]]:
    end, high, epoch = replica.log.end_offset, replica.high_watermark, replica.leader_epoch
    anew = SimpleNamespace(replicas=replica.replicas, isr=replica.isr.committed, adding=replica.adding, leader=replica.node_id,
                           leader_epoch=epoch + 1, partition_epoch=replica.partition_epoch + 1)
    yield lambda: like().on_metadata(anew, now)
    yield lambda: like(epoch_start=high + 1).latest_known
    ours = ProposedIsr(tuple((member, -1) for member in replica.isr.committed), epoch, replica.partition_epoch, "what if")
    for error, leader_epoch, further in ((Err.NONE, epoch - 1, 1), (Err.NONE, epoch, -1), (Err.UNKNOWN_SERVER_ERROR, epoch, 0)):
        asking = like(isr=Isr(replica.isr.committed, ours))
        partition_epoch = replica.partition_epoch + further
        yield partial(asking.on_alter_response, ours, error, now, replica.isr.committed, leader_epoch, partition_epoch)
    for number in replica.followers:
        broker = replica.cluster.brokers.get(number)
        life = broker.epoch if broker is not None else -1
        yield partial(like().on_follower_fetch, number, life, epoch - 1, end, 0, now)
        yield partial(like().on_follower_fetch, number, life - 1, epoch, end, 0, now)
        yield lambda number=number: _with(like(), number, log_start_offset=-1).low_watermark
        others = tuple(member for member in replica.isr.committed if member != number)
        joining = ProposedIsr(tuple((member, -1) for member in (*others, number)), epoch, replica.partition_epoch, "what if")
        for isr in (Isr((*others, number)), Isr(others, joining), Isr((replica.node_id,))):  # all but this one have all records
            yield partial(_with(like(isr=isr), number, others=end, log_end_offset=high)._advance, now)
        for offset, known, isr in ((high - 1, life, Isr(others)), ((replica.epoch_start or 0) - 1, life, Isr(others)),
                                   (end, NOBODY_KNOWS, Isr(others)), (end, life, Isr(others, ours))):
            yield partial(_with(like(isr=isr), number, log_end_offset=offset, broker_epoch=known)._maybe_expand, number)


def _with(replica: Replica, number: int, others: int | None = None, **fields: int) -> Replica:
    """Return the copy, with other knowledge of one follower; `others`: where the logs of the others end."""
    for each, follower in replica.followers.items():
        for name, value in (fields if each == number else {"log_end_offset": others} if others is not None else {}).items():
            setattr(follower, name, value)
    return replica


def _of_log(log: Log, turn: int, wall_ms: int) -> Iterator[Callable[[], object]]:
    """Ask for batches that do not continue those of a producer of this log."""
    known = [(producer, entry) for producer, entry in log.producers.entries.items() if entry.epoch > 0 or entry.batches]
    if not known:
        return
    producer, entry = _one(known, turn)
    for epoch, sequence, transactional, guard in (
            (entry.epoch - 1, 0, True, object()), (entry.epoch, entry.last_sequence + 2, False, None),
            (entry.epoch + 1, 1, False, None), (entry.epoch, entry.last_sequence + 1, entry.txn_first_offset < 0, None)):
        batch = build([(None, b"what if")], timestamp_ms=wall_ms, producer_id=producer, producer_epoch=epoch,
                      base_sequence=max(sequence, 0), transactional=transactional)
        yield partial(log.producers.check, BatchHeader.parse(batch), batch, log.end_offset, True, guard=guard)
    old = marker(producer, max(entry.epoch, 0), entry.coordinator_epoch - 1, True, wall_ms)
    yield lambda: log.producers.check(BatchHeader.parse(old), old, log.end_offset, False)
    for last in entry.batches[:1]:
        retry = build([(None, b"")] * (last.offset_delta + 1), timestamp_ms=wall_ms, producer_id=producer,
                      producer_epoch=entry.epoch, base_sequence=last.first_sequence)
        yield partial(log.producers.find_duplicate, BatchHeader.parse(retry))


# --- coordinators -----------------------------------------------------------------------------------------------------


def _of_transaction(txn: Transaction, wall_ms: int) -> Iterator[Callable[[], object]]:
    data, somewhere = txn.data, [("what if", 0)]
    me, former = ProducerIdAndEpoch(data.producer_id, data.epoch), ProducerIdAndEpoch(data.producer_id, data.epoch - 1)
    busy, at_rest = copy(txn), copy(txn)
    busy.pending, at_rest.pending = data, None
    for who, one in ((former, at_rest), (me, busy)):
        yield partial(one.add, who, somewhere, wall_ms)
        for version in (1, 2):
            for commit in (False, True):
                yield partial(one.end, who, commit, version, wall_ms)
    yield lambda: at_rest.verify(former, data.partitions)
    yield lambda: at_rest.verify(me, somewhere)
    yield lambda: at_rest.add(me, somewhere, wall_ms)
    yield lambda: at_rest.end(me, True, 2, wall_ms)
    yield lambda: at_rest.init(data.timeout_ms, None, wall_ms)
    yield lambda: busy.init(data.timeout_ms, None, wall_ms)
    yield lambda: at_rest.timed_out(data.start_ms + data.timeout_ms + 1)
    if data.state is TransactionState.ONGOING:
        for version in (1, 2):
            yield partial(at_rest.fence, wall_ms, version)


def _of_classic(group: ClassicGroup, now: float) -> Iterator[Callable[[], object]]:
    context = GroupContext(now)
    for generation in (group.generation - 1, group.generation + 1):
        for member in list(group.members.by_id)[:1]:
            instance = next((name for name, of in group.members.static.items() if of == member), None)
            names = {"member_id": member, "instance_id": instance, "protocol_type": None, "protocol_name": None}
            sync = SimpleNamespace(generation=generation, **names)
            yield partial(group.heartbeat, member, instance, generation, context)
            yield partial(group._check_sync, sync)
            for transactional in (False, True):
                commit = OffsetCommit(member, instance, max(generation, 0), transactional=transactional)
                yield partial(group.check_commit, commit, context)
    if len(group.members):
        yield lambda: group.check_commit(OffsetCommit("what if", None, group.generation), context)


def _of_consumer(group: Any) -> Iterator[Callable[[], object]]:
    topic = ZERO_UUID
    for member_id, member in list(group.state.members.items())[:2]:
        epoch, own = member.current.epoch, [*member.has]
        for other in (epoch - 1, epoch + 1):
            yield partial(consumer_group.check_commit, group.state, OffsetCommit(member_id, None, max(other, 0)), [(topic, 0)])
        taken = Goal(epoch + 1, {*own, (topic, 0)}, {topic, *(one[0] for one in own)}, {(topic, 0)})
        yield partial(heartbeat_steps.reconcile, member, taken, False, {*member.has})
        nothing = Goal(epoch + 1, set(), set(), set())
        yield partial(heartbeat_steps.reconcile, member, nothing, False, None)


# --- the controller and the quorum ------------------------------------------------------------------------------------


def _of_controller(controller: Controller, turn: int, now: float) -> Iterator[Callable[[], object]]:
    image = controller.image

    def like() -> Controller:
        other = copy(controller)
        other.heartbeats = copy(controller.heartbeats)
        other.heartbeats.sessions = {broker: copy(session) for broker, session in controller.heartbeats.sessions.items()}
        return other

    if image.brokers:
        broker = _one(list(image.brokers.values()), turn)
        early = BrokerHeartbeat(broker.id, broker.epoch, broker.registration_offset - 1)
        yield partial(controller.check_epoch, broker.id, broker.epoch - 1)
        yield partial(controller.allocate_producer_ids, broker.id, broker.epoch)
        for previous in (-1, broker.epoch):
            for dead in (False, True):
                yield partial(_register, like(), broker, previous, dead, now)
        yield partial(like().heartbeat, early, image.offset + 1, now)
        yield partial(_exit, like(), broker, now)
    partitions = [partition for partition in image.partitions() if partition.leader in image.brokers]
    if partitions:
        yield from _of_proposals(like(), _one(partitions, turn))


def _register(controller: Controller, broker: Any, previous: int, dead: bool, now: float) -> None:
    if broker.id in controller.heartbeats.sessions:
        controller.heartbeats.sessions[broker.id].fenced |= dead
    wanted = Registration(broker.id, controller.image.cluster_id, ZERO_UUID, broker.end_points, broker.features,
                          previous_epoch=previous)
    controller.register_broker(wanted, controller.image.offset + 1, now)


def _exit(controller: Controller, broker: Any, now: float) -> None:
    session = controller.heartbeats.sessions.get(broker.id)
    if session is not None:
        session.shutdown_offset = NOBODY_KNOWS
    leaving = BrokerHeartbeat(broker.id, broker.epoch, NOBODY_KNOWS, want_shut_down=True)
    controller.heartbeat(leaving, controller.image.offset + 1, now)


def _of_proposals(controller: Controller, partition: Any) -> Iterator[Callable[[], object]]:
    """Ask for ISRs that the leader of a partition may not have."""
    leader, brokers = partition.leader, controller.image.brokers
    right = Proposal(partition.index, partition.leader_epoch, partition.partition_epoch,
                     tuple(IsrMember(member, ANY_EPOCH) for member in partition.isr), False)
    former = [IsrMember(member, brokers[member].epoch - 1) for member in partition.isr if member in brokers]
    away = [IsrMember(member, ANY_EPOCH) for member in partition.replicas if member not in brokers or not brokers[member].active]
    wrong = [(leader, replace(right, leader_epoch=right.leader_epoch - 1)),
             (leader, replace(right, partition_epoch=right.partition_epoch - 1)),
             (leader, replace(right, isr=tuple(member for member in right.isr if member.broker != leader))),
             (leader, replace(right, isr=tuple(former))),
             *((leader, replace(right, isr=tuple({*right.isr, member}))) for member in away),
             *((other, right) for other in brokers if other != leader)]
    for broker, proposal in wrong:
        yield partial(controller.alter_partition, broker, brokers[broker].epoch, [(partition.topic_id, [proposal])])
