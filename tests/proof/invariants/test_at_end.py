"""I14 to I17: what is judged after healing, in worlds where something was left behind, held up, damaged or made up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from minikafka.broker.coordinator.shell.coordinator_log import CoordinatorLog
from minikafka.broker.groups.records import offset_key, offset_value
from minikafka.broker.metadata.records import ZERO_UUID
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.broker.replication.isr import ProposedIsr
from minikafka.broker.replication.shell.delayed_operations import DelayedProduce
from minikafka.broker.transactions.records import transaction_key
from minikafka.broker.transactions.shell.coordinator import TRANSACTION_TOPIC
from minikafka.log import Log
from minikafka.log.batch import BatchHeader, build, stamp
from minikafka.log.markers import marker
from minikafka.proof.invariants.excuses import OF_GROUPS, excused_by_loss
from minikafka.proof.invariants.replica import Truth
from tests.proof.invariants.kit import Kit, Story

LOG = "/data/t-0/00000000000000000000.log"


def ended(tamper: Story, records: int = 20, config: dict[str, Any] | None = None, **watch: Any) -> Kit:
    """Some records, `tamper`, the end."""
    async def story(kit: Kit) -> None:
        await kit.send(records)
        await tamper(kit)
        await kit.watch.at_end()

    kit = Kit(config=config, **watch)
    kit.run(story)
    return kit


def texts(kit: Kit) -> list[str]:
    return [str(violation) for violation in kit.watch.violations]


def ids(kit: Kit) -> set[str]:
    return {violation.id for violation in kit.watch.violations}


# --- I14 ------------------------------------------------------------------------------------------------------------

def test_i14_a_task_dies() -> None:
    """Fails if a broker may die of an exception that is no disk's."""
    async def tamper(kit: Kit) -> None:
        async def fails() -> None:
            raise ValueError("nobody thought of this")

        host = kit.world.hosts[kit.followers()[0]]
        with host.loop.entered():
            host.env.spawn(fails(), "fails")
        await kit.world.sleep(1.0)
        await kit.world.mend()

    kit = ended(tamper)
    assert ids(kit) == {"I14"} and "nobody thought of this" in texts(kit)[0]


