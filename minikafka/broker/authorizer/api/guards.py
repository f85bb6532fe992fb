"""Guards of the APIs for which a row of the table says too little: what they list, create or describe depends on the client.

Owns: these guards, API by API.
What Kafka does differently: it shuffles the rows of DeleteTopics.
Source: KafkaApis, ControllerApis, ConfigHelper; KIP-430 (authorized operations), KIP-679 (producer ids).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kafka.protocol.admin import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    CreateAclsRequest,
    CreateAclsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeLogDirsResponse,
)
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.metadata import FindCoordinatorRequest, FindCoordinatorResponse
from kafka.protocol.producer import AddPartitionsToTxnRequest, InitProducerIdRequest

from minikafka.broker.authorizer.acl import CLUSTER_NAME, SUPPORTED_OPERATIONS, AclOperation, ResourceType
from minikafka.broker.authorizer.api.acls import refuse_creation, refuse_deletion
from minikafka.broker.authorizer.api.enforcement import (
    CODES,
    EachRow,
    Message,
    One,
    Serve,
    joined,
    name_of,
    needs,
    parted,
    refused,
    without,
)
from minikafka.broker.authorizer.standard_authorizer import Requester
from minikafka.broker.metadata.records import BROKER_LOGGER, BROKER_RESOURCE, CLIENT_METRICS, GROUP, TOPIC_RESOURCE
from minikafka.broker.metadata.topic_names import METADATA_TOPIC, check_name
from minikafka.broker.server.registry import Context
from minikafka.broker.server.turns import pace
from minikafka.protocol.errors import TEXTS, KafkaError

A, R = AclOperation, ResourceType


def operations(ctx: Context, kind: ResourceType, name: str = CLUSTER_NAME) -> set[int]:
    """Return what the client may do with a resource: the authorized_operations of responses."""
    return {int(one) for one in SUPPORTED_OPERATIONS[kind] if ctx.may(one, kind, name, quiet=True)}


async def set_operations(ctx: Context, rows: Iterable[Message], kind: ResourceType, name: str) -> None:
    """Write the client's own operations in each row in which the handler has filled in all."""
    for row in rows:
        if row.authorized_operations:
            row.authorized_operations = operations(ctx, kind, getattr(row, name))
        await pace()


def of_cluster(ctx: Context, response: Message) -> None:
    """Write the client's own operations on the cluster, where the handler has filled in all; none if it may not know them."""
    if response.authorized_operations:
        response.authorized_operations = operations(ctx, R.CLUSTER) if ctx.may(A.DESCRIBE, R.CLUSTER) else set()


async def describe_cluster(ctx: Context, request: DescribeClusterRequest, serve: Serve) -> DescribeClusterResponse:
    """Let everybody know the brokers: without them no client can find anything."""
    response: DescribeClusterResponse = await serve(request)
    of_cluster(ctx, response)
    return response


# --- topics ----------------------------------------------------------------------------------------------------------


async def create_topics(ctx: Context, request: CreateTopicsRequest, serve: Serve) -> CreateTopicsResponse:
    """Refuse each topic that the client may not create; show the configuration to who may describe it."""
    counts, anywhere = Counter(t.name for t in request.topics), ctx.may(A.CREATE, R.CLUSTER, quiet=True)

    def allowed(topic: CreateTopicsRequest.CreatableTopic) -> bool:
        wrong = counts[topic.name] > 1 or topic.name == METADATA_TOPIC  # the controller says so
        return wrong or anywhere or ctx.may(A.CREATE, R.TOPIC, topic.name)

    response: CreateTopicsResponse = await without(
        ctx, request, serve, "topics", allowed, CODES[R.TOPIC], "Authorization failed.")
    for row in response.topics:
        if not row.error_code and not ctx.may(A.DESCRIBE_CONFIGS, R.TOPIC, row.name, quiet=True):
            row.topic_config_error_code = int(CODES[R.TOPIC])
            row.num_partitions, row.replication_factor, row.configs = -1, -1, []
    return response


async def create_partitions(ctx: Context, request: Message, serve: Serve) -> Message:
    """Refuse each topic that the client may not alter; one that is named twice is refused for that."""
    counts = Counter(t.name for t in request.topics)
    return await without(ctx, request, serve, "topics", lambda t: counts[t.name] > 1 or ctx.may(A.ALTER, R.TOPIC, t.name),
                         CODES[R.TOPIC])


