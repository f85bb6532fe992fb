"""I15: after healing, the cluster comes to rest in the right state, within a given virtual time.

Every partition has a leader, its ISR is its replicas (except those on nodes that are gone for good), no reassignment is
in progress; followers have all that their leader has and nothing that it has deleted, high watermarks have reached the
ends of the logs; every operation of a client has ended; and each condition in `watch.goals` (name, condition) has come
true. As in TigerBeetle's "liveness mode", the nodes that are dead when the end begins are gone for good.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minikafka.proof.invariants.invariant import Invariant
from minikafka.proof.invariants.known import Known

BOUND = 60.0  # virtual seconds
SHOWN = 5


class EverythingComesToRest(Invariant):
    """The invariant I15."""

    id, patient = "I15", True

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self._open: dict[int, dict[str, Any]] = {}

    async def at_end(self) -> None:
        self._open = self._under_way()
        left = await self.watch.wait(lambda: [*self._missing()], BOUND)
        for text in left[:SHOWN]:
            self.fail(f"{BOUND:.0f} s after healing {text}")

    def _missing(self) -> Iterator[str]:
        world = self.cluster.world
        self.watch.check_everything()
        alive = [n for n in self.cluster.nodes if self.cluster.running(n) is not None]
        if world.controller() is None:
            yield "there is no controller"
        for node in alive:
            if not world.hosts[node].serving:
                yield f"broker {node} does not serve"
        for state in self.cluster.states.values():
            yield from self._partition(state, [n for n in state.replicas if n in alive])
        yield from self._operations()
        for name, condition in self.watch.goals:
            if not condition():
                yield f"this has not happened: {name}"

    def _partition(self, state: Any, expected: list[int]) -> Iterator[str]:
        name = f"{state.topic}-{state.index}"
        if not expected:
            return
        if state.leader < 0 or set(state.isr) != set(expected) or state.adding or state.removing:
            yield (f"{name} has leader {state.leader}, ISR {list(state.isr)}, replicas {list(state.replicas)}, adding "
                   f"{list(state.adding)}, removing {list(state.removing)}")
            return
        replicas = {n: self.cluster.replica(n, (state.topic, state.index)) for n in expected}
        missing = [n for n, replica in replicas.items() if replica is None]
        if missing:
            yield f"{name} is not hosted by {missing}"
            return
        ends = {n: (r.log.end_offset, r.high_watermark) for n, r in replicas.items()}
        if len(set(ends.values())) > 1 or any(end != high for end, high in ends.values()):
            yield f"{name} has (LEO, HW) {ends}"
        starts = {n: r.log.start_offset for n, r in replicas.items()}
        if min(starts.values()) < starts[state.leader]:
            yield f"{name} begins at {starts}, its leader is {state.leader}"
        epochs = {n: r.leader_epoch for n, r in replicas.items()}
        if set(epochs.values()) != {state.leader_epoch} or not replicas[state.leader].is_leader:
            yield f"{name} is in leader epoch {state.leader_epoch}, its replicas in {epochs}"

    def _operations(self) -> Iterator[str]:
        """Return the operations without an end that were in flight when the end began; a polling client always has one."""
        still = self._under_way() if self._open else {}
        self._open = {number: event for number, event in self._open.items() if number in still}
        for event in list(self._open.values())[:SHOWN]:
            yield f"{event['process']}'s {event['f']} of {event['t']:.3f} s has no end: {event.get('value', '')}"

    def _under_way(self) -> dict[int, dict[str, Any]]:
        """Return the clients' operations without an end, by number."""
        found: dict[int, dict[str, Any]] = {}
        for event in self.watch.client_events():
            if event["type"] == "invoke":
                found[event["op"]] = event
            else:
                found.pop(event.get("op", -1), None)
        return found
