"""What one node of the quorum wants done: the effects of one event, and the requests that wait for a response.

Owns: the effects gathered so far; the requests under way, and the pause after a failure.
Invariants: I-RAFT-1 effects are executed in list order, and the Persist of an event is the first of its effects, its
              Flush the last: no vote, candidacy or answer leaves before its election state is on disk (rule 34).
            I-RAFT-15 a node has at most one request under way to each other node, and none from before its last change of role.
Source: org.apache.kafka.raft.RequestManager.
"""

from __future__ import annotations

from minikafka.broker.raft.effects import Effect, ElectionState, Flush, Persist, Send
from minikafka.broker.raft.messages import Request


class Outbox:
    """The effects of the present event, and the requests under way."""

    def __init__(self) -> None:
        self.pending: dict[int, tuple[int, Request]] = {}  # id -> (to, request)
        self.retry_at: dict[int, float] = {}  # node -> the end of its pause
        self.last_id = 0
        self._persist: ElectionState | None = None
        self._flush = False
        self._effects: list[Effect] = []

    def put(self, effect: Effect) -> None:
        self._effects.append(effect)

    def persist(self, election_state: ElectionState) -> None:
        """Put the new election state before all other effects of this event (I-RAFT-1)."""
        self._persist = election_state

    def flush(self) -> None:
        """Put one Flush after all other effects of this event, so that none of them waits for it."""
        self._flush = True

    def send(self, nodes: list[int], request: Request, now: float) -> None:
        """Send `request` to those of `nodes` that owe us no response, and are not in the pause after a failure."""
        busy = {to for to, _ in self.pending.values()}
        for to in nodes:
            if to not in busy and now >= self.retry_at.get(to, 0.0):
                self.last_id += 1
                self.pending[self.last_id] = (to, request)
                self.put(Send(to, self.last_id, request))

    def forget_requests(self) -> None:
        """Forget the requests under way, whose responses will be ignored: the role in which they were sent is over."""
        self.pending.clear()
        self.retry_at.clear()

    def take(self) -> list[Effect]:
        """Return the effects of one event, and begin the next: the Persist first, the Flush last (I-RAFT-1)."""
        effects, self._effects = self._effects, []
        if self._persist is not None:
            effects.insert(0, Persist(self._persist))
        if self._flush:
            effects.append(Flush())
        self._persist, self._flush = None, False
        return effects
