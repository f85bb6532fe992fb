"""A night of transactions: three tills write, and readers want committed records.

    night.begins("A")        # two records, which all in sync get
    night.comes()            # one more reader, which begins at the first record
    night.has_read(3)        # it must have the first three records that count; a rule that holds them back has stood still
    night.aborts("A")        # and no reader may have got something of it

Owns: the tills, and which of their records count. It knows that from the tills: a transaction counts if its commit was answered.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minikafka.lab.inside.night import PATIENCE, TOPIC, TP, AdversaryNight, Refused, Stood
from minikafka.lab.labs.steady import Read, Reader, read_all

ENDS_IT, LONG = 10, 300      # transaction.timeout.ms of till C and of the others, in seconds
TROUBLE = 60.0               # seconds within which a record is stored, whoever dies


class ReadAndGone(Refused):
    """An error: a reader of committed records got what does not count in the end."""

    word = "read and gone"


class HeldBack(Refused):
    """An error: a reader of committed records does not get what counts."""

    word = "stood still"


class TransactionNight(AdversaryNight):
    """A night of three tills, each of which has a transaction open at times, and of readers of committed records. `counts`: the
    records that count, value -> offset; `open`: those of open transactions, by till."""

    moves, kept = 5, "0 lost, 0 read and gone"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.reader.stop()
        self.counts: dict[str, int] = {}
        self.open: dict[str, dict[str, int]] = {}
        self._producer = self._client("desk")
        self.tills = {name: self._client(f"till {name}", transactional_id=f"shop {name}", transaction_timeout=after)
                      for name, after in (("A", LONG), ("B", LONG), ("C", ENDS_IT))}
        self.ids: dict[str, int] = {}       # of the producers, by which a picture names them
        for name, till in self.tills.items():
            till.init()
            self.ids[name] = till.unblocked.sender.numbers.identity.producer_id
        self.readers: list[Reader] = []
        self.comes()

    def comes(self) -> None:
        """Let one more reader of committed records begin, at the first record."""
        name = f"reader {len(self.readers) + 1}"
        self.readers.append(Reader(self.cluster, TOPIC, name=name, isolation="read_committed"))

    def writes(self, count: int = 1) -> None:
        """Write records outside of transactions; all in sync get them."""
        for _ in range(count):
            self._put(self._producer, "", self.counts)

    def begins(self, name: str, count: int = 2) -> None:
        """Let a till begin a transaction, and write records in it; all in sync get them."""
        self._steps(self.tills[name].begin)
        self.open[name] = {}
        for _ in range(count):
            self._put(self.tills[name], name, self.open[name])

    def posts(self, name: str) -> None:
        """Let a till begin a transaction with a record for which it has no answer when it dies."""
        self._steps(self.tills[name].begin)
        self._steps(lambda: self.tills[name].post(TOPIC, f"{name}?", partition=0))
        self.passes(0.5)
        self.dies(name)

    def dies(self, name: str) -> None:
        self.tills.pop(name).kill()

    def commits(self, name: str) -> None:
        self._steps(self.tills[name].commit)
        self.counts.update(self.open.pop(name))

    def aborts(self, name: str) -> None:
        self._steps(self.tills[name].abort)
        self.is_aborted(name)

    def is_aborted(self, name: str) -> None:
        """Take note that a transaction is aborted. Raises ReadAndGone if a reader has got some of it."""
        records = self.open.pop(name)
        self.passes(1)
        if got := [read for read in self._read() if read.value in records]:
            raise ReadAndGone(f"A reader of committed records got record {got[0].value} at offset {got[0].offset}, while the "
                              f"transaction of till {name}, producer {self.ids[name]}, was open: it began at "
                              f"{min(records.values())}. Then it was aborted; records read and gone: {len(got)}", got[0].t)

    def has_read(self, count: int, within: float = PATIENCE) -> None:
        """Wait until the newest reader has so many records, the first ones of those that count. Raises HeldBack."""
        since, first = self.cluster.now(), sorted(self.counts, key=self.counts.__getitem__)[:count]
        while missing := [value for value in first if value not in {read.value for read in self.readers[-1].records}]:
            if self.cluster.now() > since + within:
                marks = [event for event in self.cluster.trace.events("hw") if event["tp"] == TP]
                mark = max(marks, key=lambda event: event["hw"])    # the first that has come so far: the leader
                raise HeldBack(f"Record {missing[0]}, at offset {self.counts[missing[0]]}, counts, and no open transaction "
                               f"begins before it. For {within:g} s a reader of committed records has not got it. The last "
                               f"stable offset is {mark.get('lso', mark['hw'])}, the high watermark {mark['hw']}",
                               self.cluster.now())
            self.passes(0.2)
        self.longest = max(self.longest, self.cluster.now() - since)

    def ends(self) -> None:
        """Let everything run again, and the tills abort what is open. A last reader comes, and must get all that counts."""
        if not self.mended():
            raise Stood(f"All brokers run again, and nobody leads {TP}")
        for name in list(self.open):
            self.aborts(name)
        self.writes(1)
        self.acknowledged = len(self.counts)
        self._is_there()
        self.comes()
        self.has_read(len(self.counts))

    def reads(self) -> None:
        """Read nothing more: `ends` looks at what readers have got."""

    def anything(self) -> None:
        """Make one of the moves, drawn by chance. One broker at a time is dead or copies nothing."""
        idle = [name for name in "AB" if name not in self.open]
        moves: list[Callable[[], None]] = [lambda: self.writes(2), self._struck]
        moves += [lambda: self.begins(self.random.choice(idle))] * 2 if idle else []
        ends = self.random.choice((self.commits, self.aborts))
        moves += [lambda: ends(self.random.choice(list(self.open)))] if self.open else []
        self.random.choice(moves)()

    def _struck(self) -> None:
        self.mended()
        self.until_in_sync(1, 2, 3)
        self.random.choice((self.kills, self.holds))(self.random.choice(self.cluster.alive))

    def _is_there(self) -> None:
        """Raise ReadAndGone if a reader has got what is in no log."""
        there = {(record.offset, record.value) for record in read_all(self.cluster, TOPIC)}
        if gone := [read for read in self._read() if (read.offset, read.value) not in there]:
            marks = [event["hw"] for event in self.cluster.trace.events("hw") if event["tp"] == TP and event["t"] <= gone[0].t]
            raise ReadAndGone(f"A reader of committed records got record {gone[0].value} at offset {gone[0].offset}, when the "
                              f"high watermark was {max(marks)}. It is in no log any more; records read and gone: {len(gone)}",
                              gone[0].t)

    def _read(self) -> list[Read]:
        """Return what readers have got, each record when the first of them got it."""
        first: dict[tuple[int, str], Read] = {}
        for read in sorted((read for reader in self.readers for read in reader.records), key=lambda read: read.t):
            first.setdefault((read.offset, read.value), read)
        return list(first.values())

    def _client(self, name: str, **settings: Any) -> Any:
        made = self.cluster.watch(self.cluster.producer(name=name, delivery_timeout=TROUBLE, **settings), name)
        self.cluster.run(made.unblocked.client.topic(TOPIC))    # it knows all brokers, before one dies
        return made

    def _put(self, producer: Any, prefix: str, into: dict[str, int]) -> None:
        self._sent += 1
        value = f"{prefix}{self._sent}"
        self._steps(lambda: into.update({value: producer.send(TOPIC, value, partition=0)[1]}))
