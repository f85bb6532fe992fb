"""A producer whose every batch is sent by the adversary, with the numbers that the story says: each letter is a record.

    till = Till(night)
    till.loses("ab", 0)      # two records, sequences 0 and 1; whatever the broker answers is lost on its way
    till.sends("ab", 0)      # the same batch again: it must be acknowledged. Raises Refused and Stood
"""
from __future__ import annotations

from typing import Any

from kafka.protocol.producer import ProduceRequest

from minikafka.client.client import Client
from minikafka.lab.inside.night import PATIENCE, TOPIC, AdversaryNight, Refused, Stood
from minikafka.log.batch import build
from minikafka.protocol.errors import Err

VERSION = 9     # names topics by name


class Till:
    """Sends to the partition's leader, and again only while nobody leads it. `producer` is its producer id."""

    def __init__(self, night: AdversaryNight, producer: int = 7) -> None:
        self.night, self.producer = night, producer
        self._env = night.cluster.world.client_env()
        self._client = Client(self._env, night.cluster.world.bootstrap, f"till {producer}", PATIENCE)

    def sends(self, letters: str, sequence: int, epoch: int = 0) -> None:
        """Send a batch that a right broker acknowledges, and note what it answers. Raises Refused and Stood."""
        error, offset = self._ask(letters, sequence, epoch)
        last = sequence + len(letters) - 1
        numbers = f"sequence {sequence}" if last == sequence else f"sequences {sequence} to {last}"
        batch = f"Batch {letters} of producer {self.producer}, epoch {epoch}, {numbers},"
        if error is Err.REQUEST_TIMED_OUT:
            raise Stood(f"{batch} got no answer for {PATIENCE:g} s")
        if error is not Err.NONE:
            raise Refused(f"{batch} was right, and the leader answered {error.name}: a producer cannot go on after it")
        self.night.acked.update({letter: offset + place for place, letter in enumerate(letters)})

    def loses(self, letters: str, sequence: int, epoch: int = 0) -> None:
        """Send a batch whose answer does not arrive."""
        self._ask(letters, sequence, epoch)

    def _ask(self, letters: str, sequence: int, epoch: int) -> tuple[Err, int]:
        cluster, Topic = self.night.cluster, ProduceRequest.TopicProduceData
        data = build([(None, letter.encode()) for letter in letters], timestamp_ms=self._env.wall_ms(),
                     producer_id=self.producer, producer_epoch=epoch, base_sequence=sequence)
        request = ProduceRequest(transactional_id=None, acks=-1, timeout_ms=int(1000 * PATIENCE), topic_data=[
            Topic(name=TOPIC, partition_data=[Topic.PartitionProduceData(index=0, records=data)])])

        async def ask() -> Any:
            await self._client.topic(TOPIC)
            return await self._client.ask(cluster.leader(TOPIC), request, VERSION)
        until = cluster.now() + PATIENCE
        error, offset = Err.REQUEST_TIMED_OUT, -1
        while cluster.now() < until and error in (Err.REQUEST_TIMED_OUT, Err.NOT_LEADER_OR_FOLLOWER):
            self.night.passes(0.2)
            if cluster.leader(TOPIC) in cluster.alive and (answer := self.night.during(ask())) is not None:
                found = answer.responses[0].partition_responses[0]
                error, offset = Err(found.error_code), found.base_offset
        return error, offset
