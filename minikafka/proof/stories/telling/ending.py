"""A story with transactions or groups: what the coordinator writes is shown, and at the end everything is read and judged.

Owns: the reading of all partitions at the end, by readers that count (read_committed, unless a script passes another level).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from minikafka.proof.stories.telling.reader import COMMITTED, poll
from minikafka.proof.stories.telling.story import Story

SETTLING = 30.0  # seconds; every transaction of the stories has run out of time by then
TIME = re.compile(r" \(t=[0-9.]+\)|,? t=[0-9.]+")  # evidence names times, transcripts do not
STATE, OFFSETS = "__transaction_state", "__consumer_offsets"


class CoordinatedStory(Story):
    """A story that begins with `coordinator()` and ends with `judge()`, before which everything in `at_last` is called."""

    def __init__(self, seed: int, unclean: bool, world: dict[str, Any]) -> None:
        super().__init__(seed, unclean, world)
        self.at_last: list[Callable[[], None]] = []

    def note(self, text: str) -> None:
        super().note(TIME.sub("", text))

    async def coordinator(self, topic: str, *replicas: int) -> None:
        """Let the first of these brokers coordinate, with one partition for all; from now on its records are shown."""
        await self.topic(topic, *replicas)
        if self._note_coordinators not in self.world.listeners:
            self.world.listeners.append(self._note_coordinators)

    def _note_coordinators(self, event: dict[str, Any]) -> None:
        if event["k"] == "transaction":
            self.note(f"coordinator {event['b']}: {event['id']} {event['state']}, epoch {event['epoch']}")
        elif event["k"] == "group":
            self.note(f"coordinator {event['b']}: group {event['state']}, generation {event['generation']}")

    async def finish(self) -> None:
        """Do nothing: a script names the topics that are read at its end (`judge`)."""

    async def judge(self, *topics: str, isolation: str = COMMITTED) -> None:
        """Heal everything, read the topics (of one partition) as a whole, and write the checkers' verdicts."""
        self.step("everything heals; a client reads it all")
        for done in self.at_last:
            done()
        self.narrated = ()
        await self.world.mend()
        await self.watch.at_end()
        for topic in topics:
            await self._settled(topic)
            await poll(self, topic, self.leader(topic) or 0, isolation, f="final")
        self.add_verdicts(lambda verdict: verdict.evidence[0].text)

    async def _settled(self, topic: str) -> None:
        """Wait until every transaction of the partition is decided, and its marker replicated; go on if one hangs."""
        def settled() -> bool:
            leader = self.leader(topic)
            partition = self.partition(leader, topic) if leader is not None else None
            return partition is not None and partition.last_stable_offset == partition.log.end_offset

        try:
            await self.until(settled, SETTLING)
        except TimeoutError:
            self.note(f"a transaction in {topic} is still open after {SETTLING:.0f} s")

    def leader(self, topic: str) -> int | None:
        """Return the leader of partition 0."""
        return next((node for node in self.world.brokers if self.leads(node, topic)), None)
