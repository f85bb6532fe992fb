"""CreateTopics, DeleteTopics and CreatePartitions: forwarded to the active controller, decided in controller/admin/.

They are forwarded in the client's version: it says whether a client understands that a quota refuses it, and up to
version 5 the names of topics to delete are in a field of their own. On the controller the client's quota of changes pays
for the partitions that are created or deleted; the response says for how long the client is throttled.

Versions of CreateTopics
  4 the broker's defaults for partitions and replicas (KIP-464); 5 flexible, and the answer has the topic's configs (KIP-525);
  6 may be throttled (KIP-599); 7 the answer has the topic id.
Versions of DeleteTopics: 4 flexible; 5 a text, and may be throttled; 6 by topic id too.
Versions of CreatePartitions: 2 flexible; 3 may be throttled.

Owns: the way between the wire and the decisions.
Source: ControllerApis; KIP-4, KIP-195, KIP-516, KIP-599.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

from minikafka.broker.controller.admin.create_partitions import NewPartitions, create_partitions
from minikafka.broker.controller.admin.create_topics import CreatedTopic, CreateTopicsContext, NewTopic, create_topics
from minikafka.broker.controller.admin.delete_topics import Deletion, delete_topics
from minikafka.broker.controller.admin.verdicts import TopicVerdict
from minikafka.broker.controller.api.forwarding import forward
from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.controller.shell.active_controller import ActiveController
from minikafka.broker.controller.shell.controller_channel import Channel
from minikafka.broker.metadata.records import ZERO_UUID, Uuid
from minikafka.broker.metadata.topic_names import METADATA_TOPIC
from minikafka.broker.quotas.throttling import FREE, Charge
from minikafka.broker.server.registry import CLIENTS, INTERNAL, Context, handles
from minikafka.broker.server.turns import Work, collected, each
from minikafka.protocol.errors import Err, KafkaError

CREATES_STRICTLY, DELETES_STRICTLY, GROWS_STRICTLY = 6, 5, 3     # since these versions no change above the quota is made
WITHOUT_TEXT = (Err.REQUEST_TIMED_OUT, Err.THROTTLING_QUOTA_EXCEEDED)       # refused without a text, as in Kafka
WITHOUT_TEXT_FOR_PARTITIONS = (*WITHOUT_TEXT, Err.UNKNOWN_TOPIC_OR_PARTITION, Err.NOT_CONTROLLER, Err.UNKNOWN_SERVER_ERROR)
Response = TypeVar("Response", CreateTopicsResponse, CreatePartitionsResponse, DeleteTopicsResponse)


async def _charged(ctx: Context, active: ActiveController, strict_since: int,
                   decide: Callable[[Controller, Charge], Work[tuple[Records, Response]]]) -> Response:
    """Take a decision that the client's quota of changes pays for; return the response, which says how long to wait."""
    charge = FREE

    async def decision(controller: Controller, now: float) -> tuple[Records, Response]:
        nonlocal charge
        charge.refund()                         # of a decision that is taken anew
        if ctx.client_id is not None:           # a broker's own request has no quota
            charge = ctx.node.quotas.charge(ctx.client_id, ctx.version >= strict_since, now, ctx.user)
        records, response = await decide(controller, charge)
        response.throttle_time_ms = charge.wait_ms
        return records, response

    return await active.decide(decision)


def _none_is_left(asked: Iterable[str | Uuid], forbidden: str | None = None) -> bool:
    """Return whether each topic is refused for itself, as one that is named twice is: such a request has no timeout."""
    return all(count > 1 or topic == forbidden for topic, count in Counter(asked).items())


def _context(ctx: Context, controller: Controller, charge: Charge) -> CreateTopicsContext:
    env = ctx.node.env
    return CreateTopicsContext(controller.image, controller.config, env.rng("placement"), env.uuid, charge)


# --- CreateTopics ----------------------------------------------------------------------------------------------

CreatedRow = CreateTopicsResponse.CreatableTopicResult


