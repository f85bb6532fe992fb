"""A cluster of replica cores without a network: one partition, a controller in miniature, every message by hand.

Used by the transcripts (`tests/stories/replica/*.txt`) and by the random model. Logs are lists of (value, leader epoch);
nothing is lost between brokers unless the script says so, and nothing arrives before the script delivers it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from minikafka.broker.replication import effects as core
from minikafka.broker.replication.effects import EpochEnd
from minikafka.broker.replication.isr import ProposedIsr
from minikafka.broker.replication.replica import Replica
from minikafka.protocol.errors import Err, KafkaError


class TinyEpochs:
    """The leader-epoch cache as a list (rules 19, 20)."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int]] = []

    @property
    def latest(self) -> int:
        return self.entries[-1][0] if self.entries else -1

    def assign(self, epoch: int, offset: int) -> None:
        if self.latest < epoch:
            self.entries = [e for e in self.entries if e[1] < offset] + [(epoch, offset)]

    def end_offset_for(self, epoch: int, log_end: int) -> tuple[int, int]:
        if not self.entries or epoch > self.latest:
            return (-1, -1)
        if epoch == self.latest:
            return epoch, log_end
        floor = max((e for e, _ in self.entries if e <= epoch), default=epoch)
        return floor, min(offset for e, offset in self.entries if e > epoch)

    def truncate(self, offset: int) -> None:
        self.entries = [e for e in self.entries if e[1] < offset]


class TinyLog:
    """(value, epoch) by offset."""

    def __init__(self) -> None:
        self.records: list[tuple[str, int]] = []
        self.epochs = TinyEpochs()
        self.start_offset = 0

    @property
    def end_offset(self) -> int:
        return len(self.records)

    def append(self, records: list[tuple[str, int]]) -> None:
        for value, epoch in records:
            self.epochs.assign(epoch, self.end_offset)
            self.records.append((value, epoch))

    def truncate(self, offset: int) -> None:
        del self.records[offset:]
        self.epochs.truncate(offset)


Request = tuple[int, int, int, int, int]        # leader, broker epoch, leader epoch, fetch offset, last fetched epoch