async def describe_producers(ctx: Context, request: Message, serve: Serve) -> Message:
    """Describe the producers of topics that the client may read; a name that no topic can have is refused for that."""
    return await without(ctx, request, serve, "topics", lambda t: not is_legal(t.name) or ctx.may(A.READ, R.TOPIC, t.name),
                         CODES[R.TOPIC], TEXTS[CODES[R.TOPIC]])


async def delete_topics(ctx: Context, request: DeleteTopicsRequest, serve: Serve) -> DeleteTopicsResponse:
    """Refuse each topic that the client may not delete. Who may not describe it does not learn whether it is there."""
    if not ctx.node.config["delete.topic.enable"] or ctx.may(A.DELETE, R.CLUSTER, quiet=True):
        return await serve(request)  # type: ignore[no-any-return]
    field = "topics" if ctx.version >= 6 else "topic_names"
    asked = getattr(request, field)
    counts = Counter(_name_and_id(row) for row in asked)

    def allowed(row: Message) -> bool:
        name, (given, topic_id) = name_of(ctx, row), _name_and_id(row)
        if name is None or counts[given, topic_id] > 1 or (given is not None and topic_id is not None):
            return True  # the controller says what is wrong with it
        if not ctx.may(A.DESCRIBE, R.TOPIC, name):
            return False
        return name not in ctx.node.image.topics or ctx.may(A.DELETE, R.TOPIC, name)

    kept, others = await parted(asked, allowed)
    setattr(request, field, kept)
    response: DeleteTopicsResponse = await serve(request)
    rows = [_undeleted(ctx, row) for row in others]
    response.responses = [*response.responses, *rows]
    return response


def _name_and_id(row: Message) -> tuple[str | None, Message]:
    return (row, None) if isinstance(row, str) else (row.name, row.topic_id)


def _undeleted(ctx: Context, row: Message) -> DeleteTopicsResponse.DeletableTopicResult:
    name, topic_id = _name_and_id(row)
    known = name_of(ctx, row)
    if name is None and known is not None and ctx.may(A.DESCRIBE, R.TOPIC, known, quiet=True):
        name = known
    return DeleteTopicsResponse.DeletableTopicResult(name=name, topic_id=topic_id, error_code=int(CODES[R.TOPIC]),
                                                     error_message=TEXTS[CODES[R.TOPIC]])


async def leader_epochs(ctx: Context, request: Message, serve: Serve) -> Message:
    """Let brokers see all topics, and clients those that they may describe (KIP-320)."""
    if ctx.may(A.CLUSTER_ACTION, R.CLUSTER, quiet=True):
        return await serve(request)
    return await EachRow(A.DESCRIBE, R.TOPIC, "topics")(ctx, request, serve)


def is_legal(name: str) -> bool:
    """Return whether a topic can have this name."""
    try:
        check_name(name)
    except KafkaError:
        return False
    return True


# --- configurations --------------------------------------------------------------------------------------------------

CONFIG_RESOURCES = {TOPIC_RESOURCE: R.TOPIC, GROUP: R.GROUP, BROKER_RESOURCE: R.CLUSTER, BROKER_LOGGER: R.CLUSTER,
                    CLIENT_METRICS: R.CLUSTER}  # ConfigResource.Type: what the right is on


class Configs:
    """The guard of requests about configurations: the right is on the topic or group, or else on the cluster. Levels of loggers
    are in `loggers`: described, altered (then a refusal has no text), or UNKNOWN to the request, and left to the handler."""

    def __init__(self, operation: AclOperation, loggers: AclOperation = A.UNKNOWN) -> None:
        self.operation, self.loggers = operation, loggers

    async def __call__(self, ctx: Context, request: Message, serve: Serve) -> Message:
        by_kind: dict[ResourceType | None, list[Message]] = {None: []}
        for row in request.resources:
            by_kind.setdefault(self._refusing(ctx, row), []).append(row)
            await pace()
        refusals = [self._refused(ctx, request, kind, rows) for kind, rows in by_kind.items() if kind is not None]
        request.resources = by_kind[None]
        response = await serve(request)
        for one in refusals:
            response = joined(response, one)
        return response

    def _refusing(self, ctx: Context, row: Message) -> ResourceType | None:
        """Return the kind of resource on which the right is missing; None if it is there, or the handler knows better."""
        kind = CONFIG_RESOURCES.get(row.resource_type)
        if kind is None or (row.resource_type == BROKER_LOGGER and self.loggers is A.UNKNOWN):
            return None
        return None if ctx.may(self.operation, kind, CLUSTER_NAME if kind is R.CLUSTER else row.resource_name) else kind

    def _refused(self, ctx: Context, request: Message, kind: ResourceType, rows: list[Message]) -> Message:
        request.resources = rows
        response = refused(ctx, request, CODES[kind], TEXTS[CODES[kind]])
        for row in response.responses if self.loggers is A.ALTER_CONFIGS else ():
            if row.resource_type == BROKER_LOGGER:
                row.error_message = None
        return response


