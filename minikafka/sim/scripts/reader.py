"""A consumer that a story leads by the hand: one fetch, of all there is, from one broker.

Owns: what the history says of it, and the filtering that read_committed leaves to the client: the leader sends aborted
records too, and a list of who was aborted from where (rule 54).
Source: CompletedFetch.nextFetchedRecord.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka.protocol.consumer import FetchRequest

from minikafka.log.batch import batches, records
from minikafka.log.markers import is_commit
from minikafka.protocol.errors import Err
from minikafka.sim.scripts.story import PATIENCE, Story

COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
Row = list[Any]  # [topic, partition, offset, value]


async def poll(story: Story, topic: str, node: int, isolation: str = COMMITTED, f: str = "poll") -> list[Row]:
    """Read partition 0 from its start, at this broker; `f` is "final" when that is the whole of it, after healing."""
    fields = {"topic": topic, "partition": 0} if f == "final" else {}
    operation = story.history.invoke(f"reader {len(story.history)}", f, isolation=isolation, **fields)
    part = FetchRequest.FetchTopic.FetchPartition(
        partition=0, fetch_offset=0, current_leader_epoch=-1, last_fetched_epoch=-1, log_start_offset=-1,
        partition_max_bytes=1 << 20)
    request = FetchRequest(
        replica_id=-1, max_wait_ms=100, min_bytes=1, max_bytes=1 << 20, isolation_level=int(isolation == COMMITTED),
        session_id=0, session_epoch=-1, forgotten_topics_data=[], rack_id="",
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=[part])])
    answer = await story.peer(node).request(request, 12, PATIENCE)
    found = answer.responses[0].partitions[0]
    assert found.error_code == 0, Err(found.error_code).name
    records_ = visible(bytes(found.records or b""), found.aborted_transactions)
    rows = [[topic, 0, offset, value] for offset, value in records_]
    end = found.last_stable_offset if isolation == COMMITTED else found.high_watermark
    whole = f == "poll" or end == found.high_watermark == story.end(node, topic)
    tell = story.history.ok if whole else story.history.info
    tell(operation, records=rows, **({"start": 0} if f == "final" else {}))
    seen = " ".join(row[3] for row in rows) or "nothing"
    bound = f" (last stable offset {found.last_stable_offset})" if isolation == COMMITTED else ""
    story.say(f"{isolation} reader of {topic}: {seen}{bound}")
    return rows


def visible(data: bytes, aborted: list[Any] | None) -> Iterator[tuple[int, str]]:
    """(offset, value) of what an application gets to see."""
    waiting = sorted(aborted or (), key=lambda one: one.first_offset)
    open_: dict[int, None] = {}  # producer ids whose records from here on are of an aborted transaction
    for header, raw in batches(data):
        while waiting and waiting[0].first_offset <= header.last_offset:
            open_[waiting.pop(0).producer_id] = None
        if header.is_control:
            if not is_commit(raw):
                open_.pop(header.producer_id, None)
        elif not (header.is_transactional and header.producer_id in open_):
            for record in records(raw):
                yield record.offset, bytes(record.value or b"").decode()
