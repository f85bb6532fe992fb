"""What is known of a cluster at a moment: a fold over the events of its trace, one small handler per kind.

    state = State(); [state.fold(event) for event in events]

Nothing is asked of a broker and nothing is drawn here: the state holds facts in the words of the trace, `compose.py` makes
a frame of them. Kinds that the picture does not know are passed over, fields that a trace lacks (Apache's brokers are only
polled, older runs tell less) leave None.

Owns: all that was folded; `copy` gives one that goes its own way (checkpoints).
Invariants
  I-STATE-1  the state is a function of the events in their order: folding at once or in steps gives the same
  I-STATE-2  a broker's death takes what it believed, never what its log holds
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minikafka.lab.picture.clients import Consumer, Group, Producer, is_in_doubt
from minikafka.lab.picture.conditions import KILLED, STOPPED, Conditions, node_of
from minikafka.lab.picture.frame import Ghost
from minikafka.lab.picture.ledger import Account, Part
from minikafka.lab.picture.logs import Written
from minikafka.lab.picture.partitions import Behind, Partition
from minikafka.lab.picture.quorum import METADATA, Quorum

Event = dict[str, Any]
Handler = Callable[["State", Event], None]
LAG, SESSION = "replica.lag.time.max.ms", "broker.session.timeout.ms"


class State:
    """Everything folded so far; `t` is the time of the last event, by the trace's clock."""

    def __init__(self) -> None:
        self.t = 0.0
        self.brokers: tuple[int, ...] = ()             # nodes that serve clients, in order
        self.conditions = Conditions()
        self.partitions: dict[str, Partition] = {}
        self.quorum = Quorum()
        self.producers: dict[str, Producer] = {}
        self.consumers: dict[str, Consumer] = {}
        self.groups: dict[str, Group] = {}
        self.account = Account()
        self.config: dict[str, float] = {}             # Kafka's name -> milliseconds

    def copy(self) -> State:
        other = State()
        other.t, other.brokers = self.t, self.brokers
        other.conditions, other.quorum = self.conditions.copy(), self.quorum.copy()
        other.partitions = {name: each.copy() for name, each in self.partitions.items()}
        other.producers = {name: each.copy() for name, each in self.producers.items()}
        other.consumers = {name: each.copy() for name, each in self.consumers.items()}
        other.groups = {name: each.copy() for name, each in self.groups.items()}
        other.account, other.config = self.account.copy(), self.config.copy()
        return other

    def fold(self, event: Event) -> None:
        self.t = event["t"]
        handler = HANDLERS.get(event["k"])
        if handler is not None:
            handler(self, event)

    # --- questions ------------------------------------------------------------------------------------------------

    def partition(self, name: str) -> Partition:
        if name not in self.partitions:
            self.partitions[name] = Partition(name)
        return self.partitions[name]

    def seconds(self, name: str) -> float | None:
        """A setting in seconds; None if the trace does not tell it."""
        value = self.config.get(name)
        return None if value is None else value / 1000

    def present_parts(self, tp: str, start: int, end: int) -> tuple[Part, ...]:
        """Which records stand at these offsets in the log that counts."""
        known = self.partitions.get(tp)
        log = known.reference if known is not None else None
        return ((None, start, end),) if log is None else tuple(log.parts(start, end)) or ((None, start, end),)

    def know(self, broker: int) -> None:
        if broker > 0 and broker not in self.brokers:
            self.brokers = tuple(sorted((*self.brokers, broker)))


# --- processes ------------------------------------------------------------------------------------------------------


def _start(state: State, event: Event) -> None:
    node = event["b"]
    _die(state, node)                                  # what the process before it believed is gone
    state.conditions.started(node, event["t"])
    if "broker" in event.get("roles", ("broker",)):
        state.know(node)
    state.config.update(event.get("config", {}))
    if event.get("voters") is not None:
        state.quorum.voters = tuple(event["voters"])


def _stop(state: State, event: Event) -> None:
    state.conditions.enter(event["b"], STOPPED, event["t"])
    _die(state, event["b"])


def _crash(state: State, event: Event) -> None:
    node = event.get("broker", event["b"])
    if not state.conditions.is_down(node):
        state.conditions.enter(node, KILLED, event["t"])
    _die(state, node)


def _die(state: State, node: int) -> None:
    """The process of a node is gone, and with it all that it believed."""
    state.quorum.died(node, state.t)
    for partition in state.partitions.values():
        replica = partition.replicas.get(node)
        if replica is not None:
            replica.role, replica.epoch, replica.leader = "unknown", None, None