# --- groups and transactions -----------------------------------------------------------------------------------------


async def find_coordinator(ctx: Context, request: FindCoordinatorRequest, serve: Serve) -> FindCoordinatorResponse:
    """Let a client find the coordinator of a group or transactional id that it may describe."""
    kind = {0: R.GROUP, 1: R.TRANSACTIONAL_ID}.get(request.key_type)
    if kind is None:
        return await serve(request)  # type: ignore[no-any-return]
    if ctx.version >= 4:
        kept, others = await parted(request.coordinator_keys, lambda key: ctx.may(A.DESCRIBE, kind, key))
        request.coordinator_keys = kept
        response: FindCoordinatorResponse = await serve(request)
        rows = [FindCoordinatorResponse.Coordinator(key=key, node_id=-1, host="", port=-1, error_code=int(CODES[kind]),
                                                    error_message="") for key in others]
        response.coordinators = [*response.coordinators, *rows]
        return response
    if ctx.may(A.DESCRIBE, kind, request.key):
        return await serve(request)  # type: ignore[no-any-return]
    return FindCoordinatorResponse(throttle_time_ms=0, error_code=int(CODES[kind]), error_message=TEXTS[CODES[kind]], node_id=-1,
                                   host="", port=-1)


async def list_groups(ctx: Context, request: Message, serve: Serve) -> Message:
    """List the groups that the client may describe, or all if it may describe the cluster."""
    response = await serve(request)
    if not ctx.may(A.DESCRIBE, R.CLUSTER, quiet=True):
        response.groups, _ = await parted(response.groups, lambda g: ctx.may(A.DESCRIBE, R.GROUP, g.group_id, quiet=True))
    return response


async def describe_groups(ctx: Context, request: Message, serve: Serve) -> Message:
    """Describe the groups that the client may describe, with what it may do with each."""
    response = await EachRow(A.DESCRIBE, R.GROUP, "groups")(ctx, request, serve)
    await set_operations(ctx, response.groups, R.GROUP, "group_id")
    return response


SECRET_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


async def consumer_group_describe(ctx: Context, request: Message, serve: Serve) -> Message:
    """Describe the groups that the client may describe; of a group that reads a secret topic it learns no more than that."""
    response = await EachRow(A.DESCRIBE, R.GROUP, "group_ids")(ctx, request, serve)
    await set_operations(ctx, response.groups, R.GROUP, "group_id")
    for group in response.groups:
        names = {topic.topic_name for member in group.members or () for part in (member.assignment, member.target_assignment)
                 for topic in part.topic_partitions}
        if not all(ctx.may(A.DESCRIBE, R.TOPIC, name) for name in names):
            group.error_code, group.error_message, group.members = int(CODES[R.TOPIC]), SECRET_TOPICS, []
            group.group_state, group.assignor_name, group.authorized_operations = "", "", None
            group.group_epoch = group.assignment_epoch = 0
        await pace()
    return response


async def consumer_group_heartbeat(ctx: Context, request: Message, serve: Serve) -> Message:
    """Let a member in that may read with the group, and may describe each topic that it names."""
    async def describing(left: Message) -> Message:
        names = dict.fromkeys(left.subscribed_topic_names or ())
        if all(ctx.may(A.DESCRIBE, R.TOPIC, name) for name in names):
            return await serve(left)
        return refused(ctx, left, CODES[R.TOPIC])

    return await One(A.READ, R.GROUP, "group_id")(ctx, request, describing)


