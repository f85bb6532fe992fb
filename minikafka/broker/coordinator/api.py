"""FindCoordinator: which broker coordinates a group, or the transactions of a producer.

Versions of FindCoordinator
  1 transactional ids too; 3 flexible; 4 many keys (KIP-699); 5 the error TRANSACTION_ABORTABLE (KIP-890); 6 share groups, which
  there are none of here.

Owns: the translation between the wire and the two coordinators.
Source: KafkaApis.handleFindCoordinatorRequest; KIP-699 (many keys at once).
"""

from __future__ import annotations

from typing import NamedTuple

from kafka.protocol.metadata import FindCoordinatorRequest, FindCoordinatorResponse

from minikafka.broker.groups.shell.coordinator import GroupCoordinator
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.server.turns import each
from minikafka.broker.transactions.shell.coordinator import TransactionCoordinator
from minikafka.protocol.errors import TEXTS, Err

GROUP, TRANSACTION, SHARE = 0, 1, 2       # key types of FindCoordinator
Coordinator = GroupCoordinator | TransactionCoordinator


class FoundCoordinator(NamedTuple):
    """The address of a coordinator, or an error; `text` is the error message from version 4 on, which has many keys."""

    error: Err
    text: str = ""
    node_id: int = -1
    host: str = ""
    port: int = -1


@handles(FindCoordinatorRequest, versions=(0, 6), needs=(GroupCoordinator, TransactionCoordinator))
async def find_coordinator(ctx: Context, request: FindCoordinatorRequest, groups: GroupCoordinator,
                           transactions: TransactionCoordinator) -> FindCoordinatorResponse:
    """Find the coordinator of each key; a missing coordinator topic is created."""
    coordinators: dict[int, Coordinator] = {GROUP: groups, TRANSACTION: transactions}
    if ctx.version >= 4:
        rows = await each(lambda key: _row(key, _find(ctx, coordinators, request.key_type, key)), request.coordinator_keys)
        return FindCoordinatorResponse(throttle_time_ms=0, coordinators=rows)
    one = _find(ctx, coordinators, request.key_type, request.key)
    text = "NONE" if one.error is Err.NONE else TEXTS[one.error]      # versions 1 to 3 of Kafka say "NONE" here
    return FindCoordinatorResponse(throttle_time_ms=0, error_code=int(one.error), error_message=text,
                                   node_id=one.node_id, host=one.host, port=one.port)


def _row(key: str, found: FoundCoordinator) -> FindCoordinatorResponse.Coordinator:
    return FindCoordinatorResponse.Coordinator(key=key, node_id=found.node_id, host=found.host, port=found.port,
                                               error_code=int(found.error), error_message=found.text)


def _find(ctx: Context, coordinators: dict[int, Coordinator], key_type: int, key: str) -> FoundCoordinator:
    """Return where the coordinator of `key` is: the leader of the partition that keeps the key, if it is alive."""
    if key_type not in coordinators:
        return FoundCoordinator(Err.INVALID_REQUEST, "" if key_type == SHARE else TEXTS[Err.INVALID_REQUEST] or "")
    partition = coordinators[key_type].coordinator_of(key)
    node = ctx.node.image.brokers.get(partition.leader) if partition is not None else None
    at = node.endpoint(ctx.listener_name) if node is not None and not node.fenced else None
    if node is None or at is None:
        return FoundCoordinator(Err.COORDINATOR_NOT_AVAILABLE)
    return FoundCoordinator(Err.NONE, "", node.id, at.host, at.port)
