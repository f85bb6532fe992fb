"""Metadata: which topics and partitions there are, who leads them, where the brokers are.

Versions differ in what an empty list means (0: all topics; later: none, null is all), in auto creation (always up to
3), in topic ids (answered from 10, asked by from 12) and in offline replicas (5) and epochs (7).

Invariants
  I-META-1  controller_id is a live broker chosen at random: every broker forwards what is for the controller.
  I-META-2  the answer is this broker's replayed image at one moment; nothing is asked of anyone for it.
  I-META-3  a topic that is missing and may be created is answered UNKNOWN_TOPIC_OR_PARTITION now; its creation is on
            its way when the client asks again.

What Kafka does differently: nothing that a client without an authorizer sees; topics are listed here in the order of
creation. Source: KafkaApis.handleTopicMetadataRequest, KRaftMetadataCache, AutoTopicCreationManager; KIP-516, KIP-590.
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from minikafka.broker.metadata.api.describe_cluster import CLUSTER_OPERATIONS, any_live_broker
from minikafka.broker.metadata.image import MetadataImage, Partition, Topic
from minikafka.broker.metadata.records import Uuid
from minikafka.broker.metadata.topic_names import INTERNAL_TOPICS, check_name
from minikafka.broker.server.registry import Context, handles
from minikafka.protocol.errors import Err, KafkaError

TOPIC_OPERATIONS = {3, 4, 5, 6, 7, 8, 10, 11}       # AclOperation numbers that a topic knows
TopicRow = MetadataResponse.MetadataResponseTopic
PartitionRow = TopicRow.MetadataResponsePartition
BrokerRow = MetadataResponse.MetadataResponseBroker


@handles(MetadataRequest)
def metadata(ctx: Context, request: Any) -> MetadataResponse:
    """The topics asked for, and every live broker."""
    if (error := _malformed(ctx.version, request.topics or [])) is not None:
        rows = [_missing(t.name or "", error, t.topic_id, internal=False) for t in request.topics]
        return _answer(ctx, [], -1, None, rows, error_code=int(error))
    rows = _topics(ctx, request)
    if request.include_topic_authorized_operations and ctx.version >= 8:
        for row in (row for row in rows if row.error_code != Err.UNKNOWN_TOPIC_ID):
            row.authorized_operations = TOPIC_OPERATIONS
    alive = ctx.broker.image.alive_brokers()
    brokers = [BrokerRow(node_id=b.id, host=b.host, port=b.port, rack=b.rack) for b in alive]
    wanted = request.include_cluster_authorized_operations and 8 <= ctx.version <= 10
    operations = CLUSTER_OPERATIONS if wanted else None
    return _answer(ctx, brokers, any_live_broker(ctx, alive), ctx.broker.cluster_id, rows, operations)


def _answer(ctx: Context, brokers: list[Any], controller: int, cluster_id: str | None, topics: list[Any],
            operations: set[int] | None = None, error_code: int = 0) -> MetadataResponse:
    return MetadataResponse(throttle_time_ms=0, brokers=brokers, cluster_id=cluster_id, controller_id=controller,
                            topics=topics, authorized_operations=operations, error_code=error_code)


def _malformed(version: int, topics: list[Any]) -> Err | None:
    """Topics have names and no ids up to version 11; later it is ids alone, if there is one, and otherwise names."""
    if version in (10, 11) and any(t.topic_id is not None or t.name is None for t in topics):
        return Err.INVALID_REQUEST
    if version >= 12 and any(t.name is None for t in topics) and all(t.topic_id is None for t in topics):
        return Err.UNKNOWN_SERVER_ERROR
    return None


# --- which topics ----------------------------------------------------------------------------------------------


def _topics(ctx: Context, request: Any) -> list[Any]:
    image, version = ctx.broker.image, ctx.version
    if request.topics is None or (version == 0 and not request.topics):
        return [describe(image, topic, version) for topic in image.topics.values()]
    ids = dict.fromkeys(t.topic_id for t in request.topics if version >= 12 and t.topic_id is not None)
    if ids:
        return _by_id(image, list(ids), version)
    names = list(dict.fromkeys(t.name for t in request.topics))
    found = [describe(image, image.topics[name], version) for name in names if name in image.topics]
    absent = [name for name in names if name not in image.topics]
    if ctx.broker.config["auto.create.topics.enable"] and (version < 4 or request.allow_auto_topic_creation):
        legal = [name for name in absent if _why_missing(name) is Err.UNKNOWN_TOPIC_OR_PARTITION]
        ctx.broker.topic_creator.create(legal)
        absent.sort(key=legal.__contains__)             # what cannot be created comes first
    return found + [_missing(name, _why_missing(name)) for name in absent]


def _by_id(image: MetadataImage, ids: list[Uuid], version: int) -> list[Any]:
    found = [(topic_id, image.topic_by_id(topic_id)) for topic_id in ids]
    unknown = [_missing(None, Err.UNKNOWN_TOPIC_ID, topic_id) for topic_id, topic in found if topic is None]
    return unknown + [describe(image, topic, version) for _, topic in found if topic is not None]


def _why_missing(name: str) -> Err:
    try:
        check_name(name)
    except KafkaError as error:
        return error.code
    return Err.UNKNOWN_TOPIC_OR_PARTITION


def _missing(name: str | None, error: Err, topic_id: Uuid | None = None, internal: bool | None = None) -> Any:
    internal = name in INTERNAL_TOPICS if internal is None else internal
    return TopicRow(error_code=int(error), name=name, topic_id=topic_id, is_internal=internal, partitions=[],
                    authorized_operations=None)


# --- one topic -------------------------------------------------------------------------------------------------


def describe(image: MetadataImage, topic: Topic, version: int) -> Any:
    """A topic as a client of this version sees it."""
    partitions = [_partition(image, topic.partitions[index], version) for index in sorted(topic.partitions)]
    return TopicRow(error_code=0, name=topic.name, topic_id=topic.id, is_internal=topic.name in INTERNAL_TOPICS,
                    partitions=partitions, authorized_operations=None)


def _partition(image: MetadataImage, p: Partition, version: int) -> Any:
    offline = [r for r in p.replicas if not _alive(image, r)]
    replicas, isr, error = list(p.replicas), list(p.isr), Err.NONE
    if version == 0:        # clients of that age cannot bear a replica that is not among the brokers
        replicas, isr = [r for r in replicas if _alive(image, r)], [r for r in isr if _alive(image, r)]
        if len(replicas) < len(p.replicas) or len(isr) < len(p.isr):
            error = Err.REPLICA_NOT_AVAILABLE
    leader = p.leader
    if leader not in image.brokers:
        leader, error = -1, Err.LEADER_NOT_AVAILABLE
    return PartitionRow(error_code=int(error), partition_index=p.index, leader_id=leader, leader_epoch=p.leader_epoch,
                        replica_nodes=replicas, isr_nodes=isr, offline_replicas=offline)


def _alive(image: MetadataImage, broker_id: int) -> bool:
    broker = image.brokers.get(broker_id)
    return broker is not None and not broker.fenced
