"""Hostile framing: what a broker does with bytes that are no Kafka requests, by value, on both engines.

Every expectation is an answer of Apache Kafka 4.3; each case names the bytes. A broker that answers where Kafka hangs up,
hangs up where Kafka answers, or dies, fails here.
"""

from __future__ import annotations

import struct

import pytest
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from minikafka.protocol.codec import encode_request
from tests.wire.raw import Raw, header

METADATA, API_VERSIONS, FETCH, PRODUCE, VOTE = 3, 18, 1, 0, 52
NO_TOPICS = struct.pack(">i", 0)
GOOD = header(METADATA, 1) + NO_TOPICS


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


CLOSED = {
    "size 0": struct.pack(">i", 0),
    "size -1": struct.pack(">i", -1),
    "smallest size": struct.pack(">i", -(2**31)),
    "size above socket.request.max.bytes": struct.pack(">i", 104857601),
    "2 GiB claimed": struct.pack(">i", 2**31 - 1),
    "frame shorter than its header": framed(b"\x00\x03\x00"),
    "client id longer than the frame": framed(struct.pack(">hhih", METADATA, 1, 1, 500)),
    "body that ends too early": framed(header(METADATA, 1) + b"\0\0"),
    "no body": framed(header(METADATA, 1)),
    "array longer than the frame": framed(header(METADATA, 1) + struct.pack(">i", 2**31 - 1)),
    "string longer than the frame": framed(header(METADATA, 1) + struct.pack(">ih", 1, 500) + b"x"),
    "null topic name": framed(header(METADATA, 1) + struct.pack(">ih", 1, -1)),
    "varint of six bytes": framed(header(METADATA, 9, tags=b"\0") + b"\xff" * 6),
    "header without tags before a flexible request": framed(header(METADATA, 12) + b"\x01\x01\x00\x00"),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS hello": bytes.fromhex("16030100c8010000c40303") + bytes(200),
    "unknown API key": framed(header(999, 0)),
    "negative API key": framed(header(-1, 0)),
    "API key of the controllers' listener": framed(header(VOTE, 0, tags=b"\0") + bytes(40)),
    "removed API key": framed(header(4, 0) + bytes(40)),
    "version above": framed(header(METADATA, 99, tags=b"\0") + NO_TOPICS),
    "version below": framed(header(METADATA, -1) + NO_TOPICS),
    "Fetch 3": framed(header(FETCH, 3) + bytes(40)),
    "Produce 2, advertised but not served": framed(header(PRODUCE, 2) + struct.pack(">hii", 1, 1000, 0)),
    "ApiVersions 99 without tags in its header": framed(header(API_VERSIONS, 99)),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closes_without_a_byte(cluster, name: str) -> None:
    """The connection is closed, nothing is answered, and the next connection is served."""
    with Raw(cluster.bootstrap) as raw:
        raw.send(CLOSED[name])
        assert raw.receive() is None
    with Raw(cluster.bootstrap) as raw:
        raw.send(framed(GOOD))
        assert raw.receive() is not None


def test_waits_for_the_rest_of_a_frame_of_the_largest_size(cluster) -> None:
    with Raw(cluster.bootstrap) as raw:
        raw.send(struct.pack(">i", 104857600) + b"\0")
        assert raw.waits()


def test_good_requests_before_a_bad_one_are_answered_and_none_after(cluster) -> None:
    with Raw(cluster.bootstrap) as raw:
        raw.send(framed(GOOD) + framed(GOOD) + framed(header(999, 0)) + framed(GOOD))
        assert raw.receive() is not None
        assert raw.receive() is not None
        assert raw.receive() is None


def test_half_closed_connection_still_gets_its_answer(cluster) -> None:
    with Raw(cluster.bootstrap) as raw:
        raw.send(framed(GOOD))
        raw.socket.shutdown(1)
        assert raw.receive() is not None
        assert raw.receive() is None


def test_a_frame_may_arrive_byte_by_byte(cluster) -> None:
    with Raw(cluster.bootstrap) as raw:
        for byte in framed(GOOD):
            raw.send(bytes([byte]))
        assert raw.receive() is not None


LENIENT = {
    "bytes after the body": GOOD + b"more",
    "client id of length -1": header(METADATA, 1, client=None) + NO_TOPICS,
    "client id of length -2": struct.pack(">hhih", METADATA, 1, 1, -2) + NO_TOPICS,
    "client id that is not UTF-8": header(METADATA, 1, client=b"\xff\xfe") + NO_TOPICS,
    "topics of length -2": header(METADATA, 1) + struct.pack(">i", -2),
    "compact topics of length 2^32-1": header(METADATA, 9, tags=b"\0") + b"\xff\xff\xff\xff\x0f\0\0\0\0",
    "a boolean of 2": header(METADATA, 4) + NO_TOPICS + b"\x02",
    "unknown tags in header and body": header(METADATA, 9, tags=b"\x01\x63\x01x") + b"\x01\0\0\0\x01\x64\x02yy",
    "tags twice and descending": header(METADATA, 9, tags=b"\x02\x64\0\x63\0") + b"\x01\0\0\0\x02\x64\0\x64\0",
}


@pytest.mark.parametrize("name", LENIENT)
def test_takes_what_kafka_takes(cluster, name: str) -> None:
    """Kafka reads these; a stricter broker would drop clients that work with Kafka."""
    with Raw(cluster.bootstrap) as raw:
        raw.send_frame(LENIENT[name])
        assert raw.receive() is not None


def test_answers_keep_the_order_of_the_requests(cluster) -> None:
    """A Fetch that waits holds back the ApiVersions behind it (one request per connection at a time)."""
    with Raw(cluster.bootstrap) as raw:
        raw.send(encode_request(FetchRequest(max_wait_ms=300, min_bytes=1, topics=[]), 4, 77, "raw"))
        raw.send_frame(header(API_VERSIONS, 0, correlation=78))
        first, second = raw.receive(), raw.receive()
        assert [struct.unpack(">i", frame[:4])[0] for frame in (first, second)] == [77, 78]


def test_an_unknown_api_versions_version_is_answered_as_version_0(cluster) -> None:
    """Error 35, one row (ApiVersions 0-4), no throttle, no tags; the connection lives on (KIP-511)."""
    with Raw(cluster.bootstrap) as raw:
        for version in (99, 5):
            raw.send_frame(header(API_VERSIONS, version, correlation=5, tags=b"\0") + b"\x02x\x02y\0")
            assert raw.receive() == struct.pack(">ihihhh", 5, 35, 1, API_VERSIONS, 0, 4)
        raw.send_frame(header(API_VERSIONS, -1, correlation=6))
        assert raw.receive() == struct.pack(">ihihhh", 6, 35, 1, API_VERSIONS, 0, 4)
        assert raw.ask(ApiVersionsRequest(version=0), 0).error_code == 0


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "a-", "a+b", "ä"])
def test_a_bad_software_name_is_refused_and_the_connection_lives_on(cluster, name: str) -> None:
    with Raw(cluster.bootstrap) as raw:
        request = ApiVersionsRequest(version=3, client_software_name=name, client_software_version="1")
        answer = raw.ask(request, 3)
        assert (answer.error_code, answer.api_keys) == (42, [])
        assert raw.ask(MetadataRequest(version=1, topics=[]), 1).topics == []


def test_produce_is_advertised_from_0(cluster) -> None:
    """librdkafka before 2.11.1 stops compressing where the lowest version is above 0 (KAFKA-18659)."""
    with Raw(cluster.bootstrap) as raw:
        rows = {row.api_key: row for row in raw.ask(ApiVersionsRequest(version=0), 0).api_keys}
        assert (rows[PRODUCE].min_version, rows[FETCH].min_version) == (0, 4)
        assert all(row.min_version <= row.max_version for row in rows.values())
