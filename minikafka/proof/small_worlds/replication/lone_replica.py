"""What one replica needs around it: a log that is only offsets and epochs, brokers, and the partition as the controller knows it.

Owns: ReplicaLog, which carries out what a replica decides; PartitionAtController, which decides on proposed ISRs.
Source: for the controller's answers ReplicationControlManager.validateAlterPartitionData (rule 16).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from minikafka.broker.replication.isr import ProposedIsr
from minikafka.protocol.errors import Err

NODE = 1                                   # the broker of the replica
OTHERS = (2, 3, 4, 5)
NOWHERE = (-1, -1)


@dataclass
class EpochStarts:
    """The leader-epoch cache: (epoch, first offset), both rising."""

    entries: list[tuple[int, int]] = field(default_factory=list)

    @property
    def latest(self) -> int:
        return max((epoch for epoch, _ in self.entries), default=-1)

    def end_offset_for(self, epoch: int, log_end: int) -> tuple[int, int]:
        """Return the largest known epoch up to this one, and where it ends (rule 20)."""
        if epoch < 0 or epoch > self.latest:
            return NOWHERE
        later = [start for one, start in self.entries if one > epoch]
        return max((one for one, _ in self.entries if one <= epoch), default=epoch), min(later, default=log_end)


@dataclass
class ReplicaLog:
    """A log without records: where it starts and ends, and where each epoch begins."""

    start_offset: int = 0
    end_offset: int = 0
    epochs: EpochStarts = field(default_factory=EpochStarts)

    def mark(self, epoch: int) -> None:
        """Let an epoch begin at the end of the log."""
        if epoch > self.epochs.latest:
            self.epochs.entries = [e for e in self.epochs.entries if e[1] < self.end_offset] + [(epoch, self.end_offset)]

    def append(self, records: int, epoch: int) -> None:
        self.mark(epoch)
        self.end_offset += records

    def truncate(self, offset: int) -> None:
        self.end_offset = min(offset, self.end_offset)
        self.epochs.entries = [e for e in self.epochs.entries if e[1] < offset]

    def begin_at(self, offset: int) -> None:
        """Delete the records before `offset`."""
        self.start_offset = offset
        before = [e for e in self.epochs.entries if e[1] <= offset]
        self.epochs.entries = [(epoch, offset) for epoch, _ in before[-1:]] + self.epochs.entries[len(before):]

    def start_at(self, offset: int) -> None:
        """Discard everything and begin at `offset`."""
        self.start_offset = self.end_offset = offset
        self.epochs.entries = []

    def epoch_before(self, offset: int) -> int:
        """Return the epoch of the record before `offset`, -1 if it is not known."""
        return max((epoch for epoch, start in self.epochs.entries if start < offset), default=-1)


@dataclass
class FollowerBroker:
    """A broker as the metadata of the leader shows it."""

    epoch: int
    active: bool = True
    rack: str | None = None


@dataclass(frozen=True)
class CommittedPartition:
    """The partition as one record of metadata has it."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    adding: tuple[int, ...] = ()


@dataclass
class FollowerBrokers:
    """The cluster as the leader knows it."""

    brokers: dict[int, FollowerBroker]

    def change(self, rng: Random) -> None:
        """Let a broker restart, be fenced or unfenced, or be unknown."""
        number, what = rng.choice((*OTHERS, NODE)), rng.random()
        broker = self.brokers.setdefault(number, FollowerBroker(10, True, rng.choice(("a", "b", "b"))))
        if what < 0.3:
            broker.epoch += 1
        elif what < 0.8:
            broker.active = not broker.active
        elif what < 0.9:
            del self.brokers[number]


