"""A consumer of the consumer protocol (KIP-848), as it behaves in a group without a broker.

    client.turn()      it sends its next heartbeat, and does what the response says, at once or later

Owns: HeartbeatClient: its epoch, its subscription, the partitions that it uses.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random

from minikafka.broker.groups.consumer.messages import HeartbeatResponse
from minikafka.proof.small_worlds.groups.lone_group import LoneGroup
from minikafka.protocol.errors import KafkaError

TOPICS = {"t": 4, "u": 3, "v": 2}
EXPRESSIONS = (None, None, None, "u|v", "[v-z].*")


class HeartbeatClient:
    """A consumer as in KIP-848: it reads the partitions of the last response, and gives up the others after a while.

    After a response that was lost it says everything again, as Kafka's does: only then the next one has its assignment whole.
    """

    def __init__(self, world: LoneGroup, member_id: str, rng: Random, instance: str | None = None) -> None:
        self.world, self.member_id, self.rng, self.instance = world, member_id, rng, instance
        self.epoch, self.owns = 0, set[str]()
        self.told: list[str] | None = None
        self.topics, self.unsure = self.subscription(), False
        self.regex = rng.choice(EXPRESSIONS)
        self.careful = False  # it does at once what a response says, reports all, and no response is lost

    def turn(self) -> None:
        """Send one heartbeat, whose response may be lost; revoked partitions are given up before it, or later."""
        if self.careful or self.rng.random() < 0.8:
            self.settle()
        try:
            if self.epoch == 0:
                answer = self.world.join(self.member_id, *self.topics, instance_id=self.instance, regex=self.regex)
            else:
                news = self.news()
                owned = sorted(self.owns) if self.careful or self.unsure or self.rng.random() < 0.8 else None
                answer = self.world.beat(self.member_id, self.epoch, owned, instance_id=self.instance, **news)
        except KafkaError:
            self.forget()
            return
        self.unsure = not self.careful and self.epoch > 0 and self.rng.random() < 0.1
        if not self.unsure:
            self.read(answer)

    def news(self) -> dict[str, object]:
        """Return what else a heartbeat says: mostly nothing; now and then everything, or another subscription."""
        if not self.unsure and (self.careful or self.rng.random() < 0.8):
            return {}
        if self.unsure:
            return {"topics": tuple(self.topics), "rebalance_timeout_ms": 20_000, "regex": self.regex}
        self.settle()  # with the old subscription, before it changes
        any_of = self.rng.choice
        news = {"topics": tuple(self.subscription()), "rack_id": any_of((None, "r")),
                "rebalance_timeout_ms": any_of((20_000, 40_000)), "regex": any_of((self.regex, self.regex, "")),
                "assignor": any_of((None, None, "uniform", "range"))}
        if self.rng.random() < 0.5:  # say some of it only
            news = {name: value for name, value in news.items() if self.rng.random() < 0.6}
        self.topics, self.regex = [*news.get("topics", self.topics)], news.get("regex", self.regex)
        return news

    def leave(self) -> None:
        """Leave for good, or, if static, perhaps for a moment."""
        with suppress(KafkaError):
            self.world.beat(self.member_id, self.rng.choice((-1, -2)) if self.instance else -1, instance_id=self.instance)
        self.forget()

    def subscription(self) -> list[str]:
        return [topic for topic in TOPICS if self.rng.random() < 0.7] or ["t"]

    def read(self, answer: HeartbeatResponse) -> None:
        self.epoch = answer.epoch
        names = self.world.told(answer)
        if names is not None:
            self.told = names
            self.owns &= set(names) | (self.owns if self.rng.random() < 0.5 else set())

    def settle(self) -> None:
        """Use what the last response says."""
        if self.told is not None:
            self.owns, self.told = set(self.told), None

    def forget(self) -> None:
        """Begin anew: the next heartbeat joins."""
        self.epoch, self.owns, self.told, self.unsure = 0, set(), None, False