@handles(CreateTopicsRequest, on=(CLIENTS,), needs=(Channel,))
async def create_topics_from_client(ctx: Context, request: CreateTopicsRequest, channel: Channel) -> CreateTopicsResponse:
    """Create topics, or only check (validate_only); the response comes when the controller has committed them."""
    if not request.topics:
        return CreateTopicsResponse(throttle_time_ms=0, topics=[])
    untimed = _none_is_left((topic.name for topic in request.topics), METADATA_TOPIC)
    return await forward(ctx, channel, request, ctx.version, untimed) or _refuse_creation(request, Err.REQUEST_TIMED_OUT)


@handles(CreateTopicsRequest, on=(INTERNAL,), needs=(ActiveController,))
async def create_topics_on_controller(ctx: Context, request: CreateTopicsRequest,
                                      active: ActiveController) -> CreateTopicsResponse:
    """Create topics if this node is the active controller."""
    requested = [_new_topic(topic) for topic in request.topics]

    async def decide(controller: Controller, charge: Charge) -> tuple[Records, CreateTopicsResponse]:
        made = _context(ctx, controller, charge)
        records, verdicts = await collected(create_topics(made, requested, request.validate_only))
        rows = await each(lambda one: _created(*one) if isinstance(one[1], CreatedTopic) else
                               _not_created(one[0], one[1].code, one[1].message), verdicts)
        return records, CreateTopicsResponse(throttle_time_ms=0, topics=rows)

    try:
        return await _charged(ctx, active, CREATES_STRICTLY, decide)
    except KafkaError as error:
        return _refuse_creation(request, error.code)


def _new_topic(topic: CreateTopicsRequest.CreatableTopic) -> NewTopic:
    return NewTopic(topic.name, topic.num_partitions, topic.replication_factor,
                    [(a.partition_index, list(a.broker_ids)) for a in topic.assignments],
                    [(c.name, c.value) for c in topic.configs])


def _created(name: str, topic: CreatedTopic) -> CreatedRow:
    configs = [CreatedRow.CreatableTopicConfigs(name=c.name, value=c.value, read_only=False, config_source=c.source,
                                                is_sensitive=c.sensitive) for c in topic.configs]
    return CreatedRow(name=name, topic_id=topic.topic_id, error_code=0, error_message=None, topic_config_error_code=0,
                      num_partitions=topic.partitions, replication_factor=topic.replication_factor, configs=configs)


def _not_created(name: str, code: Err, text: str | None) -> CreatedRow:
    return CreatedRow(name=name, topic_id=ZERO_UUID, error_code=int(code),
                      error_message=None if code in WITHOUT_TEXT else text, topic_config_error_code=0, num_partitions=-1,
                      replication_factor=-1, configs=[])


def _refuse_creation(request: CreateTopicsRequest, code: Err) -> CreateTopicsResponse:
    return CreateTopicsResponse(throttle_time_ms=0, topics=[_not_created(t.name, code, None) for t in request.topics])


# --- DeleteTopics ----------------------------------------------------------------------------------------------

@handles(DeleteTopicsRequest, on=(CLIENTS,), needs=(Channel,))
async def delete_topics_from_client(ctx: Context, request: DeleteTopicsRequest, channel: Channel) -> DeleteTopicsResponse:
    """Delete topics by name or id; each broker deletes their files later."""
    untimed = _none_is_left(_named(request))
    return await forward(ctx, channel, request, ctx.version, untimed) or _refuse_deletion(
        request, KafkaError(Err.REQUEST_TIMED_OUT))


@handles(DeleteTopicsRequest, on=(INTERNAL,), needs=(ActiveController,))
async def delete_topics_on_controller(ctx: Context, request: DeleteTopicsRequest,
                                      active: ActiveController) -> DeleteTopicsResponse:
    """Delete topics if this node is the active controller."""
    async def decide(controller: Controller, charge: Charge) -> tuple[Records, DeleteTopicsResponse]:
        if not controller.config["delete.topic.enable"]:
            return [], _refuse_deletion(request, _deletion_disabled(ctx.version))
        names, ids, malformed = _split(request)
        records, verdicts = await collected(delete_topics(controller.image, names, ids, charge))
        rows = await each(_deleted_row, [*malformed, *verdicts])
        return records, DeleteTopicsResponse(throttle_time_ms=0, responses=rows)

    try:
        return await _charged(ctx, active, DELETES_STRICTLY, decide)
    except KafkaError as error:
        return _refuse_deletion(request, error)


def _named(request: DeleteTopicsRequest) -> list[str | Uuid]:
    names, ids, _ = _split(request)
    return [*names, *ids]


