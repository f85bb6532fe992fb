"""I23: each check tells a decision that its rule forbids from one that it allows; a run of a world is listened to."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace as Made
from typing import Any

import pytest

from minikafka.broker.controller.alter_partition import IsrMember, Proposal, ProposalVerdict
from minikafka.broker.controller.heartbeats import BrokerControlState, BrokerHeartbeat, HeartbeatVerdict
from minikafka.broker.groups.group import OffsetCommit
from minikafka.broker.metadata.records import ProducerIdsRecord
from minikafka.broker.replication.effects import EpochEnd, StartAt, Truncate
from minikafka.broker.replication.replica import Replica
from minikafka.broker.replication.shell.partition import HIGH_WATERMARK, LAST_STABLE
from minikafka.broker.transactions.states import TransactionState
from minikafka.broker.transactions.transaction import Transaction, TransactionData
from minikafka.log.batch import BatchHeader
from minikafka.log.markers import marker
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.proof.invariants.decisions.decision import DECISIONS
from minikafka.proof.invariants.watch import Watch
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.world.replaced import replaced
from minikafka.sim.world.world import World
from tests.log.kit import NOW, idempotent, some_batch
from tests.proof.invariants.kit import Kit

BY_NAME = {str(one): one for one in DECISIONS}


def nothing_else(subject: Any) -> None:
    """Nothing happens besides the decision."""


def asked(name: str, subject: Any, *args: Any, result: Any = None, then: Callable[[Any], object] = nothing_else) -> str | None:
    """What the check says of a decision that does `then` to its subject and returns `result`."""
    check = BY_NAME[name].check(subject, *args)
    next(check)
    then(subject)
    try:
        check.send(result)
    except StopIteration as end:
        return end.value
    raise AssertionError("a check has one yield")


def follower(end: int = 5, start: int = 0, epoch: int = 7) -> Any:
    return Made(log_end_offset=end, log_start_offset=start, broker_epoch=epoch)


def replica(**fields: Any) -> Any:
    """Broker 1 leads in epoch 3 with ISR 1, 2 of 1, 2, 3; its log has epochs 1 and 3 and ends at 9, its high watermark is 5."""
    log = Made(end_offset=9, start_offset=0, epochs=Made(entries=[(1, 0), (3, 4)]))
    brokers = {node: Made(active=True, epoch=7) for node in (1, 2, 3)}
    return Made(
        **{
            "node_id": 1,
            "leader": 1,
            "leader_epoch": 3,
            "partition_epoch": 4,
            "high_watermark": 5,
            "min_insync": 2,
            "epoch_start": 4,
            "replicas": (1, 2, 3),
            "adding": (),
            "isr": Made(committed=(1, 2), proposal=None),
            "log": log,
            "followers": {2: follower(), 3: follower()},
            "cluster": Made(brokers=brokers),
            **fields,
        }
    )


def proposal(*members: int, epoch: int = 7) -> Any:
    return Made(members=members, isr=tuple((member, epoch) for member in members))


def put(**fields: Any) -> Callable[[Any], None]:
    """Set fields of the subject."""
    return lambda subject: vars(subject).update(fields)


ALONE = Made(committed=(1,), proposal=None)
REPLICATION = [
    ("Replica.check_epoch", replica(), (3,), (2,), {}),
    ("Replica.check_epoch", replica(), (-1,), (4,), {}),
    ("Replica.check_leader", replica(), (3,), (2,), {}),
    ("Replica.divergence", replica(), (9, 3), (4, 2), {}),
    ("Replica.divergence", replica(), (4, 1), (5, 1), {}),
]


@pytest.mark.parametrize(("name", "subject", "right", "wrong", "more"), REPLICATION)
def test_what_a_request_says_is_compared(
    name: str, subject: Any, right: tuple[Any, ...], wrong: tuple[Any, ...], more: dict[str, Any]
) -> None:
    """Fails if one of two requests that differ in an epoch or an offset is taken for the other (rules 21, 22)."""
    assert asked(name, subject, *right, **more) is None
    assert asked(name, subject, *wrong, **more)


def test_appends_and_acknowledgements() -> None:
    """Fails if acks=all may pass with too small an ISR, at a broker that does not lead, or before its records are committed."""
    few, other = replica(isr=ALONE), replica(leader=2)
    assert asked("Replica.check_leader", other, 3)
    assert not asked("Replica.check_append", replica(), -1) and not asked("Replica.check_append", few, 1)
    assert asked("Replica.check_append", few, -1) and asked("Replica.check_append", other, 1)
    assert not asked("Replica.check_append", replica(isr=ALONE, replicas=(1, 2), adding=(2,)), -1)
    assert not asked("Replica.ack", replica(), 5, result=Err.NONE) and not asked("Replica.ack", few, 9)
    for wrong in (few, other, replica(high_watermark=4)):
        assert asked("Replica.ack", wrong, 5, result=Err.NONE)


def test_what_is_read_and_deleted() -> None:
    """Fails if a fetch may read beyond its bound, is not told of an abort, or a deletion passes the high watermark."""
    log = Made(
        start_offset=0,
        end_offset=9,
        producers=Made(last_stable_offset=lambda high: 3),
        aborted_transactions=lambda start, end: ["row"],
    )
    partition = Made(name="t-0", log=log, replica=Made(high_watermark=5))
    for isolation, bound, fails in (
        (HIGH_WATERMARK, 5, False),
        (HIGH_WATERMARK, 6, True),
        (LAST_STABLE, 3, False),
        (LAST_STABLE, 5, True),
    ):
        assert bool(asked("Partition.bound", partition, isolation, result=bound)) is fails
    assert not asked("Partition.read", partition, 0, 1, LAST_STABLE, result=Made(records=b"x", aborted=["row"]))
    assert asked("Partition.read", partition, 0, 1, LAST_STABLE, result=Made(records=b"x", aborted=[]))
    assert not asked("Partition.delete_records", partition, 5, result=5)
    assert asked("Partition.delete_records", partition, 6, result=6)


def test_followers() -> None:
    """Fails if a fetch of another epoch or a former life may count, or the high watermark or the ISR may pass a follower."""

    def moved(end: int) -> Callable[[Any], None]:
        return lambda subject: put(log_end_offset=end)(subject.followers[2])

    assert not asked("Replica.on_follower_fetch", replica(), 2, 7, 3, 6, 0, 0.0, then=moved(6))
    assert asked("Replica.on_follower_fetch", replica(), 2, 7, 2, 6, 0, 0.0, then=moved(6))
    assert asked("Replica.on_follower_fetch", replica(), 2, 6, 3, 6, 0, 0.0)
    ahead = {2: follower(8), 3: follower(5)}
    assert not asked("Replica._advance", replica(followers=ahead), 0.0, then=put(high_watermark=8))
    for subject, high in (
        (replica(followers=ahead), 9),
        (replica(followers=ahead, isr=ALONE), 8),
        (replica(), 4),
        (replica(followers=ahead, isr=Made(committed=(1, 2), proposal=proposal(1, 2, 3))), 8),
    ):
        assert asked("Replica._advance", subject, 0.0, then=put(high_watermark=high))
    joins = put(isr=Made(committed=(1, 2), proposal=proposal(1, 2, 3)))
    assert not asked("Replica._propose", replica(), (1, 2, 3), "", then=joins)
    for subject in (
        replica(isr=Made(committed=(1, 2), proposal=proposal(1))),
        replica(high_watermark=6),
        replica(epoch_start=6),
        replica(cluster=Made(brokers={3: Made(active=False, epoch=7)})),
        replica(followers={3: follower(epoch=6)}),
    ):
        assert asked("Replica._propose", subject, (1, 2, 3), "", then=joins)
    assert asked(
        "Replica._propose", replica(), (1, 2, 3), "", then=put(isr=Made(committed=(1, 2), proposal=proposal(3, epoch=-1)))
    )
    assert not asked("Replica.low_watermark", replica(), result=0) and asked("Replica.low_watermark", replica(), result=1)
    assert not asked("Replica.latest_known", replica(), result=True) and asked(
        "Replica.latest_known", replica(epoch_start=6), result=True
    )


def test_answers_to_a_proposal() -> None:
    """Fails if an answer of another epoch, or one after which it may have been granted, may end a proposal (rules 17, 18)."""
    ours = proposal(1, 2, 3)
    granted = put(isr=Made(committed=(1, 2, 3), proposal=None), partition_epoch=5)
    dropped = put(isr=Made(committed=(1, 2), proposal=None))

    def answered(error: Err, then: Callable[[Any], None], leader_epoch: int = 3, partition_epoch: int = 5) -> str | None:
        subject = replica(isr=Made(committed=(1, 2), proposal=ours))
        return asked(
            "Replica.on_alter_response", subject, ours, error, 0.0, (1, 2, 3), leader_epoch, partition_epoch, then=then
        )

    assert not answered(Err.NONE, granted) and not answered(Err.INELIGIBLE_REPLICA, dropped)
    assert answered(Err.NONE, granted, leader_epoch=2) and answered(Err.NONE, granted, partition_epoch=3)
    assert answered(Err.NETWORK_EXCEPTION, dropped) and answered(Err.NONE, dropped)


def test_roles_and_cuts() -> None:
    """Fails if old metadata may count, a new epoch may remember followers, or a log may be cut elsewhere than where it leaves its
    leader's."""

    def state(partition_epoch: int, leader_epoch: int) -> Any:
        return Made(partition_epoch=partition_epoch, leader_epoch=leader_epoch, leader=1)

    begun = put(leader_epoch=4, partition_epoch=5, epoch_start=9, followers={2: follower(-1)})
    assert not asked("Replica.on_metadata", replica(), state(5, 4), 0.0, then=begun)
    assert asked("Replica.on_metadata", replica(), state(5, 4), 0.0, then=put(epoch_start=9))
    assert asked("Replica.on_metadata", replica(), state(5, 4), 0.0, then=put(epoch_start=8, followers={}))
    assert asked("Replica.on_metadata", replica(), state(3, 2), 0.0, then=put(partition_epoch=3))
    for epoch_end, offset in ((EpochEnd(3, 7), 7), (EpochEnd(3, 12), 9), (EpochEnd(2, 2), 4), (EpochEnd(1, 2), 2)):
        assert not asked("Replica.on_diverging", replica(), epoch_end, result=[Truncate(offset)]), epoch_end
        assert asked("Replica.on_diverging", replica(), epoch_end, result=[Truncate(offset - 1)]), epoch_end
    assert not asked("Replica.on_out_of_range", replica(), 12, 20, result=[StartAt(12)])
    assert asked("Replica.on_out_of_range", replica(), 3, 7, result=[StartAt(3)])


