"""WriteTxnMarkers (versions 1 and 2): the partition leaders' side of markers; each leader appends the transaction's outcome.

The coordinator's side is shell/marker_sender.py.

Versions of WriteTxnMarkers: 1 flexible; 2 the version of transactions (KIP-1228).

Owns: nothing beyond the request being served.
Invariants: a marker is answered when it is committed (acks=all): only then may the coordinator count on it.
            a marker in `__consumer_offsets` goes through the group coordinator, which shows or drops the offsets
              of the transaction with it (rule 61).
What Kafka does differently: nothing known. Administrators may send this request too (KIP-664); no permissions are checked.
Source: KafkaApis.handleWriteTxnMarkersRequest, GroupCoordinatorService.completeTransaction; KIP-1228 (version 2).
"""

from __future__ import annotations

from asyncio import Future

from kafka.protocol.producer.transaction import WriteTxnMarkersRequest, WriteTxnMarkersResponse

from minikafka.broker.groups.shell.coordinator import GroupCoordinator
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.broker.replication.shell.delayed_operations import DelayedProduce
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.replication.shell.replica_manager import ReplicaManager
from minikafka.broker.server.registry import CLIENTS, INTERNAL, Context, handles
from minikafka.broker.server.turns import pace
from minikafka.log.markers import marker
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError

Marker = WriteTxnMarkersRequest.WritableTxnMarker
Result = WriteTxnMarkersResponse.WritableTxnMarkerResult
Topic = Result.WritableTxnMarkerTopicResult
Answer = Topic.WritableTxnMarkerPartitionResult
ALL_IN_SYNC = NO_PRODUCER = -1
# Errors of a group coordinator that is not ready: answered as NOT_LEADER_OR_FOLLOWER, so that the sender tries again.
NOT_READY = (Err.COORDINATOR_NOT_AVAILABLE, Err.COORDINATOR_LOAD_IN_PROGRESS, Err.NOT_COORDINATOR)

Key = tuple[str, int]
ERROR = 120    # bytes of memory that the error code of a partition takes, about, while the request waits


@handles(WriteTxnMarkersRequest, on=(CLIENTS, INTERNAL), versions=(1, 2), needs=(ReplicaManager, GroupCoordinator))
async def write_txn_markers(ctx: Context, request: WriteTxnMarkersRequest, replicas: ReplicaManager,
                            groups: GroupCoordinator) -> WriteTxnMarkersResponse:
    """Append the markers of each producer, then wait for them. A marker without a producer id fails the whole request."""
    if any(NO_PRODUCER in (one.producer_id, one.producer_epoch) and _hosted(replicas, one) for one in request.markers):
        refused = {one.producer_id: dict.fromkeys(_keys(one), Err.UNKNOWN_SERVER_ERROR) for one in request.markers}
        return WriteTxnMarkersResponse(markers=[Result(producer_id=i, topics=_by_topic(e)) for i, e in refused.items()])
    results: dict[int, dict[Key, Err]] = {}         # a producer with two markers has one result
    for one in request.markers:
        if errors := await _write(ctx, replicas, groups, one):
            results.setdefault(one.producer_id, {}).update(errors)
    return WriteTxnMarkersResponse(markers=[Result(producer_id=i, topics=_by_topic(e)) for i, e in results.items()])


def _keys(sent: Marker) -> list[Key]:
    return [(topic.name, index) for topic in sent.topics for index in topic.partition_indexes]


def _hosted(replicas: ReplicaManager, sent: Marker) -> bool:
    return any(key in replicas.partitions for key in _keys(sent))


async def _write(ctx: Context, replicas: ReplicaManager, groups: GroupCoordinator, sent: Marker) -> dict[Key, Err]:
    errors: dict[Key, Err] = {}
    appended: dict[Partition, int] = {}
    in_groups: dict[Key, Future[Err]] = {}
    for key in _keys(sent):
        await pace()
        try:
            if key not in replicas.partitions:
                raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION)
            if key[0] == OFFSETS_TOPIC:
                in_groups[key] = _to_group(groups, key[1], sent)
            else:
                partition, required = _append(ctx, replicas, key, sent)
                appended[partition] = required
            errors[key] = Err.NONE
        except KafkaError as refused:
            errors[key] = refused.code
    ctx.memory += ERROR * len(errors)
    waiting = await DelayedProduce(ctx.node.env, appended).outcome(ctx.node.config["request.timeout.ms"] / 1000)
    errors |= {(partition.topic, partition.index): error for partition, error in waiting.items()}
    errors |= {key: await outcome for key, outcome in in_groups.items()}
    return {key: Err.NOT_LEADER_OR_FOLLOWER if error in NOT_READY else error for key, error in errors.items()}


def _append(ctx: Context, replicas: ReplicaManager, key: Key, sent: Marker) -> tuple[Partition, int]:
    partition = replicas.leader(*key)
    batch = marker(sent.producer_id, sent.producer_epoch, sent.coordinator_epoch, sent.transaction_result,
                   ctx.node.env.wall_ms())
    return partition, partition.append(batch, ALL_IN_SYNC, "coordinator").last_offset + 1


def _to_group(groups: GroupCoordinator, index: int, sent: Marker) -> Future[Err]:
    """Hand the marker to the group coordinator; return a future of the error code."""
    home = groups.partitions.get(index)
    if home is None or home.loading:
        raise KafkaError(Err.NOT_COORDINATOR)
    who = ProducerIdAndEpoch(sent.producer_id, sent.producer_epoch)
    return home.write_marker(who, sent.coordinator_epoch, sent.transaction_result)


def _by_topic(errors: dict[Key, Err]) -> list[Topic]:
    topics: dict[str, list[Answer]] = {}
    for (topic, index), error in errors.items():
        topics.setdefault(topic, []).append(Answer(partition_index=index, error_code=int(error)))
    return [Topic(name=name, partitions=answers) for name, answers in topics.items()]
