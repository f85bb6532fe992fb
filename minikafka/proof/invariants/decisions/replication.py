"""What a replica of a partition decides: whom it serves, what it acknowledges, what counts, where it cuts (rules 2 to 28)."""

from __future__ import annotations

from minikafka.broker.replication.effects import EpochEnd, StartAt, Truncate
from minikafka.broker.replication.isr import UNKNOWN, ProposedIsr
from minikafka.broker.replication.replica import NO_EPOCH, PartitionView, Replica
from minikafka.broker.replication.shell.partition import HIGH_WATERMARK, LAST_STABLE, Partition
from minikafka.proof.invariants.decisions.decision import Check, decision
from minikafka.protocol.errors import Err

NOT_GRANTED = {Err.INELIGIBLE_REPLICA, Err.OPERATION_NOT_ATTEMPTED}  # answers after which a proposal was surely not granted


def _least(replica: Replica) -> int:
    """Return the members that the ISR must have; a replica that is being added is none that could be missing."""
    return min(replica.min_insync, len([r for r in replica.replicas if r not in replica.adding]))


def _maximal(replica: Replica) -> set[int]:
    proposed = replica.isr.proposal.members if replica.isr.proposal is not None else ()
    return {*replica.isr.committed, *proposed}


# --- requests ---------------------------------------------------------------------------------------------------------


@decision(Replica, "check_epoch")
def same_epoch(replica: Replica, epoch: int) -> Check:
    """Check rule 22."""
    yield
    if epoch not in (NO_EPOCH, replica.leader_epoch):
        return f"a request of leader epoch {epoch} is served in epoch {replica.leader_epoch}"
    return None


@decision(Replica, "check_leader")
def leads(replica: Replica, epoch: int = NO_EPOCH) -> Check:
    """Check rule 22."""
    yield
    if replica.leader != replica.node_id or epoch not in (NO_EPOCH, replica.leader_epoch):
        return f"a request of leader epoch {epoch} is served; broker {replica.leader} leads in {replica.leader_epoch}"
    return None


@decision(Replica, "check_append")
def may_append(replica: Replica, acks: int) -> Check:
    """Check rule 8."""
    yield
    isr = replica.isr.committed
    if replica.leader != replica.node_id or acks == -1 and len(isr) < _least(replica):
        return f"takes acks={acks}: leader {replica.leader}, ISR {list(isr)}, of which there must be {_least(replica)}"
    return None


@decision(Replica, "ack")
def acknowledged(replica: Replica, required: int) -> Check:
    """Check rule 8."""
    error = yield
    few = len(_maximal(replica)) < _least(replica)
    if error is Err.NONE and (replica.leader != replica.node_id or replica.high_watermark < required or few):
        return (f"acknowledges up to {required}: leader {replica.leader}, HW {replica.high_watermark}, maximal ISR "
                f"{sorted(_maximal(replica))}, of which there must be {_least(replica)}")
    return None


@decision(Replica, "divergence")
def contained(replica: Replica, offset: int, last_epoch: int) -> Check:
    """Check rule 21: a log that ends with this epoch at this offset is a part of ours only if ours has the epoch up to there."""
    diverging = yield
    if diverging is not None or last_epoch == NO_EPOCH:
        return None
    entries = replica.log.epochs.entries
    end = min((start for epoch, start in entries if epoch > last_epoch), default=replica.log.end_offset)
    known = max((epoch for epoch, _ in entries if epoch <= last_epoch), default=last_epoch)
    if known != last_epoch or offset > end:
        return f"a log up to {offset}, epoch {last_epoch}, passes for a part of {entries} up to {replica.log.end_offset}"
    return None


@decision(Partition, "bound")
def readable(partition: Partition, isolation: str) -> Check:
    """Check rules 9 and 10."""
    end = yield
    stable = max(partition.log.start_offset, partition.log.producers.last_stable_offset(partition.replica.high_watermark))
    most = {HIGH_WATERMARK: partition.replica.high_watermark, LAST_STABLE: stable}.get(isolation, end)
    return f"{partition.name} is read up to {end}, the {isolation} is {most}" if end > most else None