def test_the_controller() -> None:
    """Fails if an ISR, a life, an exit or a block of ids may be granted against the rules (15, 16, 29 to 33, 47)."""
    partition = Made(
        leader=1,
        leader_epoch=3,
        partition_epoch=4,
        replicas=(1, 2, 3),
        recovering=False,
        topic="t",
        index=0,
        isr=(1, 2),
        elr=(3,),
        topic_id="id",
    )
    known = {
        n: Made(id=n, epoch=7, fenced=False, in_controlled_shutdown=False, incarnation=n, registration_offset=5)
        for n in (1, 2, 3)
    }
    image = Made(
        brokers=known,
        topic_by_id=lambda _: Made(partitions={0: partition}),
        partitions=lambda: [partition],
        next_producer_id=1000,
    )
    right = Proposal(0, 3, 4, (IsrMember(1, 7), IsrMember(3, -1)), False)
    wrong = [
        (2, right),
        (1, right.__class__(0, 2, 4, right.isr, False)),
        (1, right.__class__(0, 3, 3, right.isr, False)),
        (1, right.__class__(0, 3, 4, (IsrMember(3, 7),), False)),
        (1, right.__class__(0, 3, 4, (IsrMember(1, 7), IsrMember(2, 6)), False)),
        (1, right.__class__(0, 3, 4, (*right.isr, IsrMember(4, 7)), False)),
        (1, right.__class__(0, 3, 4, right.isr, True)),
    ]
    for broker, one in [(1, right), *wrong]:
        told = asked(
            "controller.alter_partition", image, broker, [("id", [one])], None,
            result=([], [("id", [ProposalVerdict(0, partition)])])
        )  # type: ignore[arg-type]
        assert bool(told) is (one is not right or broker != 1), one
        assert not asked(
            "controller.alter_partition",
            image,
            broker,
            [("id", [one])],
            None,
            result=([], [("id", [ProposalVerdict(0, Err.FENCED_LEADER_EPOCH)])]),
        )
    assert not asked("Controller.check_epoch", None, 1, 7, result=known[1]) and asked(
        "Controller.check_epoch", None, 1, 6, result=known[1]
    )

    def subject(sessions: dict[int, Any]) -> Any:
        return Made(image=image, elr=True, heartbeats=Made(timeout=1.0, sessions=sessions))

    def session(fenced: bool = False, due: int = -1, offset: int = 5) -> Any:
        return Made(
            fenced=fenced, last_contact=0.0, shutdown_offset=due, metadata_offset=offset, state=BrokerControlState.UNFENCED
        )

    again, new = Made(broker=4, incarnation=4, previous_epoch=7), Made(broker=3, incarnation=9, previous_epoch=7)
    assert not asked("Controller.register_broker", subject({}), again, 9, 0.5, result=([], 9))
    assert not asked("Controller.register_broker", subject({3: session()}), new, 9, 2.0, result=([], 9))
    assert asked("Controller.register_broker", subject({3: session()}), new, 9, 0.5, result=([], 9))
    assert asked("Controller.register_broker", subject({}), new, 9, 2.0, result=([], 7))
    unclean = Made(broker=3, incarnation=9, previous_epoch=-1)
    assert asked("Controller.register_broker", subject({}), unclean, 9, 2.0, result=([], 9)), "it stays in the ELR"
    serves, exits = HeartbeatVerdict(True, False, False), HeartbeatVerdict(True, True, True)
    assert not asked("Controller.heartbeat", subject({3: session()}), BrokerHeartbeat(3, 7, 4), 9, 0.0, result=([], serves))
    known[3].fenced = True
    assert not asked("Controller.heartbeat", subject({3: session()}), BrokerHeartbeat(3, 7, 5), 9, 0.0, result=([], serves))
    assert asked("Controller.heartbeat", subject({3: session()}), BrokerHeartbeat(3, 7, 4), 9, 0.0, result=([], serves))
    sessions = {3: session(due=5), 2: session(offset=5)}
    assert not asked("Controller.heartbeat", subject(sessions), BrokerHeartbeat(3, 7, 5), 9, 0.0, result=([], exits))
    assert asked(
        "Controller.heartbeat", subject({**sessions, 2: session(offset=4)}), BrokerHeartbeat(3, 7, 5), 9, 0.0, result=([], exits)
    )
    assert asked("Controller.heartbeat", subject({1: session(due=5)}), BrokerHeartbeat(1, 7, 5), 9, 0.0, result=([], exits))
    for following, ids, fails in (
        (2000, range(1000, 2000), False),
        (1000, range(1000, 2000), True),
        (2000, range(999, 1999), True),
    ):
        told = asked("Controller.allocate_producer_ids", subject({}), 1, 7, result=([ProducerIdsRecord(1, 7, following)], ids))
        assert bool(told) is fails


