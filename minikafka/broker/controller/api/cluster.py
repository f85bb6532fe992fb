"""UpdateFeatures and UnregisterBroker: forwarded to the active controller; they change the cluster, not a topic.

Owns: the way between the wire and the decisions. Source: ControllerApis; KIP-584, KIP-500.
"""

from __future__ import annotations

from kafka.protocol.admin import UpdateFeaturesRequest, UpdateFeaturesResponse

from minikafka.broker.controller.admin.update_features import FeatureUpdate, update_features
from minikafka.broker.controller.api.forwarding import forwarded
from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.metadata.features import SUPPORTED
from minikafka.broker.server.registry import Context
from minikafka.protocol.apis import UnregisterBrokerRequest, UnregisterBrokerResponse
from minikafka.protocol.errors import Err, KafkaError


def _update(ctx: Context, controller: Controller, request: UpdateFeaturesRequest) -> tuple[Records, UpdateFeaturesResponse]:
    updates = [FeatureUpdate(u.feature, u.max_version_level, u.upgrade_type) for u in request.feature_updates]
    try:
        records = update_features(controller.image, SUPPORTED, ctx.node.node_id, updates)
    except KafkaError as refusal:
        text = f"The update failed for all features since the following feature had an error: {refusal.message}"
        return [], _refuse_update(request, refusal.code, text)
    results = [UpdateFeaturesResponse.UpdatableFeatureResult(feature=u.feature, error_code=0, error_message="NONE")
               for u in updates]
    response = UpdateFeaturesResponse(throttle_time_ms=0, error_code=0, error_message=None, results=results)
    return [] if request.validate_only else records, response


def _refuse_update(request: UpdateFeaturesRequest, code: Err, text: str | None = None) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(throttle_time_ms=0, error_code=int(code), error_message=text, results=[])


# Version 1 between brokers: only its response still has the results that clients of versions 0 and 1 expect.
forwarded(UpdateFeaturesRequest, _update, _refuse_update, version=1, untimed=lambda request: True)


def _unregister(ctx: Context, controller: Controller,
                request: UnregisterBrokerRequest) -> tuple[Records, UnregisterBrokerResponse]:
    try:
        return controller.unregister_broker(request.broker_id), _unregistered(request, Err.NONE, "")
    except KafkaError as refusal:
        return [], _unregistered(request, refusal.code, refusal.message)


def _unregistered(request: UnregisterBrokerRequest, code: Err, text: str | None = None) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(throttle_time_ms=0, error_code=int(code), error_message=text)


forwarded(UnregisterBrokerRequest, _unregister, _unregistered)
