"""One life of the offsets of one coordinator partition: commits, transactions, tombstones, topics that come and go, expiry.

    offsets_alone(seed)     () if every answer was that of the history (offset_history.py) and of KIP-211 (expiry_rules.py)

Owns: what is committed when, and the comparison of every answer.
Invariants: each key has what the history of the log says; so has every list of keys.
            A sweep takes what must expire, and nothing else; a group goes when nothing is left of it.
            A record read back from the log is the value that was committed.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from uuid import UUID

from minikafka.broker.groups.offset_expiration import sweep
from minikafka.broker.groups.offsets import CommittedOffset, Key, OffsetChange, OffsetStore, TransactionEnd
from minikafka.broker.groups.records import OffsetKey, committed_offset, offset_key, offset_value, read_key, read_offset
from minikafka.broker.metadata.records import ZERO_UUID, Uuid
from minikafka.proof.small_worlds.checks import Twin, fallen
from minikafka.proof.small_worlds.groups.assignment_rules import same
from minikafka.proof.small_worlds.groups.expiry_rules import TOPICS, any_group
from minikafka.proof.small_worlds.groups.offset_history import OffsetHistory, belongs

STEPS, GROUPS, PRODUCERS, RETENTION_MS = 60, ("g", "h"), (1, 2), 1000
START_MS = 1_000_000


def offsets_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(OffsetsLife(seed).live)


class OffsetsLife:
    """The life that a seed decides. `place`: the end of the log."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"{seed}:offsets")
        self.store, self.history = OffsetStore(), OffsetHistory()
        self.both = Twin("I12", self.store, self.history)
        self.now_ms, self.place, self.swept = START_MS, 0, 0
        self.topics: dict[str, Uuid] = {name: UUID(int=number + 1) for number, name in enumerate(TOPICS)}

    def live(self) -> None:
        """Play it. Raises RuleFallen."""
        for _ in range(STEPS):
            self.something()
            self.check()
        for producer in PRODUCERS:
            self.end(producer, commits=True)
        self.check()

    # --- what happens ---------------------------------------------------------------------------------------------------

    def something(self) -> None:
        rng, group = self.rng, self.rng.choice(GROUPS)
        key, what = (rng.choice(TOPICS), rng.randrange(2)), rng.random()
        self.place += rng.choice((1, 1, 2))
        self.now_ms += rng.choice((0, 1, 100, RETENTION_MS // 2))
        if what < 0.35:
            self.commit(group, key)
        elif what < 0.6:
            self.both.apply(OffsetChange(group, key, self.value(key), rng.choice(PRODUCERS)))
        elif what < 0.72:
            self.end(rng.choice(PRODUCERS), commits=rng.random() < 0.6)
        elif what < 0.78:
            self.forget(group, key)
        elif what < 0.8:
            self.delete_group(group)
        elif what < 0.84:
            self.again(group, key)
        elif what < 0.9:
            self.sweep(group)
        else:
            self.change_topic(key[0])

    def commit(self, group: str, key: Key) -> None:
        same("whether the last record of the log is taken", self.both.apply(OffsetChange(group, key, self.value(key))), True)

    def again(self, group: str, key: Key) -> None:
        """Deliver a record once more, or one from an earlier place than the last: it is not taken then."""
        counted = self.history.get(group, key)
        if counted is not None:
            same("whether a record is taken twice", self.store.put(group, key, counted), True)
            older = replace(counted, offset=-5, record_offset=counted.record_offset - 1)
            same("whether a record from an earlier place is taken", self.store.put(group, key, older), False)

    def forget(self, group: str, key: Key) -> None:
        """Write a tombstone."""
        self.both.apply(OffsetChange(group, key))

    def delete_group(self, group: str) -> None:
        """Delete a group: every key that has an offset gets a tombstone, also one that only an open transaction has."""
        for key in self.both.same("keys_of", group):
            self.place += 1
            self.forget(group, key)

    def end(self, producer: int, commits: bool) -> None:
        """Write a transaction's marker."""
        self.place += 1
        self.both.apply(TransactionEnd(producer, commits))

    def change_topic(self, topic: str) -> None:
        """Delete a topic, or create it anew; mostly the offsets of the old one are deleted then, as a coordinator does."""
        if topic in self.topics:
            del self.topics[topic]
        else:
            self.topics[topic] = UUID(int=self.place + 100)
        if self.rng.random() < 0.6:
            for group, keys in self.store.stale(self.topics.get).items():
                for key in keys:
                    self.place += 1
                    self.forget(group, key)

    def value(self, key: Key) -> CommittedOffset:
        """Return a new value, as it is read from the log; old records have no topic id, or a time of their own."""
        rng = self.rng
        topic = ZERO_UUID if rng.random() < 0.15 else self.topics.get(key[0], ZERO_UUID)
        own = rng.choice((0, self.now_ms, self.now_ms + 1, self.now_ms + 2000)) if rng.random() < 0.2 else -1
        wanted = CommittedOffset(rng.randrange(1000), rng.randrange(-1, 5), rng.choice(("", "note")),
                                 self.now_ms - rng.choice((0, 0, 999)), own, self.place, topic)
        raw = offset_value(topic, wanted.offset, wanted.leader_epoch, wanted.metadata, wanted.commit_ms, own)
        found = committed_offset(read_offset(raw), self.place)
        same("a value that is read", found, wanted if own == -1 else replace(wanted, leader_epoch=-1, topic_id=ZERO_UUID))
        same("a key that is read", read_key(offset_key("g", *key)), OffsetKey("g", *key))
        return found

    # --- what is judged -------------------------------------------------------------------------------------------------

    def sweep(self, name: str) -> None:
        """Look for expired offsets of a group that is in any state, and perhaps delete them."""
        one, history = any_group(self.rng, name), self.history
        entered = self.now_ms - self.rng.choice((0, RETENTION_MS - 1, RETENTION_MS, RETENTION_MS + 1))
        offsets = dict(history.of_group(name))
        ends = [value.expire_ms for value in offsets.values() if value.expire_ms >= self.now_ms]
        now = self.rng.choice([*ends, *(self.now_ms + later for later in (0, RETENTION_MS - 1, RETENTION_MS, 2000))])
        wanted = {key for key, value in offsets.items()
                  if not history.is_unstable(name, key) and one.forgets(key[0], value, entered, now, RETENTION_MS)}
        found, gone = sweep(one.group, entered, self.store, now, RETENTION_MS)
        same(f"what expires in a group that is {one}", sorted(found), sorted(wanted))
        same("whether the group goes", gone, one.group.is_empty and wanted == {*offsets} and not history.has_pending(name))
        self.swept += len(found)
        for key in found if self.rng.random() < 0.5 else ():
            self.place += 1
            self.forget(name, key)

    def check(self) -> None:
        """Compare the store with the history."""
        both = self.both
        for group, key in {*self.history.keys(), ("g", ("t", 7)), ("nobody", ("t", 0))}:
            found = both.same("get", group, key)
            both.same("is_unstable", group, key)
            if found is not None:
                same("whether it is of the topic", found.is_of(self.topics.get(key[0])), belongs(found, self.topics.get(key[0])))
        for group in (*GROUPS, "nobody"):
            rows = both.same("of_group", group, form=dict)
            same(f"whether {group} is remembered", group in self.store.groups, bool(rows))
            both.same("has_pending", group)
        last = {one.producer_id: isinstance(one, TransactionEnd) for one in self.history.records}
        same("the ended transactions in memory", {one for one in self.store.pending if last.get(one)}, set())
        if self.place % 3 == 0:
            both.same("stale", self.topics.get)