def test_transactions() -> None:
    """Fails if a fenced producer may go on, two decisions may be under way, or a partition may be forgotten (48 to 52)."""

    def txn(state: TransactionState = TransactionState.ONGOING, pending: Any = None, epoch: int = 3) -> Transaction:
        made = Transaction("id", TransactionData(7, epoch, state=state, partitions=(("t", 0),), last_epoch=2))
        made.pending = pending
        return made

    me, old, data = ProducerIdAndEpoch(7, 3), ProducerIdAndEpoch(7, 2), txn().data
    both = TransactionData(7, 3, partitions=(("t", 0), ("t", 1)))
    assert not asked("Transaction.add", txn(), me, [("t", 1)], 0, result=both)
    assert asked("Transaction.add", txn(), old, [("t", 1)], 0, result=both)
    assert asked("Transaction.add", txn(), me, [("t", 1)], 0, result=TransactionData(7, 3, partitions=(("t", 1),)))
    assert asked("Transaction.add", txn(pending=data), me, [("t", 1)], 0, result=both)
    assert not asked("Transaction.verify", txn(), me, [], result={("t", 0): Err.NONE, ("t", 1): Err.TRANSACTION_ABORTABLE})
    assert asked("Transaction.verify", txn(), me, [], result={("t", 1): Err.NONE})
    assert asked("Transaction.verify", txn(), old, [], result={("t", 0): Err.NONE})
    ended = TransactionData(7, 4, state=TransactionState.PREPARE_COMMIT, partitions=(("t", 0),))
    assert not asked("Transaction.end", txn(), me, True, 2, 0, result=ended)
    for subject, who, commit in (
        (txn(), old, True),
        (txn(), me, False),
        (txn(pending=data), me, True),
        (txn(epoch=4), ProducerIdAndEpoch(7, 4), True),
    ):
        assert asked("Transaction.end", subject, who, commit, 2, 0, result=ended)
    assert not asked("Transaction.end", txn(TransactionState.COMPLETE_COMMIT), old, True, 2, 0)
    assert asked("Transaction.end", txn(TransactionState.COMPLETE_COMMIT), old, False, 2, 0)
    for epoch, fails in ((4, False), (3, True)):
        assert bool(asked("Transaction.init", txn(TransactionState.EMPTY), 1, None, 0, result=TransactionData(7, epoch))) is fails
        assert bool(asked("Transaction.fence", txn(), 0, 2, result=TransactionData(7, epoch))) is fails
    late = TransactionData(7, 3, 1000, TransactionState.ONGOING, start_ms=0)
    one = Transaction("id", late)
    assert asked("Transaction.timed_out", one, 1001, result=False) and not asked(
        "Transaction.timed_out", one, 1000, result=False
    )
    assert not asked("Transaction.init", txn(TransactionState.EMPTY), 1, old, 0, result=TransactionData(7, 3)), "a lost answer"
    assert asked("Transaction.init", txn(TransactionState.EMPTY, pending=data), 1, None, 0, result=TransactionData(7, 4))


