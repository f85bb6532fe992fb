"""UpdateFeatures: an administrator finalizes another level of a feature for the whole cluster.

Owns: update_features(). It reads the image and makes records; it changes nothing.
Invariants: one refusal refuses every update of the request.
What Kafka does differently: eligible leader replicas can be switched off, too, which clears the ELR of every partition.
Source: FeatureControlManager.updateFeatures; KIP-584 (features), KIP-778 (kinds of updates), KIP-1022.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import FeatureLevelRecord, MetadataRecord
from minikafka.protocol.errors import Err, KafkaError

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3      # FeatureUpdate.UpgradeType on the wire
METADATA, ELR = "metadata.version", "eligible.leader.replicas.version"
Supported = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """The level that a feature is to have, and the kind of update that the administrator means it to be."""

    feature: str
    level: int
    kind: int


def update_features(image: MetadataImage, supported: Supported, node: int,
                    updates: Sequence[FeatureUpdate]) -> list[MetadataRecord]:
    """Return the records of all `updates`; KafkaError if any of them is refused. `supported` has the lowest and highest level
    of each feature that the controller, node `node`, supports."""
    for update in updates:
        _check(update, image.features.get(update.feature, 0), supported, node)
    return [FeatureLevelRecord(update.feature, update.level) for update in updates
            if update.level != image.features.get(update.feature, 0)]


def _check(update: FeatureUpdate, current: int, supported: Supported, node: int) -> None:
    level, kind = update.level, update.kind
    if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise _invalid(update, "The controller does not support the given upgrade type.")
    if level < 0:
        raise _invalid(update, "A feature version cannot be less than 0.")
    if update.feature not in supported:
        raise _invalid(update, f"Local controller {node} does not support this feature." if level else
                       f"Feature {update.feature} not found.")
    low, high = supported[update.feature]
    if not low <= level <= high:
        raise _invalid(update, f"Local controller {node} only supports versions {low}-{high}")
    if level < current and kind == UPGRADE:
        raise _invalid(update, "Can't downgrade the version of this feature without setting the upgrade type to either "
                       "safe or unsafe downgrade.")
    if level > current and kind != UPGRADE:
        raise _invalid(update, "Can't downgrade to a newer version.")
    if update.feature == METADATA and level != current:
        raise KafkaError(Err.INVALID_UPDATE_VERSION, f"Unsupported metadata.version downgrade from {current} to {level}"
                         f". {_NO_DOWNGRADE[kind]}")
    if update.feature == ELR and level != current:
        raise _invalid(update, "Eligible leader replicas cannot be switched off here.")


# metadata.version can only be lowered: a new cluster has the highest level that this code supports.
_NO_DOWNGRADE = {
    SAFE_DOWNGRADE: "Refusing to perform the requested downgrade because it might delete metadata information.",
    UNSAFE_DOWNGRADE: "Unsafe metadata downgrade is not supported in this version."}


def _invalid(update: FeatureUpdate, reason: str) -> KafkaError:
    return KafkaError(Err.INVALID_UPDATE_VERSION, f"Invalid update version {update.level} for feature "
                      f"{update.feature}. {reason}")
