"""The active controller's shell: one decision at a time, into the quorum's log, answered when committed.

Owns: the controller's state machine while this node leads the quorum, the answers that wait for a commit, and the timer of
the state machine's deadlines.

Invariants
  I-CTL-5  a decision, its append and its replay into the controller's own image happen without an await between them,
           so the next decision sees it.
  I-CTL-6  no request is answered before every record that the answer rests on is committed; reads included.
  I-CTL-8  a decision that takes long lets others decide meanwhile (heartbeats above all), and is then taken anew on what
           they have changed.
  I-CTL-7  a node that stops leading the quorum forgets the uncommitted image and fails the requests that wait with
           NOT_CONTROLLER.

What Kafka does differently: one thread with an event queue. Source: QuorumController; KIP-500, KIP-631.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.controller.heartbeats import NEVER
from minikafka.broker.metadata.records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from minikafka.broker.raft.shell.quorum import Quorum
from minikafka.broker.server.env import Timer
from minikafka.broker.server.node import Node
from minikafka.broker.server.turns import Work, at_once
from minikafka.protocol.errors import Err, KafkaError

log = logging.getLogger("minikafka.controller")
Answer = TypeVar("Answer")
Decided: TypeAlias = tuple[Records, Answer]
Decision: TypeAlias = Callable[[Controller, float], Decided[Answer] | Work[Decided[Answer]]]   # of the state machine, the time
ATTEMPTS = 3        # of a long decision, before it is taken at once


class ActiveController:
    """The controller of this node; `controller` is None while this node does not lead the quorum."""

    def __init__(self, node: Node, quorum: Quorum) -> None:
        self.node, self.quorum, self.env = node, quorum, node.env
        self.controller: Controller | None = None
        self.epoch = -1
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()    # (metadata offset, answer), ascending
        self._timer: Timer | None = None
        self._last_committed = -1

    # --- called by the quorum ----------------------------------------------------------------------------------

    def on_leadership(self, is_leader: bool, epoch: int) -> None:
        """Begin to decide: this node leads the quorum and has replayed the whole log. Or stop: it leads no longer."""
        self._resign()
        if not is_leader:
            return
        log.info("node %d is the active controller of epoch %d", self.node.node_id, epoch)
        self.epoch = epoch
        self.controller = Controller(self.node.image.copy(), self.node.config, self.env.now())
        self._append(self.controller.bootstrap(self.env.first_users))
        self._arm()

    def answer_committed(self, records: Records, last_offset: int, epoch: int) -> None:
        """Send the answers that waited for these records to be committed."""
        if self.controller is not None:
            self._trace(records)
        self.committed(last_offset)

    def committed(self, last_offset: int) -> None:
        """Send the answers that waited for this offset: it is committed, though this broker may not have replayed it yet."""
        self._last_committed = max(self._last_committed, last_offset)
        while self._waiting and self._waiting[0][0] <= last_offset:
            self._finish(self._waiting.popleft()[1], None)

    def _resign(self) -> None:
        self.controller = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            self._finish(self._waiting.popleft()[1], KafkaError(Err.NOT_CONTROLLER))

    @staticmethod
    def _finish(waiting: asyncio.Future[None], error: KafkaError | None) -> None:
        if waiting.done():
            return
        if error is None:
            waiting.set_result(None)
        else:
            waiting.set_exception(error)

    # --- decisions ---------------------------------------------------------------------------------------------

    async def decide(self, decision: Decision[Answer]) -> Answer:
        """Take one decision and return its answer once its records are committed. KafkaError NOT_CONTROLLER if this node is
        not the active controller."""
        if self.controller is None:
            raise KafkaError(Err.NOT_CONTROLLER)
        decided = decision(self.controller, self.env.now())
        records, answer = decided if isinstance(decided, tuple) else await self._in_slices(decision, decided)
        self._append(records)
        self._arm()
        await self._committed()
        return answer

    async def _in_slices(self, decision: Decision[Answer], work: Work[Decided[Answer]]) -> Decided[Answer]:
        """Return what is decided on an image that nobody has changed since the decision began (I-CTL-8)."""
        for _ in range(ATTEMPTS):
            begun = self._state()
            try:
                decided = await work
            except Exception:
                if self._state() == begun:
                    raise
            else:
                if self._state() == begun:
                    return decided
            if self.controller is None:
                raise KafkaError(Err.NOT_CONTROLLER)
            again = decision(self.controller, self.env.now())
            assert not isinstance(again, tuple), "a decision is a function or a coroutine"
            work = again
        return at_once(work)

    def _state(self) -> tuple[int, int]:
        """Return what differs after any other decision."""
        return (self.epoch, self.controller.image.offset) if self.controller is not None else (-1, -1)

    def next_offset(self) -> int:
        """Return the metadata offset that the next record will get."""
        return self.quorum.next_offset

    def _append(self, records: Records) -> None:
        if records and self.controller is not None:
            last = self.quorum.append(records)
            self.controller.apply(records, last, self.epoch, self.env.contained)

    async def _committed(self) -> None:
        """Wait until every decision taken so far is committed."""
        assert self.controller is not None
        if self.controller.image.offset > max(self.node.image.offset, self._last_committed):
            waiting: asyncio.Future[None] = self.env.future()
            self._waiting.append((self.controller.image.offset, waiting))
            await waiting

    # --- time --------------------------------------------------------------------------------------------------

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.controller is not None and (deadline := self.controller.next_deadline()) < NEVER:
            self._timer = self.env.later(max(0.0, deadline - self.env.now()), self._tick)

    def _tick(self) -> None:
        try:
            while self.controller is not None and (records := self.controller.tick(self.env.now(), self.env.wall_ms())):
                self._append(records)
        except KafkaError as error:         # the quorum has another leader; on_leadership() follows
            log.info("the controller's tick was refused: %s", error)
        self._arm()             # after any other error the next decision does it: a heartbeat, as a rule

    def _trace(self, records: Records) -> None:
        for record in records:
            if isinstance(record, RegisterBrokerRecord):
                self.env.trace("broker", id=record.broker_id, state="registered")
            elif isinstance(record, BrokerRegistrationChangeRecord):
                fencing = {1: "fenced", -1: "unfenced", 0: "stopping"}[record.fenced]
                self.env.trace("broker", id=record.broker_id, state=fencing)
            elif isinstance(record, PartitionRecord | PartitionChangeRecord):
                self._trace_partition(record)

    def _trace_partition(self, record: PartitionRecord | PartitionChangeRecord) -> None:
        topic = self.node.image.topic_by_id(record.topic_id)
        state = topic.partitions.get(record.partition_id) if topic is not None else None
        if state is not None:
            self.env.trace("partition", tp=f"{state.topic}-{state.index}", leader=state.leader, epoch=state.leader_epoch,
                           partition_epoch=state.partition_epoch, isr=list(state.isr), replicas=list(state.replicas),
                           elr=list(state.elr))