def test_groups() -> None:
    """Fails if another generation or epoch may commit, sync or be heard, or a partition may have two owners (57 to 61, 848)."""

    def group(**fields: Any) -> Any:
        return Made(
            **{
                "group_id": "g",
                "generation": 4,
                "is_empty": False,
                "state_name": "CompletingRebalance",
                "members": Made(by_id={"a": None}, static={"one": "a"}, __len__=lambda: 1),
                **fields,
            }
        )

    for commit, fails in (
        (OffsetCommit("a", None, 4), False),
        (OffsetCommit("a", "one", 4), False),
        (OffsetCommit("a", None, 3), True),
        (OffsetCommit("b", None, 4), True),
        (OffsetCommit("a", "two", 4), True),
        (OffsetCommit("", None, -1), True),
        (OffsetCommit("", None, -1, transactional=True), False),
    ):
        assert bool(asked("ClassicGroup.check_commit", group(), commit, None, result=Err.NONE)) is fails, commit
    for generation, fails in ((4, False), (3, True)):
        assert bool(asked("ClassicGroup.heartbeat", group(), "a", None, generation, None, result=Err.NONE)) is fails
        request = Made(member_id="a", generation=generation)
        assert bool(asked("ClassicGroup._check_sync", group(), request, result=Err.NONE)) is fails
        stable = put(state_name="Stable")
        assert bool(asked("ClassicGroup.on_committed", group(), request, Err.NONE, 0.0, then=stable)) is fails
        assert asked("ClassicGroup.on_committed", group(), request, Err.NOT_COORDINATOR, 0.0, then=stable)
    assert not asked("ClassicGroup._complete_join", group(members=[1]), 0.0, then=put(generation=5))
    assert asked("ClassicGroup._complete_join", group(members=[1]), 0.0)
    members = {"a": Made(has={("id", 0): 3}, current=Made(epoch=5))}
    for commit, fails in (
        (OffsetCommit("a", None, 5), False),
        (OffsetCommit("a", None, 3), False),
        (OffsetCommit("a", None, 2), True),
        (OffsetCommit("a", None, 6), True),
        (OffsetCommit("b", None, 5), True),
    ):
        assert bool(asked("group.check_commit", Made(members=members), commit, [("id", 0)])) is fails, commit
    member, goal = Made(has={("id", 0): 3, ("id", 1): 3}, current=None), Made(taken={("id", 2)})
    for assigned, owned, fails in (
        ((0, 1), None, False),
        ((0,), set(), False),
        ((0,), {("id", 1)}, True),
        ((0,), None, True),
        ((0, 1, 2), None, True),
    ):
        after = Made(assigned=[Made(topic_id="id", partitions=assigned)], revoking=[])
        assert bool(asked("heartbeat_steps.reconcile", member, goal, False, owned, result=after)) is fails, assigned
    store = Made(pending={7: {("g", "key"): None}})
    assert asked("OffsetStore.is_unstable", store, "g", "key", result=False)
    assert not asked("OffsetStore.is_unstable", store, "g", "key", result=True)


