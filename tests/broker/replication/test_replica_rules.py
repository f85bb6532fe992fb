"""Rules of one replica that its random schedules (test_replication_random.py) do not reach, and its own asserts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from minikafka.broker.replication.effects import (
    EpochEnd,
    HighWatermark,
    ProposeIsr,
    Truncate,
)
from minikafka.broker.replication.isr import Isr
from minikafka.broker.replication.replica import Replica
from minikafka.proof.small_worlds.replication.lone_replica import CommittedPartition, ReplicaLog
from minikafka.protocol.errors import Err

EPOCH = 3  # of the leader, which is broker 1


def leader(isr: tuple[int, ...] = (1, 2, 3), records: int = 5) -> Replica:
    """Return the leader of an epoch that begins at offset 5; its log ends at `records`, its high watermark is 3."""
    log = ReplicaLog()
    log.append(5, 1)
    brokers = {n: SimpleNamespace(epoch=10 * n, active=True) for n in (1, 2, 3)}
    replica = Replica(1, log, SimpleNamespace(brokers=brokers), 10.0, 2)  # type: ignore[arg-type]
    replica.high_watermark = 3
    replica.on_metadata(CommittedPartition((1, 2, 3), isr, 1, EPOCH, 7), 0.0)
    if records > 5:
        log.append(records - 5, EPOCH)
    return replica


def fetched(replica: Replica, follower: int, offset: int) -> list[Any]:
    return replica.on_follower_fetch(follower, 10 * follower, EPOCH, offset, 0, 1.0)


def test_rule_18_what_the_controller_answers_counts_not_what_was_proposed() -> None:
    """Fails if the leader takes its proposal for the outcome: a reassignment may have ended with it, several epochs on."""
    replica = leader(isr=(1, 2))
    (effect,) = [effect for effect in fetched(replica, 3, 5) if isinstance(effect, ProposeIsr)]
    replica.on_alter_response(effect.proposal, Err.NONE, 2.0, (3, 1), EPOCH, 10)
    assert (replica.isr, replica.partition_epoch) == (Isr((3, 1)), 10)


def test_rule_23_a_cut_within_a_batch_takes_the_high_watermark_to_where_the_log_ends() -> None:
    """Fails if the high watermark is lowered only to the offset that was asked for: the batch around it went whole."""
    replica = leader()
    replica.on_metadata(CommittedPartition((1, 2, 3), (2, 3), 2, EPOCH + 1, 8), 2.0)
    assert replica.on_diverging(EpochEnd(1, 3)) == [Truncate(3)]
    replica.log.truncate(1)  # type: ignore[attr-defined]
    assert replica.on_truncated() == [HighWatermark(1)] and replica.high_watermark == 1


@pytest.mark.parametrize(("fields", "id"), [
    ({"high_watermark": 10}, "I-HW-1"), ({"leader_epoch": EPOCH + 1}, "I-LEAD-1"), ({"epoch_start": 10}, "I-LEAD-2"),
    ({"leader": 2}, "I-LEAD-3"), ({"partition_epoch": 8}, "I-ISR-3")])
def test_each_assert_on_the_state_can_fall(fields: dict[str, int], id: str) -> None:
    """Fails if a state that breaks one of these invariants passes, or if the healthy one does not."""
    replica = leader(isr=(1, 2), records=9)
    fetched(replica, 3, 5)
    replica.check()
    for name, value in fields.items():
        setattr(replica, name, value)
    with pytest.raises(AssertionError, match=id):
        replica.check()
