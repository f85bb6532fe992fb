"""What events of watched clients and of group coordinators do to the state.

Owns: nothing; HANDLERS, one function a kind.
"""
from __future__ import annotations

from typing import Any

from minikafka.lab.picture.facts.clients import BROKERS_ASSIGN, ConsumerFacts, GroupFacts, ProducerFacts, is_in_doubt
from minikafka.lab.picture.facts.state import Event, RunState


def _sent(state: RunState, event: Event) -> None:
    state.account.producers_told = True
    state.producers.setdefault(event["client"], ProducerFacts()).send(event)


def _acked(state: RunState, event: Event) -> None:
    producer = state.producers.setdefault(event["client"], ProducerFacts())
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


def _failed(state: RunState, event: Event) -> None:
    producer = state.producers.setdefault(event["client"], ProducerFacts())
    producer.answered(event)
    producer.last_error = event.get("error")
    if is_in_doubt(event):
        producer.unknown += 1
    else:
        producer.failed += 1


def _position(state: RunState, event: Event) -> None:
    consumer = state.consumers.setdefault(event["client"], ConsumerFacts())
    consumer.group, consumer.member = event.get("group", consumer.group), event.get("member", consumer.member)
    consumer.lives()
    tp, position = event["tp"], event["position"]
    state.account.consumers_told = True
    first = event.get("first", max(consumer.positions.get(tp, position - 1), 0))
    consumer.positions[tp] = position
    if first < position:
        parts = state.present_parts(tp, first, position)
        state.account.deliver(consumer.group or event["client"], tp, parts, event.get("records"))


def _assigned(state: RunState, event: Event) -> None:
    """Forget the positions of a watched consumer in the partitions that it lost: it was given others."""
    consumer = state.consumers.setdefault(event["client"], ConsumerFacts())
    consumer.group = event.get("group", consumer.group)
    kept = event["partitions"]
    if kept:
        consumer.lives()
    consumer.positions = {tp: position for tp, position in consumer.positions.items() if tp in kept}


def _member(state: RunState, event: Event) -> None:
    """Take note of what became of a consumer's process. A new process of that name has read nothing yet; one that has left stands
    nowhere any more."""
    consumer = state.consumers.setdefault(event["client"], ConsumerFacts())
    if event["state"] in ("running", "left"):
        consumer.positions, consumer.member = {}, None
    consumer.group, consumer.session, consumer.since = event["group"], event.get("session"), event["t"]
    consumer.process = "running" if event["state"] == "resumed" else event["state"]


def _group(state: RunState, event: Event) -> None:
    group = state.groups.setdefault(event["group"], GroupFacts())
    group.state, group.generation, group.members = event["state"], event["generation"], tuple(event["members"])
    group.names.update(event.get("names", {}))
    assignment = event.get("assignment", group.assignment)
    group.assignment = {member: tuple(tps) for member, tps in assignment.items() if member in group.members}
    busy = event["state"] in ("PreparingRebalance", "CompletingRebalance", *BROKERS_ASSIGN)
    group.rebalancing = (group.rebalancing or event["t"]) if busy else None


def _commit(state: RunState, event: Event) -> None:
    state.groups.setdefault(event["group"], GroupFacts()).committed[event["tp"]] = event["offset"]


def _committed(state: RunState, event: Event) -> None:
    """Take note of what a client says it committed: of use only where no coordinator writes a trace."""
    group = event.get("group")
    if group is not None:
        state.groups.setdefault(group, GroupFacts()).committed[event["tp"]] = event["offset"]


HANDLERS: dict[str, Any] = {
    "sent": _sent, "acked": _acked, "failed": _failed, "position": _position, "assigned": _assigned, "member": _member,
    "group": _group, "commit": _commit, "committed": _committed}
