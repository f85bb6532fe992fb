"""A simulated client's history told to the trace, in the words of the live cluster's watched clients
(`cluster/watch.py`): sent, acked, failed, position, committed.

Owns: nothing; what the client was recording into before, it still records into.
"""

from __future__ import annotations

from typing import Any

from minikafka.history import History
from minikafka.sim.world import World


class Told(History):
    """A history that repeats what it hears in the world's trace."""

    def __init__(self, world: World, name: str, before: History | None) -> None:
        super().__init__(world.now)
        self.world, self.name, self.before = world, name, before
        self._sent: dict[int, Any] = {}  # sends under way

    def record(self, process: str, type: str, f: str, **fields: Any) -> dict[str, Any]:
        if self.before is not None:
            self.before.record(process, type, f, **fields)
        event = super().record(process, type, f, **fields)
        if f == "send":
            self._send(event)
        elif f == "poll" and type == "ok":
            latest = {f"{topic}-{partition}": offset + 1 for topic, partition, offset, *_ in event["records"]}
            for tp, position in latest.items():
                self._say("position", tp=tp, position=position)
        elif f == "commit" and type == "invoke":
            self._sent[event["op"]] = event
        elif f == "commit":
            told = self._sent.pop(event["op"])
            for tp, offset in told["offsets"].items() if type == "ok" else ():
                self._say("committed", tp=tp, offset=offset)
        return event

    def _send(self, event: dict[str, Any]) -> None:
        if event["type"] == "invoke":
            self._sent[event["op"]] = event
            self._say("sent", topic=event["topic"], partition=event.get("partition"))
            return
        event = self._sent.pop(event["op"]) | event
        if event["type"] == "ok":
            self._say("acked", tp=f"{event['topic']}-{event['partition']}", offset=event["offset"])
        else:
            self._say("failed", topic=event["topic"], error=event.get("error"))

    def _say(self, kind: str, **fields: Any) -> None:
        self.world.tell(kind, client=self.name, **fields)
