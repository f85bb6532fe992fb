"""The base of both memberships, classic_member.py and consumer_member.py: the fields that the consumer reads.

Owns: the fields that both protocols have, and `take`.
"""

from __future__ import annotations

from collections.abc import Callable

from minikafka.client.client import Client
from minikafka.client.metadata import Tp
from minikafka.protocol.errors import KafkaError

NO_GENERATION = -1


class GroupMember:
    """One member; `wake` is called at each change that the consumer must handle. Times are in seconds."""

    def __init__(self, client: Client, group: str, topics: list[str], *, instance_id: str | None,
                 rebalance_timeout: float, max_poll_interval: float, wake: Callable[[], None]) -> None:
        self.client, self.env, self.group, self.topics = client, client.env, group, topics
        self.instance_id, self.rebalance_timeout = instance_id, rebalance_timeout
        self.max_poll_interval, self.wake = max_poll_interval, wake
        self.member_id, self.generation = "", NO_GENERATION  # in the consumer protocol, the generation is the member's epoch
        self.joined: tuple[int, str] = NO_GENERATION, ""  # the last generation, and our member id in it
        self.needs_join = True  # the consumer must call `join`
        self.lost = False  # the generation ended without us: all partitions belong to others
        self.assigned: list[Tp] | None = None  # what the consumer should own, and has not taken yet
        self.error: KafkaError | None = None  # no retry can help
        self.left = False
        self.polled_at = self.env.now()

    def take(self) -> list[Tp] | None:
        """Return what the consumer should own from now on, once; then None."""
        assigned, self.assigned = self.assigned, None
        return assigned