def _split(request: DeleteTopicsRequest) -> tuple[list[str], list[Uuid], list[Deletion]]:
    """Return the names, the ids and the refusals of malformed entries of a request of any version."""
    names: list[str] = list(request.topic_names or [])
    ids: list[Uuid] = []
    malformed = []
    for state in request.topics or []:
        if state.name is None and state.topic_id is None:
            malformed.append(Deletion(None, None, KafkaError(
                Err.INVALID_REQUEST, "Neither topic name nor id were specified.")))
        elif state.name is not None and state.topic_id is not None:
            malformed.append(Deletion(state.name, state.topic_id, KafkaError(
                Err.INVALID_REQUEST, "You may not specify both topic name and topic id.")))
        elif state.name is None:
            ids.append(state.topic_id)
        else:
            names.append(state.name)
    return names, ids, malformed


def _deletion_disabled(version: int) -> KafkaError:
    if version < 3:                             # the code came with KIP-322
        return KafkaError(Err.INVALID_REQUEST, "Topic deletion is disabled.")
    return KafkaError(Err.TOPIC_DELETION_DISABLED)


def _refuse_deletion(request: DeleteTopicsRequest, refusal: KafkaError) -> DeleteTopicsResponse:
    rows = [*((name, None) for name in request.topic_names or []), *((t.name, t.topic_id) for t in request.topics or [])]
    return _deleted(Deletion(name, topic_id, refusal) for name, topic_id in rows)


def _deleted(verdicts: Iterable[Deletion]) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(throttle_time_ms=0, responses=[_deleted_row(one) for one in verdicts])


def _deleted_row(verdict: Deletion) -> DeleteTopicsResponse.DeletableTopicResult:
    name, topic_id, refusal = verdict
    return DeleteTopicsResponse.DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=int(refusal.code) if refusal else 0,
        error_message=refusal.message if refusal and refusal.code not in WITHOUT_TEXT else None)


# --- CreatePartitions ------------------------------------------------------------------------------------------

@handles(CreatePartitionsRequest, on=(CLIENTS,), needs=(Channel,))
async def create_partitions_from_client(ctx: Context, request: CreatePartitionsRequest,
                                        channel: Channel) -> CreatePartitionsResponse:
    """Add partitions to existing topics."""
    untimed = _none_is_left(topic.name for topic in request.topics)
    return await forward(ctx, channel, request, ctx.version, untimed) or _refuse_partitions(request, Err.REQUEST_TIMED_OUT)


@handles(CreatePartitionsRequest, on=(INTERNAL,), needs=(ActiveController,))
async def create_partitions_on_controller(ctx: Context, request: CreatePartitionsRequest,
                                          active: ActiveController) -> CreatePartitionsResponse:
    """Add partitions if this node is the active controller."""
    requested = [NewPartitions(t.name, t.count, None if t.assignments is None else [list(a.broker_ids) for a in t.assignments])
                 for t in request.topics]

    async def decide(controller: Controller, charge: Charge) -> tuple[Records, CreatePartitionsResponse]:
        made = _context(ctx, controller, charge)
        records, verdicts = await collected(create_partitions(made, requested, request.validate_only))
        rows = await each(_grown_row, verdicts)
        return records, CreatePartitionsResponse(throttle_time_ms=0, results=rows)

    try:
        return await _charged(ctx, active, GROWS_STRICTLY, decide)
    except KafkaError as error:
        return _refuse_partitions(request, error.code)


def _refuse_partitions(request: CreatePartitionsRequest, code: Err) -> CreatePartitionsResponse:
    return _grown([TopicVerdict(topic.name, KafkaError(code)) for topic in request.topics])


def _grown(verdicts: Iterable[TopicVerdict]) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(throttle_time_ms=0, results=[_grown_row(one) for one in verdicts])


def _grown_row(verdict: TopicVerdict) -> CreatePartitionsResponse.CreatePartitionsTopicResult:
    name, refusal = verdict
    return CreatePartitionsResponse.CreatePartitionsTopicResult(
        name=name, error_code=int(refusal.code) if refusal else 0,
        error_message=refusal.message if refusal and refusal.code not in WITHOUT_TEXT_FOR_PARTITIONS else None)
