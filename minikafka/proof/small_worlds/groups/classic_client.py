"""A consumer of the classic protocol, as it behaves in a classic group and inside a consumer group: it cannot tell them apart.

    client.turn()      it does what it does next: join, sync, or send a heartbeat

An eager client gives up everything before it joins again. A cooperative one keeps what it has; once SyncGroup says what it
must give up, it gives that up and joins again (KIP-429). The leader of a classic group divides the partitions.

Owns: ClassicClient: its member id, its generation, the partitions that it uses.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

from minikafka.broker.groups.classic.embedded_protocol import read_assignment, read_subscription, write_assignment
from minikafka.broker.groups.classic.messages import Join, JoinResult, Leaving, Sync, SyncResult
from minikafka.proof.small_worlds.groups.lone_group import LoneGroup
from minikafka.protocol.apis import ConsumerProtocolSubscription
from minikafka.protocol.errors import Err

BOTH = ("range", "sticky")
NAMES = (("range",), ("range",), BOTH, ("sticky", "range"), ("sticky",))
USER_DATA = b"\0\0\0\1x"  # of an assignor of its own, in the place of none
JOIN, SYNC, MEMBER = "join", "sync", "member"
BEGIN_ANEW = (Err.UNKNOWN_MEMBER_ID, Err.ILLEGAL_GENERATION, Err.FENCED_INSTANCE_ID, Err.GROUP_MAX_SIZE_REACHED)


class ClassicClient:
    """One client. `sure`: it has been a member of one group since its last SyncGroup (`fresh`: since it sent that)."""

    def __init__(self, world: LoneGroup, name: str, rng: Random, instance: str | None, eager: bool) -> None:
        self.world, self.name, self.rng, self.instance, self.eager = world, name, rng, instance, eager
        self.careful = False
        self.version = rng.choice((0, 1, 3, 3)) if eager else rng.choice((1, 2, 3, 3))
        self.rack, self.custom = rng.choice((None, "r", "r", "")), rng.random() < 0.15
        self.topics = [topic for topic in ("t", "u", "v") if rng.random() < 0.7] or ["t"]
        self.forget()

    def forget(self) -> None:
        """Begin anew: the next request joins without a member id."""
        self.member_id, self.generation, self.owns = "", -1, set[str]()
        self.step, self.call, self.sure, self.fresh = JOIN, "", False, False
        self.joined: JoinResult | None = None
        self.counts: dict[str, int] = {}
        self.names = BOTH if self.careful else self.rng.choice(NAMES)
        self.session, self.rebalance = self.rng.choice((10_000, 6_000)), self.rng.choice((30_000, 8_000))

    def turn(self) -> None:
        """Send the next request, or read the answer to the last one."""
        if self.call:
            self.read()
        elif self.step == MEMBER and not self._topics_grew():
            self.beat()
        else:
            self.call = self.world.new_call(self.name)
            if self.step == SYNC:
                self.fresh = True
                self.world.classic_sync(self.call, self.syncing())
            else:
                self.world.classic_join(self.call, self.joining())
            if self.careful or self.rng.random() < 0.8:
                self.read()

    def doubt(self) -> None:
        """Note what the client cannot know: it is no member now, or its group changes its protocol. Until its next SyncGroup
        it may use what it has no more."""
        self.sure = self.fresh = False

    def beat(self) -> None:
        error = self.world.classic_beat(self.member_id, self.instance, self.generation)
        if error is not Err.NONE:
            self.refused(error)

    def leave(self) -> None:
        """Leave the group by name, a static member perhaps by its instance id alone."""
        named = "" if self.instance is not None and self.rng.random() < 0.5 else self.member_id
        self.world.classic_leave(f"{self.name}:leaves", [Leaving(named, self.instance)])
        self.forget()

    # --- what it sends --------------------------------------------------------------------------------------------------

    def joining(self) -> Join:
        if self.eager:
            self.owns = set()
        versions = (self.version, max(self.version - 2, min(self.version, 1)))
        said = [subscription(tuple(self.topics), tuple(sorted(self.owns)), version, self.rack) for version in versions]
        return Join(self.member_id, "consumer", tuple(zip(self.names, said, strict=False)), self.session, self.rebalance,
                    self.name, "/h", self.instance, must_return=self.version > 0)

    def syncing(self) -> Sync:
        joined = self.joined
        assert joined is not None
        shares = self.shares(joined) if joined.members else {}
        name = joined.protocol_name if self.rng.random() < 0.8 else None
        return Sync(self.member_id, joined.generation, tuple(shares.items()), self.instance, "consumer" if name else None, name)

    def shares(self, joined: JoinResult) -> dict[str, bytes]:
        """Return what the leader of a classic group assigns. A partition that another member must give up waits. A `custom` one
        uses an assignor that no broker knows. After skip_assignment the leader joins again soon."""
        if joined.skip_assignment:
            self.counts = {"unknown": 0}
            return {}
        said = {member: read_subscription(data)[0] for member, _, data in joined.members if len(data) > 1}
        owner = {f"{row.topic}-{index}": member for member, one in said.items() for row in one.owned_partitions or ()
                 for index in row.partitions}
        self.counts = {name: len(topic.partitions) for name, topic in self.world.image.topics.items()}
        given: dict[str, dict[str, list[int]]] = {member: {} for member in said}
        for topic, count in self.counts.items():
            wanting = [member for member, one in said.items() if topic in one.topics]
            for index in range(count if wanting else 0):
                member = wanting[index % len(wanting)]
                if owner.get(f"{topic}-{index}", member) == member:
                    given[member].setdefault(topic, []).append(index)
        written = {member: write_assignment(rows, 1) for member, rows in given.items()}
        return {member: data[:-4] + USER_DATA for member, data in written.items()} if self.custom else written

    def _topics_grew(self) -> bool:
        """Return whether the leader of a classic group must see to a new assignment."""
        now = {name: len(topic.partitions) for name, topic in self.world.image.topics.items()}
        return bool(self.counts) and self.counts != now

    # --- answers ---------------------------------------------------------------------------------------------------------

    def read(self) -> None:
        """Read the answer, if it is there."""
        answer: Any = self.world.answers.pop(self.call, None)
        if answer is None:
            return
        self.call = ""
        if answer.error is Err.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif answer.error is not Err.NONE:
            self.refused(answer.error)
        elif isinstance(answer, SyncResult):
            self.assigned(answer)
        else:
            self.member_id, self.generation, self.joined, self.step = answer.member_id, answer.generation, answer, SYNC
            self.counts = {}

    def assigned(self, answer: SyncResult) -> None:
        rows = read_assignment(answer.assignment).assigned_partitions
        told = {f"{row.topic}-{index}" for row in rows for index in row.partitions}
        revoked, self.owns, self.sure = self.owns - told, told, self.fresh
        self.step = JOIN if revoked else MEMBER

    def refused(self, error: Err) -> None:
        """Join again, without the member id where that is refused."""
        if error in BEGIN_ANEW:
            self.forget()
        elif error is not Err.REBALANCE_IN_PROGRESS:
            self.names = BOTH if self.careful else self.rng.choice(NAMES)
        if self.eager:
            self.owns = set()
        self.step = JOIN


@cache
def subscription(topics: tuple[str, ...], owned: tuple[str, ...], version: int, rack: str | None) -> bytes:
    """Return the bytes of a ConsumerProtocolSubscription; owned partitions by name, as "t-0"."""
    rows: dict[str, list[int]] = {}
    for topic, index in (name.rsplit("-", 1) for name in owned):
        rows.setdefault(topic, []).append(int(index))
    kind = ConsumerProtocolSubscription.TopicPartition
    encoded: bytes = ConsumerProtocolSubscription(
        topics=list(topics), user_data=None, generation_id=-1, rack_id=rack,
        owned_partitions=[kind(topic=topic, partitions=indexes) for topic, indexes in rows.items()]).encode(version=version)
    return encoded
