"""A simulated client's history, written to the trace in the words of the live cluster's watched clients
(`cluster/watch.py`): sent, acked, failed, position, assigned, committed.

Owns: nothing; the client still writes into the history that it had before.
"""

from __future__ import annotations

from typing import Any

from minikafka.client.history import History
from minikafka.cluster.watch import RecordNumbers
from minikafka.sim.world.world import World


def killed(world: World, name: str, consumer: Any) -> None:
    """Write to the trace that a simulated member of a group was killed, as lab 5's `Member` does of a process."""
    session = getattr(consumer.membership, "session_timeout", None)    # with KIP-848 the group has one, the member does not
    world.tell("member", client=name, group=consumer.group, state="killed", session=session)


class Told(History):
    """A history that repeats its events in the world's trace."""

    def __init__(self, world: World, name: str, before: History | None, numbers: RecordNumbers | None = None) -> None:
        super().__init__(world.now)
        self.world, self.name, self.before = world, name, before
        self._sent: dict[int, Any] = {}  # sends, polls and commits under way
        self._records = (numbers or RecordNumbers()).of(name)
        self._running: dict[int, int] = {}  # operation under way -> running number of the record
        self._held: dict[str, None] = {}  # partitions assigned

    def record(self, process: str, type: str, f: str, **fields: Any) -> dict[str, Any]:
        if self.before is not None:
            self.before.record(process, type, f, **fields)
        event = super().record(process, type, f, **fields)
        if f == "send":
            self._send(event)
        elif f == "poll" and type == "invoke":
            self._sent[event["op"]] = event
        elif f == "poll":
            self._handed_out(event, self._sent.pop(event["op"], event).get("group"))
        elif f in ("assign", "revoke"):
            self._assigned(event)
        elif f == "commit" and type == "invoke":
            self._sent[event["op"]] = event
        elif f == "commit":
            told = self._sent.pop(event["op"])
            for tp, offset in told["offsets"].items() if type == "ok" else ():
                self._say("committed", tp=tp, offset=offset, group=told.get("group"))
        return event

    def _handed_out(self, event: dict[str, Any], group: str | None) -> None:
        offsets: dict[str, list[int]] = {}
        for topic, partition, offset, *_ in event.get("records", ()):
            offsets.setdefault(f"{topic}-{partition}", []).append(offset)
        for tp, found in offsets.items():
            self._say("position", tp=tp, position=found[-1] + 1, first=found[0], records=len(found), group=group)

    def _assigned(self, event: dict[str, Any]) -> None:
        for topic, partition in event["partitions"]:
            if event["f"] == "assign":
                self._held[f"{topic}-{partition}"] = None
            else:
                self._held.pop(f"{topic}-{partition}", None)
        self._say("assigned", partitions=sorted(self._held), group=event.get("group"))

    def _send(self, event: dict[str, Any]) -> None:
        if event["type"] == "invoke":
            self._sent[event["op"]] = event
            number = self._running[event["op"]] = next(self._records)
            self._say("sent", topic=event["topic"], partition=event.get("partition"), record=number, acks=event.get("acks"))
            return
        event, number = self._sent.pop(event["op"]) | event, self._running.pop(event["op"])
        if event["type"] == "ok":
            self._say("acked", tp=f"{event['topic']}-{event['partition']}", offset=event["offset"], record=number)
        else:
            self._say("failed", topic=event["topic"], error=event.get("error"), record=number,
                      certain=event["type"] == "fail")

    def _say(self, kind: str, **fields: Any) -> None:
        self.world.tell(kind, client=self.name, **fields)
