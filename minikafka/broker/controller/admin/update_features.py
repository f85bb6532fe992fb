"""UpdateFeatures: an administrator finalizes another level of a feature for the whole cluster.

Owns: update_features(). It reads the image and makes records; it changes nothing.
Invariants: I-FEAT-1 one refusal refuses every update of the request, and is told at the top: a result only ever says NONE.
What Kafka does differently: the eligible leader replicas can be switched off, too, which clears those that there are.
Source: FeatureControlManager.updateFeatures; KIP-584 (features), KIP-778 (kinds of updates), KIP-1022.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.protocol.admin import UpdateFeaturesRequest, UpdateFeaturesResponse

from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import FeatureLevelRecord, MetadataRecord
from minikafka.protocol.errors import Err, KafkaError

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3      # FeatureUpdate.UpgradeType on the wire
METADATA, ELR = "metadata.version", "eligible.leader.replicas.version"
Supported = Mapping[str, tuple[int, int]]


def update_features(image: MetadataImage, supported: Supported, node: int,
                    request: Any) -> tuple[list[MetadataRecord], UpdateFeaturesResponse]:
    """Decide on a decoded UpdateFeaturesRequest; `supported` is what the controller, node `node`, can do."""
    try:
        for update in request.feature_updates:
            _check(update, image.features.get(update.feature, 0), supported, node)
    except KafkaError as refused:
        text = f"The update failed for all features since the following feature had an error: {refused.message}"
        return [], refuse_features(request, refused.code, text)
    results = [UpdateFeaturesResponse.UpdatableFeatureResult(feature=u.feature, error_code=0, error_message="NONE")
               for u in request.feature_updates]
    records: list[MetadataRecord] = [FeatureLevelRecord(u.feature, u.max_version_level) for u in request.feature_updates
                                     if u.max_version_level != image.features.get(u.feature, 0)]
    answer = UpdateFeaturesResponse(throttle_time_ms=0, error_code=0, error_message=None, results=results)
    return [] if request.validate_only else records, answer


def _check(update: Any, current: int, supported: Supported, node: int) -> None:
    wanted, kind = update.max_version_level, update.upgrade_type
    if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise _invalid(update, "The controller does not support the given upgrade type.")
    if wanted < 0:
        raise _invalid(update, "A feature version cannot be less than 0.")
    if update.feature not in supported:
        raise _invalid(update, f"Local controller {node} does not support this feature." if wanted else
                       f"Feature {update.feature} not found.")
    low, high = supported[update.feature]
    if not low <= wanted <= high:
        raise _invalid(update, f"Local controller {node} only supports versions {low}-{high}")
    if wanted < current and kind == UPGRADE:
        raise _invalid(update, "Can't downgrade the version of this feature without setting the upgrade type to either "
                       "safe or unsafe downgrade.")
    if wanted > current and kind != UPGRADE:
        raise _invalid(update, "Can't downgrade to a newer version.")
    if update.feature == METADATA and wanted != current:
        raise KafkaError(Err.INVALID_UPDATE_VERSION, f"Unsupported metadata.version downgrade from {current} to {wanted}"
                         f". {_NO_DOWNGRADE[kind]}")
    if update.feature == ELR and wanted != current:
        raise _invalid(update, "Eligible leader replicas cannot be switched off here.")


# metadata.version can only be lowered: a new cluster has the highest that we support.
_NO_DOWNGRADE = {
    SAFE_DOWNGRADE: "Refusing to perform the requested downgrade because it might delete metadata information.",
    UNSAFE_DOWNGRADE: "Unsafe metadata downgrade is not supported in this version."}


def _invalid(update: Any, reason: str) -> KafkaError:
    return KafkaError(Err.INVALID_UPDATE_VERSION, f"Invalid update version {update.max_version_level} for feature "
                      f"{update.feature}. {reason}")


def refuse_features(request: UpdateFeaturesRequest, code: Err, text: str | None = None) -> UpdateFeaturesResponse:
    """One error for everything that was asked."""
    return UpdateFeaturesResponse(throttle_time_ms=0, error_code=int(code), error_message=text, results=[])
