"""ApiVersions: the first request of every client; it may have any version (KIP-35, KIP-511, KIP-584).

Versions of ApiVersions
  3 flexible, and the client's name and version (the answer's header stays as it was: who does not know it must read it);
  4 a feature's lowest version may be 0. A version that is not served is answered by version 0.

Invariants: the table is that of registry.py. An unknown version is answered as version 0, with ApiVersions' own range only.
What Kafka does differently: it also lists the features of APIs that we do not serve.
"""

from __future__ import annotations

import re

from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse

from minikafka.broker.metadata.features import SUPPORTED
from minikafka.broker.server.registry import CLIENTS, HANDLERS, INTERNAL, Context, handles
from minikafka.protocol.errors import Err

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@handles(ApiVersionsRequest, on=(CLIENTS, INTERNAL))
def api_versions(ctx: Context, request: ApiVersionsRequest | None) -> ApiVersionsResponse:
    """Answer with the table of `ctx.listener` and the cluster's features; `request` is None for an unknown version."""
    if request is None:
        return _answer(0, Err.UNSUPPORTED_VERSION, [_row(ApiVersionsRequest.API_KEY, ctx.listener)])
    if ctx.version >= 3 and not _valid_software(request):
        return _answer(ctx.version, Err.INVALID_REQUEST, [])
    rows = [_row(key, ctx.listener) for key in sorted(HANDLERS[ctx.listener])]
    answer = _answer(ctx.version, Err.NONE, rows)
    if ctx.version >= 3:
        _add_features(answer, ctx)
    return answer


def _valid_software(request: ApiVersionsRequest) -> bool:
    names = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE.fullmatch(name) for name in names)


def _row(key: int, listener: str) -> tuple[int, int, int]:
    served = HANDLERS[listener][key]
    return (key, served.advertised_min, served.max)


def _answer(version: int, error: Err, rows: list[tuple[int, int, int]]) -> ApiVersionsResponse:
    keys = [ApiVersionsResponse.ApiVersion(*row, version=version) for row in rows]
    return ApiVersionsResponse(version=version, error_code=int(error), api_keys=keys, throttle_time_ms=0)


def _add_features(answer: ApiVersionsResponse, ctx: Context) -> None:
    """Set the features, which are tags of the answer; version 3 cannot carry a supported range that starts at 0 (KAFKA-17011)."""
    image = ctx.node.image
    answer.supported_features = [
        ApiVersionsResponse.SupportedFeatureKey(name=name, min_version=low, max_version=high, version=answer.version)
        for name, (low, high) in sorted(SUPPORTED.items())
        if low > 0 or answer.version >= 4
    ]
    answer.finalized_features_epoch = image.offset
    answer.finalized_features = [
        ApiVersionsResponse.FinalizedFeatureKey(
            name=name, max_version_level=level, min_version_level=level, version=answer.version
        )
        for name, level in sorted(image.features.items())
        if level > 0
    ]
