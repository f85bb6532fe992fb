"""Rules of replication switched off (1 to 5, 7, 8, 10, 19, 21 to 23)."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import Any

from minikafka.broker.replication.effects import AssignEpoch, Effect, EpochEnd, Follow, HighWatermark, Truncate
from minikafka.broker.replication.isr import Isr, RemoteReplica
from minikafka.broker.replication.replica import Replica
from minikafka.broker.replication.shell.partition import Partition
from minikafka.log.epochs import LeaderEpochCache
from minikafka.proof.ablations.ablation import ablation, nothing
from minikafka.proof.small_worlds.partition_chaos import partition_chaos
from minikafka.sim.world.replaced import replaced


@ablation("2", "the high watermark waits for the committed ISR only", falls="I2 I3 I4 I6 lost-write",
          script="a5_no_maximal_isr")
def counts_committed_isr_only() -> AbstractContextManager[object]:
    def counts(self: Replica, replica: int, follower: RemoteReplica, end: int, now: float) -> bool:
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


@ablation("22", "a broker answers whatever leader epoch is named", falls="nonmonotonic-poll", script="r22_zombie_reader")
def any_epoch_asks() -> AbstractContextManager[object]:
    def nothing(self: Replica, epoch: int) -> None:
        return None

    return replaced(Replica, "check_epoch", nothing)


@ablation("5", "a new leader notes where its epoch begins when it writes, not before", falls="I15",
          script="r5_epoch_without_records")
def notes_no_epoch_start() -> AbstractContextManager[object]:
    return replaced(Partition, "_DO", Partition._DO | {AssignEpoch: lambda self, effect: None})


@ablation("4, 5, 15", "a leader believes what followers fetched in former epochs", falls="I2 I3 I4",
          script="r5_forgotten_offsets")
def remembers_former_epochs() -> AbstractContextManager[object]:
    hear = Replica.on_metadata

    def and_remember(self: Replica, state: Any, now: float) -> list[Effect]:
        before = getattr(self, "remembered", {}) | self.followers
        effects = hear(self, state, now)
        self.remembered = before  # type: ignore[attr-defined]
        if self.is_leader:
            self.followers |= {r: f for r, f in before.items() if r in self.followers}
            effects += self._advance(now)
        return effects

    return replaced(Replica, "on_metadata", and_remember)


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


@ablation("1, 7", "a follower takes its leader's high watermark, however much of the log it has", falls="I1",
          profile=partition_chaos)
def takes_any_high_watermark() -> AbstractContextManager[object]:
    return replaced(Replica, "on_fetched", Replica._follow_high_watermark)


@ablation("1, 7", "a log is cut below the high watermark, and that stays", falls="I1", profile=partition_chaos)
def cuts_below_high_watermark() -> AbstractContextManager[object]:
    def nothing(self: Replica) -> list[Effect]:
        return []

    return replaced(Replica, "on_truncated", nothing)


@ablation("19", "a follower does not note the leader epochs of what it copies", falls="I10", profile=partition_chaos)
def copies_no_epochs() -> AbstractContextManager[object]:
    append = Partition.append_fetched

    def without(self: Partition, *fetched: Any) -> None:
        with replaced(self.log.epochs, "assign", nothing):
            append(self, *fetched)

    return replaced(Partition, "append_fetched", without)


@ablation("23", "leader epochs stay when the log is cut", falls="I10", profile=partition_chaos)
def epochs_outlive_truncation() -> AbstractContextManager[object]:
    return replaced(LeaderEpochCache, "truncate_from_end", nothing)


@ablation("10", "the last stable offset is where a transaction is open, or the end of the log, replicated or not",
          falls="I1", profile=partition_chaos)
def stable_before_replicated() -> AbstractContextManager[object]:
    def stable(self: Partition) -> int:
        return self.log.producers.last_stable_offset(self.log.end_offset)

    return replaced(Partition, "last_stable_offset", property(stable))


@ablation("8", "nobody who waits is told that the high watermark has moved", falls="I14", profile=partition_chaos)
def moves_quietly() -> AbstractContextManager[object]:
    return quietly(HighWatermark)


@ablation("8", "whoever waits at a leader is not told that it leads no more", falls="I14", profile=partition_chaos)
def resigns_quietly() -> AbstractContextManager[object]:
    return quietly(Follow)


def quietly(kind: type) -> AbstractContextManager[object]:
    """Carry out effects of this kind without waking any waiting request."""
    do = Partition._DO[kind]

    def without(self: Partition, effect: Effect) -> bool:
        with replaced(self, "wake", nothing):
            return bool(do(self, effect))

    return replaced(Partition, "_DO", Partition._DO | {kind: without})