def _fault(state: State, event: Event) -> None:
    if event["b"] != 0:                                # a broker's own account of what the cluster has told already
        return
    state.conditions.strike(event)
    node = node_of(event)
    if node is not None and state.conditions.is_down(node):
        _die(state, node)
    if event["fault"] == "wipe" and node is not None:
        for partition in state.partitions.values():
            if node in partition.replicas and partition.name != METADATA:
                _haunt(state, partition, node, partition.replicas[node].log.wiped(), state.t)


# --- controllers ----------------------------------------------------------------------------------------------------


def _raft(state: State, event: Event) -> None:
    if event["epoch"] < 0:
        return
    state.quorum.told(event["b"], event["role"], event["epoch"], event["leader"], event["t"])
    partition = state.partition(METADATA)
    partition.assigned = state.quorum.voters
    replica = partition.replica(event["b"])
    replica.role = "leader" if event["role"] == "leader" else "follower"
    replica.epoch, replica.leader, replica.polled = event["epoch"], event["leader"], "polled" in event
    if event["leader"] >= 0:
        partition.led(event["leader"], event["epoch"], event["t"])


def _broker(state: State, event: Event) -> None:
    node, told = event["id"], event["state"]
    state.know(node)
    if told in ("registered", "fenced", "unfenced"):
        state.quorum.states[node] = told
    if event["b"] == node and told == "unfenced":
        state.conditions.serves(node, event["t"])


# --- replicas -------------------------------------------------------------------------------------------------------


def _role(state: State, event: Event) -> None:
    partition, node = state.partition(event["tp"]), event["b"]
    replica = partition.replica(node)
    replica.role, replica.epoch, replica.leader = event["role"], event["epoch"], event["leader"]
    replica.polled = "polled" in event
    if event["role"] == "leaderless":
        replica.role = "follower"
    if event.get("replicas") is not None:
        partition.assigned = tuple(event["replicas"])
    if event.get("hw") is not None:
        replica.log.high_watermark = event["hw"]
    _settings(state, event)
    partition.led(event["leader"], event["epoch"], event["t"])
    if replica.polled:
        partition.isr = tuple(event["isr"])
    elif replica.role == "leader" and replica.log.end is not None:
        partition._watch_stall(event["t"])


def _decided(state: State, event: Event) -> None:
    """The active controller's committed word on a partition."""
    partition = state.partition(event["tp"])
    partition.assigned, partition.elr = tuple(event["replicas"]), tuple(event.get("elr", ()))
    partition.led(event["leader"], event["epoch"], event["t"])
    partition.in_sync(tuple(event["isr"]), event["epoch"], event["partition_epoch"])


def _isr(state: State, event: Event) -> None:
    version = event.get("partition_epoch", event["n"])
    partition = state.partition(event["tp"])
    partition.in_sync(tuple(event["isr"]), event["leader_epoch"], version)
    for follower in [f for f in partition.behind if f not in event["isr"]]:
        del partition.behind[follower]


def _recover(state: State, event: Event) -> None:
    partition = state.partition(event["tp"])
    log = partition.replica(event["b"]).log
    if log.end is not None and event["leo"] < log.end:
        _haunt(state, partition, event["b"], tuple(log.parts(event["leo"], log.end)), event["t"])
    epochs = event.get("epochs")
    written: tuple[Written, ...] | None = None if epochs is None else tuple((e, first) for e, first in epochs)
    log.opened(event.get("start"), event["leo"], written)


def _append(state: State, event: Event) -> None:
    partition = state.partition(event["tp"])
    partition.appended(event["b"], event["epoch"], event["base"], event["last"] + 1, event["t"])


def _hw(state: State, event: Event) -> None:
    state.partition(event["tp"]).moved(event["b"], event["hw"], event.get("lso"), event["t"])


def _truncate(state: State, event: Event) -> None:
    _cut_log(state, state.partition(event["tp"]), event["b"], event["to"])


def _log_start(state: State, event: Event) -> None:
    state.partition(event["tp"]).replica(event["b"]).log.begin_at(event["start"])


def _removed(state: State, event: Event) -> None:
    """A broker holds this partition no more: it went elsewhere, or its topic was deleted."""
    partition = state.partition(event["tp"])
    partition.replicas.pop(event["b"], None)
    if not partition.replicas:
        del state.partitions[event["tp"]]
        state.account.forget(event["tp"])
        for group in state.groups.values():
            group.committed.pop(event["tp"], None)


