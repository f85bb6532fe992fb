"""The surroundings of one replica: a log that is only offsets and epochs, brokers, and the partition at the controller.

Owns: ReplicaLog, which carries out what a replica decides; PartitionAtController, the partition's history. On proposed ISRs the
broker's own alter_partition() decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import starmap
from random import Random
from types import SimpleNamespace
from uuid import UUID

from minikafka.broker.controller.alter_partition import IsrMember, Proposal, alter_partition
from minikafka.broker.metadata.registrations import PartitionRegistration, TopicImage
from minikafka.broker.replication.isr import ProposedIsr
from minikafka.log.epochs import LeaderEpochCache
from minikafka.protocol.errors import Err

NODE = 1                                   # the broker of the replica
OTHERS = (2, 3, 4, 5)
TOPIC = UUID(int=1)


class EpochsInMemory(LeaderEpochCache):
    """The leader-epoch cache without its file."""

    def __init__(self) -> None:
        self.entries = []

    def _replace(self, entries: list[tuple[int, int]]) -> None:
        self.entries = entries


@dataclass
class ReplicaLog:
    """A log without records: where it starts and ends, and where each epoch begins."""

    start_offset: int = 0
    end_offset: int = 0
    epochs: EpochsInMemory = field(default_factory=EpochsInMemory)

    def append(self, records: int, epoch: int) -> None:
        self.epochs.assign(epoch, self.end_offset)
        self.end_offset += records

    def truncate(self, offset: int) -> None:
        self.end_offset = min(offset, self.end_offset)
        self.epochs.truncate_from_end(offset)

    def begin_at(self, offset: int) -> None:
        """Delete the records before `offset`."""
        self.start_offset = offset
        self.epochs.truncate_from_start(offset)

    def start_at(self, offset: int) -> None:
        """Discard everything and begin at `offset`."""
        self.start_offset = self.end_offset = offset
        self.epochs.clear()


@dataclass
class FollowerBroker:
    """A broker as the metadata of the leader shows it."""

    epoch: int
    active: bool = True
    rack: str | None = None


@dataclass
class FollowerBrokers:
    """The cluster in the leader's metadata."""

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
        self.history = [PartitionRegistration("t", TOPIC, 0, replicas, replicas, rng.choice(replicas), 1, 1)]

    @property
    def state(self) -> PartitionRegistration:
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
        """Let this replica lead, or another, the present leader again, or none."""
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
        """Begin to add a replica, or end the addition that is under way."""
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

    def decide(self, proposal: ProposedIsr) -> tuple[Err, PartitionRegistration]:
        """Return the verdict on a proposal, and the partition after it. REQUEST_TIMED_OUT hides that it was granted."""
        wanted = Proposal(0, proposal.leader_epoch, proposal.partition_epoch, tuple(starmap(IsrMember, proposal.isr)), False)
        image = SimpleNamespace(brokers=self.brokers, topic_by_id=lambda id: TopicImage("t", id, {0: self.state}))
        _, ((_, (verdict,)),) = alter_partition(image, NODE, [(TOPIC, [wanted])], lambda *_: None)  # type: ignore[arg-type]
        if isinstance(verdict.outcome, Err):
            return verdict.outcome, self.state
        what = self.rng.random()
        if what < 0.15:
            return self.rng.choice((Err.OPERATION_NOT_ATTEMPTED, Err.UNKNOWN_TOPIC_OR_PARTITION, Err.UNKNOWN_TOPIC_ID,
                                    Err.NOT_CONTROLLER, Err.STALE_BROKER_EPOCH)), self.state
        moves = what > 0.97 and len(proposal.members) > 1
        self.commit(moves, isr=proposal.members, leader=proposal.members[-1] if moves else NODE)
        if not moves and self.rng.random() < 0.2:            # a reassignment ends with it: this is another ISR, an epoch later
            self.commit(isr=proposal.members[::-1])
        error = Err.NEW_LEADER_ELECTED if moves else Err.REQUEST_TIMED_OUT if what > 0.9 else Err.NONE
        return error, self.state