def test_logs() -> None:
    """Fails if a batch that does not continue its producer's may pass, or a cut may leave what describes what it took."""
    last = Made(last_sequence=5, last_offset=8)
    entry = Made(epoch=2, coordinator_epoch=4, txn_first_offset=-1, batches=[last])
    states = Made(entries={7: entry}, _partition="t-0", _guards={8: "new"})

    def written(epoch: int, sequence: int, **fields: Any) -> str | None:
        entry.txn_first_offset = fields.pop("open", -1)
        batch = some_batch(1, 1, producer_id=fields.pop("pid", 7), producer_epoch=epoch, base_sequence=sequence, **fields)
        return asked("ProducerStates.check", states, BatchHeader.parse(batch), batch, 9, True, "old")

    assert not written(2, 6) and not written(3, 0) and not written(2, 6, transactional=True, open=8)
    assert written(2, 7) and written(1, 6) and written(3, 1) and written(2, 6, open=8)
    assert written(3, 0, transactional=True, open=8) and written(0, 0, transactional=True, pid=8)
    for coordinator, fails in ((4, False), (3, True)):
        ends = marker(7, 2, coordinator, True, NOW)
        assert bool(asked("ProducerStates.check", states, BatchHeader.parse(ends), ends, 9, False)) is fails
    entry.batches = [Made(first_sequence=4, last_sequence=5, first_offset=7)]
    for sequence, fails in ((4, True), (5, False)):
        header = BatchHeader.parse(idempotent(7, 2, sequence, 2))
        assert bool(asked("ProducerStates.find_duplicate", states, header)) is fails
        assert not asked("ProducerStates.find_duplicate", states, header, result=entry.batches[0])
    entry.batches = [last]
    epochs, producers = Made(entries=[(1, 0), (3, 4)]), Made(entries={7: entry}, snapshots=[9])
    log = {"name": "t-0", "end_offset": 9, "recovery_point": 9, "epochs": epochs, "producers": producers, "start_offset": 3}
    assert not asked("Log.truncate", Made(**log), 9)
    for field, value in (
        ("recovery_point", 10),
        ("end_offset", 8),
        ("epochs", Made(entries=[(4, 9)])),
        ("producers", Made(entries={}, snapshots=[10])),
    ):
        assert asked("Log.truncate", Made(**{**log, field: value}), 9), field
    assert not asked("Log.advance_start", Made(**log), 5, then=put(start_offset=5))
    assert asked("Log.advance_start", Made(**log), 2, then=put(start_offset=2))


