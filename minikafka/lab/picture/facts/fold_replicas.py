"""What events about replicas and their logs do to the state.

Owns: nothing; HANDLERS, one function a kind.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from minikafka.lab.picture.facts.ledger import Part
from minikafka.lab.picture.facts.logs import Written
from minikafka.lab.picture.facts.partitions import Behind, PartitionFacts
from minikafka.lab.picture.facts.state import Event, RunState
from minikafka.lab.picture.facts.transactions import appended, wrote
from minikafka.lab.picture.frame import Ghost

BIRTH = (0, 0)                                         # leader epoch and partition epoch of every new topic


def _role(state: RunState, event: Event) -> None:
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


def _decided(state: RunState, event: Event) -> None:
    """Take over what the active controller committed about a partition."""
    if (event["epoch"], event["partition_epoch"]) == BIRTH < state.partition(event["tp"]).isr_version:
        state.forget(event["tp"])                      # another topic of that name, and a dead broker held the old one
    partition = state.partition(event["tp"])
    partition.assigned, partition.elr = tuple(event["replicas"]), tuple(event.get("elr", ()))
    partition.led(event["leader"], event["epoch"], event["t"])
    partition.in_sync(tuple(event["isr"]), event["epoch"], event["partition_epoch"])


def _isr(state: RunState, event: Event) -> None:
    version = event.get("partition_epoch", event["n"])
    partition = state.partition(event["tp"])
    partition.in_sync(tuple(event["isr"]), event["leader_epoch"], version)
    for follower in [f for f in partition.behind if f not in event["isr"]]:
        partition.behind[follower] = replace(partition.behind[follower], check=None)  # as late as before


def _recover(state: RunState, event: Event) -> None:
    partition = state.partition(event["tp"])
    log = partition.replica(event["b"]).log
    if log.end is not None and event["leo"] < log.end:
        haunt(state, partition, event["b"], tuple(log.parts(event["leo"], log.end)), event["t"])
    epochs = event.get("epochs")
    written: tuple[Written, ...] | None = None if epochs is None else tuple((e, first) for e, first in epochs)
    log.opened(event.get("start"), event["leo"], written)


def _append(state: RunState, event: Event) -> None:
    partition = state.partition(event["tp"])
    partition.appended(event["b"], event["epoch"], event["base"], event["last"] + 1, event["t"])
    if event["b"] == partition.leader and ("txn" in event or partition.transactions or partition.written):
        partition.transactions = appended(partition.transactions, event)
        partition.written = wrote(partition.written, event)


def _hw(state: RunState, event: Event) -> None:
    state.partition(event["tp"]).moved(event["b"], event["hw"], event.get("lso"), event["t"])


def _truncate(state: RunState, event: Event) -> None:
    partition = state.partition(event["tp"])
    haunt(state, partition, event["b"], partition.replica(event["b"]).log.cut(event["to"]), event["t"])


def _log_start(state: RunState, event: Event) -> None:
    state.partition(event["tp"]).replica(event["b"]).log.begin_at(event["start"])


def _removed(state: RunState, event: Event) -> None:
    """Forget a partition's replica on a broker: it went elsewhere, or its topic was deleted."""
    partition = state.partition(event["tp"])
    partition.replicas.pop(event["b"], None)
    if not partition.replicas:
        state.forget(event["tp"])


def _behind(state: RunState, event: Event) -> None:
    known = state.partition(event["tp"]).epoch
    if event.get("epoch", known) < known:
        return                                         # of a leader that is none any more
    behind, check = event.get("behind"), event.get("check_in")
    since = None if behind is None else event["t"] - behind
    told = Behind(since, None if check is None else event["t"] + check, event.get("every"))
    state.partition(event["tp"]).behind[event["follower"]] = told


def _settings(state: RunState, event: Event) -> None:
    settings = state.partition(event["tp"]).settings
    settings.min_isr = event.get("min_isr", settings.min_isr)
    settings.unclean = event.get("unclean", settings.unclean)


def haunt(state: RunState, partition: PartitionFacts, node: int, gone: tuple[Part, ...], t: float) -> None:
    ghosts = (Ghost(start, end, epoch, state.account.count(partition.name, ((epoch, start, end),)), t)
              for epoch, start, end in gone)
    partition.replica(node).log.haunted(*ghosts)


HANDLERS: dict[str, Any] = {
    "role": _role, "partition": _decided, "isr": _isr, "recover": _recover, "append": _append, "hw": _hw,
    "truncate": _truncate, "log_start": _log_start, "removed": _removed, "behind": _behind, "settings": _settings}
