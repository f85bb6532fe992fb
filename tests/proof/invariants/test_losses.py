"""Which losses are permitted, whom they excuse, and whom not."""

from __future__ import annotations

from typing import Any

import pytest

from minikafka.broker.groups.records import offset_key, offset_value
from minikafka.broker.metadata.records import ZERO_UUID
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.broker.transactions.records import transaction_key
from minikafka.broker.transactions.shell.coordinator import TRANSACTION_TOPIC
from minikafka.client import Producer
from minikafka.log.batch import BatchHeader, build, stamp
from minikafka.log.markers import marker
from minikafka.proof.invariants.excuses import OF_GROUPS, excused_by_loss
from minikafka.proof.invariants.replica import Truth
from minikafka.proof.weakened.swap import unasserted
from tests.proof.invariants.kit import Kit


def power_cut(seed: int, victims: int) -> Kit:
    """Records that no broker has synced yet, on three brokers; then some of them lose power at once."""
    async def story(kit: Kit) -> None:
        await kit.send(30)
        await kit.world.sleep(1.0)
        for node in [kit.leader(), *kit.followers()][:victims]:
            kit.world.powerloss(node)
        await kit.world.sleep(1.0)
        await kit.world.mend()
        await kit.send(5)
        await kit.watch.at_end()

    kit = Kit(seed)
    assert kit.run(story) == [], [str(violation) for violation in kit.watch.violations]
    return kit


@pytest.mark.parametrize("seed", range(2))
def test_one_loss_of_power_of_two_in_sync_may_lose_nothing(seed: int) -> None:
    """Fails if a single loss of power is taken for an excuse: min.insync.replicas=2 survives it."""
    assert power_cut(seed, victims=1).watch.losses == []


def test_a_loss_of_power_everywhere_is_a_permitted_loss() -> None:
    """Fails if losing all disks at once is a violation, or if watch and history do not record what was lost."""
    cuts = (power_cut(seed, victims=3) for seed in range(8))  # chance may spare the disks
    kit = next(kit for kit in cuts if any(loss.name == "t-0" for loss in kit.watch.losses))
    assert "t" in {event.get("topic") for event in kit.history.events if event["f"] == "may-lose"}


def test_one_candidate_above_suspicion_permits_no_loss() -> None:
    """Fails if a disk that lost records and a broker that was killed excuse a third one, to which nothing happened."""
    async def story(kit: Kit) -> None:
        await kit.send(20)
        await kit.world.sleep(1.0)
        one, two = kit.followers()
        kit.world.kill(kit.leader())
        kit.world.powerloss(one)
        kit.cut(two, 10)
        await kit.world.sleep(1.0)

    kit = Kit()
    assert "I3" in kit.run(story) and kit.watch.losses == []


def test_an_unclean_election_may_lose_what_it_loses() -> None:
    """Fails if a permitted loss is a violation, or is recorded with other offsets: records 10 to 19 are lost."""
    async def story(kit: Kit) -> None:
        await kit.send(20)
        await kit.world.sleep(1.0)
        for node in kit.world.brokers:
            kit.cut(node, 10)
        kit.watch.check_everything()

    kit = Kit(unclean=True)
    assert {*kit.run(story)} <= {"I1", "I2"} and [(loss.start, loss.end) for loss in kit.watch.losses] == [(10, 20)]


@pytest.mark.parametrize("stranger", [False, True])
def test_only_a_transaction_that_a_coordinator_lost_with_permission_may_stay_open(stranger: bool) -> None:
    """Fails if a transaction of which the coordinators lost every record, with permission, is a violation of I13; or if that
    excuses one that they never knew."""
    async def story(kit: Kit) -> None:
        producer = Producer(kit.env, kit.world.bootstrap, transactional_id="forgotten", transaction_timeout=10.0)
        await producer.begin()
        await producer.send("t", "forgotten", partition=0)
        producer.kill()
        for node in kit.world.brokers:
            for index in (0, 1):
                kit.cut(node, 0, TRANSACTION_TOPIC, index)
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
    excused = [(fact["group"], fact["anomalies"]) for fact in excused_by_loss(offsets, 3)]
    assert excused == [("in a transaction", OF_GROUPS), ("lost", OF_GROUPS)]
    decisions = truth_of(TRANSACTION_TOPIC, *(build([(transaction_key(id), None)], timestamp_ms=0) for id in ("a", "b", "c")))
    assert [fact["producer"] for fact in excused_by_loss(decisions, 1)] == ["b", "c"]
    assert list(excused_by_loss(truth_of("t", build([(b"k", b"v")], timestamp_ms=0)), 0)) == []
