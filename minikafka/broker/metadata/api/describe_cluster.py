"""DescribeCluster: the brokers of the cluster, its id, and a broker for administrative requests.

Versions of DescribeCluster: 1 controllers instead of brokers (KIP-919); 2 fenced brokers too (KIP-1073).

Invariants: I-META-1 (metadata.py): controller_id is a live broker, never the quorum's leader as such.
What Kafka does differently: nothing that a client sees. What a client may not do is taken out by authorizer/.
Source: KafkaApis.handleDescribeCluster; KIP-700, KIP-919 (endpoint type), KIP-1073 (fenced brokers).
"""

from __future__ import annotations

from kafka.protocol.admin import DescribeClusterRequest, DescribeClusterResponse

from minikafka.broker.authorizer.acl import SUPPORTED_OPERATIONS, ResourceType
from minikafka.broker.metadata.image import BrokerRegistration
from minikafka.broker.metadata.records import BrokerEndpoint
from minikafka.broker.server.registry import Context, handles
from minikafka.protocol.errors import Err

BROKERS, CONTROLLERS = 1, 2
CLUSTER_OPERATIONS = {*SUPPORTED_OPERATIONS[ResourceType.CLUSTER]}
Row = DescribeClusterResponse.DescribeClusterBroker


def any_live_broker(ctx: Context, alive: list[BrokerRegistration]) -> int:
    """Return the `controller_id` for clients: a live broker, as each forwards to the controller; -1 if none lives."""
    return ctx.node.env.rng("controller_id").choice(alive).id if alive else -1


@handles(DescribeClusterRequest)
def describe_cluster(ctx: Context, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """Answer with the live brokers, and from version 2 on with the fenced ones if the client wants them."""
    endpoint_type = request.endpoint_type if ctx.version >= 1 else BROKERS
    if endpoint_type == CONTROLLERS:
        return _refusal(Err.MISMATCHED_ENDPOINT_TYPE, "The request was sent to an endpoint of type BROKER, but we "
                        "wanted an endpoint of type CONTROLLER")
    if endpoint_type != BROKERS:
        return _refusal(Err.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {endpoint_type}")
    image = ctx.node.image
    name = ctx.listener_name
    alive = [broker for broker, _ in image.reachable(name)]
    fenced = ctx.version >= 2 and request.include_fenced_brokers
    listed = [image.brokers[b] for b in sorted(image.brokers)] if fenced else alive
    rows = [_row(broker, at) for broker in listed if (at := broker.endpoint(name)) is not None]
    return DescribeClusterResponse(
        throttle_time_ms=0, error_code=0, error_message=None, endpoint_type=BROKERS, cluster_id=ctx.node.cluster_id,
        controller_id=any_live_broker(ctx, alive), brokers=rows,
        authorized_operations=CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else None)


def _row(broker: BrokerRegistration, at: BrokerEndpoint) -> Row:
    return Row(broker_id=broker.id, host=at.host, port=at.port, rack=broker.rack, is_fenced=broker.fenced)


def _refusal(code: Err, text: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(throttle_time_ms=0, error_code=int(code), error_message=text, endpoint_type=BROKERS,
                                   cluster_id="", controller_id=-1, brokers=[], authorized_operations=None)
