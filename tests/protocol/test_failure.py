"""The response to a request that failed as a whole, for every API that is served."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.producer import ProduceRequest, ProduceResponse

import minikafka.broker.broker  # noqa: F401  # registers every handler
from minikafka.broker.server.registry import HANDLERS
from minikafka.protocol.codec import REQUESTS, RESPONSES, decode_response, encode_response
from minikafka.protocol.errors import Err
from minikafka.protocol.failure import failed_response

SERVED = {(key, version) for table in HANDLERS.values() for key, served in table.items()
          for version in range(served.min, served.max + 1)}
# Their rows have no name in common with those of the response.
SILENT = {"CreateAclsRequest", "DeleteAclsRequest", "DescribeLogDirsRequest", "AlterReplicaLogDirsRequest"}
SNAPSHOT = 59                            # FetchSnapshot, between nodes: kafka-python has no default for its struct


def filled(kind: Any, version: int) -> Any:
    """Return a request, or a row of one, with one row in every array."""
    values: dict[str, Any] = {}
    for field in (one for one in kind._struct._fields if one.for_version_q(version)):
        if field.is_struct_array():
            values[field.name] = [filled(getattr(kind, field.type_str), version)]
        elif field.is_array():
            values[field.name] = ["x" if "string" in field.type_str else 1 if "int" in field.type_str else UUID(int=5)]
        elif field.type_str == "string":
            values[field.name] = "x"
        elif field.type_str == "uuid":
            values[field.name] = UUID(int=5)
    return kind(**values)


def errors(message: Any, version: int) -> list[int]:
    """Return every error code of a response, however deep."""
    found: list[int] = []
    for field in (one for one in message._struct._fields if one.for_version_q(version)):
        value = getattr(message, field.name, None)
        if field.name in ("error_code", "partition_error_code"):
            found.append(value)
        elif field.is_struct_array():
            found += [code for row in value or () for code in errors(row, version)]
    return found


@pytest.mark.parametrize(("key", "version"), sorted(one for one in SERVED if one[0] != SNAPSHOT))
def test_every_response_can_carry_an_error(key: int, version: int) -> None:
    """Fails if an API has no such response, if it cannot be written, or if an error field has the code of no error."""
    response = failed_response(filled(REQUESTS[key], version), RESPONSES[key], version, Err.UNKNOWN_SERVER_ERROR)
    if response is None:
        assert REQUESTS[key].name in SILENT
        return
    read = decode_response(RESPONSES[key], version, memoryview(encode_response(response, version, 1))[4:])
    assert set(errors(read, version)) == {-1}


def test_the_rows_are_those_of_the_request() -> None:
    """Fails if a client could not tell which of its partitions failed."""
    topic = ProduceRequest.TopicProduceData
    partitions = [topic.PartitionProduceData(index=index, records=b"") for index in (3, 5)]
    request = ProduceRequest(transactional_id=None, acks=1, timeout_ms=1,
                             topic_data=[topic(name="t", partition_data=partitions), topic(name="u", partition_data=[])])
    response = failed_response(request, ProduceResponse, 9, Err.UNKNOWN_SERVER_ERROR)
    assert response is not None
    assert [(row.name, [(p.index, p.error_code) for p in row.partition_responses]) for row in response.responses] == [
        ("t", [(3, -1), (5, -1)])]
