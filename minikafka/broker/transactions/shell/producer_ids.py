"""Producer ids: blocks of a thousand from the controller, handed out one by one.

Owns: the block in use. Invariant I-PID-1: no id is handed out twice in the life of a cluster, because the controller
commits each block before it gives the block to a broker; the rest of a block is lost when the broker dies (rule 47).
What Kafka does differently: Kafka asks for the next block when 90% of the present one are used. Source: RPCProducerIdManager.
"""

from __future__ import annotations

import asyncio
import logging

from minikafka.broker.controller.shell.broker_lifecycle import Lifecycle
from minikafka.broker.controller.shell.controller_channel import Channel
from minikafka.broker.server.node import Node
from minikafka.protocol.apis import AllocateProducerIdsRequest
from minikafka.protocol.errors import Err, KafkaError

log = logging.getLogger("minikafka.producer_ids")

TIMEOUT_S = 5.0


class ProducerIds:
    """This broker's source of producer ids."""

    def __init__(self, node: Node, channel: Channel, lifecycle: Lifecycle) -> None:
        self.node, self.channel, self.lifecycle = node, channel, lifecycle
        self._block = iter(range(0))
        self._asking = asyncio.Lock()

    async def next(self) -> int:
        """Return a new id. COORDINATOR_LOAD_IN_PROGRESS if no controller can be reached: clients try again then."""
        async with self._asking:
            found = next(self._block, None)
            while found is None:
                self._block = iter(await self._allocate())
                found = next(self._block, None)
            return found

    async def _allocate(self) -> range:
        request = AllocateProducerIdsRequest(broker_id=self.node.node_id, broker_epoch=self.lifecycle.broker_epoch)
        try:
            answer = await self.channel.request(request, AllocateProducerIdsRequest.max_version, TIMEOUT_S)
        except (ConnectionError, TimeoutError, KafkaError) as error:
            log.info("no producer ids from the controller: %s", error)
            raise KafkaError(Err.COORDINATOR_LOAD_IN_PROGRESS) from error
        if answer.error_code != Err.NONE or answer.producer_id_len <= 0:
            log.info("no producer ids from the controller: %s", Err(answer.error_code).name)
            raise KafkaError(Err.COORDINATOR_LOAD_IN_PROGRESS)
        return range(answer.producer_id_start, answer.producer_id_start + answer.producer_id_len)
