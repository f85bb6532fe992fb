"""Rules of replication (1 to 25) switched off."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import Any

from minikafka.broker.log_dir import CLEAN, LogDir
from minikafka.broker.partition import Partition
from minikafka.broker.replicas import ReplicaManager
from minikafka.core import alter_partition
from minikafka.core.controller import Controller
from minikafka.core.image import MetadataImage
from minikafka.core.isr import Follower, Isr
from minikafka.core.replica import Replica
from minikafka.core.replica_effects import AssignEpoch, Effect, EpochEnd, HighWatermark, Truncate
from minikafka.log import segment
from minikafka.protocol.errors import Err
from minikafka.sim.ablations.ablation import ablation, replaced


@ablation("2", "the high watermark waits for the committed ISR only", falls="I2 I3 I4 I6 lost-write",
          script="a5_no_maximal_isr")
def counts_committed_isr_only() -> AbstractContextManager[object]:
    def counts(self: Replica, replica: int, follower: Follower, end: int, now: float) -> bool:
        return replica in self.isr.committed

    return replaced(Replica, "_counts", counts)


@ablation("2", "a proposed shrink counts before the controller has agreed", falls="I2 I3 I4 I6 lost-write",
          script="a14_zombie_leader")
def shrinks_at_once() -> AbstractContextManager[object]:
    def maximal(self: Isr) -> tuple[int, ...]:
        return self.committed if self.proposal is None else self.proposal.members

    return replaced(Isr, "maximal", property(maximal))


@ablation("3", "the high watermark moves however small the ISR", falls="I2 I3 I4", script="a8_last_replica_standing")
def commits_alone() -> AbstractContextManager[object]:
    def advance(self: Replica, now: float) -> list[Effect]:
        end = self.log.end_offset
        counted = [f.log_end_offset for r, f in self.followers.items() if self._counts(r, f, end, now)]
        offset = min([end, *counted])
        if not self.is_leader or offset <= self.high_watermark:
            return []
        self.high_watermark = offset
        return [HighWatermark(offset)]

    return replaced(Replica, "_advance", advance)


@ablation("4, 22", "a fetch counts whatever its leader epoch", falls="I2 I3 I4 lost-write",
          script="a4_stale_epoch_fetch")
def counts_fetches_of_any_epoch() -> AbstractContextManager[object]:
    fetched = Replica.on_follower_fetch

    def counted(self: Replica, replica: int, broker_epoch: int, epoch: int, *rest: Any) -> list[Effect]:
        return fetched(self, replica, broker_epoch, self.leader_epoch, *rest)

    def nothing(self: Replica, epoch: int) -> None:
        return None

    stack = ExitStack()
    stack.enter_context(replaced(Replica, "on_follower_fetch", counted))
    stack.enter_context(replaced(Replica, "check_epoch", nothing))
    return stack


@ablation("5", "a new leader notes where its epoch begins when it writes, not before", falls="I15",
          script="r5_epoch_without_records")
def notes_no_epoch_start() -> AbstractContextManager[object]:
    return replaced(Partition, "_DO", Partition._DO | {AssignEpoch: lambda self, effect: None})


@ablation("7", "a follower cuts its log to its high watermark", falls="I2 I3 I4 lost-write", script="a1_hw_truncation")
def truncates_to_high_watermark() -> AbstractContextManager[object]:
    become = Replica._become_follower

    def cut_first(self: Replica, new_epoch: bool) -> list[Effect]:
        effects = become(self, new_epoch)
        cut: list[Any] = [Truncate(self.high_watermark)] if self.high_watermark < self.log.end_offset else []
        return [*cut, *effects] if new_epoch else effects

    return replaced(Replica, "_become_follower", cut_first)


@ablation("21", "the leader never says that logs part", falls="I5 I16 inconsistent-offsets", script="a2_double_power_loss")
def never_tells_divergence() -> AbstractContextManager[object]:
    def divergence(self: Replica, offset: int, last_epoch: int) -> EpochEnd | None:
        return None

    return replaced(Replica, "divergence", divergence)


@ablation("21", "logs part only where the leader's is shorter, whatever the epochs (before KIP-279)",
          falls="I5 inconsistent-offsets", script="a3_fast_failover")
def compares_offsets_only() -> AbstractContextManager[object]:
    real = Replica.divergence

    def divergence(self: Replica, offset: int, last_epoch: int) -> EpochEnd | None:
        end = real(self, offset, last_epoch)
        return end if end is not None and end.end_offset < offset else None

    return replaced(Replica, "divergence", divergence)


@ablation("15", "a replica may join as soon as it fetches", falls="I2 I3 I4 lost-write",
          script="r15_join_too_early")
def expands_below_high_watermark() -> AbstractContextManager[object]:
    expand = Replica._maybe_expand

    def anywhere(self: Replica, replica: int) -> list[Effect]:
        high, self.high_watermark = self.high_watermark, -1
        try:
            return expand(self, replica)
        finally:
            self.high_watermark = high

    return replaced(Replica, "_maybe_expand", anywhere)


@ablation("15", "a replica may join that has only what the new leader knows to be committed",
          falls="I3 I4 lost-write", script="a6_expand_below_epoch_start")
def expands_below_epoch_start() -> AbstractContextManager[object]:
    expand = Replica._maybe_expand

    def anywhere(self: Replica, replica: int) -> list[Effect]:
        start, self.epoch_start = self.epoch_start, 0
        try:
            return expand(self, replica)
        finally:
            self.epoch_start = start

    return replaced(Replica, "_maybe_expand", anywhere)


@ablation("15, 16", "a member of a proposed ISR is known by its id alone (before KIP-903)",
          falls="I2 I3 I4 lost-write", script="a7_empty_disk_rejoins")
def ignores_broker_epochs() -> AbstractContextManager[object]:
    def eligible(image: MetadataImage, member: Any) -> bool:
        broker = image.brokers.get(member.broker_id)
        return broker is not None and broker.active

    return replaced(alter_partition, "_eligible", eligible)


@ablation("16", "the controller does not ask of which state a proposal was made", falls="I2 I3 I4 I6 lost-write",
          script="r16_stale_proposal")
def ignores_partition_epochs() -> AbstractContextManager[object]:
    validate = alter_partition._validate

    def blind(image: MetadataImage, broker: int, partition: Any, proposal: Any) -> Err:
        if partition is not None:
            proposal.partition_epoch = partition.partition_epoch
        return validate(image, broker, partition, proposal)

    return replaced(alter_partition, "_validate", blind)


@ablation("29, 33", "a broker keeps its places although it comes back from an unclean shutdown", falls="I2 I3 I4 lost-write",
          script="a8_last_replica_standing")
def believes_every_return() -> AbstractContextManager[object]:
    leave = Controller._leave
    return replaced(Controller, "_leave", lambda self, broker, clean: leave(self, broker, clean) if clean else [])


@ablation("33", "the last member of an ISR may always lead, and nobody else (before KIP-966)",
          falls="I2 I3 I4 lost-write", script="a8_last_replica_standing")
def without_eligible_leaders() -> AbstractContextManager[object]:
    return replaced(Controller, "elr", property(lambda self: False))


@ablation("63", "recovery believes every batch whose header makes sense", falls="I5 I10 I16",
          script="a16_stale_clean_marker")
def recovers_without_checksums() -> AbstractContextManager[object]:
    return replaced(segment, "crc_ok", lambda batch, at, header: True)


@ablation("64", "the clean-shutdown file is believed, and stays", falls="I5 I10 I16", script="a16_stale_clean_marker")
def keeps_the_clean_marker() -> AbstractContextManager[object]:
    take = LogDir._take_clean_marker

    def keep(self: LogDir) -> None:
        path = self._file(CLEAN)
        content = self.fs.read(path) if self.fs.exists(path) else None
        take(self)
        if content is not None:
            self.fs.write_atomic(path, content)

    return replaced(LogDir, "_take_clean_marker", keep)


@ablation("68", "a folder of the right name is believed to be of the right topic", falls="I3 I5 I10 misplaced unexpected",
          script="a18_recreated_topic")
def believes_the_name() -> AbstractContextManager[object]:
    host = ReplicaManager._host

    def any_id(self: ReplicaManager, topic: str, topic_id: Any, index: int) -> Any:
        found = self._opened.get((topic, index))
        if found is not None:
            found.topic_id = topic_id
        return host(self, topic, topic_id, index)

    return replaced(ReplicaManager, "_host", any_id)
