"""InitProducerId (versions 0 to 5): a producer id for an idempotent producer.

Owns: nothing. A producer id sent along is ignored, as in Kafka, and a new one given: without a transactional id there is
nothing that could be continued. Transactional ids are refused until transactions exist.
Source: KafkaApis.handleInitProducerIdRequest; KIP-98, KIP-360.
"""

from __future__ import annotations

import logging
from typing import Any

from kafka.protocol.producer import InitProducerIdRequest, InitProducerIdResponse

from minikafka.broker.api import CLIENTS, Context, handles
from minikafka.protocol.errors import Err, KafkaError

log = logging.getLogger("minikafka.producer_ids")

NONE = -1


@handles(InitProducerIdRequest, on=(CLIENTS,), versions=(0, 5))
async def init_producer_id(ctx: Context, request: Any) -> InitProducerIdResponse:
    """A new producer id, epoch 0."""
    if request.transactional_id is not None:
        log.warning("%r asked for the transactional id %r: transactions are not served yet", ctx.client_id,
                    request.transactional_id)
        return _answer(Err.INVALID_REQUEST)
    if ctx.version >= 3 and (request.producer_id == NONE) != (request.producer_epoch == NONE):
        return _answer(Err.INVALID_REQUEST)
    try:
        return _answer(Err.NONE, await ctx.broker.replicas.producer_ids.next(), 0)
    except KafkaError as refused:
        return _answer(refused.code)


def _answer(error: Err, producer_id: int = NONE, epoch: int = NONE) -> InitProducerIdResponse:
    return InitProducerIdResponse(throttle_time_ms=0, error_code=int(error), producer_id=producer_id,
                                  producer_epoch=epoch)
