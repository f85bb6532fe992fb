"""A correct Kafka as small as can be, which writes the history of random clients as they would have seen it."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import NamedTuple

from minikafka.client.history import Event
from minikafka.proof.history import History

PARTITIONS = (0, 1)
COMMITTED = "read_committed"


class Entry(NamedTuple):
    value: str | None  # None: a marker
    txn: str | None


class Producer:
    """Sends several at once; the log takes them in order. A transactional one does nothing outside of transactions."""

    def __init__(self, model: Model, name: str, transactional: bool) -> None:
        self.model, self.name, self.transactional = model, name, transactional
        self.waiting: deque[tuple[Event, int, str]] = deque()
        self.txn: str | None = None
        self.count = 0

    def act(self, rng: Random) -> None:
        if self.waiting and rng.random() < 0.5:
            self.arrive(rng)
        elif self.transactional and self.txn is None:
            self.begin()
        elif self.transactional and not self.waiting and rng.random() < 0.3:
            self.end(rng)
        else:
            self.send(rng.choice(PARTITIONS))

    def send(self, partition: int) -> None:
        self.count += 1
        value = f"{self.name}-{self.count}"
        more = {} if self.txn is None else {"txn": self.txn}
        op = self.model.history.invoke(self.name, "send", topic="t", partition=partition, value=value, acks=-1, **more)
        self.waiting.append((op, partition, value))

    def arrive(self, rng: Random) -> None:
        op, partition, value = self.waiting.popleft()
        fate = "ok" if self.txn is not None else rng.choice(["ok", "ok", "ok", "fail", "there", "not there"])
        log = self.model.logs[partition]
        if fate in ("ok", "there"):
            log.append(Entry(value, self.txn))
        if fate == "ok":
            self.model.history.ok(op, offset=len(log) - 1)
        elif fate == "fail":
            self.model.history.fail(op)
        else:
            self.model.history.info(op)

    def begin(self) -> None:
        self.count += 1
        self.txn = f"{self.name}:{self.count}"
        self.model.open[self.txn] = [len(log) for log in self.model.logs]
        self.model.history.ok(self.model.history.invoke(self.name, "begin", txn=self.txn))

    def end(self, rng: Random) -> None:
        commit, told = rng.random() < 0.7, rng.choice(["ok", "ok", "info"])
        op = self.model.history.invoke(self.name, "end", txn=self.txn, commit=commit)
        self.model.finish(self.txn, commit)
        getattr(self.model.history, told)(op)
        self.txn = None


class Reader:
    """Reads on from where it is, or as a member of the group."""

    def __init__(self, model: Model, name: str, isolation: str, group: str | None = None) -> None:
        self.model, self.name, self.isolation, self.group = model, name, isolation, group
        self.position = {} if group else dict.fromkeys(PARTITIONS, 0)

    def act(self, rng: Random) -> None:
        if self.group and not self.position:
            return
        if self.group and rng.random() < 0.3:
            self.commit(rng)
        else:
            self.poll(rng)

    def poll(self, rng: Random) -> None:
        more = {"group": self.group} if self.group else {}
        op = self.model.history.invoke(self.name, "poll", isolation=self.isolation, **more)
        partition, most = rng.choice(sorted(self.position)), rng.randint(1, 6)
        records = [["t", partition, offset, entry.value]
                   for offset, entry in self.model.readable(partition, self.isolation)
                   if offset >= self.position[partition]][:most]
        if records:
            self.position[partition] = records[-1][2] + 1
        self.model.history.ok(op, records=records)

    def commit(self, rng: Random) -> None:
        outcome = rng.choice(["ok", "ok", "info", "fail"])
        op = self.model.history.invoke(self.name, "commit", group=self.group,
                                       offsets={f"t-{p}": offset for p, offset in self.position.items()})
        if outcome != "fail":
            self.model.offsets.update(self.position)
        getattr(self.model.history, outcome)(op)


class Copier:
    """Copies partition 0 to the topic "c", exactly once: each step is a whole transaction."""

    def __init__(self, model: Model) -> None:
        self.model, self.name, self.position, self.count = model, "copier", 0, 0

    def act(self, rng: Random) -> None:
        history, self.count = self.model.history, self.count + 1
        txn = f"copier:{self.count}"
        new = [(o, e) for o, e in self.model.readable(0, COMMITTED) if o >= self.position][:rng.randint(1, 4)]
        self.model.open[txn] = [len(log) for log in self.model.logs]
        history.ok(history.invoke(self.name, "begin", txn=txn))
        for offset, entry in new:
            value = f"{entry.value}@{txn}"
            op = history.invoke(self.name, "send", topic="c", partition=0, value=value, acks=-1, txn=txn,
                                source=["t", 0, offset])
            self.model.copies.append(Entry(value, txn))
            history.ok(op, offset=len(self.model.copies) - 1)
        reached = new[-1][0] + 1 if new else self.position
        history.ok(history.invoke(self.name, "commit", txn=txn, group="copiers", offsets={"t-0": reached}))
        commit, told = rng.random() < 0.7, rng.choice(["ok", "ok", "info"])
        op = history.invoke(self.name, "end", txn=txn, commit=commit)
        self.model.finish(txn, commit)
        getattr(history, told)(op)
        self.position = reached if commit else self.position


class Model:
    """Two partitions, three producers, a copier, four readers of whom two are a group."""

    def __init__(self, rng: Random, steps: int = 150) -> None:
        self.history = History()
        self.logs: list[list[Entry]] = [[] for _ in PARTITIONS]
        self.copies: list[Entry] = []
        self.open: dict[str, list[int]] = {}  # transactions, and where the logs ended when they began
        self.aborted: set[str] = set()
        self.offsets: dict[int, int] = {}
        self.generation = 0
        self.members = [Reader(self, f"member-{n}", COMMITTED, "g") for n in (1, 2)]
        producers = [Producer(self, "plain", False), Producer(self, "other", False), Producer(self, "txn", True)]
        readers = [Reader(self, "any", "read_uncommitted"), Reader(self, "careful", COMMITTED), *self.members]
        actors = [*producers, *readers, Copier(self)]
        self.rebalance(rng)
        for _ in range(steps):
            if rng.random() < 0.04:
                self.rebalance(rng)
            rng.choice(actors).act(rng)
        self.close(rng, producers)

    def rebalance(self, rng: Random) -> None:
        """Everybody begins where the group's offsets are."""
        self.generation += 1
        for member in self.members:
            member.position = {}
        op = self.history.invoke("asker", "committed", group="g")
        self.history.ok(op, offsets={f"t-{p}": self.offsets.get(p, -1) for p in PARTITIONS})
        for partition in PARTITIONS:
            rng.choice(self.members).position[partition] = self.offsets.get(partition, 0)
        for member in self.members:
            self.history.record(member.name, "ok", "assign", group="g", generation=self.generation,
                                partitions=[["t", p] for p in sorted(member.position)])

    def finish(self, txn: str | None, commit: bool) -> None:
        """Markers in all partitions."""
        assert txn is not None
        del self.open[txn]
        if not commit:
            self.aborted.add(txn)
        for log in [*self.logs, self.copies]:
            log.append(Entry(None, txn))

    def readable(self, partition: int, isolation: str) -> list[tuple[int, Entry]]:
        log = self.logs[partition]
        if isolation != COMMITTED:
            return [(offset, entry) for offset, entry in enumerate(log) if entry.value is not None]
        stable = min([starts[partition] for starts in self.open.values()], default=len(log))
        return [(offset, entry) for offset, entry in enumerate(log[:stable])
                if entry.value is not None and entry.txn not in self.aborted]

    def close(self, rng: Random, producers: list[Producer]) -> None:
        """Everything ends, then everything is read."""
        for producer in producers:
            while producer.waiting:
                producer.arrive(rng)
            if producer.txn is not None:
                producer.end(rng)
        for partition in PARTITIONS:
            op = self.history.invoke("reader", "final", topic="t", partition=partition, isolation=COMMITTED)
            self.history.ok(op, start=0, records=[["t", partition, offset, entry.value]
                                                  for offset, entry in self.readable(partition, COMMITTED)])
        op = self.history.invoke("reader", "final", topic="c", partition=0, isolation=COMMITTED)
        self.history.ok(op, start=0, records=[["c", 0, offset, entry.value] for offset, entry in enumerate(self.copies)
                                              if entry.value is not None and entry.txn not in self.aborted])
