"""Consumers that a story controls: one fetch from one broker, from the start of the log (`poll`), or from the position of a
consumer that keeps one (`StoryReader`).

Owns: its part of the history, and the filtering that read_committed leaves to the client: the leader sends aborted
records too, and a list of the aborted producers with their first offsets (rule 54).
Source: CompletedFetch.nextFetchedRecord.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka.protocol.consumer import FetchRequest
from kafka.protocol.metadata import MetadataRequest

from minikafka.log.batch import batches, records
from minikafka.log.markers import is_commit
from minikafka.proof.stories.telling.story import PATIENCE, Story
from minikafka.protocol.errors import Err

COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
Row = list[Any]  # [topic, partition, offset, value]


async def poll(story: Story, topic: str, node: int, isolation: str = COMMITTED, f: str = "poll") -> list[Row]:
    """Read partition 0 from its start, at this broker; `f` is "final" when that is the whole of it, after healing."""
    fields = {"topic": topic, "partition": 0} if f == "final" else {}
    operation = story.history.invoke(f"reader {len(story.history)}", f, isolation=isolation, **fields)
    found, rows, at = await fetch(story, topic, node, isolation), [], 0
    while found.error_code == 0 and found.records:
        data = bytes(found.records)
        rows += [[topic, 0, offset, value] for offset, value in visible(data, found.aborted_transactions)]
        at = max(header.next_offset for header, _ in batches(data))
        found = await fetch(story, topic, node, isolation, at)
    assert found.error_code == 0, Err(found.error_code).name
    end = found.last_stable_offset if isolation == COMMITTED else found.high_watermark
    whole = f == "poll" or end == found.high_watermark == story.end(node, topic)
    end = story.history.ok if whole else story.history.info
    end(operation, records=rows, **({"start": 0} if f == "final" else {}))
    seen = " ".join(row[3] for row in rows) or "nothing"
    bound = f" (last stable offset {found.last_stable_offset})" if isolation == COMMITTED else ""
    story.note(f"{isolation} reader of {topic}: {seen}{bound}")
    return rows


async def fetch(story: Story, topic: str, node: int, isolation: str, offset: int = 0, leader_epoch: int = -1) -> Any:
    """Return the broker's answer about partition 0; -1 names no leader epoch."""
    part = FetchRequest.FetchTopic.FetchPartition(partition=0, fetch_offset=offset, current_leader_epoch=leader_epoch,
                                                  partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=100, min_bytes=1, max_bytes=1 << 20, isolation_level=int(isolation == COMMITTED),
                           topics=[FetchRequest.FetchTopic(topic=topic, partitions=[part])])
    return (await story.peer(node).request(request, 12, PATIENCE)).responses[0].partitions[0]


class StoryReader:
    """A consumer that goes on from its position, and names the newest leader epoch that it has seen (KIP-320). Where its
    offset does not exist it begins again at the start, as auto.offset.reset=earliest does."""

    def __init__(self, story: Story, name: str, topic: str) -> None:
        self.story, self.name, self.topic = story, name, topic
        self.position, self.leader_epoch = 0, -1

    async def poll(self, node: int) -> None:
        """Fetch metadata and records; both once more if it has to begin again."""
        named = MetadataRequest.MetadataRequestTopic(name=self.topic)
        answer = await self.story.peer(node).request(MetadataRequest(topics=[named]), 12, PATIENCE)
        self.leader_epoch = max(self.leader_epoch, answer.topics[0].partitions[0].leader_epoch)
        operation = self.story.history.invoke(self.name, "poll", isolation=UNCOMMITTED)
        found = await fetch(self.story, self.topic, node, UNCOMMITTED, self.position, self.leader_epoch)
        error, rows = Err(found.error_code), []
        for _, raw in batches(bytes(found.records or b"")):
            rows += [[self.topic, 0, r.offset, bytes(r.value or b"").decode()] for r in records(raw)]
        self.story.history.ok(operation, records=rows)
        answer = error.name if error is not Err.NONE else " ".join(row[3] for row in rows) or "nothing"
        self.story.note(f"{self.name} fetches from {node} at offset {self.position}, epoch {self.leader_epoch}: {answer}")
        self.position = rows[-1][2] + 1 if rows else self.position
        if error is Err.OFFSET_OUT_OF_RANGE:
            self.position = found.log_start_offset if found.log_start_offset >= 0 else 0
            await self.poll(node)


def visible(data: bytes, aborted: list[Any] | None) -> Iterator[tuple[int, str]]:
    """Yield (offset, value) of the records that an application gets."""
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
