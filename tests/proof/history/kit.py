"""Histories in a few words: `Told().send("a", 0).poll("c", "a@0").final("a@0")`."""

from __future__ import annotations

from typing import Any

from minikafka.client.history import Event
from minikafka.proof.history import History, check

COMMITTED = "read_committed"


class Told:
    """One topic "t"; "a@3" is value a at offset 3 of partition 0, "a@1:3" the same of partition 1."""

    def __init__(self) -> None:
        self.history = History()
        self.begun: dict[str, Event] = {}

    def send(self, value: str | None, offset: int | None = None, by: str = "p", outcome: str = "ok", **more: Any) -> Told:
        """Asked for and answered at once. Without an offset the outcome is unknown."""
        op = self.history.invoke(by, "send", value=value, **{"topic": "t", "partition": 0, "acks": -1, **more})
        if outcome == "ok" and offset is not None:
            self.history.ok(op, offset=offset)
        elif outcome != "ok":
            getattr(self.history, outcome)(op, error="told so")
        return self

    def begin_send(self, value: str, by: str = "p", **more: Any) -> Told:
        """Asked for; `acked` answers."""
        fields = {"partition": 0, "acks": -1, **more}
        self.begun[value] = self.history.invoke(by, "send", topic="t", value=value, **fields)
        return self

    def acked(self, value: str, offset: int) -> Told:
        self.history.ok(self.begun.pop(value), offset=offset)
        return self

    def poll(self, by: str, text: str, **more: Any) -> Told:
        op = self.history.invoke(by, "poll", **more)
        self.history.ok(op, records=records(text))
        return self

    def begin_poll(self, by: str) -> Told:
        """Asked for; `polled` answers."""
        self.begun[by] = self.history.invoke(by, "poll")
        return self

    def polled(self, by: str, text: str) -> Told:
        self.history.ok(self.begun.pop(by), records=records(text))
        return self

    def final(self, text: str, partition: int = 0, outcome: str = "ok", start: int = 0, isolation: str = COMMITTED) -> Told:
        op = self.history.invoke("reader", "final", topic="t", partition=partition, isolation=isolation)
        getattr(self.history, outcome)(op, start=start, records=records(text))
        return self

    def txn(self, name: str, *values: str, by: str = "p", commit: bool = True, outcome: str = "ok",
            offsets: dict[str, int] | None = None, sources: list[int] | None = None) -> Told:
        """A whole transaction: values as "a@0"."""
        self.history.ok(self.history.invoke(by, "begin", txn=name))
        for index, (_, partition, offset, value) in enumerate(records(" ".join(values))):
            more = {} if sources is None else {"source": ["s", 0, sources[index]]}
            self.send(value, offset, by, partition=partition, txn=name, **more)
        if offsets is not None:
            self.history.ok(self.history.invoke(by, "commit", txn=name, group="g", offsets=offsets))
        return self.end(name, by, commit, outcome)

    def end(self, name: str, by: str = "p", commit: bool = True, outcome: str = "ok") -> Told:
        getattr(self.history, outcome)(self.history.invoke(by, "end", txn=name, commit=commit))
        return self

    def commit(self, by: str, offset: int, outcome: str = "ok", group: str = "g") -> Told:
        op = self.history.invoke(by, "commit", group=group, offsets={"t-0": offset})
        getattr(self.history, outcome)(op)
        return self

    def committed(self, offset: int, group: str = "g", by: str = "asker") -> Told:
        self.history.ok(self.history.invoke(by, "committed", group=group), offsets={"t-0": offset})
        return self

    def assign(self, by: str, *partitions: int, **more: Any) -> Told:
        self.history.record(by, "ok", "assign", partitions=[["t", p] for p in partitions], **{"group": "g", **more})
        return self

    def revoke(self, by: str, *partitions: int) -> Told:
        self.history.record(by, "ok", "revoke", partitions=[["t", p] for p in partitions], group="g")
        return self

    def seek(self, by: str, offset: int) -> Told:
        self.history.record(by, "ok", "seek", topic="t", partition=0, offset=offset)
        return self

    def fact(self, f: str, **fields: Any) -> Told:
        self.history.fact(f, **fields)
        return self

    def delete_records(self, offset: int | None, answer: int | None = None) -> Told:
        """Asked for, without an offset up to the high watermark; the answer names the log's new start, or never comes."""
        known = {} if offset is None else {"offset": offset}
        op = self.history.invoke("admin", "delete-records", topic="t", partition=0, **known)
        if answer is not None:
            self.history.ok(op, offset=answer)
        return self

    def sources(self, text: str) -> Told:
        """What a read_committed reader finds in the topic "s"."""
        found = [["s", partition, offset, value] for _, partition, offset, value in records(text)]
        self.history.ok(self.history.invoke("source reader", "poll", isolation=COMMITTED), records=found)
        return self

    @property
    def violated(self) -> list[str]:
        return check(self.history).violated

    @property
    def valid(self) -> bool | None:
        return check(self.history).valid


def records(text: str) -> list[list[Any]]:
    """ "a@3 b@1:4" -> [["t", 0, 3, "a"], ["t", 1, 4, "b"]]."""
    found = []
    for word in text.split():
        value, _, where = word.partition("@")
        partition, colon, offset = where.partition(":")
        found.append(["t", int(partition), int(offset), value] if colon else ["t", 0, int(where), value])
    return found
