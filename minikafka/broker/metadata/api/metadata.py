"""Metadata: the topics and partitions with their leaders, and the addresses of the brokers.

Versions differ: an empty list of topics means all of them in version 0, later none (there null means all); up to version 3
missing topics are always created automatically; offline replicas are in the response from version 5 on, leader epochs from 7,
topic ids from 10; a request may name a topic by its id from version 12 on.

Versions of Metadata
  1 the controller, racks, and null for all topics; 4 may create topics; 5 offline replicas; 7 leader epochs; 8 authorized
  operations; 9 flexible; 10 topic ids (KIP-516); 11 no operations of the cluster; 12 asks by topic id; 13 an error for all.

Invariants
  I-META-1  controller_id is a live broker chosen at random: every broker forwards what is for the controller.
  The response is this broker's replayed image at one moment; no request to another node is made for it.
  I-META-3  a missing topic that may be created gets UNKNOWN_TOPIC_OR_PARTITION; its creation is requested before the
            response leaves, so that the client finds the topic when it asks again.

What Kafka does differently: nothing but that topics are listed here in the order of
creation. Source: KafkaApis.handleTopicMetadataRequest, KRaftMetadataCache, AutoTopicCreationManager; KIP-516, KIP-590.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from minikafka.broker.authorizer.acl import SUPPORTED_OPERATIONS, ResourceType
from minikafka.broker.controller.shell.auto_topic_creation import TopicCreator
from minikafka.broker.metadata.api.describe_cluster import CLUSTER_OPERATIONS, any_live_broker
from minikafka.broker.metadata.image import MetadataImage, PartitionRegistration, TopicImage
from minikafka.broker.metadata.records import Uuid
from minikafka.broker.metadata.topic_names import INTERNAL_TOPICS, check_name
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.server.turns import each, pace
from minikafka.protocol.errors import Err, KafkaError

TOPIC_OPERATIONS = {*SUPPORTED_OPERATIONS[ResourceType.TOPIC]}
TopicRow = MetadataResponse.MetadataResponseTopic
PartitionRow = TopicRow.MetadataResponsePartition
BrokerRow = MetadataResponse.MetadataResponseBroker
AskedTopic = MetadataRequest.MetadataRequestTopic


class ListenerView(NamedTuple):
    """The metadata as a client of this version, on the listener of this name, learns it."""

    image: MetadataImage
    version: int
    listener: str

    def alive(self, broker_id: int) -> bool:
        broker = self.image.brokers.get(broker_id)
        return broker is not None and not broker.fenced and broker.endpoint(self.listener) is not None


@handles(MetadataRequest, needs=(TopicCreator,))
async def metadata(ctx: Context, request: MetadataRequest, creator: TopicCreator) -> MetadataResponse:
    """Answer with the topics that the request names, and every live broker; have missing topics created."""
    if (error := _malformed(ctx.version, request.topics or [])) is not None:
        rows = await each(lambda t: _missing(t.name or "", error, t.topic_id, internal=False), request.topics)
        return _answer(ctx, [], -1, None, rows, error_code=int(error))
    rows = await _topics(ctx, request, creator)
    if request.include_topic_authorized_operations and ctx.version >= 8:
        for row in (row for row in rows if row.error_code != Err.UNKNOWN_TOPIC_ID):
            row.authorized_operations = TOPIC_OPERATIONS
    found = ctx.node.image.reachable(ctx.listener_name)
    brokers = [BrokerRow(node_id=b.id, host=at.host, port=at.port, rack=b.rack) for b, at in found]
    wanted = request.include_cluster_authorized_operations and 8 <= ctx.version <= 10
    operations = CLUSTER_OPERATIONS if wanted else None
    return _answer(ctx, brokers, any_live_broker(ctx, [b for b, _ in found]), ctx.node.cluster_id, rows, operations)


def _answer(ctx: Context, brokers: list[BrokerRow], controller: int, cluster_id: str | None, topics: list[TopicRow],
            operations: set[int] | None = None, error_code: int = 0) -> MetadataResponse:
    return MetadataResponse(throttle_time_ms=0, brokers=brokers, cluster_id=cluster_id, controller_id=controller,
                            topics=topics, authorized_operations=operations, error_code=error_code)


def _malformed(version: int, topics: list[AskedTopic]) -> Err | None:
    """Return the error of the list of topics, or None. Up to version 11 each topic has a name and no id; later, if any topic has
    an id, the ids count, and otherwise each topic has a name."""
    if version in (10, 11) and any(t.topic_id is not None or t.name is None for t in topics):
        return Err.INVALID_REQUEST
    if version >= 12 and any(t.name is None for t in topics) and all(t.topic_id is None for t in topics):
        return Err.UNKNOWN_SERVER_ERROR
    return None


# --- which topics ----------------------------------------------------------------------------------------------


async def _topics(ctx: Context, request: MetadataRequest, creator: TopicCreator) -> list[TopicRow]:
    image, version = ctx.node.image, ctx.version
    view = ListenerView(image, version, ctx.listener_name)
    if request.topics is None or (version == 0 and not request.topics):
        return await _described(view, list(image.topics.values()))
    ids = dict.fromkeys(t.topic_id for t in request.topics if version >= 12 and t.topic_id is not None)
    if ids:
        return await _by_id(view, list(ids))
    names = list(dict.fromkeys(t.name for t in request.topics))
    present = [image.topics[name] for name in names if name in image.topics]
    absent = [name for name in names if name not in image.topics]
    found = await _described(view, present)
    if ctx.node.config["auto.create.topics.enable"] and (version < 4 or request.allow_auto_topic_creation):
        legal = {name: None for name in absent if why_missing(name) is Err.UNKNOWN_TOPIC_OR_PARTITION}
        creator.create(list(legal))
        absent.sort(key=legal.__contains__)             # illegal names come first
    return found + (await each(lambda name: _missing(name, why_missing(name)), absent))


async def _by_id(view: ListenerView, ids: list[Uuid]) -> list[TopicRow]:
    found = [(topic_id, view.image.topic_by_id(topic_id)) for topic_id in ids]
    unknown = [_missing(None, Err.UNKNOWN_TOPIC_ID, topic_id) for topic_id, topic in found if topic is None]
    return unknown + (await _described(view, [topic for _, topic in found if topic is not None]))


def why_missing(name: str) -> Err:
    """Return the error of a topic that is not there: its name is none, or it is unknown."""
    try:
        check_name(name)
    except KafkaError as error:
        return error.code
    return Err.UNKNOWN_TOPIC_OR_PARTITION


def _missing(name: str | None, error: Err, topic_id: Uuid | None = None, internal: bool | None = None) -> TopicRow:
    internal = name in INTERNAL_TOPICS if internal is None else internal
    return TopicRow(error_code=int(error), name=name, topic_id=topic_id, is_internal=internal, partitions=[],
                    authorized_operations=None)


# --- one topic -------------------------------------------------------------------------------------------------


async def _described(view: ListenerView, topics: list[TopicImage]) -> list[TopicRow]:
    rows = []
    for topic in topics:
        rows.append(await describe(view, topic))
        await pace()
    return rows


async def describe(view: ListenerView, topic: TopicImage) -> TopicRow:
    """Return the row of one topic."""
    found = [topic.partitions[index] for index in sorted(topic.partitions)]
    partitions = await each(lambda p: _partition(view, p), found)
    return TopicRow(error_code=0, name=topic.name, topic_id=topic.id, is_internal=topic.name in INTERNAL_TOPICS,
                    partitions=partitions, authorized_operations=None)


def _partition(view: ListenerView, p: PartitionRegistration) -> PartitionRow:
    offline = [r for r in p.replicas if not view.alive(r)]
    replicas, isr, error = list(p.replicas), list(p.isr), Err.NONE
    if view.version == 0:        # these clients fail on a replica that is not among the brokers
        replicas, isr = [r for r in replicas if view.alive(r)], [r for r in isr if view.alive(r)]
        if len(replicas) < len(p.replicas) or len(isr) < len(p.isr):
            error = Err.REPLICA_NOT_AVAILABLE
    leader, led = p.leader, view.image.brokers.get(p.leader)
    if led is None or led.endpoint(view.listener) is None:
        known = led is not None and view.version >= 6
        leader, error = -1, Err.LISTENER_NOT_FOUND if known else Err.LEADER_NOT_AVAILABLE
    return PartitionRow(error_code=int(error), partition_index=p.index, leader_id=leader, leader_epoch=p.leader_epoch,
                        replica_nodes=replicas, isr_nodes=isr, offline_replicas=offline)