def test_i14_a_callback_raises() -> None:
    """Fails if an exception in a callback may go unnoticed: nobody awaits it."""
    async def tamper(kit: Kit) -> None:
        kit.world.hosts[2].loop.call_soon(lambda: 1 // 0)
        await kit.world.sleep(0.1)

    kit = ended(tamper)
    assert ids(kit) == {"I14"} and "ZeroDivisionError" in texts(kit)[0]


def test_i14_what_is_waited_for_never_comes() -> None:
    """Fails if a producer may wait at rest for its acknowledgement, or a coordinator for its records."""
    async def tamper(kit: Kit) -> None:
        partition, host = kit.partition(kit.leader()), kit.world.hosts[kit.leader()]
        beyond = partition.log.end_offset + 1
        with host.loop.entered():
            DelayedProduce(host.env, {partition: beyond}).watch([partition.moved], timeout=1000.0)
            CoordinatorLog(host.env, partition, timeout_s=1000.0).expect(beyond, beyond - 1, None)

    kit = ended(tamper)
    assert ids(kit) == {"I14"} and len(kit.watch.violations) == 2
    for said in ("1 produce requests wait for their acknowledgement", "its coordinator waits for 1 records"):
        assert any(said in text for text in texts(kit)), texts(kit)


def test_i14_a_proposal_without_a_verdict() -> None:
    """Fails if a leader may wait at rest for the controller's word on its ISR."""
    async def tamper(kit: Kit) -> None:
        core = kit.partition(kit.leader()).replica
        members = tuple((node, -1) for node in core.isr.committed)
        core.isr.proposal = ProposedIsr(members, core.leader_epoch, core.partition_epoch, "nobody will say")

    kit = ended(tamper)
    assert ids(kit) == {"I14"} and len(kit.watch.violations) == 1 and "is still proposed" in texts(kit)[0]


@pytest.mark.parametrize("what", ["tasks", "files", "connections"])
def test_i14_something_grows(what: str) -> None:
    """Fails if a broker at rest may gather tasks, files or connections."""
    async def tamper(kit: Kit) -> None:
        node = kit.followers()[0]
        host, (name, port) = kit.world.hosts[node], dict(zip(kit.world.brokers, kit.world.bootstrap, strict=True))[node]
        env = kit.env if what == "connections" else host.env

        async def leak() -> None:
            for number in range(100):
                if what == "tasks":
                    env.spawn(env.sleep(1000), "leaked")
                elif what == "files":
                    env.fs.open(f"/data/leaked-{number}.tmp")
                else:
                    await env.connect(name, port, asyncio.Protocol, node)
                await env.sleep(0.5)

        with env.loop.entered():
            env.spawn(leak(), "leak")

    kit = ended(tamper)
    assert ids(kit) == {"I14"} and what in texts(kit)[0] and "grow" in texts(kit)[0]


def test_i14_too_many_tasks() -> None:
    """Fails if a broker may gather tasks under load and keep them at rest."""
    async def tamper(kit: Kit) -> None:
        host = kit.world.hosts[kit.followers()[0]]
        with host.loop.entered():
            for _ in range(200):
                host.env.spawn(host.env.sleep(1000), "leaked")

    kit = ended(tamper)
    assert ids(kit) == {"I14"} and "are plenty" in texts(kit)[0]


# --- I15 ------------------------------------------------------------------------------------------------------------

def test_i15_a_follower_never_comes_back() -> None:
    """Fails if an ISR may stay small when nothing is in its way any more; here something is."""
    async def tamper(kit: Kit) -> None:
        kit.world.hold_follower(kit.followers()[0])
        await kit.send(5)

    kit = ended(tamper)
    assert "I15" in ids(kit) and any("t-0 has" in text for text in texts(kit))


def test_i15_nobody_is_where_he_should_be() -> None:
    """Fails if there may be no controller, a broker may not serve, or not host what it should."""
    async def tamper(kit: Kit) -> None:
        node = kit.followers()[0]
        kit.world.controller = lambda: None
        kit.world.hosts[node].serving = False
        del kit.world.hosts[node].broker.replicas.partitions["t", 0]

    kit = ended(tamper)
    assert ids(kit) == {"I15"} and len(kit.watch.violations) == 3
    for said in ("there is no controller", "does not serve", "t-0 is not hosted by ["):
        assert any(said in text for text in texts(kit)), texts(kit)


@pytest.mark.parametrize("who", ["follower", "leader"])
def test_i15_a_replica_is_in_another_epoch_than_the_metadata(who: str) -> None:
    """Fails if a replica may stay in a former leader epoch though it has everything, or if the leader may not know that
    it leads; nobody drops who copies nothing any more, for there is time."""
    async def tamper(kit: Kit) -> None:
        leader, follower = kit.partition(kit.leader()).replica, kit.partition(kit.followers()[0]).replica
        await kit.world.until(lambda: follower.high_watermark == leader.high_watermark == 20)
        if who == "follower":
            follower.leader_epoch -= 1
        else:
            leader.leader = -1

    kit = ended(tamper, config={"replica.lag.time.max.ms": 1_000_000}, without=("I7",))
    assert ids(kit) == {"I15"} and "t-0 is in leader epoch" in texts(kit)[0]


def test_i15_with_a_minority_that_is_dead_for_good() -> None:
    """Fails if a dead broker is waited for: two of three must come to rest without it."""
    async def tamper(kit: Kit) -> None:
        kit.world.kill(kit.leader())
        await kit.send(5)

    assert texts(ended(tamper)) == []


def test_i15_an_operation_without_an_end_and_a_goal_that_is_missed() -> None:
    """Fails if a client may hang, or if a goal of the run is not asked for."""
    async def tamper(kit: Kit) -> None:
        kit.history.invoke("hangs", "poll", group="g")
        kit.watch.goals.append(("the consumer has read all", lambda: False))

    kit = ended(tamper)
    assert ids(kit) == {"I15"} and any("hangs's poll" in text for text in texts(kit))
    assert any("the consumer has read all" in text for text in texts(kit))


# --- I16 ------------------------------------------------------------------------------------------------------------

async def flip(kit: Kit) -> None:
    """Damage a follower's log below the high watermark behind everybody's back."""
    log = kit.world.hosts[kit.followers()[0]].disk.names[LOG]
    assert log is not None
    log.content[300] ^= 1


def test_i16_a_byte_of_a_follower_changes() -> None:
    """Fails if replicas are not read again at the end: the byte was right when it was written."""
    kit = ended(flip)
    assert "I16" in ids(kit) and any("is not what was committed there" in text for text in texts(kit))


def test_i16_the_end_of_a_followers_file_is_gone() -> None:
    """Fails if a log may say that it is longer than its bytes, or recovery may end before it."""
    async def tamper(kit: Kit) -> None:
        log = kit.world.hosts[kit.followers()[0]].disk.names[LOG]
        assert log is not None
        del log.content[-10:]

    kit = ended(tamper)
    assert any("its bytes end at 19, HW is 20" in text for text in texts(kit)), texts(kit)
    assert any("recovery ends at 19, LEO is 20" in text for text in texts(kit)), texts(kit)


def test_i16_damage_that_the_run_itself_has_done_is_left_out() -> None:
    """Fails if the fault flip_bit is held against the broker."""
    async def tamper(kit: Kit) -> None:
        kit.world.flip_bit(kit.followers()[0], LOG, 300, 0)

    assert texts(ended(tamper)) == []


def test_i16_an_acknowledged_record_is_something_else() -> None:
    """Fails if what was acknowledged is not looked for in the log."""
    async def tamper(kit: Kit) -> None:
        sent = kit.history.invoke("p", "send", topic="t", partition=0, value="ghost", acks=-1)
        kit.history.ok(sent, partition=0, offset=3)

    kit = ended(tamper)
    assert "I16" in ids(kit) and any("'ghost' was acknowledged" in text and "'v4'" in text for text in texts(kit))


def test_i16_recovery_is_not_idempotent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if recovering twice may give other bytes than recovering once."""
    recover = Log.open

    def open_and_scribble(fs: Any, path: str, *args: Any, **named: Any) -> Log:
        log = recover(fs, path, *args, **named)
        note = fs.open(f"{path}/recoveries")
        note.pwrite(b"x", note.size())
        return log

    monkeypatch.setattr(Log, "open", staticmethod(open_and_scribble))

    async def nothing(kit: Kit) -> None:
        await kit.world.sleep(0.1)

    kit = ended(nothing, records=1)
    assert ids(kit) == {"I16"} and "a second recovery changed" in texts(kit)[0]


def test_i16_a_restart_after_a_kill_loses_bytes() -> None:
    """Fails if a broker may come back with less than it had, though only its process died."""
    async def tamper(kit: Kit) -> None:
        node = kit.followers()[0]
        kit.world.kill(node)
        log = kit.world.hosts[node].disk.names[LOG]
        assert log is not None
        del log.content[-10:]
        await kit.world.restart(node)

    kit = ended(tamper)
    assert ids(kit) == {"I16"} and "recovered t-0 up to 19, it ended at 20" in texts(kit)[0]


def test_i16_a_replica_that_was_being_cut_when_its_broker_died() -> None:
    """Fails if bytes are missed that a truncation was taking away in the very step in which the process was killed."""
    async def tamper(kit: Kit) -> None:
        node = kit.followers()[0]
        partition = kit.partition(node)
        partition._cut(partition.log.truncate, 12)
        kit.world.kill(node)
        await kit.world.restart(node)

    assert texts(ended(tamper)) == []


# --- I17 ------------------------------------------------------------------------------------------------------------

def truth_of(topic: str, *batches: bytes) -> Truth:
    """A partition of an internal topic in which these are committed, one after the other."""
    truth = Truth((topic, 0), "an id", 0)
    for data in batches:
        made = bytearray(data)
        stamp(made, truth.end, 0)
        truth.add(BatchHeader.parse(made), bytes(made))
    return truth


def test_a_loss_in_an_internal_topic_excuses_only_those_of_whom_something_was_lost() -> None:
    """Fails if a coordinator that forgot one group or one producer, with permission, is excused for all; or if a group is
    not whose offsets are there, but not the marker that made them count."""
    def offset(group: str, **producer: Any) -> bytes:
        return build([(offset_key(group, "t", 0), offset_value(ZERO_UUID, 7, 0, "", 0))], timestamp_ms=0, **producer)

    transactional = {"producer_id": 9, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    offsets = truth_of(OFFSETS_TOPIC, offset("kept"), offset("in a transaction", **transactional), offset("also kept"),
                       marker(9, 0, 0, True, 0), offset("lost"))
    told = [(fact["group"], fact["anomalies"]) for fact in excused_by_loss(offsets, 3)]
    assert told == [("in a transaction", OF_GROUPS), ("lost", OF_GROUPS)]
    decisions = truth_of(TRANSACTION_TOPIC, *(build([(transaction_key(id), None)], timestamp_ms=0) for id in ("a", "b", "c")))
    assert [fact["producer"] for fact in excused_by_loss(decisions, 1)] == ["b", "c"]
    assert list(excused_by_loss(truth_of("t", build([(b"k", b"v")], timestamp_ms=0)), 0)) == []
