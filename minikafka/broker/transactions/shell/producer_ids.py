"""Producer ids: blocks of a thousand from the controller, handed out one by one.

Owns: the block in use. Invariant I-PID-1: no id is handed out twice in the life of a cluster, because the controller
writes down each block before it gives it away; what is left of a block when a broker dies is lost (rule 47).
What Kafka does differently: the next block is asked for when 90% of this one are gone. Source: RPCProducerIdManager.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker

log = logging.getLogger("minikafka.producer_ids")

TIMEOUT_S = 5.0


class ProducerIds:
    """This broker's source of producer ids."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._block = iter(range(0))
        self._asking = asyncio.Lock()

    async def next(self) -> int:
        """A new id; COORDINATOR_LOAD_IN_PROGRESS, which clients try again, when no controller can be reached."""
        async with self._asking:
            found = next(self._block, None)
            while found is None:
                self._block = iter(await self._allocate())
                found = next(self._block, None)
            return found

    async def _allocate(self) -> range:
        from minikafka.protocol.apis import AllocateProducerIdsRequest as Request
        request = Request(broker_id=self.broker.node_id, broker_epoch=self.broker.lifecycle.broker_epoch)
        try:
            answer = await self.broker.channel.request(request, Request.max_version, TIMEOUT_S)
        except (ConnectionError, TimeoutError, KafkaError) as error:
            log.info("no producer ids from the controller: %s", error)
            raise KafkaError(Err.COORDINATOR_LOAD_IN_PROGRESS) from error
        if answer.error_code != Err.NONE or answer.producer_id_len <= 0:
            log.info("no producer ids from the controller: %s", Err(answer.error_code).name)
            raise KafkaError(Err.COORDINATOR_LOAD_IN_PROGRESS)
        return range(answer.producer_id_start, answer.producer_id_start + answer.producer_id_len)