def _behind(state: State, event: Event) -> None:
    known = state.partition(event["tp"]).epoch
    if event.get("epoch", known) < known:
        return                                         # of a leader that is none any more
    behind, check = event.get("behind"), event.get("check_in")
    since = None if behind is None else event["t"] - behind
    told = Behind(since, None if check is None else event["t"] + check, event.get("every"))
    state.partition(event["tp"]).behind[event["follower"]] = told


def _settings(state: State, event: Event) -> None:
    settings = state.partition(event["tp"]).settings
    settings.min_isr = event.get("min_isr", settings.min_isr)
    settings.unclean = event.get("unclean", settings.unclean)


def _cut_log(state: State, partition: Partition, node: int, to: int) -> None:
    _haunt(state, partition, node, partition.replica(node).log.cut(to), state.t)


def _haunt(state: State, partition: Partition, node: int, gone: tuple[Part, ...], t: float) -> None:
    ghosts = (Ghost(start, end, epoch, state.account.count(partition.name, ((epoch, start, end),)), t)
              for epoch, start, end in gone)
    partition.replica(node).log.haunted(*ghosts)


# --- clients --------------------------------------------------------------------------------------------------------


def _sent(state: State, event: Event) -> None:
    state.account.producers_told = True
    state.producers.setdefault(event["client"], Producer()).send(event)


def _acked(state: State, event: Event) -> None:
    producer = state.producers.setdefault(event["client"], Producer())
    began = producer.answered(event)
    tp, offset = event["tp"], event["offset"]
    if offset < 0:                                     # acks=0: nobody told the producer anything
        producer.unknown += 1
        return
    producer.acked += 1
    producer.last_latency = event["t"] - began
    epoch = state.partition(tp).born_in(offset, began, event["t"])
    state.account.acknowledge(tp, epoch, offset)
    if not producer.follows(tp, event.get("record"), offset, epoch):
        state.account.reordered += 1


def _failed(state: State, event: Event) -> None:
    producer = state.producers.setdefault(event["client"], Producer())
    producer.answered(event)
    producer.last_error = event.get("error")
    if is_in_doubt(event):
        producer.unknown += 1
    else:
        producer.failed += 1


def _position(state: State, event: Event) -> None:
    consumer = state.consumers.setdefault(event["client"], Consumer())
    consumer.group, consumer.member = event.get("group", consumer.group), event.get("member", consumer.member)
    tp, position = event["tp"], event["position"]
    state.account.consumers_told = True
    first = event.get("first", max(consumer.positions.get(tp, position - 1), 0))
    consumer.positions[tp] = position
    if first < position:
        parts = state.present_parts(tp, first, position)
        state.account.deliver(consumer.group or event["client"], tp, parts, event.get("records"))


def _assigned(state: State, event: Event) -> None:
    """A watched consumer was given other partitions: it has no position in what it lost."""
    consumer = state.consumers.setdefault(event["client"], Consumer())
    consumer.group = event.get("group", consumer.group)
    kept = event["partitions"]
    consumer.positions = {tp: position for tp, position in consumer.positions.items() if tp in kept}


def _group(state: State, event: Event) -> None:
    group = state.groups.setdefault(event["group"], Group())
    group.state, group.generation, group.members = event["state"], event["generation"], tuple(event["members"])
    group.names.update(event.get("names", {}))
    if "assignment" in event:
        group.assignment = {member: tuple(tps) for member, tps in event["assignment"].items()}
    busy = event["state"] in ("PreparingRebalance", "CompletingRebalance")
    group.rebalancing = (group.rebalancing or event["t"]) if busy else None


def _commit(state: State, event: Event) -> None:
    state.groups.setdefault(event["group"], Group()).committed[event["tp"]] = event["offset"]


def _committed(state: State, event: Event) -> None:
    """What a client says it committed: of use only where no coordinator writes a trace."""
    group = event.get("group")
    if group is not None:
        state.groups.setdefault(group, Group()).committed[event["tp"]] = event["offset"]


HANDLERS: dict[str, Handler] = {
    "start": _start, "stop": _stop, "crash": _crash, "exit": _crash, "fault": _fault, "raft": _raft, "broker": _broker,
    "role": _role, "partition": _decided, "isr": _isr, "recover": _recover, "append": _append, "hw": _hw,
    "truncate": _truncate, "log_start": _log_start, "removed": _removed, "behind": _behind, "settings": _settings,
    "sent": _sent, "acked": _acked, "failed": _failed, "position": _position, "assigned": _assigned, "group": _group,
    "commit": _commit, "committed": _committed,
}