async def init_producer_id(ctx: Context, request: InitProducerIdRequest, serve: Serve) -> Message:
    """Give a producer id to who may use the transactional id; without one, to who may write to some topic (KIP-679)."""
    if request.transactional_id is not None:
        return await One(A.WRITE, R.TRANSACTIONAL_ID, "transactional_id")(ctx, request, serve)
    authorizer = ctx.node.authorizer
    assert authorizer is not None
    if ctx.may(A.IDEMPOTENT_WRITE, R.CLUSTER, quiet=True) or authorizer.authorize_by_resource_type(
            Requester(ctx.principal, ctx.host), A.WRITE, R.TOPIC):
        return await serve(request)
    return refused(ctx, request, CODES[R.CLUSTER])


async def add_partitions(ctx: Context, request: AddPartitionsToTxnRequest, serve: Serve) -> Message:
    """Let brokers send the versions for brokers, and clients use their transactional id; the handler checks the topics."""
    client = One(A.WRITE, R.TRANSACTIONAL_ID, "v3_and_below_transactional_id")
    return await (client if ctx.version < 4 else One(A.CLUSTER_ACTION, R.CLUSTER, bare=True))(ctx, request, serve)


async def write_markers(ctx: Context, request: Message, serve: Serve) -> Message:
    """Let brokers and administrators write markers."""
    if ctx.may(A.ALTER, R.CLUSTER, quiet=True):
        return await serve(request)
    return await One(A.CLUSTER_ACTION, R.CLUSTER)(ctx, request, serve)


async def describe_transactions(ctx: Context, request: Message, serve: Serve) -> Message:
    """Describe the transactions that the client may describe, with those of their topics that it may describe."""
    response = await EachRow(A.DESCRIBE, R.TRANSACTIONAL_ID, "transactional_ids")(ctx, request, serve)
    for state in response.transaction_states:
        state.topics, _ = await parted(state.topics, lambda row: ctx.may(A.DESCRIBE, R.TOPIC, row.topic))
    return response


async def list_transactions(ctx: Context, request: Message, serve: Serve) -> Message:
    """List the transactional ids that the client may describe."""
    response = await serve(request)
    response.transaction_states, _ = await parted(
        response.transaction_states, lambda row: ctx.may(A.DESCRIBE, R.TRANSACTIONAL_ID, row.transactional_id))
    return response


# --- requests that failed_response cannot refuse ---------------------------------------------------------------------


def _no_cluster(request: ApiMessage) -> KafkaError:
    return KafkaError(CODES[R.CLUSTER], needs(request, A.ALTER))


async def create_acls(ctx: Context, request: CreateAclsRequest, serve: Serve) -> CreateAclsResponse:
    """Let those create access lists who may alter the cluster."""
    return await serve(request) if ctx.may(A.ALTER, R.CLUSTER) else await refuse_creation(request, _no_cluster(request))


async def delete_acls(ctx: Context, request: DeleteAclsRequest, serve: Serve) -> DeleteAclsResponse:
    """Let those delete access lists who may alter the cluster."""
    return await serve(request) if ctx.may(A.ALTER, R.CLUSTER) else await refuse_deletion(request, _no_cluster(request))


async def describe_log_dirs(ctx: Context, request: Message, serve: Serve) -> DescribeLogDirsResponse:
    """Let those see the folders of the broker who may describe the cluster. The oldest versions have no place for an error."""
    if ctx.may(A.DESCRIBE, R.CLUSTER):
        return await serve(request)  # type: ignore[no-any-return]
    return DescribeLogDirsResponse(throttle_time_ms=0, error_code=int(CODES[R.CLUSTER]), results=[])


async def alter_log_dirs(ctx: Context, request: AlterReplicaLogDirsRequest, serve: Serve) -> AlterReplicaLogDirsResponse:
    """Let those move replicas to another folder who may alter the cluster."""
    if ctx.may(A.ALTER, R.CLUSTER):
        return await serve(request)  # type: ignore[no-any-return]
    topic = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
    partition, code = topic.AlterReplicaLogDirPartitionResult, int(CODES[R.CLUSTER])
    return AlterReplicaLogDirsResponse(throttle_time_ms=0, results=[
        topic(topic_name=one.name, partitions=[partition(partition_index=p, error_code=code) for p in one.partitions])
        for folder in request.dirs for one in folder.topics])
