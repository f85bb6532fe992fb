"""I22: a broker that comes back from an unclean end is in no ISR and no ELR (rules 29, 33).

Only the whole cluster knows how a broker ended. What else makes an election clean, the controller asserts with each change
(broker/controller/leader_election.py, I-ELECT-1 to 4, I-ELR-1, I-ELR-2).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minikafka.proof.invariants.invariant import Invariant
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.losses import UNCLEAN
from minikafka.proof.invariants.replica import Key


class UncleanReturns(Invariant):
    """The invariant I22."""

    id, events = "I22", ("crash",)

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self._lives: dict[int, Any] = {}  # broker -> the incarnation that was registered last
        self._ended: dict[int, bool] = {}  # broker -> whether it ended uncleanly since; False: it was told to stop before

    def on_fault(self, event: dict[str, Any]) -> None:
        node, fault = event.get("node"), event["fault"]
        if fault == "boot":
            return
        if fault == "stop" and node is not None:
            self._ended.setdefault(node, False)
        elif fault == "wipe" or fault in UNCLEAN and fault != "flip_bit" and node not in self._ended:
            self._ended[node] = True

    def on_event(self, event: dict[str, Any]) -> None:
        self._ended.setdefault(event["b"], True)

    def on_metadata(self, changed: Iterable[Key]) -> None:
        image = self.cluster.image
        for node, known in image.brokers.items() if image is not None else ():
            if self._lives.get(node) != known.incarnation:
                if self._ended.pop(node, False) and node in self._lives and known.fenced:
                    self._returns(node)
                self._lives[node] = known.incarnation

    def _returns(self, node: int) -> None:
        for (topic, index), state in self.cluster.states.items():
            if node in (*state.isr, *state.elr):
                self.fail(f"{topic}-{index}: broker {node} is back after an unclean end, and in ISR {list(state.isr)} or ELR "
                          f"{list(state.elr)}", topic, index, node)
