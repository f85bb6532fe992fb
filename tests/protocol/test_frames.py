"""Frames are cut out of what arrives, and large ones are not copied (protocol/codec.py)."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from kafka.protocol.consumer import FetchResponse

from minikafka.broker.server.links import LinkedTransport, PeerLink
from minikafka.protocol.codec import LARGE, SIZE, encode_response, first_frame, response_pieces


def test_frames_stay_as_they_are_whatever_comes_after_them():
    """I-CODEC-1. Fails if a frame shares memory with a buffer that goes on being used, or if bytes are lost between two."""
    random = Random(1)
    for _ in range(100):
        sent = [random.randbytes(random.choice((0, 1, 300, LARGE - 1, LARGE, 3 * LARGE))) for _ in range(random.randint(1, 6))]
        stream = b"".join(SIZE.pack(len(frame)) + frame for frame in sent)
        buffer, got = bytearray(), []
        while stream:
            chunk = random.randint(1, 2 * LARGE)
            buffer += stream[:chunk]
            stream = stream[chunk:]
            while len(buffer) >= SIZE.size and len(buffer) >= SIZE.size + (size := SIZE.unpack_from(buffer)[0]):
                frame, buffer = first_frame(buffer, size)
                got.append(frame)
        assert [bytes(frame) for frame in got] == sent


def test_large_fields_are_not_copied_into_the_frame():
    """Fails if records are copied once more on their way out, or if the pieces are another frame than the whole."""
    topic = FetchResponse.FetchableTopicResponse
    records = [b"a" * LARGE, b"b" * 10, b"c" * (LARGE + 1)]
    parts = [topic.PartitionData(partition_index=i, error_code=0, high_watermark=1, last_stable_offset=1, log_start_offset=0,
                                 aborted_transactions=None, preferred_read_replica=-1, records=data)
             for i, data in enumerate(records)]
    answer = FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=[topic(topic="t", partitions=parts)])
    pieces = response_pieces(answer, 11, 5)
    assert b"".join(pieces) == encode_response(answer, 11, 5)
    assert [piece for piece in pieces if any(piece is data for data in records)] == [records[0], records[2]]


class Written:
    """Takes the place of the transport below a LinkedTransport."""

    def __init__(self) -> None:
        self.data: list[Any] = []

    def write(self, data: bytes) -> None:
        self.data.append(data)

    def writelines(self, pieces: list[bytes]) -> None:
        self.data += pieces


def test_a_frame_in_pieces_waits_behind_a_cut_link_as_any_other():
    """I-LINK-1. Fails if pieces overtake what a cut or slow link holds."""

    async def story() -> None:
        link, below = PeerLink(), Written()
        wire = LinkedTransport(asyncio.Protocol(), link, asyncio.get_running_loop())
        wire.connection_made(below)
        wire.writelines([b"1", b"2"])
        link.set(inbound=True, outbound=True)
        wire.writelines([b"3", b"4"])
        wire.write(b"5")
        assert b"".join(below.data) == b"12"
        link.set(inbound=False, outbound=False)
        wire.writelines([b"6", b"7"])
        while len(b"".join(below.data)) < 7:
            await asyncio.sleep(0)
        assert b"".join(below.data) == b"1234567"

    asyncio.run(story())
