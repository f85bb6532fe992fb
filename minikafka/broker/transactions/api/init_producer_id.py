"""InitProducerId (versions 0 to 5): give a producer the id and epoch under which it writes.

Versions of InitProducerId
  2 flexible; 3 a producer may name the id and epoch that it had (KIP-360); 4 the error PRODUCER_FENCED; 5 TRANSACTION_ABORTABLE.

Owns: nothing. Without a transactional id there is no state to continue: the producer gets a new producer id, whatever id
its request names, as in Kafka. With a transactional id, the id's coordinator decides
(broker/transactions/shell/coordinator.py).
Source: KafkaApis.handleInitProducerIdRequest; KIP-98, KIP-360.
"""

from __future__ import annotations

from kafka.protocol.producer import InitProducerIdRequest, InitProducerIdResponse

from minikafka.broker.server.registry import CLIENTS, Context, handles
from minikafka.broker.transactions.shell.coordinator import TransactionCoordinator
from minikafka.broker.transactions.shell.producer_ids import ProducerIds
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError

NONE = -1
KNOWS_FENCED = 4             # since this version


@handles(InitProducerIdRequest, on=(CLIENTS,), versions=(0, 5), needs=(ProducerIds, TransactionCoordinator))
async def init_producer_id(ctx: Context, request: InitProducerIdRequest, producer_ids: ProducerIds,
                           transactions: TransactionCoordinator) -> InitProducerIdResponse:
    """Give a new producer id, or the next epoch of a transactional id."""
    sent = ProducerIdAndEpoch(request.producer_id, request.producer_epoch) if ctx.version >= 3 else ProducerIdAndEpoch(NONE, NONE)
    if (sent.producer_id == NONE) != (sent.epoch == NONE):
        return _answer(Err.INVALID_REQUEST)
    try:
        if request.transactional_id is None:
            return _answer(Err.NONE, await producer_ids.next(), 0)
        expected = sent if sent.producer_id != NONE else None
        given = await transactions.init(request.transactional_id, request.transaction_timeout_ms, expected)
        return _answer(Err.NONE, *given)
    except KafkaError as refused:
        old = refused.code is Err.PRODUCER_FENCED and ctx.version < KNOWS_FENCED
        return _answer(Err.INVALID_PRODUCER_EPOCH if old else refused.code)


def _answer(error: Err, producer_id: int = NONE, epoch: int = NONE) -> InitProducerIdResponse:
    return InitProducerIdResponse(throttle_time_ms=0, error_code=int(error), producer_id=producer_id, producer_epoch=epoch)
