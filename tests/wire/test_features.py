"""UpdateFeatures by value, as Apache Kafka 4.3 gives it; both engines must."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import UpdateFeaturesRequest
from kafka.protocol.metadata import ApiVersionsRequest

from minikafka import Cluster
from minikafka.protocol.errors import Err
from tests.wire.raw import Raw

UPGRADE, SAFE, UNSAFE = 1, 2, 3
TXN, METADATA, ELR = "transaction.version", "metadata.version", "eligible.leader.replicas.version"
HEAD = "The update failed for all features since the following feature had an error: "
TOO_LOW = ("Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
           "downgrade.")


def update(raw: Raw, *wanted: tuple[str, int, int], check: bool = False, version: int = 2) -> tuple[int, str | None]:
    key = UpdateFeaturesRequest.FeatureUpdateKey
    rows = [key(feature=name, max_version_level=level, upgrade_type=kind) for name, level, kind in wanted]
    answer = raw.ask(UpdateFeaturesRequest(timeout_ms=30000, feature_updates=rows, validate_only=check), version)
    done = [(name, 0, "NONE") for name, _, _ in wanted] if version < 2 and not answer.error_code else []
    assert version == 2 or [(r.feature, r.error_code, r.error_message) for r in answer.results] == done
    return answer.error_code, answer.error_message


def level(address: str, name: str = TXN) -> int | None:
    """The finalized level of a feature, in the eyes of one broker."""
    with Raw(address) as raw:
        answer: Any = raw.ask(ApiVersionsRequest(client_software_name="t", client_software_version="1"), 4)
    return {f.name: f.max_version_level for f in answer.finalized_features}.get(name)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_what_changes_nothing_is_accepted(raw: Raw, version: int) -> None:
    assert update(raw, version=version) == (0, None)
    assert update(raw, (TXN, 2, UPGRADE), (METADATA, 30, UPGRADE), version=version) == (0, None)


@pytest.mark.parametrize(("wanted", "reason"), [
    ((TXN, 1, UPGRADE), TOO_LOW),
    ((METADATA, 29, UPGRADE), TOO_LOW),
    ((TXN, 1, 0), "The controller does not support the given upgrade type."),
    ((TXN, 1, 4), "The controller does not support the given upgrade type."),
    ((TXN, -1, UPGRADE), "A feature version cannot be less than 0."),
    (("nobodys.version", 0, SAFE), "Feature nobodys.version not found."),
])
def test_refusals(cluster: Cluster, raw: Raw, wanted: tuple[str, int, int], reason: str) -> None:
    """Fails if a reason or the order of the checks is another."""
    text = f"{HEAD}Invalid update version {wanted[1]} for feature {wanted[0]}. {reason}"
    for version in (1, 2):
        assert update(raw, wanted, version=version) == (Err.INVALID_UPDATE_VERSION, text)
    assert update(raw, (TXN, 1, SAFE), wanted) == (Err.INVALID_UPDATE_VERSION, text), "one refusal refuses all"
    assert level(cluster.bootstrap.split(",")[0]) == 2


@pytest.mark.parametrize(("wanted", "reason"), [
    (("nobodys.version", 1, UPGRADE), "does not support this feature."),
    ((TXN, 3, UPGRADE), "only supports versions 0-2"),
    ((METADATA, 31, UPGRADE), "only supports versions 7-30"),
    ((METADATA, 6, SAFE), "only supports versions 7-30"),
])
def test_what_the_controller_cannot_do(cluster: Cluster, raw: Raw, wanted: tuple[str, int, int], reason: str) -> None:
    """Fails if the text does not name the active controller, which decides for itself."""
    code, text = update(raw, wanted)
    about = f"{HEAD}Invalid update version {wanted[1]} for feature {wanted[0]}. Local controller "
    assert (code, text) in [(Err.INVALID_UPDATE_VERSION, f"{about}{node} {reason}") for node in cluster.ids]


def test_metadata_version_cannot_be_lowered(raw: Raw) -> None:
    for kind, reason in {SAFE: "Refusing to perform the requested downgrade because it might delete metadata information.",
                         UNSAFE: "Unsafe metadata downgrade is not supported in this version."}.items():
        assert update(raw, (METADATA, 29, kind)) == (
            Err.INVALID_UPDATE_VERSION, f"{HEAD}Unsupported metadata.version downgrade from 30 to 29. {reason}")


def test_eligible_leader_replicas_stay_on(cluster: Cluster, raw: Raw) -> None:
    """The one update that Kafka does and we refuse. Fails if half of it is done."""
    refused = f"{HEAD}Invalid update version 0 for feature {ELR}. Eligible leader replicas cannot be switched off here."
    assert update(raw, (ELR, 1, UPGRADE)) == (0, None)
    answer = update(raw, (ELR, 0, SAFE), check=True)
    assert answer == ((0, None) if cluster.engine == "apache" else (Err.INVALID_UPDATE_VERSION, refused))


def test_an_old_client_cannot_lower_a_feature(raw: Raw) -> None:
    """Version 0 has a flag for it, which Kafka has ignored since version 1."""
    key = UpdateFeaturesRequest.FeatureUpdateKey(feature=TXN, max_version_level=1, allow_downgrade=True)
    answer = raw.ask(UpdateFeaturesRequest(timeout_ms=30000, feature_updates=[key]), 0)
    assert (answer.error_code, answer.error_message) == (
        Err.INVALID_UPDATE_VERSION, f"{HEAD}Invalid update version 1 for feature {TXN}. {TOO_LOW}")


@pytest.mark.slow
def test_a_level_is_written_down_and_can_be_raised_again(engine: str) -> None:
    """Fails if an update is not written down, is only checked, or a check alone writes it down."""
    with Cluster(1, engine=engine) as own, Raw(own.bootstrap) as raw:
        assert update(raw, (TXN, 1, SAFE), check=True) == (0, None)
        assert level(own.bootstrap) == 2
        for wanted, kind in ((1, SAFE), (2, UPGRADE), (0, UNSAFE)):
            assert update(raw, (TXN, wanted, kind)) == (0, None)
            own.wait(lambda wanted=wanted: (level(own.bootstrap) or 0) == wanted, timeout=60)
        assert update(raw, (TXN, 1, SAFE)) == (Err.INVALID_UPDATE_VERSION, f"{HEAD}Invalid update version 1 for feature {TXN}. "
                                               "Can't downgrade to a newer version.")
