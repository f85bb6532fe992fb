"""The active controller's shell: one decision at a time, into the quorum's log, answered when committed.

Owns: the core while this node leads the quorum, the answers that wait for a commit, the timer of the core's deadlines.

Invariants
  I-CTL-5  a decision, its append and its replay into the controller's own image happen without an await between them,
           so the next decision sees it.
  I-CTL-6  nothing is answered before everything it rests on is committed, reads included.
  I-CTL-7  a node that stops leading the quorum forgets the uncommitted image and fails what waits with NOT_CONTROLLER.

What Kafka does differently: one thread with an event queue. Source: QuorumController; KIP-500, KIP-631.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minikafka.broker.controller.admin.create_partitions import create_partitions
from minikafka.broker.controller.admin.create_topics import Creation, create_topics
from minikafka.broker.controller.admin.delete_topics import delete_topics, refuse_all, split
from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.controller.heartbeats import NEVER
from minikafka.broker.metadata.records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from minikafka.broker.quotas.throttling import FREE, Charge
from minikafka.broker.server.env import Timer
from minikafka.broker.server.registry import INTERNAL, Context, handles
from minikafka.protocol.apis import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker

log = logging.getLogger("minikafka.controller")
Decision = Callable[[Controller, float], tuple[Records, Any]]


class ActiveController:
    """On every voter; `core` is there only while this node leads the quorum."""

    def __init__(self, broker: Broker) -> None:
        self.broker, self.env = broker, broker.env
        self.core: Controller | None = None
        self.epoch = -1
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()    # (metadata offset, answer), ascending
        self._timer: Timer | None = None

    # --- called by the quorum ----------------------------------------------------------------------------------

    def on_leadership(self, is_leader: bool, epoch: int) -> None:
        """This node leads the quorum and has replayed the whole log, or leads it no longer."""
        self._resign()
        if not is_leader:
            return
        log.info("node %d is the active controller of epoch %d", self.broker.node_id, epoch)
        self.epoch = epoch
        self.core = Controller(self.broker.image.copy(), self.broker.config, self.env.now())
        self._append(self.core.bootstrap())
        self._arm()

    def on_commit(self, records: Records, last_offset: int, epoch: int) -> None:
        """Committed records: the answers that rest on them may go."""
        if self.core is not None:
            self._trace(records)
        while self._waiting and self._waiting[0][0] <= last_offset:
            self._finish(self._waiting.popleft()[1], None)

    def _resign(self) -> None:
        self.core = None
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

    async def decide(self, decision: Decision) -> Any:
        """Take one decision and return its answer once it is committed; KafkaError NOT_CONTROLLER if that is not us."""
        if self.core is None:
            raise KafkaError(Err.NOT_CONTROLLER)
        records, answer = decision(self.core, self.env.now())
        self._append(records)
        self._arm()
        await self._committed()
        return answer

    def next_offset(self) -> int:
        """The metadata offset that the next record will get."""
        return self.broker.quorum.next_offset

    def _append(self, records: Records) -> None:
        if records and self.core is not None:
            last = self.broker.quorum.append(records)
            self.core.apply(records, last, self.epoch)

    async def _committed(self) -> None:
        """Wait until all that was decided so far is committed."""
        assert self.core is not None
        if self.core.image.offset > self.broker.image.offset:
            waiting: asyncio.Future[None] = self.env.future()
            self._waiting.append((self.core.image.offset, waiting))
            await waiting

    # --- time --------------------------------------------------------------------------------------------------

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.core is not None and (deadline := self.core.next_deadline()) < NEVER:
            self._timer = self.env.later(max(0.0, deadline - self.env.now()), self._tick)

    def _tick(self) -> None:
        try:
            while self.core is not None and (records := self.core.tick(self.env.now())):
                self._append(records)
        except KafkaError as error:         # the quorum has another leader; on_leadership() follows
            log.info("the controller's tick was refused: %s", error)
        self._arm()

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
        topic = self.broker.image.topic_by_id(record.topic_id)
        state = topic.partitions.get(record.partition_id) if topic is not None else None
        if state is not None:
            self.env.trace("partition", tp=f"{state.topic}-{state.index}", leader=state.leader, epoch=state.leader_epoch,
                           partition_epoch=state.partition_epoch, isr=list(state.isr), replicas=list(state.replicas),
                           elr=list(state.elr))


# --- handlers: requests of brokers to the active controller --------------------------------------------------------


@handles(BrokerRegistrationRequest, on=(INTERNAL,))
async def broker_registration(ctx: Context, request: Any) -> Any:
    shell = ctx.broker.controller
    try:
        return await shell.decide(lambda core, now: core.register_broker(request, shell.next_offset(), now))
    except KafkaError as error:
        log.info("broker %d cannot register: %s", request.broker_id, error)
        return BrokerRegistrationResponse(throttle_time_ms=0, error_code=int(error.code), broker_epoch=-1)


@handles(BrokerHeartbeatRequest, on=(INTERNAL,))
async def broker_heartbeat(ctx: Context, request: Any) -> Any:
    shell = ctx.broker.controller
    try:
        return await shell.decide(lambda core, now: core.heartbeat(request, shell.next_offset(), now))
    except KafkaError as error:
        return BrokerHeartbeatResponse(throttle_time_ms=0, error_code=int(error.code), is_caught_up=False,
                                       is_fenced=True, should_shut_down=False)


@handles(AlterPartitionRequest, on=(INTERNAL,))
async def alter_partition(ctx: Context, request: Any) -> Any:
    try:
        return await ctx.broker.controller.decide(lambda core, now: core.alter_partition(request))
    except KafkaError as error:
        return AlterPartitionResponse(throttle_time_ms=0, error_code=int(error.code), topics=[])


@handles(AllocateProducerIdsRequest, on=(INTERNAL,))
async def allocate_producer_ids(ctx: Context, request: Any) -> Any:
    try:
        return await ctx.broker.controller.decide(lambda core, now: core.allocate_producer_ids(request))
    except KafkaError as error:
        return AllocateProducerIdsResponse(throttle_time_ms=0, error_code=int(error.code), producer_id_start=-1,
                                           producer_id_len=0)


# --- handlers: requests of clients, forwarded by brokers (registered in controller/api/topics.py) ------------------------


CREATES_STRICTLY, DELETES_STRICTLY, GROWS_STRICTLY = 6, 5, 3     # since these versions no change above the quota is made


async def controlled_create_topics(ctx: Context, request: Any) -> Any:
    """CreateTopics on the active controller; NOT_CONTROLLER for every topic if that is not us."""
    return await _charged(ctx, CREATES_STRICTLY, lambda core, pay: create_topics(_creation(ctx, core, pay), request))


async def controlled_create_partitions(ctx: Context, request: Any) -> Any:
    """CreatePartitions on the active controller."""
    return await _charged(ctx, GROWS_STRICTLY, lambda core, pay: create_partitions(_creation(ctx, core, pay), request))


async def controlled_delete_topics(ctx: Context, request: Any) -> Any:
    """DeleteTopics on the active controller."""
    def decision(core: Controller, pay: Charge) -> tuple[Records, Any]:
        if not core.config["delete.topic.enable"]:
            return [], refuse_all(request, _deletion_disabled(ctx.version))
        return delete_topics(core.image, *split(request), pay)

    return await _charged(ctx, DELETES_STRICTLY, decision)


async def _charged(ctx: Context, strict_since: int, decide: Callable[[Controller, Charge], tuple[Records, Any]]) -> Any:
    """A decision that the client's quota of changes pays for; the answer says how long the client must wait."""
    def decision(core: Controller, now: float) -> tuple[Records, Any]:
        quotas, own = ctx.broker.quotas, ctx.client_id is None      # of a broker: nobody's quota
        charge = FREE if own else quotas.charge(ctx.client_id, ctx.version >= strict_since, now)
        records, answer = decide(core, charge)
        answer.throttle_time_ms = charge.wait_ms
        return records, answer

    return await ctx.broker.controller.decide(decision)


def _creation(ctx: Context, core: Controller, charge: Charge) -> Creation:
    """What creating topics and partitions needs."""
    return Creation(core.image, core.config, ctx.broker.env.rng("placement"), ctx.broker.env.uuid, charge)


def _deletion_disabled(version: int) -> KafkaError:
    if version < 3:
        return KafkaError(Err.INVALID_REQUEST, "Topic deletion is disabled.")
    return KafkaError(Err.TOPIC_DELETION_DISABLED)
