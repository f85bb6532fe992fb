"""Every partition this broker is a replica of: opened, given its role by the metadata, closed.

Owns: the hosted partitions by name, the log folder, the timers over all partitions (ISR, retention), who is told of
changes of role. What is written down about the logs, and when, is in checkpoints.py.
Invariants
  I-REP-1  nothing is made of metadata before this process's own registration has been replayed: what stands before it
           in the log is the past, and acting on it could delete logs that live again later.
  I-REP-2  a folder belongs to one topic id; bytes of a deleted topic are never served under its name (rule 68).
  I-REP-3  listeners hear of a change of role after it is complete, in the order of the metadata.
  I-REP-4  a failed disk is the end of the broker: it says so, answers KAFKA_STORAGE_ERROR, and ends (rule 67).
  I-REP-5  any other error in work on one partition ends neither the broker nor the work on the others.
What Kafka does differently: several log folders, of which one may fail; delayed deletion.
Source: kafka.server.ReplicaManager, kafka.log.LogManager, BrokerMetadataPublisher.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any
from uuid import UUID

from minikafka.broker.config.effective import log_config, topic_value
from minikafka.broker.metadata.records import TOPIC_RESOURCE
from minikafka.broker.replication.fetch_session import FetchSessions
from minikafka.broker.replication.isr import Proposal
from minikafka.broker.replication.replica import Replica
from minikafka.broker.replication.shell.alter_partition_sender import AlterPartitionSender
from minikafka.broker.replication.shell.delayed_operations import DelayedProduce
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.replication.shell.replica_fetcher import Fetchers
from minikafka.broker.server.node import Node
from minikafka.broker.server.turns import Steps
from minikafka.broker.storage.shell.checkpoints import Checkpoints
from minikafka.broker.storage.shell.log_cleaner import LogCleaner
from minikafka.broker.storage.shell.log_dir import LogDir
from minikafka.log import AppendInfo, Log, LogConfig
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.controller.shell.broker_lifecycle import Lifecycle
    from minikafka.broker.controller.shell.controller_channel import Channel
    from minikafka.broker.metadata.image import Changes, MetadataImage

log = logging.getLogger("minikafka.replicas")

SESSION_EVICTION_S = 120.0
Key = tuple[str, int]                          # (topic, partition)
OnRole = Callable[[int, int | None], None]     # (partition, leader epoch, or None when the leadership ends)


class ReplicaManager:
    """The partitions of one broker."""

    def __init__(self, node: Node, channel: Channel, lifecycle: Lifecycle) -> None:
        self.node, self.env, self.config = node, node.env, node.config
        self.channel, self.lifecycle = channel, lifecycle
        self.dir = LogDir(self.env.fs, self.config.log_dir, node.cluster_id, node.node_id)
        self.partitions: dict[tuple[str, int], Partition] = {}
        self.alter_partition_sender = AlterPartitionSender(node, channel, lifecycle)
        self.fetchers = Fetchers(node, lifecycle)
        ids = self.env.rng("fetch sessions")
        self.sessions: FetchSessions[Any] = FetchSessions(
            self.config["max.incremental.fetch.session.cache.slots"], SESSION_EVICTION_S,
            lambda: ids.randrange(1, 1 << 31))
        self._opened: dict[tuple[str, int], Log] = {}              # found on disk, not claimed by the metadata yet
        self._doomed: deque[str] = deque()                         # folders to delete; the first is being deleted
        self._listeners: dict[str, list[OnRole]] = {}
        self._leading: dict[Partition, int] = {}
        self._configs: dict[str, LogConfig] = {}                   # by topic, as of the image: many partitions, one answer
        self.caught_up = False                                     # our own registration has been replayed (I-REP-1)
        self._closed = False
        self.checkpoints = Checkpoints(self.env, self.dir, self)
        self.cleaner = LogCleaner(node, self.dir, self.partitions, self.checkpoints)
        self._max_lag = self.config["replica.lag.time.max.ms"] / 1000
        self.check_every = self._max_lag / 2
        self.next_check = self.env.now() + self.check_every        # when the ISR is looked at next

    # --- life -----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Lock the folder and recover every log in it. Raises LogDirError."""
        self.dir.open(self.env.uuid())
        for topic, index in list(self.dir.partitions()):
            self._opened[topic, index] = self._open_log(topic, index, None)

    def start(self) -> None:
        """Start the timers."""
        config = self.config
        self.next_check = self.env.now() + self.check_every
        self._every(self.check_every, self._check_isr)
        self._every(config["log.retention.check.interval.ms"] / 1000, self._retain)
        self._every(config["replica.high.watermark.checkpoint.interval.ms"] / 1000, self.checkpoints.schedule_high_watermarks)
        self._every(config["log.flush.offset.checkpoint.interval.ms"] / 1000, self.checkpoints.schedule_recovery_points)
        self.cleaner.start()

    def close(self) -> None:
        """Flush, close, and mark the folder as closed clean."""
        self._closed = True
        self.fetchers.close()
        self.cleaner.close()
        if any(p.failed for p in self.partitions.values()):
            return
        for each in [*(p.log for p in self.hosted()), *self._opened.values()]:
            each.close()                               # flushes
        self.checkpoints.close()
        epoch = self.lifecycle.broker_epoch
        if epoch < 0 and self.dir.was_clean:               # never registered: nothing is here but what that epoch left
            epoch = self.dir.clean_epoch
        self.dir.write_clean_marker(epoch)

    def _every(self, seconds: float, fn: Callable[[], None]) -> None:
        def again() -> None:
            if self._closed:
                return
            try:
                fn()
            except (OSError, KafkaError) as error:     # the disk has failed
                self.env.crash(error)
            except Exception as error:
                self.env.report("a timer over all partitions", error)
            self.env.later(seconds, again)
        self.env.later(seconds, again)

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
        """Return (leader, leader epoch) as far as this broker knows: what a refused client is told (KIP-951)."""
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

    def logs(self) -> list[tuple[tuple[str, int], Log]]:
        """Return the logs here, also of partitions that the metadata has not claimed yet."""
        return [*self._opened.items(), *((key, p.log) for key, p in list(self.partitions.items()))]

    # --- metadata -------------------------------------------------------------------------------------------------

    def apply_metadata(self, image: MetadataImage, changes: Changes) -> Steps[None]:
        """Follow the image after a batch of committed records."""
        self._forget_configs(changes)
        if not self.caught_up:
            if not self._registered(image):
                return
            self.caught_up = True
            yield from self._make_folders(list(image.partitions()))
            for state in list(image.partitions()):
                with self._contained(state.topic, state.index):
                    self._apply(state)
                yield None
            yield from self._discard_strays()
            return
        for topic in changes.deleted.values():
            yield from self._delete([(topic.name, index) for index in topic.partitions], topic.id)
        yield from self._make_folders([image.partition(*key) for key in changes.partitions])
        for topic_name, index in changes.partitions:
            state = image.partition(topic_name, index)
            if state is not None:
                with self._contained(topic_name, index):
                    self._apply(state)
                yield None
        if changes.configs:
            yield from self._reconfigure(changes)
        if changes.brokers:
            self._tick()                               # which brokers are eligible for the ISR has changed

    @contextmanager
    def _contained(self, topic: str, index: int) -> Iterator[None]:
        """Set this partition aside, and no other, if an error that must not happen is raised inside.

        The partition then answers KAFKA_STORAGE_ERROR until the broker starts again; an error of the disk goes through.
        """
        try:
            yield
        except (OSError, KafkaError):
            raise
        except Exception as error:
            self.env.report(f"work on {topic}-{index}", error)
            partition = self.partitions.get((topic, index))
            if partition is not None:
                partition.failed = True
                self.fetchers.drop(partition)
                partition.wake()

    def _registered(self, image: MetadataImage) -> bool:
        own = image.brokers.get(self.node.node_id)
        return own is not None and own.incarnation == self.lifecycle.incarnation

    def _apply(self, state: Any) -> None:
        """Host a partition of the image, stop hosting it, or change its role."""
        key = (state.topic, state.index)
        hosted = self.partitions.get(key)
        if hosted is not None and hosted.topic_id != state.topic_id:
            self._delete_one(hosted)
            hosted = None
        if self.node.node_id not in state.replicas:
            if hosted is not None:
                self._delete_one(hosted)
            return
        partition = hosted or self._host(state.topic, state.topic_id, state.index)
        try:
            partition.run(partition.replica.on_metadata(state, self.env.now()))
        except KafkaError as error:
            log.error("%s: cannot take its new role: %s", partition.name, error)
        self._tell_role(partition)

    def _make_folders(self, states: list[Any]) -> Steps[None]:
        """Make the folders of partitions that are new here, so that their names become durable together: a sync is what a new
        partition costs most. Kafka does not sync them."""
        made = False
        for state in states:
            if state is not None and self.node.node_id in state.replicas and not self._known((state.topic, state.index)):
                self.env.fs.mkdir(self.dir.partition_path(state.topic, state.index), durable=False)
                made = True
            yield None
        if made:
            self.env.fs.sync_dir(self.dir.path)

    def _known(self, key: Key) -> bool:
        """Return whether there is a log of that name."""
        return key in self.partitions or key in self._opened

    def _host(self, topic: str, topic_id: UUID, index: int) -> Partition:
        key = (topic, index)
        found = self._opened.pop(key, None)
        if found is not None and found.topic_id not in (None, topic_id):
            log.warning("%s-%d: the folder holds topic id %s, not %s: discarded", topic, index, found.topic_id, topic_id)
            found.abandon()
            self._remove_folders([key])
            found = None
        opened = found or self._open_log(topic, index, topic_id)
        opened.topic_id = topic_id  # a folder without one is empty (I-LOG-5)
        opened.config = self._log_config(topic)
        watermark = max(min(self.dir.high_watermarks.get(key, 0), opened.end_offset), opened.start_offset)
        core = Replica(self.node.node_id, opened, self.node.image, self._max_lag, self._min_insync(topic), watermark)
        partition = self.partitions[key] = Partition(self, topic, topic_id, index, opened, core)
        return partition

    def _delete(self, keys: list[Key], topic_id: UUID) -> Steps[None]:
        """Give up partitions of a topic that is gone. The checkpoints forget all of them at once."""
        gone = []
        for key in keys:
            partition = self.partitions.get(key)
            if partition is not None and partition.topic_id == topic_id:
                with self._contained(*key):
                    self._give_up(partition)
                    gone.append(key)
                yield None
        self.checkpoints.removed(gone)
        for key in gone:
            with self._contained(*key):
                self._set_aside(key)
            yield None

    def _delete_one(self, partition: Partition) -> None:
        """Give up a partition of which this broker is no replica any more."""
        self._give_up(partition)
        self._remove_folders([(partition.topic, partition.index)])

    def _give_up(self, partition: Partition) -> None:
        del self.partitions[partition.topic, partition.index]
        self.env.trace("removed", tp=partition.name)
        self.fetchers.drop(partition)
        self.cleaner.deleted(partition)
        partition.retire()
        self._tell_role(partition)
        partition.log.abandon()

    def _discard_strays(self) -> Steps[None]:
        """Discard the logs that the metadata does not know: their topics were deleted while this broker was away."""
        for (topic, index), stray in list(self._opened.items()):
            log.warning("%s-%d is no partition of this broker any more: discarded", topic, index)
            self.env.trace("removed", tp=f"{topic}-{index}")
            with self._contained(topic, index):
                stray.abandon()
                self._remove_folders([(topic, index)])
            yield None
        self._opened.clear()

    def _remove_folders(self, keys: list[Key]) -> None:
        self.checkpoints.removed(keys)
        for key in keys:
            self._set_aside(key)

    def _set_aside(self, key: Key) -> None:
        self._opened.pop(key, None)
        self._doomed.append(self.dir.set_aside(*key, self.env.uuid()))
        if len(self._doomed) == 1:
            self.env.spawn(self._delete_folders(), "delete folders")

    async def _delete_folders(self) -> None:
        """Delete the folders that were set aside, one at a time: work that waits for the disk need not wait for all of them.
        What cannot be deleted now is deleted at the next start."""
        while self._doomed:
            with self.env.contained(f"deleting {self._doomed[0]}"):
                await self.env.blocking(self.env.fs.rmtree, self._doomed[0])
            self._doomed.popleft()

    def _forget_configs(self, changes: Changes) -> None:
        """Resolve again what has changed in the settings: of a topic its own, of a broker those of all topics."""
        if not self.caught_up or any(kind != TOPIC_RESOURCE for kind, _ in changes.configs):
            self._configs.clear()
        for name in [*(topic.name for topic in changes.deleted.values()), *(name for _, name in changes.configs)]:
            self._configs.pop(name, None)

    def _reconfigure(self, changes: Changes) -> Steps[None]:
        everything = any(kind != TOPIC_RESOURCE for kind, _ in changes.configs)
        for partition in self.hosted():
            if everything or (TOPIC_RESOURCE, partition.topic) in changes.configs:
                with self._contained(partition.topic, partition.index):
                    self._set_configuration(partition)
                yield None

    def _set_configuration(self, partition: Partition) -> None:
        partition.log.config = self._log_config(partition.topic)
        partition.replica.min_insync = self._min_insync(partition.topic)
        if partition.is_leader and (shown := self.shown_settings(partition)) != partition.shown:
            partition.shown = shown
            self.env.trace("settings", tp=partition.name, **shown)

    def shown_settings(self, partition: Partition) -> dict[str, Any]:
        """Return what a picture of the partition needs to know of its configuration."""
        unclean = topic_value(self.node.image, self.config, partition.topic, "unclean.leader.election.enable")
        return {"min_isr": partition.replica.min_insync, "unclean": unclean}

    # --- logs -----------------------------------------------------------------------------------------------------

    def _log_config(self, topic: str) -> LogConfig:
        if topic not in self._configs:
            self._configs[topic] = self._resolve(topic)
        return self._configs[topic]

    def _resolve(self, topic: str) -> LogConfig:
        values = log_config(self.node.image, self.config, topic)
        values["cleanup_policy"] = ",".join(values["cleanup_policy"])
        values["producer_id_expiration_ms"] = self.node.setting("producer.id.expiration.ms")
        return LogConfig(**{f.name: values[f.name] for f in fields(LogConfig)})

    def _min_insync(self, topic: str) -> int:
        return int(topic_value(self.node.image, self.config, topic, "min.insync.replicas"))

    def _open_log(self, topic: str, index: int, topic_id: UUID | None) -> Log:
        key = (topic, index)
        opened = Log.open(self.env.fs, self.dir.partition_path(topic, index), self._log_config(topic),
                          now_ms=self.env.wall_ms(), topic=topic, topic_id=topic_id, clean=self.dir.was_clean,
                          recovery_point=self.dir.recovery_points.get(key, 0),
                          start_offset=self.dir.log_starts.get(key))
        self.env.trace("recover", tp=f"{topic}-{index}", leo=opened.end_offset, truncated_bytes=opened.truncated_bytes,
                       start=opened.start_offset, epochs=[list(entry) for entry in opened.epochs.entries])
        return opened

    def storage_failed(self, partition: Partition, error: BaseException) -> None:
        """Take every partition offline, and end the broker: the disk has failed under `partition`."""
        if partition.failed:
            return
        log.critical("%s: the disk under %s has failed, this broker shuts down", partition.name, self.dir.path,
                     exc_info=error)
        for each in self.hosted():
            each.failed = True
            self.fetchers.drop(each)
        for each in self.hosted():
            each.wake()
            self._tell_role(each)
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

    def _tell_role(self, partition: Partition) -> None:
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

    def propose(self, partition: Partition, proposal: Proposal) -> None:
        """Send a proposal for the ISR to the controller: the effect ProposeIsr."""
        self.alter_partition_sender.submit(partition, proposal)

    def on_following(self, partition: Partition) -> None:
        """Copy the partition from its new leader: the effect Follow."""
        if not partition.failed:
            self.fetchers.follow(partition)

    # --- timers ---------------------------------------------------------------------------------------------------

    def _check_isr(self) -> None:
        self.next_check = self.env.now() + self.check_every
        self._tick()

    def _tick(self) -> None:
        now = self.env.now()
        for partition in self.hosted():
            if partition.is_leader:
                with self._contained(partition.topic, partition.index):
                    partition.lag_trace.look(now)
                    partition.run(partition.replica.on_tick(now))

    def _retain(self) -> None:
        now_ms = self.env.wall_ms()
        for partition in self.hosted():
            if not partition.failed:
                with self._contained(partition.topic, partition.index):
                    partition.retain(now_ms)

    def truncated(self, partition: Partition, lowered: bool) -> None:
        """Take note that the end of a log is gone; this waits for the disk if its recovery point is lower now (I-POINTS-2)."""
        self.cleaner.truncated(partition)
        if lowered:
            self.checkpoints.note_points()
