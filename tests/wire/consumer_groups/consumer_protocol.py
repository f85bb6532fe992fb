"""Members of the consumer protocol (KIP-848) on raw connections: their requests and the responses.

A member follows as a client does: it owns what the last assignment said, and tells so with its next heartbeat.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID, uuid4

from kafka.protocol.admin import DeleteGroupsRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from minikafka.protocol.codec import REQUESTS
from minikafka.protocol.errors import Err
from tests.requests import topic
from tests.wire.raw import Raw

ConsumerGroupHeartbeat, ConsumerGroupDescribe = REQUESTS[68], REQUESTS[69]
LONG = 60.0  # seconds until something that should come is missing
JOIN, LEAVE, LEAVE_FOR_A_WHILE = 0, -1, -2  # member epochs that are none
MOVING = {14, 15, 16}  # COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR

Partitions = set[tuple[str, int]]


def until(condition: Callable[[], Any], told: Callable[[], object] = lambda: "") -> Any:
    """Ask until the answer is true, and return it."""
    deadline = time.monotonic() + LONG
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"not in {LONG:.0f} s: {condition.__doc__ or condition} {told()}"
        time.sleep(0.02)
    return answer


class Group:
    """A group that no other test uses, and a connection to its coordinator."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.bootstrap, self.name = bootstrap, name
        self.topics: dict[UUID, str] = {}
        self.raw: Raw = Raw(bootstrap)
        self.find()

    def find(self) -> None:
        """Connect to the coordinator, wherever it is now, and wait until it has loaded the group."""
        def found() -> bool:
            """a coordinator that serves the group"""
            for address in self.bootstrap.split(","):
                try:
                    with Raw(address) as any_broker:
                        answer = any_broker.ask(FindCoordinatorRequest(key=self.name, key_type=0), 3)
                    if answer.error_code:
                        continue
                    self.raw.socket.close()
                    self.raw = Raw(f"{answer.host}:{answer.port}")
                    return self.describe().error_code not in MOVING
                except (OSError, AssertionError):
                    continue  # a broker that is gone, or the last coordinator, which is
            return False
        until(found)

    def close(self) -> None:
        self.raw.socket.close()

    def ask(self, request: Any, version: int) -> Any:
        return self.raw.ask(request, version)

    def topic(self, partitions: int = 1, suffix: str = "t", settled: bool = True) -> str:
        """Make a topic named after the group; `settled` waits until the group, which must not exist, may have it.

        In Kafka the group coordinator knows a topic a little later than the broker's metadata.
        """
        name = f"{self.name}-{suffix}"
        self.raw.create(topic(name, partitions))
        asked = MetadataRequest.MetadataRequestTopic(topic_id=None, name=name)

        def known() -> Any:
            """the coordinator knows the topic"""
            (found,) = self.ask(MetadataRequest(topics=[asked], allow_auto_topic_creation=False), 12).topics
            return found.topic_id if found.error_code == 0 else None
        self.topics[until(known)] = name
        if settled:
            first = self.member(name)
            beat_until(lambda: first.owned, first)
            first.leave()
            assert self.delete() == Err.NONE
        return name

    def delete(self) -> int:
        (deleted,) = self.ask(DeleteGroupsRequest(groups_names=[self.name]), 2).results
        return int(deleted.error_code)

    def heartbeat(self, member: str, epoch: int, version: int = 1, owned: Partitions | None = None, **said: Any) -> Any:
        """Return the coordinator's answer; one that cannot answer now is looked for again and asked again, as every client does.

        A new coordinator may describe a group before it can write: Kafka then says COORDINATOR_NOT_AVAILABLE.
        """
        request = ConsumerGroupHeartbeat(group_id=self.name, member_id=member, member_epoch=epoch,
                                         topic_partitions=self.as_ids(owned), **said)

        def answered() -> Any:
            """a coordinator that answers the heartbeat"""
            answer = self.ask(request, version)
            if answer.error_code not in MOVING:
                return answer
            self.find()
            return None
        return until(answered)

    def as_ids(self, owned: Partitions | None) -> list[Any] | None:
        if owned is None:
            return None
        ids = {name: topic_id for topic_id, name in self.topics.items()}
        return [ConsumerGroupHeartbeat.TopicPartitions(topic_id=ids[topic], partitions=sorted(
            p for t, p in owned if t == topic)) for topic in sorted({topic for topic, _ in owned})]

    def as_names(self, rows: Iterable[Any]) -> Partitions:
        return {(self.topics[row.topic_id], p) for row in rows for p in row.partitions}

    def describe(self, version: int = 1) -> Any:
        asked = ConsumerGroupDescribe(group_ids=[self.name], include_authorized_operations=False)
        (group,) = self.ask(asked, version).groups
        return group

    def state(self) -> tuple[str, int, int]:
        """Return state, group epoch and assignment epoch."""
        found = self.describe()
        return found.group_state, found.group_epoch, found.assignment_epoch

    def described(self) -> dict[str, Any]:
        return {member.member_id: member for member in self.describe().members}

    def is_stable(self) -> bool:
        """the group is stable"""
        return self.state()[0] == "Stable"

    def member(self, *topics: str, **said: Any) -> Member:
        """Return a member that has not joined yet, subscribed to these topics."""
        return Member(self, subscribed_topic_names=list(topics), **said)


class Member:
    """One member of a group, which it may not have joined yet."""

    def __init__(self, group: Group, member_id: str | None = None, **said: Any) -> None:
        self.group, self.epoch = group, JOIN
        self.id = member_id or str(uuid4())
        self.owned: Partitions = set()
        self.said = {"rebalance_timeout_ms": 300_000, **said}

    def ask(self, epoch: int | None = None, **said: Any) -> Any:
        """Send a heartbeat with only these fields; the member does not act on the response."""
        return self.group.heartbeat(self.id, self.epoch if epoch is None else epoch, **said)

    def beat(self, **said: Any) -> Any:
        """Send a heartbeat as a client does, the first one with every field; take epoch and assignment from the response."""
        whole = self.said if self.epoch == JOIN else {}
        answer = self.ask(**{"owned": self.owned, **whole, **said})
        assert answer.error_code == 0, answer
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = self.group.as_names(answer.assignment.topic_partitions)
        return answer

    def fresh(self) -> Member:
        """Return the same member as if it had just started."""
        return Member(self.group, member_id=self.id, **self.said)

    def leave(self, epoch: int = LEAVE, **said: Any) -> Any:
        answer = self.ask(epoch, **said)
        assert (answer.error_code, answer.member_epoch) == (0, epoch), answer
        self.epoch, self.owned = JOIN, set()
        return answer

    def told(self, answer: Any) -> Partitions | None:
        """Return the partitions of a response, None if it has no assignment."""
        return None if answer.assignment is None else self.group.as_names(answer.assignment.topic_partitions)

    def __repr__(self) -> str:
        return f"<{self.id} epoch {self.epoch} owns {sorted(self.owned)}>"


def refusal(answer: Any) -> tuple[int, str | None]:
    """Return code and text of a response that has no other field set."""
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms, answer.assignment) == (None, 0, 0, None)
    return answer.error_code, answer.error_message


def all_of(topic: str, count: int) -> Partitions:
    return {(topic, p) for p in range(count)}


def beat_until(condition: Callable[[], Any], *members: Member) -> Any:
    """Let the members heartbeat in turn until the condition holds."""
    def asked() -> Any:
        for member in members:
            member.beat()
        return condition()
    asked.__doc__ = condition.__doc__
    return until(asked, lambda: (members, [m.group.describe() for m in members[:1]]))