def test_each_decision_is_asked_here() -> None:
    """Fails if a check was added, and no test asks it."""
    source = open(__file__).read()
    assert [name for name in BY_NAME if f'"{name}"' not in source] == []


# --- listening --------------------------------------------------------------------------------------------------------


def test_decisions_are_listened_to_while_a_world_runs() -> None:
    """Fails if a wrong decision is not told after its step, a refusal is changed, or a check outlives the run."""
    kit, before = Kit(only={"I23"}), Replica.check_epoch
    heard: list[str] = []

    async def story(kit: Kit) -> None:
        replica = kit.world.broker(kit.leader()).replicas.partitions["t", 0].replica  # type: ignore[union-attr]
        with pytest.raises(KafkaError):
            replica.check_epoch(99)
        assert not kit.watch.heard and Replica.check_epoch is not before
        await kit.world.sleep(1.0)

    def lax(self: Replica, epoch: int) -> None:
        heard.append("asked")

    kit.run(story)
    assert kit.watch.violations == [] and Replica.check_epoch is before
    with replaced(Replica, "check_epoch", lax):
        kit = Kit(only={"I23"})

        async def wrong(kit: Kit) -> None:
            kit.world.broker(kit.leader()).replicas.partitions["t", 0].replica.check_epoch(99)  # type: ignore[union-attr]
            await kit.world.sleep(0.1)

        kit.run(wrong)
    assert heard and [violation.id for violation in kit.watch.violations] == ["I23"]
    assert "a request of leader epoch 99 is served" in str(kit.watch.violations[0])


def test_what_is_not_chosen_is_not_listened_to() -> None:
    """Fails if a watch without I23 pays for it, or tells of it."""
    assert World(1).contexts == [] and not _contexts(without={"I23"}) and len(_contexts()) == 1


def _contexts(**options: Any) -> list[Any]:
    world = World(1)
    Watch(world, **options)
    return world.contexts
