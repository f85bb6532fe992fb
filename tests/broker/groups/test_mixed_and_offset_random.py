"""Random schedules: a group with members of both protocols, the committed offsets, and the assignors, each alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from minikafka.broker.groups import offset_expiration
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import JoinResult
from minikafka.broker.groups.consumer import assignors, classic_members, migration
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.offsets import CommittedOffset, OffsetStore
from minikafka.proof.small_worlds.groups.assignors_life import assignors_alone
from minikafka.proof.small_worlds.groups.consumer_life import consumer_group_alone
from minikafka.proof.small_worlds.groups.lone_consumer_group import LoneConsumerGroup
from minikafka.proof.small_worlds.groups.mixed_life import MixedLife, mixed_group_alone
from minikafka.proof.small_worlds.groups.offsets_life import OffsetsLife, offsets_alone
from minikafka.protocol.errors import Err
from minikafka.sim.world.replaced import replaced


@pytest.mark.parametrize(("alone", "seeds"), [(mixed_group_alone, 60), (offsets_alone, 60), (assignors_alone, 100)])
def test_random_schedules(alone: Any, seeds: int) -> None:
    """Fails if an answer breaks a rule of KIP-848 or KIP-211, a partition has two owners, or a migration loses anything."""
    assert {seed: fallen for seed in range(seeds) if (fallen := alone(seed))} == {}


def uncalled(group: Any, *_: Any) -> list[Any]:
    """Stand for called_back(): nobody hears that the group has changed."""
    return []


@pytest.mark.parametrize(("owner", "name", "value", "alone"), [
    (classic_members, "_waits_for_others", lambda *_: False, mixed_group_alone),      # called back too early
    (classic_members, "_supports", lambda *_: True, mixed_group_alone),
    (migration, "called_back", uncalled, mixed_group_alone),
    (migration, "may_downgrade", lambda *_: False, mixed_group_alone),
    (migration, "_check_upgrade", lambda *_: None, mixed_group_alone),
    (ConsumerGroup, "topics_changed", lambda *_: None, consumer_group_alone),
    (OffsetStore, "settle", lambda store, producer, _: OffsetStore.pending.__get__(store).pop(producer, None), offsets_alone),
    (OffsetStore, "is_unstable", lambda *_: False, offsets_alone),
    (OffsetStore, "keys_of", lambda store, group: dict(OffsetStore.of_group(store, group)), offsets_alone),
    (CommittedOffset, "is_of", lambda *_: True, offsets_alone),
    (offset_expiration, "_is_old", lambda offset, since, now, kept: since is not None and now - since >= kept, offsets_alone),
    (ClassicGroup, "reads", lambda *_: False, offsets_alone),
    (assignors, "_balance", lambda *_: False, assignors_alone),
])
def test_the_judges_are_not_blind(owner: Any, name: str, value: Any, alone: Any) -> None:
    """Fails if a rule can be broken without any of a few seeds noticing it."""
    with replaced(owner, name, value):
        assert any(alone(seed) for seed in range(12)), name


def test_the_mixed_group_meets_what_it_is_meant_to_meet() -> None:
    """Fails if the schedules become too simple: both migrations, both refusals of them, and each error must occur."""
    met: Counter[str] = Counter()

    class Life(MixedLife):
        def upgraded(self, old: ClassicGroup, group: ConsumerGroup) -> None:
            super().upgraded(old, group)
            met[f"upgrade in {old.state_name}"] += 1

        def downgraded(self, *args: Any) -> None:
            super().downgraded(*args)
            met["downgrade"] += 1

        def classic_beat(self, *args: Any) -> Err:
            answer, kind = super().classic_beat(*args), "classic" if self.classic is not None else "consumer"
            met[f"{kind}: heartbeat {answer.name}"] += 1
            return answer

        def classic_join(self, call: str, request: Any) -> None:
            mixed = self.classic is None and bool(self.group.state.members)
            super().classic_join(call, request)
            answer = self.answers.get(call)
            if mixed and isinstance(answer, JoinResult):
                met[f"join {answer.error.name}"] += 1

        def classic_sync(self, call: str, request: Any) -> None:
            mixed = self.classic is None
            super().classic_sync(call, request)
            if mixed:
                met[f"sync {self.answers[call].error.name}"] += 1

    for seed in range(25):
        Life(seed).live()
    assert {"upgrade in Stable", "upgrade in Empty", "upgrade in PreparingRebalance", "downgrade",
            "consumer: heartbeat NONE", "consumer: heartbeat REBALANCE_IN_PROGRESS", "consumer: heartbeat ILLEGAL_GENERATION",
            "consumer: heartbeat UNKNOWN_MEMBER_ID", "classic: heartbeat NONE", "join NONE", "join MEMBER_ID_REQUIRED",
            "join GROUP_MAX_SIZE_REACHED", "join INCONSISTENT_GROUP_PROTOCOL", "sync NONE", "sync REBALANCE_IN_PROGRESS",
            "sync INCONSISTENT_GROUP_PROTOCOL", "sync UNKNOWN_MEMBER_ID"} <= met.keys()


def test_the_offsets_meet_what_they_are_meant_to_meet() -> None:
    """Fails if nothing expires, no transaction is open, or no offset is of a topic that is gone."""
    swept = opened = foreign = 0
    for seed in range(20):
        life = OffsetsLife(seed)
        life.live()
        swept += life.swept
        opened += sum(one.producer >= 0 and one.value is not None for one in life.history.records)
        foreign += len(life.history.foreign(life.topics))
    assert swept > 20 and opened > 100 and foreign > 5


def test_equal_seeds_give_equal_lives() -> None:
    """Fails if anything in a mixed group depends on the order of a set or on hash()."""
    first, second = MixedLife(3), MixedLife(3)
    for life in (first, second):
        life.live()
    assert first.log == second.log


def test_a_static_member_that_is_away_is_waited_for_until_its_session_ends() -> None:
    """Fails if the time to give up partitions goes on for a member that has left for a moment, and has nothing to give up."""
    w = LoneConsumerGroup({"t": 2})
    w.join("A", "t", instance_id="i")
    w.now += 2
    w.join("B", "t")
    w.beat("A", 2, ["t-0", "t-1"], instance_id="i")     # it has t-1 to give up, within thirty seconds
    assert w.group.revocations.keys() == {"A"}
    w.beat("A", -2, instance_id="i")
    for _ in range(4):
        w.pass_time(10)
        w.beat("B", w.group.state.members["B"].current.epoch)
    assert [*w.group.state.members] == ["A", "B"]
    w.pass_time(6)
    assert [*w.group.state.members] == ["B"]
