"""Fold one event of a trace into the state: one small handler for each kind of event.

    state = RunState()
    for event in events:
        fold(state, event)

The handlers stand in fold_cluster.py, fold_replicas.py, fold_clients.py and queries.py. A kind that has no handler is passed
over: newer brokers may tell more than this picture shows.

Owns: HANDLERS, the handler of each kind.
"""
from __future__ import annotations

from collections.abc import Callable

from minikafka.lab.picture.facts import fold_clients, fold_cluster, fold_replicas, queries
from minikafka.lab.picture.facts.state import Event, RunState

HANDLERS: dict[str, Callable[[RunState, Event], None]] = {
    **fold_cluster.HANDLERS, **fold_replicas.HANDLERS, **fold_clients.HANDLERS, **queries.HANDLERS}


def fold(state: RunState, event: Event) -> None:
    """Put the next event of the trace into `state`, whose time becomes the event's."""
    state.t = event["t"]
    handler = HANDLERS.get(event["k"])
    if handler is not None:
        handler(state, event)
