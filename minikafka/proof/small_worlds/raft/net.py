"""The links of the Raft campaign's world: requests and answers on their way between nodes.

Requests travel on connections. A process that dies breaks its connections; a cut delays what is sent meanwhile; a lost
message breaks its connection; an answer that comes after its timeout is dropped.

Owns: the messages in flight, the cuts, and which node waits for which answer.
Invariants: every request ends once: with its answer, or with a failure; unless the process that asked is dead.
            One node's messages to another arrive in order, except those that travel on another connection
              (Settings.reorder).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minikafka.broker.raft.effects import Reply, Send
from minikafka.broker.raft.messages import Fetch, FetchAnswer, Response, SnapshotAnswer
from minikafka.proof.small_worlds.raft.node import Asked, RaftNode

if TYPE_CHECKING:
    from minikafka.proof.small_worlds.raft.world import RaftWorld

REQUEST_TIMEOUT, FETCH_GRACE, SWEEP_EVERY = 2.0, 0.5, 0.25

Link = tuple[int, int]  # from and to


class RaftNet:
    """All links of one world."""

    def __init__(self, world: RaftWorld) -> None:
        self.world, self.rng, self.settings = world, world.rng, world.settings
        self._arrives: dict[Link, float] = {}  # when the last message in order arrives
        self._cuts: Counter[Link] = Counter()  # the number of cuts of a link
        self._held: dict[Link, list[tuple[Callable[..., None], tuple[Any, ...]]]] = {}  # calls that wait for the cuts to end
        self._asked: dict[tuple[int, int, int], Asked] = {}  # (node, life, id): requests that wait for an answer
        self._taken: dict[Asked, None] = {}  # requests that a process took, and has not answered
        world.at(SWEEP_EVERY, self._sweep)

    # --- what a node does ------------------------------------------------------------------------------------------

    def send(self, node: RaftNode, effect: Send) -> None:
        self.world.oracle.speaks(node)
        request, to = effect.request, self.world.nodes[effect.to]
        timeout = REQUEST_TIMEOUT * self.settings.pace
        if isinstance(request, Fetch):
            self.world.oracle.fetches(node, request)
            timeout = max(timeout, request.max_wait + FETCH_GRACE * self.settings.pace)
        asked = Asked(node.id, to.id, effect.id, request, (node.life, to.life), self.world.now + timeout)
        self._asked[node.id, node.life, effect.id] = asked
        if to.core is None:
            self.world.at(self._latency(), self._fail, (node.id, node.life, effect.id))
        else:
            self._transmit(node.id, to.id, self._deliver, asked)

    def reply(self, node: RaftNode, effect: Reply) -> None:
        """Answer, with records and snapshot bytes read off the disk, as the shell does it."""
        self.world.oracle.speaks(node)
        asked, answer = effect.pending_request, effect.response
        assert isinstance(asked, Asked)
        self._taken.pop(asked, None)
        log, most = node.disk, self.settings.max_entries
        if isinstance(answer, FetchAnswer) and answer.records_from is not None:
            assert answer.records_from >= log.start_offset, "what was deleted cannot be read"
            sent: Any = tuple(log.entries[answer.records_from : answer.records_from + most])
            answer = replace(answer, records=sent, records_from=None)
        elif isinstance(answer, SnapshotAnswer) and not answer.error:
            piece: Any = log.snapshots[answer.snapshot][answer.position : answer.position + most]
            answer = replace(answer, data=piece)
        if answer.error:
            self.world.coverage[answer.error.name] += 1
        self._transmit(node.id, asked.src, self._answer, asked, answer)

    def died(self, id: int) -> None:
        """Drop the requests of a dead process; the nodes that wait for it hear that the connection broke."""
        self._taken = {asked: None for asked in self._taken if asked.dst != id}
        for key, asked in list(self._asked.items()):
            if asked.src == id:
                del self._asked[key]
            elif asked.dst == id:
                self.world.at(self._latency(), self._fail, key)

    def unanswered(self, since: float) -> list[Asked]:
        """Return requests that a process took and never answered, and whose time was up before `since` (I-RAFT-9)."""
        return [asked for asked in self._taken if asked.expires < since]

    # --- on the way ------------------------------------------------------------------------------------------------

    def _latency(self) -> float:
        low, high = self.settings.latency
        return low + (high - low) * self.rng.random()

    def _transmit(self, src: int, dst: int, fn: Callable[..., None], *args: Any) -> None:
        """Deliver in order, as on one connection, except messages on another connection; a lost message breaks its own."""
        if self._cuts[src, dst] > 0:
            self._held.setdefault((src, dst), []).append((fn, args))
            return
        now = self.world.now
        arrives = now + self._latency()
        if self.settings.loss and self.rng.random() < self.settings.loss:
            asked = args[0]
            self.world.coverage["lost"] += 1
            self.world.at(arrives - now, self._fail, (asked.src, asked.lives[0], asked.id))
            return
        if self.settings.reorder and self.rng.random() < self.settings.reorder:
            arrives += 10 * self._latency()
        else:
            arrives = self._arrives[src, dst] = max(arrives, self._arrives.get((src, dst), 0.0) + 1e-9)
        self.world.at(arrives - now, fn, *args)

    def _deliver(self, asked: Asked) -> None:
        node = self.world.nodes[asked.dst]
        if node.core is not None and node.life == asked.lives[1]:
            self._taken[asked] = None
            self.world.post(node, node.core.on_request, asked, asked.request)

    def _answer(self, asked: Asked, answer: Response) -> None:
        node = self.world.nodes[asked.src]
        if self._asked.pop((asked.src, asked.lives[0], asked.id), None) is not None and node.core is not None:
            self.world.post(node, node.core.on_response, asked.id, answer)

    def _fail(self, key: tuple[int, int, int]) -> None:
        asked = self._asked.pop(key, None)
        if asked is not None:
            node = self.world.nodes[asked.src]
            if node.core is not None and node.life == asked.lives[0]:
                self.world.post(node, node.core.on_failure, asked.id)

    def _sweep(self) -> None:
        """Fail the requests whose time is up."""
        for key in [key for key, asked in self._asked.items() if asked.expires <= self.world.now]:
            self.world.coverage["timed out"] += 1
            self._fail(key)
        self.world.at(SWEEP_EVERY, self._sweep)

    # --- faults ----------------------------------------------------------------------------------------------------

    def cut(self, src: int, dst: int) -> None:
        """Cut a link one way: messages arrive when the cut ends, if the process that would take them still lives."""
        self._cuts[src, dst] += 1

    def join(self, src: int, dst: int) -> None:
        """End one cut of a link; a link can have several."""
        self._cuts[src, dst] -= 1
        if self._cuts[src, dst] <= 0:
            for fn, args in self._held.pop((src, dst), []):
                self._transmit(src, dst, fn, *args)

    def join_all(self) -> None:
        """End all cuts."""
        for link in list(self._cuts):
            while self._cuts[link] > 0:
                self.join(*link)