class PartitionAtController:
    """The partition's history, as the controller has committed it, and the controller's verdicts."""

    def __init__(self, rng: Random, brokers: dict[int, FollowerBroker]) -> None:
        self.rng, self.brokers = rng, brokers
        self.strange = rng.random() < 0.3                    # an ISR may have a member that is no replica
        replicas = (NODE, *rng.sample(OTHERS, rng.choice((0, 2, 3, 3))))
        self.history = [CommittedPartition(replicas, replicas, rng.choice(replicas), 1, 1)]

    @property
    def state(self) -> CommittedPartition:
        return self.history[-1]

    def commit(self, leads_anew: bool = False, **what: object) -> None:
        """Commit a change: the partition epoch rises, and with `leads_anew` the leader epoch."""
        state = self.state
        self.history.append(replace(state, partition_epoch=state.partition_epoch + 1,  # type: ignore[arg-type]
                                    leader_epoch=state.leader_epoch + leads_anew, **what))

    def change(self) -> None:
        """Let the controller do something on its own: elect, fence, add or remove a replica."""
        changes: list[Callable[[], None]] = [self.elect, self.elect, self.fence, self.fence, self.add, self.remove]
        self.rng.choice(changes)()

    def elect(self) -> None:
        """Let the replica lead, or another, the same again, or nobody."""
        isr = self.state.isr
        if self.strange and self.rng.random() < 0.5:
            isr = (*isr, *[one for one in OTHERS if one not in (*isr, *self.state.replicas)][:1])
        eligible = [member for member in isr if member in self.state.replicas]
        leader = NODE if NODE in isr and self.rng.random() < 0.7 else self.rng.choice((*eligible, -1))
        self.commit(True, leader=leader, isr=isr)

    def fence(self) -> None:
        """Take a follower out of the ISR, for its broker is fenced."""
        followers = [member for member in self.state.isr if member != self.state.leader]
        if followers and len(self.state.isr) > 1:
            gone = self.rng.choice(followers)
            self.commit(isr=tuple(member for member in self.state.isr if member != gone))

    def add(self) -> None:
        """Begin to add a replica, or say that those being added are replicas like others."""
        new = [broker for broker in OTHERS if broker not in (*self.state.replicas, *self.state.isr)]
        if self.state.adding or not new:
            self.commit(adding=())
        else:
            one = self.rng.choice(new)
            self.commit(replicas=(*self.state.replicas, one), adding=(one,))

    def remove(self) -> None:
        """Remove a replica that is not in the ISR; the leader epoch rises."""
        state = self.state
        out = [one for one in state.replicas if one not in (*state.isr, NODE, state.leader)]
        if out:
            kept = tuple(one for one in state.replicas if one != out[0])
            self.commit(True, replicas=kept, adding=tuple(one for one in state.adding if one in kept))

    def decide(self, proposal: ProposedIsr) -> tuple[Err, CommittedPartition]:
        """Return the verdict on a proposal, and the partition after it. REQUEST_TIMED_OUT hides that it was granted."""
        state = self.state
        if proposal.leader_epoch < state.leader_epoch:
            return Err.FENCED_LEADER_EPOCH, state
        if state.leader != NODE:
            return Err.INVALID_REQUEST, state
        if proposal.partition_epoch < state.partition_epoch:
            return Err.INVALID_UPDATE_VERSION, state
        if any(not self._eligible(member, epoch) for member, epoch in proposal.isr):
            return Err.INELIGIBLE_REPLICA, state
        what = self.rng.random()
        if what < 0.15:
            return self.rng.choice((Err.OPERATION_NOT_ATTEMPTED, Err.UNKNOWN_TOPIC_OR_PARTITION, Err.UNKNOWN_TOPIC_ID,
                                    Err.NOT_CONTROLLER, Err.STALE_BROKER_EPOCH)), state
        moves = what > 0.97 and len(proposal.members) > 1
        self.commit(moves, isr=proposal.members, leader=proposal.members[-1] if moves else NODE)
        if not moves and self.rng.random() < 0.2:            # a reassignment ends with it: this is another ISR, an epoch later
            self.commit(isr=proposal.members[::-1])
        error = Err.NEW_LEADER_ELECTED if moves else Err.REQUEST_TIMED_OUT if what > 0.9 else Err.NONE
        return error, self.state

    def _eligible(self, member: int, epoch: int) -> bool:
        broker = self.brokers.get(member)
        return broker is not None and (member == NODE or broker.active) and epoch in (-1, broker.epoch)
