"""I23, the listening: while a watched world runs, each decision in the list is checked as it is made.

Owns: the checks around the decisions, and when a broker is asked (what_if.py).
Invariants: I-DECIDE-1 a decision takes the same course with its check as without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

from minikafka.proof.invariants.decisions import controller, coordinators, log, replication
from minikafka.proof.invariants.decisions.decision import DECISIONS, CheckedDecision
from minikafka.proof.invariants.decisions.what_if import ask
from minikafka.proof.invariants.invariant import Invariant
from minikafka.proof.invariants.known import Known
from minikafka.sim.world.replaced import replaced

ROOMS = (replication, controller, coordinators, log)
ASK_EVERY = 4  # samples


class DecisionsAreAllowed(Invariant):
    """The invariant I23."""

    id = "I23"

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self._turn = 0
        watch.world.contexts.append(self._listening)

    def on_sample(self) -> None:
        self._turn += 1
        turn, place = divmod(self._turn, ASK_EVERY)
        nodes = [node for node in self.cluster.nodes if self.cluster.running(node) is not None] if not place else []
        if nodes:
            ask(self.cluster.running(nodes[turn % len(nodes)]), turn // len(nodes))

    @contextmanager
    def _listening(self) -> Iterator[None]:
        with ExitStack() as stack:
            for one in DECISIONS:
                stack.enter_context(replaced(one.owner, one.name, self.checked(one)))
            yield

    def checked(self, one: CheckedDecision) -> Any:
        """Return the decision with its check around it."""
        made = vars(one.owner)[one.name]
        if isinstance(made, property):
            assert made.fget is not None
            return property(self._around(made.fget, one))
        return self._around(made, one)

    def _around(self, made: Callable[..., Any], one: CheckedDecision) -> Callable[..., Any]:
        @wraps(made)
        def decide(*args: Any, **named: Any) -> Any:
            check = one.check(*args, **named)
            next(check)
            result = made(*args, **named)
            try:
                check.send(result)
            except StopIteration as end:
                if end.value is not None:  # reported after the step: an exception here would end up in the broker
                    self.watch.heard.append((self.id, f"{one}: {end.value}", (str(one),)))
            return result
        return decide
