"""Exercise 8.10 inside: where a follower cuts its log. When a leader epoch begins, a follower sends the last epoch of its log,
and calls the function with the leader's answer. After a cut it asks again, until nothing is cut. Then it fetches.

So did Kafka's followers from 0.11 to 2.6, by OffsetForLeaderEpoch (KIP-101, KIP-279); before, they cut at the high watermark.
Today, and in our brokers, each Fetch carries the question (KIP-595), and a follower cuts only where its leader has found another
epoch. There a wrong rule does little: only the one of night D loses a record. So the function stands where all was left to it.

The adversary's knowledge: a follower learns of the high watermark last, and may have to lead before it has copied again (A), also
where the logs part (D); who died has records that were never promised (B); the leader may have more of an old epoch (C).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from kafka.protocol.consumer import OffsetForLeaderEpochRequest

from minikafka.broker.replication.effects import Truncate
from minikafka.broker.replication.replica import NO_EPOCH
from minikafka.broker.replication.shell.replica_fetcher import ReplicaFetcher
from minikafka.lab.inside.night import TP, AdversaryNight, Plot
from minikafka.lab.inside.student import Student
from minikafka.protocol.errors import Err

VERSION = 4


def in_place(student: Student) -> Callable[..., Any]:
    """Return a class for `ReplicaFetcher` that asks the student's function, and fetches without an epoch."""
    agreed = WeakKeyDictionary[Any, int]()      # the leader epoch in which a follower's log is known to be its leader's

    class Asks(ReplicaFetcher):
        def _position(self, partition: Any) -> Any:
            position = super()._position(partition)
            return position._replace(last_epoch=NO_EPOCH) if partition.name == TP else position

        async def _fetch_once(self, asked: Any) -> None:
            for key in asked:
                partition = self.partitions[key]
                if partition.name == TP and agreed.get(partition) != partition.leader_epoch:
                    return await self._agree(key, partition)
            return await super()._fetch_once(asked)

        async def _agree(self, key: Any, partition: Any) -> None:
            log, epoch, end = partition.log, partition.leader_epoch, partition.log.end_offset
            log.epochs.truncate_from_end(end)       # an epoch in which it led, and wrote nothing
            if not log.epochs.entries:
                agreed[partition] = epoch
                return
            answer = await asked_leader(self, partition)
            await self.env.faults.follower_gate(0)
            if self.partitions.get(key) is not partition or (partition.leader_epoch, log.end_offset) != (epoch, end):
                return
            if answer.error_code != Err.NONE:
                self._pause(key)
                return
            mine, theirs = list(log.epochs.entries), (answer.leader_epoch, answer.end_offset)
            said = student.number(end, list(mine), end, theirs, partition.high_watermark)
            if not 0 <= said <= end:
                student.refuse(f"epochs {mine}, end {end}, answer {theirs}: you said {said}. A log that ends at {end} can be cut "
                               f"at 0 to {end}")
            elif said < end:
                partition.carry_out([Truncate(said)])
                return
            agreed[partition] = epoch
    return Asks


async def asked_leader(fetcher: Any, partition: Any) -> Any:
    """Ask the leader where the last epoch of a follower's log ends in the leader's."""
    if fetcher._peer is None:
        fetcher._peer = fetcher.node.peers.private(fetcher.leader, f"broker-{fetcher.node.node_id}-fetcher-{fetcher.leader}")
    topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    epoch = topic.OffsetForLeaderPartition(partition=partition.index, current_leader_epoch=partition.leader_epoch,
                                           leader_epoch=partition.log.epochs.latest)
    request = OffsetForLeaderEpochRequest(replica_id=fetcher.node.node_id,
                                          topics=[topic(topic=partition.topic, partitions=[epoch])])
    return (await fetcher._peer.request(request, VERSION, fetcher._timeout)).topics[0].partitions[0]


def within_one_fetch(night: AdversaryNight) -> None:
    night.writes(5)
    night.delays(2, 3, by=0.5)
    night.writes(1)
    night.delays_way(2, 3, by=1.0)
    night.kills(1)
    night.until_succeeded(1)
    night.passes(4.5)
    night.kills(2)
    night.until_succeeded(2)
    night.ends()


def what_only_the_dead_one_has(night: AdversaryNight) -> None:
    night.writes(5)
    night.holds(2, 3)
    night.tries(1)
    night.kills(1)
    night.frees()
    night.writes(3)
    night.restarts(1)
    night.until_in_sync(1, 2, 3)
    night.writes(1)
    night.kills(2, 3)
    night.until_succeeded(2)
    night.ends()


def twice_within_a_moment(night: AdversaryNight) -> None:
    night.writes(5)
    night.holds(2)
    night.streams(rate=5)
    night.passes(1)
    night.cuts(2, 3)
    night.kills(1)
    night.until_succeeded(1)
    night.tries(1)
    night.kills(2)
    night.frees()
    night.until_succeeded(2)
    night.writes(1)
    night.restarts(2)
    night.until_in_sync(2, 3)
    night.writes(1)
    night.kills(3)
    night.until_succeeded(3)
    night.ends()


def within_one_fetch_and_parted(night: AdversaryNight) -> None:
    night.delays(2, by=1.5)
    night.delays(3, by=0.3)
    night.streams(rate=5)
    night.passes(4)
    night.writes(1)
    night.cuts(1, 2)
    night.cuts(1, 3)
    night.delays_way(2, 3, by=1.0)
    night.kills(1)
    night.until_succeeded(1)
    night.passes(4.5)
    night.kills(2)
    night.until_succeeded(2)
    night.ends()


NIGHTS = (Plot("1, the leader, dies; then 2, its successor, before 3 has copied anything of it", within_one_fetch),
          Plot("1 dies with a record of its own; 2 leads, and 1 comes back", what_only_the_dead_one_has),
          Plot("1 leads, then 2, then 3, which has copied nothing of 2; 2 comes back", twice_within_a_moment),
          Plot("1 dies; 3 has more than 2, its successor, and cuts; 2 dies before 3 has copied anything of it",
               within_one_fetch_and_parted))
