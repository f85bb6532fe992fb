"""What events about processes, faults and controllers do to the state.

Owns: nothing; HANDLERS, one function a kind.
"""
from __future__ import annotations

from typing import Any

from minikafka.lab.picture.facts.conditions import KILLED, STOPPED, node_of
from minikafka.lab.picture.facts.fold_replicas import haunt
from minikafka.lab.picture.facts.quorum import METADATA
from minikafka.lab.picture.facts.state import Event, RunState

# --- processes ------------------------------------------------------------------------------------------------------


def _start(state: RunState, event: Event) -> None:
    node = event["b"]
    _die(state, node)                                  # what the process before it believed is gone
    state.conditions.started(node, event["t"])
    if "broker" in event.get("roles", ("broker",)):
        state.know(node)
    state.config.update(event.get("config", {}))
    if event.get("voters") is not None:
        state.quorum.voters = tuple(event["voters"])


def _stop(state: RunState, event: Event) -> None:
    state.conditions.enter(event["b"], STOPPED, event["t"])
    _die(state, event["b"])


def _crash(state: RunState, event: Event) -> None:
    node = event.get("broker", event["b"])
    if not state.conditions.is_down(node):
        state.conditions.enter(node, KILLED, event["t"])
    _die(state, node)


def _die(state: RunState, node: int) -> None:
    """Forget the process of a node, and with it all that it believed."""
    state.quorum.died(node, state.t)
    for partition in state.partitions.values():
        replica = partition.replicas.get(node)
        if replica is not None:
            replica.role, replica.epoch, replica.leader = "unknown", None, None


def _fault(state: RunState, event: Event) -> None:
    if event["b"] != 0:                                # a broker's own account of what the cluster has told already
        return
    state.conditions.strike(event)
    node = node_of(event)
    if node is not None and state.conditions.is_down(node):
        _die(state, node)
    if event["fault"] == "wipe" and node is not None:
        state.quorum.votes.pop(node, None)
        for partition in state.partitions.values():
            if node in partition.replicas and partition.name != METADATA:
                haunt(state, partition, node, partition.replicas[node].log.wiped(), state.t)


# --- controllers ----------------------------------------------------------------------------------------------------


def _raft(state: RunState, event: Event) -> None:
    if event["epoch"] < 0:
        return
    if event["b"] not in state.brokers:                # a broker says that it serves; a controller has its role
        state.conditions.serves(event["b"], event["t"])
    state.quorum.told(event["b"], event["role"], event["epoch"], event["leader"], event["t"])
    partition = state.partition(METADATA)
    partition.assigned = state.quorum.voters
    replica = partition.replica(event["b"])
    replica.role = "leader" if event["role"] == "leader" else "follower"
    replica.epoch, replica.leader, replica.polled = event["epoch"], event["leader"], "polled" in event
    if event["leader"] >= 0:
        partition.led(event["leader"], event["epoch"], event["t"])


def _vote(state: RunState, event: Event) -> None:
    state.quorum.voted(event["b"], event["epoch"], event["candidate"])


def _broker(state: RunState, event: Event) -> None:
    node, told = event["id"], event["state"]
    state.know(node)
    if told in ("registered", "fenced", "unfenced"):
        state.quorum.states[node] = told
    if event["b"] == node and told == "unfenced":
        state.conditions.serves(node, event["t"])


HANDLERS: dict[str, Any] = {
    "start": _start, "stop": _stop, "crash": _crash, "exit": _crash, "fault": _fault, "raft": _raft, "vote": _vote,
    "broker": _broker}
