"""Random schedules: groups of both kinds alone (proof/small_worlds/groups), and the store of offsets against a plain list."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import ConsumerGroupHeartbeat, HeartbeatResponse
from minikafka.broker.groups.offsets import CommittedOffset, OffsetStore
from minikafka.proof.small_worlds.groups.classic_life import ClassicLife, classic_group_alone
from minikafka.proof.small_worlds.groups.consumer_life import ConsumerLife, consumer_group_alone
from minikafka.protocol.errors import KafkaError
from minikafka.sim.world.replaced import replaced


@pytest.mark.parametrize("group_alone", [classic_group_alone, consumer_group_alone])
def test_random_schedules(group_alone) -> None:  # type: ignore[no-untyped-def]
    """Fails if a group gives an answer that no rule allows, answers a call twice or never, or gives a partition to two."""
    assert {seed: fallen for seed in range(40) if (fallen := group_alone(seed))} == {}


def test_the_schedules_reach_what_they_are_meant_to_reach() -> None:
    """Fails if the random schedules become too simple: every state, failed appends, fencing and failover must occur."""
    seen = []
    for seed in range(20):
        life = ClassicLife(seed)
        life.live()
        seen += life.lines
        seen.append(f"coordinators {min(life.coordinators, 2)}")
    text = "\n".join(seen)
    for expected in [state.value for state in ClassicGroupState if state is not ClassicGroupState.DEAD] + [
            "FENCED_INSTANCE_ID", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS", "MEMBER_ID_REQUIRED",
            "COORDINATOR_NOT_AVAILABLE", "INCONSISTENT_GROUP_PROTOCOL", "GROUP_MAX_SIZE_REACHED", "skip the assignment",
            "coordinators 2"]:
        assert expected in text, expected


def test_equal_seeds_give_equal_runs() -> None:
    """Fails if anything in the group depends on the order of a set or on hash()."""
    first, second = ClassicLife(7), ClassicLife(7)
    for life in (first, second):
        life.live()
    assert first.lines == second.lines


def test_the_judge_is_not_blind() -> None:
    """Fails if a session that is never renewed, or a member that stays although it is silent, goes unnoticed."""
    for kind, name, alone in ((ClassicGroup, "renew", classic_group_alone), (ClassicGroup, "_silent", classic_group_alone),
                              (ConsumerGroup, "renew", consumer_group_alone)):
        with replaced(kind, name, lambda *_: []):
            assert any(alone(seed) for seed in range(3)), name


def test_members_of_the_consumer_protocol_meet_what_they_are_meant_to_meet() -> None:
    """Fails if the schedules become too simple: each refusal, members that return, and expressions must occur."""
    told: Counter[str] = Counter()

    class Life(ConsumerLife):
        def send(self, beat: ConsumerGroupHeartbeat) -> HeartbeatResponse:
            try:
                answer = super().send(beat)
            except KafkaError as refused:
                told[refused.code.name] += 1
                raise
            told[f"epoch {min(beat.epoch, 1)}, state {self.group.state_name}"] += 1
            told["expressions"] += bool(self.group.state.regexes)
            return answer

    for seed in range(20):
        Life(seed).live()
    assert {"FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID", "UNRELEASED_INSTANCE_ID", "FENCED_INSTANCE_ID", "GROUP_MAX_SIZE_REACHED",
            "epoch -2, state Reconciling", "epoch -1, state Assigning", "epoch 1, state Reconciling", "expressions"
            } <= told.keys()


@pytest.mark.parametrize("seed", range(20))
def test_the_store_ends_with_the_last_committed_record_of_each_key(seed: int) -> None:
    """Fails if the store differs from the log: each key's last record that is not aborted."""
    rng, store = random.Random(seed), OffsetStore()
    last: dict[tuple[str, int], list[tuple[int, bool]]] = {}          # key -> (record offset, tombstone), any order
    opened: dict[int, list[tuple[str, int, int]]] = {}                # producer id -> its records
    for offset in range(300):
        group, partition, what = rng.choice("gh"), rng.randrange(3), rng.random()
        value, key = CommittedOffset(offset * 10, 0, "", 0, record_offset=offset), ("t", partition)
        if what < 0.5:
            store.put(group, key, value)
            last.setdefault((group, partition), []).append((offset, False))
        elif what < 0.65:
            store.remove(group, key)
            last.setdefault((group, partition), []).append((offset, True))
        elif what < 0.9:
            producer = rng.randrange(3)
            store.stage(producer, group, key, value)
            opened.setdefault(producer, []).append((group, partition, offset))
        else:
            producer, commit = rng.randrange(3), rng.random() < 0.5
            store.settle(producer, commit)
            for g, p, record in opened.pop(producer, []) if commit else opened.pop(producer, [])[:0]:
                last.setdefault((g, p), []).append((record, False))
    for (group, partition), records in last.items():
        record, tombstone = max(records)
        found = store.get(group, ("t", partition))
        assert (found.record_offset if found else None) == (None if tombstone else record)


def test_rule_61_offsets_of_a_transaction_show_at_its_marker_only() -> None:
    """Fails if an open transaction shows, an aborted one stays, or a staged offset beats a later plain commit."""
    store, key = OffsetStore(), ("t", 0)
    store.stage(7, "g", key, CommittedOffset(5, 0, "", 0, record_offset=10))
    assert store.get("g", key) is None and store.is_unstable("g", key)
    store.settle(7, commit=False)
    assert store.get("g", key) is None and not store.is_unstable("g", key)
    store.stage(7, "g", key, CommittedOffset(6, 0, "", 0, record_offset=11))
    store.put("g", key, CommittedOffset(9, 0, "", 0, record_offset=12))
    store.settle(7, commit=True)
    assert store.get("g", key).offset == 9