@dataclass(frozen=True)
class State:
    """The partition as the controller has committed it."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 1
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()


@dataclass
class Registration:
    """A broker as the controller knows it."""

    epoch: int
    active: bool = True


@dataclass
class Fetched:
    """An answer to a fetch, on its way."""

    epoch: int
    offset: int
    records: list[tuple[str, int]]
    high_watermark: int
    diverging: EpochEnd | None = None
    error: Err = Err.NONE


@dataclass
class Pending:
    """An acks=all append whose answer is still due."""

    broker: int
    offset: int
    value: str


@dataclass
class World:
    """Brokers 1..n with one replica each; broker 1 leads epoch 1 with everyone in the ISR."""

    size: int = 3
    lag: float = 10.0
    min_insync: int = 1
    kind: type[Replica] = Replica
    now: float = 0.0
    brokers: dict[int, Registration] = field(default_factory=dict)
    logs: dict[int, TinyLog] = field(default_factory=dict)
    replicas: dict[int, Replica] = field(default_factory=dict)           # of running brokers only
    fetches: dict[int, list[Request]] = field(default_factory=dict)      # requests held back, oldest first
    answers: dict[int, Fetched] = field(default_factory=dict)            # by follower, held back
    proposals: dict[int, ProposedIsr] = field(default_factory=dict)         # by leader, not yet at the controller
    verdicts: dict[int, tuple[ProposedIsr, Err, State]] = field(default_factory=dict)
    pending: list[Pending] = field(default_factory=list)
    acked: dict[int, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        ids = tuple(range(1, self.size + 1))
        self.state = State(ids, ids, 1)
        self._registered = self.size
        for node in ids:
            self.brokers[node] = Registration(node)
            self.logs[node] = TinyLog()
            self._start(node, 0)
        for node in ids:
            self.metadata(node)

    # --- what happens -------------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        self.said.append(text)

    def _start(self, node: int, high_watermark: int) -> None:
        log = self.logs[node]
        self.replicas[node] = self.kind(node, log, self, self.lag, self.min_insync, min(high_watermark, log.end_offset))

    def run(self, node: int, effects: list[Any]) -> None:
        for effect in effects:
            self._carry_out(node, effect)
        self._answer_producers()

    def _carry_out(self, node: int, effect: Any) -> None:
        log = self.logs[node]
        match effect:
            case core.AssignEpoch(epoch, offset):
                log.epochs.assign(epoch, offset)
            case core.Truncate(offset):
                gone = [value for value, _ in log.records[offset:]]
                log.truncate(offset)
                self.say(f"{node}: truncates to {offset}" + (f", loses {' '.join(gone)}" if gone else ""))
                self.run(node, self.replicas[node].on_truncated())
            case core.Lead(epoch, offset):
                self.say(f"{node}: leads epoch {epoch} from offset {offset}")
            case core.Follow(leader, epoch):
                self.say(f"{node}: " + (f"follows {leader}" if leader > 0 else "has no leader") + f" in epoch {epoch}")
            case core.HighWatermark(offset):
                self.say(f"{node}: high watermark {offset}")
            case core.IsrCommitted(isr, epoch, why):
                self.say(f"{node}: ISR {_list(isr)}, partition epoch {epoch} ({why})")
            case core.ProposeIsr(proposal):
                self.proposals[node] = proposal
                self.say(f"{node}: proposes ISR {_list(proposal.members)} ({proposal.why})")

    def _answer_producers(self) -> None:
        for p in list(self.pending):
            replica = self.replicas.get(p.broker)
            error = Err.NOT_LEADER_OR_FOLLOWER if replica is None else replica.ack(p.offset + 1)
            if error is not None:
                self.pending.remove(p)
                self.say(f"{p.broker}: {p.value} " + ("acknowledged" if error == Err.NONE else error.name))
                if error == Err.NONE:
                    self.acked[p.offset] = p.value

    def produce(self, node: int, value: str, acks: int = -1) -> None:
        replica, log = self.replicas[node], self.logs[node]
        try:
            replica.check_append(acks)
        except KafkaError as refused:
            self.say(f"{node}: {value} refused, {refused.code.name}")
            return
        log.append([(value, replica.leader_epoch)])
        self.say(f"{node}: {value} at offset {log.end_offset - 1}" + ("" if acks == -1 else ", acknowledged (acks=1)"))
        if acks == -1:
            self.pending.append(Pending(node, log.end_offset - 1, value))
        self.run(node, replica.on_appended(self.now))

    def fetch_send(self, node: int) -> None:
        """A fetch leaves the follower."""
        self.fetches.setdefault(node, []).append(self._request(node))

    def _request(self, node: int) -> Request:
        replica, log = self.replicas[node], self.logs[node]
        return replica.leader, self.brokers[node].epoch, replica.leader_epoch, log.end_offset, log.epochs.latest

    def fetch_arrive(self, node: int) -> None:
        """It reaches the leader, whose answer is held back."""
        request = self.fetches[node].pop(0)
        if not self.fetches[node]:
            del self.fetches[node]
        self._serve(node, request)

    def _serve(self, node: int, request: Request) -> None:
        leader, broker_epoch, epoch, offset, last_epoch = request
        replica = self.replicas.get(leader)
        if replica is None:
            self.say(f"{node}: nobody answers at {leader}")
            return
        alive = node in self.replicas and broker_epoch == self.brokers[node].epoch
        try:
            replica.check_leader(epoch)
            replica.check_follower(node, epoch)
            diverging = replica.divergence(offset, last_epoch)
            if diverging is None and offset > replica.log.end_offset:
                raise KafkaError(Err.OFFSET_OUT_OF_RANGE)
            answer = Fetched(epoch, offset, [] if diverging else self.logs[leader].records[offset:],
                             replica.high_watermark, diverging)
            if diverging is None:
                self.run(leader, replica.on_follower_fetch(node, broker_epoch, epoch, offset, 0, self.now))
        except KafkaError as refused:
            answer = Fetched(epoch, offset, [], 0, None, refused.code)
        if alive:                                      # else the one that asked is gone
            self.answers[node] = answer

    def fetch_take(self, node: int) -> None:
        """The follower gets the answer."""
        answer, replica, log = self.answers.pop(node), self.replicas[node], self.logs[node]
        if answer.epoch != replica.leader_epoch or answer.offset != log.end_offset or replica.is_leader:
            self.say(f"{node}: the answer is out of date")
        elif answer.error:
            self.say(f"{node}: fetch from {answer.offset}: {answer.error.name}")
        elif answer.diverging:
            self.say(f"{node}: diverges, epoch {answer.diverging.epoch} ends at {answer.diverging.end_offset}")
            self.run(node, replica.on_diverging(answer.diverging))
        else:
            if answer.records:
                log.append(answer.records)
                self.say(f"{node}: copies {' '.join(v for v, _ in answer.records)}")
            self.run(node, replica.on_fetched(answer.high_watermark))

    def fetch(self, node: int) -> None:
        self._serve(node, self._request(node))
        if node in self.answers:
            self.fetch_take(node)

    # --- brokers ------------------------------------------------------------------------------------------------

    def kill(self, node: int) -> None:
        """The process is gone; what it had appended is in the page cache, what it had sent is on its way."""
        del self.replicas[node]
        for held in (self.answers, self.verdicts):
            held.pop(node, None)
        self._answer_producers()

    def restart(self, node: int, keep: int | None = None, high_watermark: int = 0) -> None:
        """Back with a new registration; `keep` records survived (a power failure, or 0 for a new disk)."""
        if keep is not None:
            self.logs[node].truncate(keep)
        self.fence(node)                               # a new incarnation keeps no seat and no leadership (rule 29)
        self._registered += 1
        self.brokers[node] = Registration(self._registered, active=False)
        self.unfence(node)
        self._start(node, high_watermark)
        self.metadata(node)

    # --- the controller -----------------------------------------------------------------------------------------

    def _change(self, leader: int | None = None, isr: tuple[int, ...] | None = None) -> None:
        s = self.state
        self.state = replace(s, leader=s.leader if leader is None else leader, isr=s.isr if isr is None else isr,
                             leader_epoch=s.leader_epoch + (leader is not None), partition_epoch=s.partition_epoch + 1)
        self.say(f"controller: leader {self.state.leader}, epoch {self.state.leader_epoch}, ISR {_list(self.state.isr)}")

    def fence(self, node: int) -> None:
        """No heartbeat from `node`: out of the ISR unless it is the last, and no leader any more (rules 27, 30)."""
        self.brokers[node].active = False
        rest = tuple(b for b in self.state.isr if b != node) or self.state.isr
        if self.state.leader == node:
            alive = [b for b in self.state.replicas if b in rest and self.brokers[b].active]
            self._change(alive[0] if alive else -1, rest)
        elif rest != self.state.isr:
            self._change(isr=rest)

    def unfence(self, node: int) -> None:
        self.brokers[node].active = True
        if self.state.leader == -1 and node in self.state.isr:
            self._change(node)

    def elect(self, node: int) -> None:
        """A new epoch led by `node`, for whatever reason the script has."""
        self._change(node)

    def metadata(self, node: int) -> None:
        """`node` hears the newest state."""
        self.run(node, self.replicas[node].on_metadata(self.state, self.now))

    def alter_arrive(self, node: int) -> None:
        """The proposal of `node` reaches the controller (rule 16), whose verdict is held back."""
        proposal = self.proposals.pop(node)
        error = self._judge(node, proposal)
        if error == Err.NONE:
            self._change(isr=proposal.members)
        else:
            self.say(f"controller: refuses {_list(proposal.members)}, {error.name}")
        self.verdicts[node] = (proposal, error, self.state)

    def _judge(self, node: int, proposal: ProposedIsr) -> Err:
        s = self.state
        if proposal.leader_epoch < s.leader_epoch:
            return Err.FENCED_LEADER_EPOCH
        if s.leader != node:
            return Err.INVALID_REQUEST
        if proposal.partition_epoch < s.partition_epoch:
            return Err.INVALID_UPDATE_VERSION
        for member, epoch in proposal.isr:
            registered = self.brokers[member]
            if not registered.active or epoch not in (-1, registered.epoch):
                return Err.INELIGIBLE_REPLICA
        return Err.NONE

    def alter_take(self, node: int) -> None:
        proposal, error, state = self.verdicts.pop(node)
        self.run(node, self.replicas[node].on_alter_response(
            proposal, error, self.now, state.isr, state.leader_epoch, state.partition_epoch))

    def alter_lose(self, node: int) -> None:
        """The verdict is lost; the leader, which has heard nothing, sends its proposal again."""
        self.proposals[node] = self.verdicts.pop(node)[0]

    def tick(self, node: int) -> None:
        self.run(node, self.replicas[node].on_tick(self.now))

    # --- looking ------------------------------------------------------------------------------------------------

    def show(self) -> None:
        for node, log in self.logs.items():
            replica = self.replicas.get(node)
            role = "down" if replica is None else "leader" if replica.is_leader else "follower"
            head = f"{node} {role:8}"
            if replica is not None:
                head += f" epoch {replica.leader_epoch} hw {replica.high_watermark}"
                head += f" isr {_list(replica.isr.maximal)}" if replica.is_leader else ""
            self.say(" ".join([head, "|", *(f"{value}/{epoch}" for value, epoch in log.records)]))


def _list(members: tuple[int, ...]) -> str:
    return ",".join(map(str, members)) or "-"
