"""What must be true of one replica's answers and of its state, whatever has happened to it.

    before = seen(replica)
    result = replica.on_follower_fetch(2, 10, 4, 7, 0, now)
    properties.of_answer(before, "on_follower_fetch", (2, 10, 4, 7, 0, now), result)      raises RuleFallen
    properties.of_state()

Each property is a sentence about an answer (the method has the name of the event) or about the state. Only what a leader
remembers of a follower has a second model, which is simpler than its subject: the list of all its fetches. What the
replica asserts itself is not said again.

Owns: the histories of the followers. Source: rules 1 to 28; kafka.cluster.Partition, AbstractFetcherThread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from minikafka.broker.metadata.registrations import PartitionRegistration
from minikafka.broker.replication.effects import (
    AssignEpoch,
    EpochEnd,
    Follow,
    HighWatermark,
    IsrCommitted,
    Lead,
    LogEndMoved,
    ProposeIsr,
    StartAt,
    Truncate,
)
from minikafka.broker.replication.isr import ProposedIsr
from minikafka.broker.replication.replica import Replica
from minikafka.proof.small_worlds.checks import RuleFallen, same
from minikafka.proof.small_worlds.replication.lone_replica import NODE, FollowerBroker, ReplicaLog
from minikafka.protocol.errors import Err

NEVER = float("-inf")
ANY = -1                                                     # an epoch that a request does not name
NOT_GRANTED = (Err.INELIGIBLE_REPLICA, Err.OPERATION_NOT_ATTEMPTED)
SENT_AGAIN = (Err.NOT_CONTROLLER, Err.STALE_BROKER_EPOCH, Err.REQUEST_TIMED_OUT)


class FollowerFetch(NamedTuple):
    """A fetch that counts: when, from where, and where the leader's log ended then."""

    time: float
    offset: int
    log_start: int
    broker_epoch: int | None
    leader_end: int


@dataclass
class FollowerHistory:
    """All fetches of one follower in this leader epoch. `seated`: when it was found in the ISR, without a fetch."""

    seated: float
    fetches: list[FollowerFetch] = field(default_factory=list)

    @property
    def last(self) -> FollowerFetch:
        return self.fetches[-1] if self.fetches else FollowerFetch(NEVER, -1, -1, None, -1)

    @property
    def caught_up(self) -> float:
        """Return the last moment at which the follower is known to have had all that the leader had then (rule 13).

        It had so at a fetch if that fetch begins at the leader's end of that moment, or the next one does.
        """
        at_once = [one.time for one in self.fetches if one.offset >= one.leader_end]
        soon = [one.time for one, following in pairwise(self.fetches) if following.offset >= one.leader_end]
        return max([self.seated, *at_once, *soon])


class Seen(NamedTuple):
    """The state of a replica at one moment. `followers`: log end, log start, when it was caught up, broker epoch."""

    high: int
    leader: int
    epochs: tuple[int, int]                                  # leader epoch, partition epoch
    isr: tuple[int, ...]
    proposal: ProposedIsr | None
    followers: dict[int, tuple[int, int, float, int | None]]


def seen(replica: Replica) -> Seen:
    """Return the state of `replica`."""
    return Seen(replica.high_watermark, replica.leader, (replica.leader_epoch, replica.partition_epoch), replica.isr.committed,
                replica.isr.proposal, {one: (f.log_end_offset, f.log_start_offset, f.last_caught_up_time, f.broker_epoch)
                                       for one, f in replica.followers.items()})