@decision(Partition, "read")
def aborted_are_told(partition: Partition, offset: int, max_bytes: int, isolation: str, last_fetched_epoch: int = NO_EPOCH,
                     min_one: bool = True) -> Check:
    """Check rule 54."""
    read = yield
    if isolation == LAST_STABLE and read.records:
        known = partition.log.aborted_transactions(offset, partition.log.end_offset)
        if missing := [row for row in known if row not in read.aborted]:
            return f"{partition.name} is read from {offset} on, and not told is that {missing} were aborted"
    return None


@decision(Partition, "delete_records")
def deleted_below(partition: Partition, before: int) -> Check:
    """Check rule 11."""
    start = yield
    high = partition.replica.high_watermark
    return f"{partition.name} is deleted up to {start}, its HW is {high}" if start > high else None


# --- followers --------------------------------------------------------------------------------------------------------


@decision(Replica, "on_follower_fetch")
def fetch_counts(replica: Replica, follower: int, broker_epoch: int, epoch: int, offset: int, log_start: int,
                 now: float) -> Check:
    """Check rules 4 and 15."""
    before, known = replica.followers[follower].log_end_offset, replica.cluster.brokers.get(follower)
    yield
    if epoch != replica.leader_epoch and replica.followers[follower].log_end_offset != before:
        return f"a fetch of leader epoch {epoch} counts in epoch {replica.leader_epoch}"
    if broker_epoch != -1 and known is not None and broker_epoch < known.epoch:
        return f"a fetch of broker {follower}'s epoch {broker_epoch} counts, it is in epoch {known.epoch}"
    return None


@decision(Replica, "_advance")
def committed(replica: Replica, now: float) -> Check:
    """Check rules 2 and 3."""
    before = replica.high_watermark
    yield
    high, isr = replica.high_watermark, replica.isr.committed
    if high == before:
        return None
    behind = [r for r in _maximal(replica) if r in replica.followers and replica.followers[r].log_end_offset < high]
    if not before < high <= replica.log.end_offset or behind or len(isr) < _least(replica):
        return (f"HW {before} becomes {high}: ISR {list(isr)}, of which there must be {_least(replica)}, log end "
                f"{replica.log.end_offset}; behind are {behind}")
    return None


@decision(Replica, "_propose")
def proposed(replica: Replica, members: tuple[int, ...], why: str) -> Check:
    """Check rules 14 and 15."""
    under_way = replica.isr.proposal
    yield
    if under_way is not None:
        return f"{list(members)} is proposed while {list(under_way.members)} is"
    epochs = dict(replica.isr.proposal.isr) if replica.isr.proposal is not None else {}
    least = max(replica.high_watermark, replica.epoch_start or 0)
    for member in members:
        follower, broker = replica.followers.get(member), replica.cluster.brokers.get(member)
        if follower is None or member in replica.isr.committed:
            continue
        if broker is None or not broker.active or follower.broker_epoch not in (-1, broker.epoch):
            return f"{member} is to join the ISR, it is {broker}, and fetched in epoch {follower.broker_epoch}"
        if follower.log_end_offset < least or epochs.get(member) != follower.broker_epoch:
            return (f"{member} is to join the ISR with epoch {epochs.get(member)} and log end {follower.log_end_offset}; it "
                    f"fetched in epoch {follower.broker_epoch}, and {least} is the least")
    return None


