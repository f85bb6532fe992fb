"""UpdateFeatures: decided by the controller.

Owns: its registration. Source: ControllerApis.handleUpdateFeatures.
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin import UpdateFeaturesRequest

from minikafka.broker.controller.admin.update_features import refuse_features, update_features
from minikafka.broker.controller.api.forwarding import forwarded
from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.metadata.features import SUPPORTED
from minikafka.broker.server.registry import Context


def _update(ctx: Context, core: Controller, request: Any) -> tuple[Records, Any]:
    return update_features(core.image, SUPPORTED, ctx.node.node_id, request)


# Version 1 between brokers: only its answer still has the results that clients of versions 0 and 1 are told.
forwarded(UpdateFeaturesRequest, _update, refuse_features, version=1)