class ReplicaProperties:
    """The properties of one replica, from its start on."""

    def __init__(self, replica: Replica, log: ReplicaLog, brokers: Mapping[int, FollowerBroker]) -> None:
        self.replica, self.log, self.brokers = replica, log, brokers
        self.followers: dict[int, FollowerHistory] = {}

    # --- of every answer ----------------------------------------------------------------------------------------------

    def of_answer(self, before: Seen, what: str, arguments: tuple[Any, ...], result: Any) -> None:
        """Judge the result of the method `what`."""
        now, effects = seen(self.replica), result if isinstance(result, list) else []
        wrong = getattr(self, what)(before, result, *arguments)
        if not isinstance(result, list) and now != before:
            wrong = "it changed without an effect"
        if [one.offset for one in effects if isinstance(one, HighWatermark)] != [now.high] * (now.high != before.high):
            wrong = "the high watermark and its effect differ"
        for proposal in [one.proposal for one in effects if isinstance(one, ProposeIsr)]:
            if proposal is not now.proposal or proposal is not before.proposal and proposal.isr != tuple(
                    (member, self._fetched_in(member)) for member in proposal.members):
                wrong = "it proposes what is not under way, or members in other epochs than they fetched in"
            if proposal is not before.proposal and not all(map(self._may_join, {*proposal.members} - {*before.isr})):
                wrong = "a member may not join"
        if wrong:
            raise RuleFallen("I-LONEREPLICA-1", f"{what}{arguments} returned {result!r}: {wrong}; {before} became {now}")

    def of_state(self) -> None:
        """Judge what the replica remembers of its followers, and what follows from that alone."""
        replica = self.replica
        same("I-ISR-1", "the followers", seen(replica).followers, {
            one: (h.last.offset, h.last.log_start, h.caught_up, h.last.broker_epoch) for one, h in self.followers.items()})
        late = [h.caught_up + replica.max_lag for one, h in self.followers.items() if one in replica.isr.committed]
        same("I-ISR-1", "when a member may be late", replica.next_deadline(), min(late, default=None))
        same("I-LONEREPLICA-1", "whether the latest offset is known", replica.latest_known,
             replica.high_watermark in range(replica.epoch_start or 0, self.log.end_offset + 1))
        starts = [h.last.log_start for one, h in self.followers.items() if self._lives(one)]
        same("I-LONEREPLICA-1", "the low watermark", replica.low_watermark, min([self.log.start_offset, *starts]))

    # --- what follows from the histories ------------------------------------------------------------------------------

    def _fetched_in(self, member: int) -> int:
        if member == NODE:
            return self.brokers[NODE].epoch if NODE in self.brokers else ANY
        epoch = self.followers[member].last.broker_epoch if member in self.followers else None
        return ANY if epoch is None else epoch

    def _lives(self, follower: int) -> bool:
        return follower in self.brokers and self.brokers[follower].active

    def _in_sync(self, follower: int, now: float) -> bool:
        history = self.followers.get(follower)
        return history is not None and (
            history.last.offset == self.log.end_offset or history.caught_up >= now - self.replica.max_lag)

    def _too_few(self, isr: tuple[int, ...]) -> bool:
        whole = {*self.replica.replicas} - {*self.replica.adding}
        return len(isr) < min(self.replica.min_insync, len(whole))

    def _stands_still(self, now: float) -> str:
        """Return what is wrong if all who could count have records that are not committed."""
        if not self.replica.is_leader or self._too_few(self.replica.isr.committed):
            return ""
        may_count = [h.last.offset for one, h in self.followers.items()
                     if one in self.replica.isr.maximal or self._in_sync(one, now) and self._may_join(one)]
        all_have = min([self.log.end_offset, *may_count])
        return "all have more than is committed" if all_have > self.replica.high_watermark else ""

    def _may_join(self, follower: int) -> bool:
        epoch = self.followers[follower].last.broker_epoch
        return epoch is not None and self._lives(follower) and epoch in (ANY, self.brokers[follower].epoch)

    # --- roles --------------------------------------------------------------------------------------------------------

    def on_metadata(self, before: Seen, result: Any, state: PartitionRegistration, now: float) -> object:
        """Prove that older metadata changes nothing, and that a new epoch begins without any knowledge (rules 4, 5, 28)."""
        if state.partition_epoch <= before.epochs[1]:
            return result or seen(self.replica) != before
        new, leads, end = state.leader_epoch > before.epochs[0], state.leader == NODE, self.log.end_offset
        own = seen(self.replica)
        if own[1:5] != (state.leader, (state.leader_epoch, state.partition_epoch), state.isr if leads else (), None):
            return f"its state is {own}"
        begins = [AssignEpoch(state.leader_epoch, end), Lead(state.leader_epoch, end)] if leads else [
            Follow(state.leader, state.leader_epoch)]
        ours = before.proposal
        why = ours.why if ours is not None and {*ours.members} == {*state.isr} else "metadata"
        committed = [IsrCommitted(state.isr, state.partition_epoch, why)] * leads
        if result[:2 if leads else 1] != begins and new or [one for one in result if isinstance(one, IsrCommitted)] != committed:
            return f"its effects must be {begins} and {committed}"
        known = {} if new else self.followers
        self.followers = {one: known.get(one, FollowerHistory(now if one in state.isr else NEVER))
                          for one in state.replicas if leads and one != NODE}
        return self._stands_still(now)

    def check_leader(self, before: Seen, result: Any, epoch: int) -> object:
        """Prove that each refusal has its reason (rule 22)."""
        own, leads = before.epochs[0], before.leader == NODE
        return not {Err.FENCED_LEADER_EPOCH: epoch < own and epoch != ANY, Err.UNKNOWN_LEADER_EPOCH: epoch > own,
                    Err.NOT_LEADER_OR_FOLLOWER: epoch in (ANY, own) and not leads, None: epoch in (ANY, own) and leads}[result]

    # --- produce ------------------------------------------------------------------------------------------------------

    def check_append(self, before: Seen, result: Any, acks: int) -> object:
        """Prove that each refusal has its reason (rule 8)."""
        leads, few = before.leader == NODE, acks == -1 and self._too_few(before.isr)
        return not {Err.NOT_LEADER_OR_FOLLOWER: not leads, Err.NOT_ENOUGH_REPLICAS: leads and few,
                    None: leads and not few}[result]

    def on_appended(self, before: Seen, result: Any, now: float) -> object:
        return result != [LogEndMoved(self.log.end_offset)] and len(result) != 1 or self._stands_still(now)

    def ack(self, before: Seen, result: Any, required: int) -> object:
        """Prove that each answer to acks=all has its reason (rule 8)."""
        leads, has, few = before.leader == NODE, required <= before.high, self._too_few(self.replica.isr.maximal)
        return not {Err.NOT_LEADER_OR_FOLLOWER: not leads, None: leads and not has, Err.NONE: leads and has and not few,
                    Err.NOT_ENOUGH_REPLICAS_AFTER_APPEND: leads and has and few}[result]

    # --- fetch --------------------------------------------------------------------------------------------------------

    def check_follower(self, before: Seen, result: Any, follower: int, epoch: int) -> object:
        return result != (None if follower in before.followers else
                        Err.NOT_LEADER_OR_FOLLOWER if epoch == ANY else Err.UNKNOWN_LEADER_EPOCH)

    def divergence(self, before: Seen, result: Any, offset: int, last_epoch: int) -> object:
        """Prove that a log passes for a part of ours only if no later epoch of ours begins in it; else the answer says where
        its epoch ends here (rules 20, 21)."""
        known = self.log.epochs.entries
        if last_epoch == ANY:
            return result is not None
        if offset < self.log.start_offset or last_epoch > self.log.epochs.latest:
            return result is not Err.OFFSET_OUT_OF_RANGE
        end = min([self.log.end_offset, *(start for epoch, start in known if epoch > last_epoch)])
        shared = max((epoch for epoch, _ in known if epoch <= last_epoch), default=last_epoch)
        return result != (None if shared == last_epoch and offset <= end else EpochEnd(shared, end))

    def on_follower_fetch(self, before: Seen, result: Any, follower: int, broker_epoch: int, epoch: int, offset: int,
                          log_start: int, now: float) -> object:
        """Prove that a fetch of a former life is refused, and that one of another leader epoch counts for nothing; any other is
        remembered, and who may join is proposed at once (rules 4, 14, 15)."""
        former = follower in self.brokers and broker_epoch in range(self.brokers[follower].epoch)
        if former or isinstance(result, Err):
            return former and result is not Err.NOT_LEADER_OR_FOLLOWER or not former
        if epoch != before.epochs[0]:
            return result or seen(self.replica) != before
        history = self.followers[follower]
        moves = history.last.offset != offset
        history.fetches.append(FollowerFetch(now, offset, log_start, broker_epoch, self.log.end_offset))
        could = follower not in before.isr and self._may_join(follower) and (
            offset >= max(before.high, self.replica.epoch_start or 0))
        if could and self.replica.isr.proposal is None:
            return "it may join"
        return self._stands_still(now) if moves else ""

    def check_deletion(self, before: Seen, result: Any, offset: int) -> object:
        """Prove that what is committed may be deleted, and nothing else (rule 11)."""
        return result is not (None if offset in range(before.high + 1) else Err.OFFSET_OUT_OF_RANGE)

    def preferred(self, result: int | None, offset: int, rack: str, racks: Mapping[int, str | None]) -> None:
        """Judge to which follower a consumer in `rack` is sent: that with most records, if one has the offset (KIP-392)."""
        served_here = not self.replica.is_leader or not rack or racks.get(NODE) == rack
        near = [(-1, NEVER, None)] + [
            (h.last.offset, h.caught_up, one) for one, h in self.followers.items() if racks.get(one) == rack and not served_here
            and one in self.replica.isr.committed and h.last.log_start <= offset <= h.last.offset]
        same("I-RACK-1", f"the replica for rack {rack!r} and offset {offset}", result, max(near)[2])

    # --- ISR ----------------------------------------------------------------------------------------------------------

    def on_alter_response(self, before: Seen, result: Any, proposal: ProposedIsr, error: Err, now: float, isr: tuple[int, ...],
                          leader_epoch: int, partition_epoch: int) -> object:
        """Prove that only the answer to the proposal under way counts, and only one of our epoch; a proposal ends only if it was
        granted or surely not (rules 17, 18)."""
        own = seen(self.replica)
        if proposal is not before.proposal or error not in (Err.NONE, *NOT_GRANTED):
            again = proposal is before.proposal and error in SENT_AGAIN
            return own != before or result != [ProposeIsr(proposal)] * again
        if error:
            return own != before._replace(proposal=None)
        if leader_epoch != before.epochs[0] or partition_epoch < before.epochs[1]:
            return own != before
        return own[2:5] != ((leader_epoch, partition_epoch), isr, None) or self._stands_still(now)

    def on_tick(self, before: Seen, result: Any, now: float) -> object:
        """Prove that a late member is proposed to leave, and no other (rules 12, 14)."""
        late = [one for one in before.isr if one != NODE and not self._in_sync(one, now)]
        wanted = [one for one in before.isr if one not in late] if late and before.proposal is None else None
        proposed = [[*one.proposal.members] for one in result if isinstance(one, ProposeIsr)]
        return proposed != [wanted] * (wanted is not None) or self._stands_still(now)

    # --- follower -----------------------------------------------------------------------------------------------------

    def on_fetched(self, before: Seen, result: Any, leader_high: int) -> object:
        return self.replica.high_watermark != max(self.log.start_offset, min(leader_high, self.log.end_offset))

    def on_truncated(self, before: Seen, result: Any) -> object:
        return self.replica.high_watermark != max(self.log.start_offset, min(before.high, self.log.end_offset))

    def on_diverging(self, before: Seen, result: Any, leader: EpochEnd) -> object:
        """Prove that what stays is what the leader may have too, older than its epoch or before that epoch's end (rule 21)."""
        log = self.log
        ends_here = leader.epoch in dict(log.epochs.entries) or leader.epoch > log.epochs.latest
        gone = [one for one in range(log.start_offset, log.end_offset)
                if log.epochs.epoch_for_offset(one) > leader.epoch or ends_here and one >= leader.end_offset]
        return result != [Truncate(min([log.end_offset, *gone]))]

    def on_out_of_range(self, before: Seen, result: Any, leader_start: int, leader_end: int) -> object:
        """Prove that the log is thrown away only if the leader has no offset of it (rule 25)."""
        start, end = self.log.start_offset, self.log.end_offset
        apart = leader_start > end or leader_end < start
        cut = [StartAt(leader_start)] if apart else [Truncate(leader_end)] if leader_end < end else []
        return result[:1] != cut or apart and self.replica.high_watermark != leader_start
