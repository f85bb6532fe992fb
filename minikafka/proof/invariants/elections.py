"""I22: each change of a partition in the metadata is one that the controller's rules allow (rules 27, 28, 29, 33).

    with min.insync.replicas in the ISR there is no ELR (what a partition's state says by itself it asserts: I-PART-1 to 3)
    a new leader, or a replica that joins the ISR, is active
    a new leader was in the ISR, or is in the one that ends a reassignment; or was in the ELR while no member of the
    ISR was alive; or was the last leader when there is neither; or unclean elections are allowed
    where a replica is removed the leader epoch rises
    a broker that comes back from an unclean end is in no ISR and no ELR

A change is judged by the state before it and after it. If a step replays several changes, the states between them are not
seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minikafka.broker.config.effective import topic_value
from minikafka.proof.invariants.invariant import Invariant
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.losses import UNCLEAN
from minikafka.proof.invariants.replica import Key


class ElectionsAreClean(Invariant):
    """The invariant I22."""

    id, events = "I22", ("crash", "broker", "partition")

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self._lives: dict[int, Any] = {}  # broker -> the incarnation that was registered last
        self._ended: dict[int, bool] = {}  # broker -> whether it ended uncleanly since; False: it was told to stop before
        self._active: set[int] = set()  # before the newest metadata came
        self._fenced: set[int] = set()  # in this step, though they may be active again at its end
        self._replayed: set[str] = set()  # partitions of which a change was replayed in this step; a snapshot may hold several

    def on_fault(self, event: dict[str, Any]) -> None:
        node, fault = event.get("node"), event["fault"]
        if fault == "boot":
            return
        if fault == "stop" and node is not None:
            self._ended.setdefault(node, False)
        elif fault == "wipe" or fault in UNCLEAN and fault != "flip_bit" and node not in self._ended:
            self._ended[node] = True

    def on_event(self, event: dict[str, Any]) -> None:
        if event["k"] == "crash":
            self._ended.setdefault(event["b"], True)
        elif event["k"] == "partition":
            self._replayed.add(event["tp"])
        elif event["state"] == "fenced":
            self._fenced.add(event["id"])

    def on_metadata(self, changed: Iterable[Key]) -> None:
        image = self.cluster.image
        if image is None:
            return
        active = {node for node in image.brokers if image.is_active(node)}
        may_serve, self._active = active | self._active, active
        for key in changed:
            before, now = self.cluster.change(key)
            if now is not None and now.elr:
                self._has_elr(now)
            if before is not None and now is not None and now.partition_epoch == before.partition_epoch + 1:
                self._follows(before, now, active, may_serve)
        for node, known in image.brokers.items():
            if self._lives.get(node) != known.incarnation:
                if self._ended.pop(node, False) and node in self._lives and known.fenced:
                    self._returns(node)
                self._lives[node] = known.incarnation
        self._fenced.clear()
        self._replayed.clear()

    def _has_elr(self, now: Any) -> None:
        broker = next((b for n in self.cluster.nodes if (b := self.cluster.running(n)) is not None), None)
        if broker is not None and self.cluster.image is not None:
            least = topic_value(self.cluster.image, broker.config, now.topic, "min.insync.replicas")
            if len(now.isr) >= min(least, len(now.replicas)):
                self.fail(f"{now.topic}-{now.index}: {_text(now)} has an ELR beside {least} in sync", now.topic, now.index)

    def _follows(self, before: Any, now: Any, active: set[int], may_serve: set[int]) -> None:
        name, new = f"{now.topic}-{now.index}", {*now.isr} - {*before.isr}
        leads = now.leader >= 0 and now.leader != before.leader
        if silent := sorted((new | ({now.leader} if leads else set())) - may_serve):
            self.fail(f"{name}: {silent} lead or join and are not active: {_text(before)} -> {_text(now)}", name)
        if {*before.replicas} - {*now.replicas} and now.leader_epoch == before.leader_epoch:
            self.fail(f"{name}: a replica is removed in leader epoch {now.leader_epoch}: {_text(before)} -> {_text(now)}", name)
        joined = now.isr if before.adding or before.removing else ()  # the ISR that ends a move may give it a leader, too
        if leads and now.leader not in (*before.isr, *joined) and not self._permitted(before, now, active):
            self.fail(f"{name}: broker {now.leader} may not be elected: {_text(before)} -> {_text(now)}", name)

    def _permitted(self, before: Any, now: Any, active: set[int]) -> bool:
        if now.leader in before.elr:
            if f"{now.topic}-{now.index}" not in self._replayed:
                return True
            return not {*before.isr} & {*now.replicas} & active - self._fenced
        allowed = self.watch.unclean or (now.topic, now.index) in self.watch.keeper.pardoned
        last_known = not before.isr and not now.elr and before.last_known_elr == (now.leader,)
        return (allowed or last_known) and now.isr == (now.leader,)

    def _returns(self, node: int) -> None:
        for (topic, index), state in self.cluster.states.items():
            if node in (*state.isr, *state.elr):
                self.fail(f"{topic}-{index}: broker {node} is back after an unclean end, and in ISR {list(state.isr)} or ELR "
                          f"{list(state.elr)}", topic, index, node)


def _text(state: Any) -> str:
    """Return what elections are about: leader, ISR, ELR and replicas."""
    return f"(leader {state.leader}, ISR {list(state.isr)}, ELR {list(state.elr)} of {list(state.replicas)})"
