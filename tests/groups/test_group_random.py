"""Random schedules: clients that join, sync, leave, crash and come back, a log that fails, a coordinator that moves."""

from __future__ import annotations

import random

import pytest

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import GroupConfig, JoinResult, SyncResult
from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.broker.groups.offsets import CommittedOffset, OffsetStore
from minikafka.protocol.errors import Err
from tests.groups.group_world import World

PARTITIONS = [f"t-{i}" for i in range(6)]
INSTANCES = {"s0": "static-0", "s1": "static-1"}
NAMES = ["a", "b", "c", *INSTANCES]
TIMES = {"session": 10_000, "rebalance": 15_000}


class Run(World):
    """A world that checks the invariants whenever anything happens."""

    def __init__(self, seed: int) -> None:
        super().__init__(GroupConfig(initial_rebalance_delay_ms=3000, new_member_join_timeout_ms=60_000))
        self.rng = random.Random(seed)
        self.owners: dict[tuple[int, int, str], str] = {}      # (coordinator, generation, partition) -> owner
        self.coordinators = 1
        self.stored = 0                                        # records committed
        self.highest = 0

    # --- invariants ---------------------------------------------------------------------------------------------

    def run(self, effects) -> None:  # type: ignore[no-untyped-def]
        before = self.highest
        super().run(effects)
        self.highest = self.group.generation
        assert self.highest in (before, before + 1), "the generation jumped or went down (I-GROUP-6)"
        assert self.group.members.leader in (None, *self.group.members.by_id)
        instances = {m.instance_id: m.member_id for m in self.group.members if m.instance_id is not None}
        assert self.group.members.static == instances, "an instance has not exactly one member (I-GROUP-4)"

    def _answer(self, name: str, result: JoinResult | SyncResult) -> None:
        super()._answer(name, result)
        if isinstance(result, SyncResult) and result.error is Err.NONE and result.assignment:
            member_id = self.client(name).member_id
            owner = self.client(name).instance_id or member_id
            for partition in result.assignment.decode().split(","):
                key = (self.coordinators, self.group.generation, partition)
                assert self.owners.setdefault(key, owner) == owner, f"{partition} has two owners in one generation"

    # --- what may happen ------------------------------------------------------------------------------------------

    def busy(self, name: str) -> bool:
        return name in self.waiting.values()

    def act(self, name: str) -> None:
        """Do what a well-behaved consumer does next."""
        client, answer = self.client(name), self.answers.get(name)
        client.instance_id = INSTANCES.get(name)
        if self.busy(name):
            return
        if isinstance(answer, JoinResult) and answer.error is Err.NONE:
            self.sync_as(name, answer)
        elif isinstance(answer, SyncResult) and answer.error is Err.NONE:
            error = self.heartbeat(name)
            if error is not Err.NONE:
                self.rejoin(name, error)
        else:
            self.rejoin(name, Err.NONE if answer is None else answer.error)

    def rejoin(self, name: str, error: Err) -> None:
        if error in (Err.UNKNOWN_MEMBER_ID, Err.ILLEGAL_GENERATION, Err.FENCED_INSTANCE_ID):
            self.client(name).member_id = ""
        self.answers.pop(name, None)
        self.join(name, instance=INSTANCES.get(name), **TIMES)

    def sync_as(self, name: str, joined: JoinResult) -> None:
        members = [member_id for member_id, _, _ in joined.members]
        sent = {} if joined.skip_assignment else {m: PARTITIONS[i::len(members)] for i, m in enumerate(members)}
        self.answers.pop(name, None)
        client = self.client(name)
        for member_id in sent:            # the bench speaks of clients by name; borrow the ids as names
            self.clients.setdefault(member_id, self.client(member_id)).member_id = member_id
        self.sync(name, {m: ",".join(p) for m, p in sent.items()}, joined.generation)
        client.generation = joined.generation

    def something(self) -> None:
        name = self.rng.choice(NAMES)
        what = self.rng.random()
        if what < 0.70:
            self.act(name)
        elif what < 0.74 and not self.busy(name):
            self.leave(name)
            self.answers.pop(name, None)
        elif what < 0.79 and not self.busy(name):
            self.forget(name)
            self.answers.pop(name, None)
        elif what < 0.95:
            self.advance(self.rng.choice([0.1, 1, 3, 8]))
        elif what < 0.97 and self.log:
            self.fail_over()
        if self.in_flight and self.rng.random() < 0.5:
            failed = self.rng.random() < 0.1
            if not failed:
                self.stored = max(self.stored, len(self.log) - len(self.in_flight) + 1)
            self.committed(Err.COORDINATOR_NOT_AVAILABLE if failed else Err.NONE)

    def fail_over(self) -> None:
        """Let another broker load the committed records; every waiting client is answered NOT_COORDINATOR."""
        self.run(self.group.unload())
        stored = self.log[self.stored - 1] if self.stored else None
        self.log[self.stored:] = []
        self.in_flight.clear()
        self.coordinators += 1
        new_id = self.group.new_id
        self.group = (ClassicGroup("g", self.config, new_id) if stored is None
                      else ClassicGroup.restore("g", stored, self.config, new_id))
        self.highest = self.group.generation
        self.run(self.group.start(self.context))

    def settle(self) -> None:
        """Let every client behave and nothing fail: after two minutes every client must have an assignment."""
        for _ in range(120):
            while self.in_flight:
                self.committed()
            for name in NAMES:
                self.act(name)
            self.advance(1)
        while self.in_flight:
            self.committed()


@pytest.mark.parametrize("seed", range(40))
def test_random_schedules(seed: int) -> None:
    """Fails if a generation goes back, two members own one partition in one generation, or a client waits for ever."""
    run = Run(seed)
    for _ in range(400):
        run.something()
    run.settle()
    assert run.group.state is ClassicGroupState.STABLE, run.lines[-20:]
    assigned = sorted(p for name in NAMES for p in run.client(name).assignment.split(",") if p)
    assert assigned == PARTITIONS, run.lines[-20:]
    assert len(run.group.members) == len(NAMES)


def test_the_schedules_reach_what_they_are_meant_to_reach() -> None:
    """Fails if the random schedules become too simple: every state, failed appends, fencing and failover must occur."""
    seen = []
    for seed in range(40):
        run = Run(seed)
        for _ in range(400):
            run.something()
        seen += run.lines
        seen.append(f"coordinators {min(run.coordinators, 2)}")
    text = "\n".join(seen)
    for expected in [state.value for state in ClassicGroupState] + [
            "FENCED_INSTANCE_ID", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS",
            "COORDINATOR_NOT_AVAILABLE", "skip the assignment", "coordinators 2"]:
        assert expected in text, expected


def test_equal_seeds_give_equal_runs() -> None:
    """Fails if anything in the group depends on the order of a set or on hash()."""
    first, second = Run(7), Run(7)
    for run in (first, second):
        for _ in range(400):
            run.something()
    assert first.lines == second.lines


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
