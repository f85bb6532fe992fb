"""Every partition this broker is a replica of: found for a request, hosted, given up; its effects on the rest of the broker.

Owns: the hosted partitions by name, the timer that checks the ISR, the listeners to changes of role. The logs are
log_manager.py's; which partitions are hosted, and in which role, metadata_publisher.py decides by the metadata.
Invariants
  I-REP-1  a failed disk is the end of the broker: it says so, answers KAFKA_STORAGE_ERROR, and ends (rule 67).
  I-REP-2  any other error in work on one partition ends neither the broker nor the work on the others.
  I-REP-3  listeners are called after a change of role is complete, in the order of the metadata.
What Kafka does differently: one of several log folders may fail, and the broker lives on. Source: kafka.server.ReplicaManager.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

from minikafka.broker.replication.fetch_session import FetchSessions
from minikafka.broker.replication.isr import ProposedIsr
from minikafka.broker.replication.replica import Replica
from minikafka.broker.replication.shell.alter_partition_sender import AlterPartitionSender
from minikafka.broker.replication.shell.delayed_operations import DelayedProduce
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.replication.shell.replica_fetcher import Fetchers
from minikafka.broker.server.node import Node
from minikafka.broker.server.scheduler import Scheduler
from minikafka.broker.storage.shell.log_dir import HIGH_WATERMARKS
from minikafka.broker.storage.shell.log_manager import LogManager
from minikafka.log import AppendInfo
from minikafka.log.segment import DamagedLog
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.controller.shell.broker_lifecycle import Lifecycle
    from minikafka.broker.controller.shell.controller_channel import Channel

log = logging.getLogger("minikafka.replicas")

SESSION_EVICTION_S = 120.0
Key = tuple[str, int]                          # (topic, partition)
OnRole = Callable[[int, int | None], None]     # (partition, leader epoch, or None when the leadership ends)


class ReplicaManager:
    """The partitions of one broker."""

    def __init__(self, node: Node, channel: Channel, lifecycle: Lifecycle) -> None:
        self.node, self.env, self.config, self.lifecycle = node, node.env, node.config, lifecycle
        self.partitions: dict[Key, Partition] = {}
        self.log_manager = LogManager(node, self.partitions, self.contained)
        self.alter_partition_sender = AlterPartitionSender(node, channel, lifecycle)
        self.fetchers = Fetchers(node, lifecycle)
        ids = self.env.rng("fetch sessions")
        self.sessions: FetchSessions[Any] = FetchSessions(
            self.config["max.incremental.fetch.session.cache.slots"], SESSION_EVICTION_S,
            lambda: ids.randrange(1, 1 << 31))
        self._listeners: dict[str, list[OnRole]] = {}
        self._leading: dict[Partition, int] = {}
        self._scheduler = Scheduler(self.env)
        self._max_lag = self.config["replica.lag.time.max.ms"] / 1000
        self.check_every = self._max_lag / 2
        self.next_check = self.env.now() + self.check_every        # when the ISR is looked at next

    # --- life -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the timers over all partitions."""
        self.next_check = self.env.now() + self.check_every
        self._scheduler.schedule("isr expiration", self.check_every, self._expire)
        self.log_manager.start(self._scheduler)

    def close(self) -> None:
        """Stop the timers and the fetchers, and close the logs."""
        self._scheduler.shutdown()
        self.fetchers.close()
        self.log_manager.close(self.lifecycle.broker_epoch)

    # --- questions ------------------------------------------------------------------------------------------------

    def get(self, topic: str, index: int) -> Partition:
        """Return the partition of this broker. UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER if it is on other brokers,
        KAFKA_STORAGE_ERROR."""
        partition = self.partitions.get((topic, index))
        if partition is None:
            known = self.node.image.partition(topic, index) is not None
            raise KafkaError(Err.NOT_LEADER_OR_FOLLOWER if known else Err.UNKNOWN_TOPIC_OR_PARTITION)
        if partition.failed:
            raise KafkaError(Err.KAFKA_STORAGE_ERROR)
        return partition

    def leader(self, topic: str, index: int, current_leader_epoch: int = -1) -> Partition:
        """Return the partition if this broker leads it in that epoch (-1: any). Raises as `get` does, or for another leader
        epoch (rule 22)."""
        partition = self.get(topic, index)
        partition.check(current_leader_epoch)
        return partition

    def current_leader(self, topic: str, index: int) -> tuple[int, int]:
        """Return (leader, leader epoch) as far as this broker knows, for a response that refuses (KIP-951)."""
        partition = self.partitions.get((topic, index))
        if partition is not None:
            return partition.replica.leader, partition.leader_epoch
        state = self.node.image.partition(topic, index)
        return (state.leader, state.leader_epoch) if state is not None else (-1, -1)

    async def append(self, topic: str, index: int, records: bytes, acks: int = -1, timeout_ms: int = 30000,
                     origin: str = "client") -> AppendInfo:
        """Append one batch as the leader and, with acks=-1, wait for its commit; raises KafkaError."""
        partition = self.get(topic, index)
        info = partition.append(records, acks, origin)
        if acks == -1:
            waiting = DelayedProduce(self.env, {partition: info.last_offset + 1})
            error = (await waiting.outcome(timeout_ms / 1000))[partition]
            if error != Err.NONE:
                raise KafkaError(error)
        return info

    def hosted(self) -> list[Partition]:
        """Return the partitions here, as of now."""
        return list(self.partitions.values())

    # --- hosting --------------------------------------------------------------------------------------------------

    def host(self, topic: str, topic_id: UUID, index: int) -> Partition:
        """Return a partition that is hosted here from now on, with its log; the metadata gives it its role."""
        opened = self.log_manager.claim(topic, topic_id, index)
        noted = self.log_manager.dir.noted[HIGH_WATERMARKS].get((topic, index), 0)
        core = Replica(self.node.node_id, opened, self.node.image, self._max_lag, self._min_insync(topic),
                       max(min(noted, opened.end_offset), opened.start_offset))
        partition = self.partitions[topic, index] = Partition(self, topic, topic_id, index, opened, core)
        return partition

    def give_up(self, partition: Partition) -> None:
        """Stop hosting a partition. Its log is closed; the caller deletes it."""
        del self.partitions[partition.topic, partition.index]
        self.env.trace("removed", tp=partition.name)
        self.fetchers.drop(partition)
        self.log_manager.cleaner.deleted(partition)
        moved = self.node.image.topic_id(partition.topic) == partition.topic_id     # to other brokers; else it is deleted
        partition.retire(Err.NOT_LEADER_OR_FOLLOWER if moved else Err.UNKNOWN_TOPIC_OR_PARTITION)
        self.tell_role(partition)
        partition.log.abandon()

    def configure(self, partition: Partition) -> None:
        """Give a partition the settings that its topic has now."""
        partition.configure(self.log_manager.log_config(partition.topic), self._min_insync(partition.topic))

    def _min_insync(self, topic: str) -> int:
        return int(self.node.topic_setting(topic, "min.insync.replicas"))

    def shown_settings(self, partition: Partition) -> dict[str, object]:
        """Return what a picture of the partition needs to know of its configuration."""
        unclean = self.node.topic_setting(partition.topic, "unclean.leader.election.enable")
        return {"min_isr": partition.replica.min_insync, "unclean": unclean}

    # --- errors ---------------------------------------------------------------------------------------------------

    @contextmanager
    def contained(self, topic: str, index: int) -> Iterator[None]:
        """Fail this partition, and no other, if an error that must not happen is raised inside: it answers KAFKA_STORAGE_ERROR
        until the broker starts again. An error of the disk goes through."""
        try:
            yield
        except (OSError, KafkaError):
            raise
        except DamagedLog as error:  # no bug: the folder was changed while no broker ran (I-LOGS-2)
            log.error("%s-%d is offline: %s", topic, index, error)
        except Exception as error:
            self.env.report(f"work on {topic}-{index}", error)
            partition = self.partitions.get((topic, index))
            if partition is not None:
                partition.fail()
                self.fetchers.drop(partition)
                partition.moved.tell(partition)

    def storage_failed(self, partition: Partition, error: BaseException) -> None:
        """Take every partition offline, and end the broker: the disk has failed under `partition`."""
        if partition.failed:
            return
        log.critical("%s: the disk under %s has failed, this broker shuts down", partition.name,
                     self.log_manager.dir.path, exc_info=error)
        for each in self.hosted():
            each.fail()
            self.fetchers.drop(each)
        for each in self.hosted():
            each.moved.tell(each)
            self.tell_role(each)
        # The answers on their way get a moment; then the broker ends with the error.
        self.env.later(0.1, self.env.crash, error)

    # --- roles ----------------------------------------------------------------------------------------------------

    def on_role(self, topic: str, listener: OnRole) -> None:
        """Call `listener(partition, leader epoch)` whenever a partition of `topic` comes to be led here in a new
        epoch, (partition, None) when that ends; right now for those led already."""
        self._listeners.setdefault(topic, []).append(listener)
        for partition, epoch in list(self._leading.items()):
            if partition.topic == topic:
                listener(partition.index, epoch)

    def tell_role(self, partition: Partition) -> None:
        """Call the listeners of a partition if the epoch in which this broker leads it, or does not, has changed."""
        before = self._leading.pop(partition, None)
        now = partition.leader_epoch if partition.is_leader else None
        if now is not None:
            self._leading[partition] = now
        if now != before:
            for listener in self._listeners.get(partition.topic, ()):
                listener(partition.index, now)

    def on_leading(self, partition: Partition) -> None:
        """Stop copying the partition, which this broker leads now: the effect Lead."""
        self.fetchers.drop(partition)

    def propose(self, partition: Partition, proposal: ProposedIsr) -> None:
        """Send a proposal for the ISR to the controller: the effect ProposeIsr."""
        self.alter_partition_sender.submit(partition, proposal)

    def on_following(self, partition: Partition) -> None:
        """Copy the partition from its new leader: the effect Follow."""
        if not partition.failed:
            self.fetchers.follow(partition)

    # --- timers ---------------------------------------------------------------------------------------------------

    def _expire(self) -> None:
        self.next_check = self.env.now() + self.check_every
        self.check_isr()

    def check_isr(self) -> None:
        """Let each leader look for followers that are too late for its ISR, or early enough again."""
        now = self.env.now()
        for partition in self.hosted():
            if partition.is_leader:
                with self.contained(partition.topic, partition.index):
                    partition.lag_trace.look(now)
                    partition.carry_out(partition.replica.on_tick(now))

    def truncated(self, partition: Partition, lowered: bool) -> None:
        """Take note that the end of a log is gone; this waits for the disk if its recovery point is lower now (I-POINTS-2)."""
        self.log_manager.cleaner.truncated(partition)
        if lowered:
            self.log_manager.checkpoints.note_points()