@decision(Replica, "on_alter_response")
def settled(replica: Replica, proposal: ProposedIsr, error: Err, now: float, isr: tuple[int, ...] = (),
            leader_epoch: int = NO_EPOCH, partition_epoch: int = -1) -> Check:
    """Check rules 17 and 18."""
    under_way, before = replica.isr.proposal, (replica.leader_epoch, replica.partition_epoch)
    yield
    if replica.isr.proposal is under_way:
        return None
    granted = error is Err.NONE and leader_epoch == before[0] and partition_epoch >= before[1]
    if granted and replica.partition_epoch == partition_epoch and replica.isr.committed == tuple(isr):
        return None
    if under_way is not proposal or error not in NOT_GRANTED:
        return (f"the answer {error.name} of epochs {leader_epoch}, {partition_epoch} ends a proposal in epochs {before}: ISR "
                f"{list(replica.isr.committed)}")
    return None


@decision(Replica, "low_watermark")
def deleted_everywhere(replica: Replica) -> Check:
    """Check rule 11: DeleteRecords is answered when no live replica has older records."""
    low = yield
    for number, follower in replica.followers.items():
        broker = replica.cluster.brokers.get(number)
        if broker is not None and broker.active and follower.log_start_offset < low:
            return f"{low} is told as the low watermark, {number} begins at {follower.log_start_offset}"
    return None


@decision(Replica, "latest_known")
def latest_is_known(replica: Replica) -> Check:
    """Check rule 6."""
    known = yield
    if known and replica.epoch_start is not None and replica.high_watermark < replica.epoch_start:
        return f"the latest offset is told, HW {replica.high_watermark} is below the start of the epoch, {replica.epoch_start}"
    return None


# --- roles ------------------------------------------------------------------------------------------------------------


@decision(Replica, "on_metadata")
def newer_metadata(replica: Replica, state: PartitionView, now: float) -> Check:
    """Check rules 4, 5 and 28."""
    end, epochs, proposal = replica.log.end_offset, (replica.leader_epoch, replica.partition_epoch), replica.isr.proposal
    yield
    if state.partition_epoch <= epochs[1]:
        if (replica.leader_epoch, replica.partition_epoch) != epochs or replica.isr.proposal is not proposal:
            return f"metadata of partition epoch {state.partition_epoch} is applied in {epochs[1]}"
    elif state.leader_epoch > epochs[0] and state.leader == replica.node_id:
        remembered = {r: f.log_end_offset for r, f in replica.followers.items() if f.log_end_offset != UNKNOWN}
        if remembered or replica.epoch_start != end:
            return (f"leader epoch {state.leader_epoch} begins at {replica.epoch_start} with followers at {remembered}; the "
                    f"log ends at {end}")
    return None


@decision(Replica, "on_diverging")
def cut_where_logs_part(replica: Replica, leader: EpochEnd) -> Check:
    """Check rules 7 and 21: what is cut is what the leader does not have, no more and no less."""
    own = [*replica.log.epochs.entries, (None, replica.log.end_offset)]
    end, start = replica.log.end_offset, replica.log.start_offset
    effects = yield
    known = [place for place, (epoch, _) in enumerate(own[:-1]) if epoch is not None and epoch <= leader.epoch]
    if not known or own[-2][0] is None or leader.epoch > own[-2][0]:
        return None  # our log cannot say where that epoch ended
    own_end = own[known[-1] + 1][1]
    wanted = max(start, min(own_end, leader.end_offset, end) if own[known[-1]][0] == leader.epoch else min(own_end, end))
    cut = [effect.offset for effect in effects if isinstance(effect, Truncate)]
    if cut != [wanted]:
        return f"its leader's epoch ends at {leader}: {own[:-1]} up to {end} is cut at {cut}, not {wanted}"
    return None


@decision(Replica, "on_out_of_range")
def thrown_away(replica: Replica, leader_start: int, leader_end: int) -> Check:
    """Check rule 25."""
    start, end = replica.log.start_offset, replica.log.end_offset
    effects = yield
    if any(isinstance(effect, StartAt) for effect in effects) and leader_start <= end and leader_end >= start:
        return f"{start} to {end} is thrown away, the leader has {leader_start} to {leader_end}"
    return None
