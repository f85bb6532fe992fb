"""I13: transactions, judged by what is committed in `__transaction_state` and in the partitions.

Each state of a transactional id follows from the one before it (NEXT in broker/transactions/states.py). A producer id and epoch
that KIP-890 gives to one transaction has one outcome. A partition has only markers that the coordinator has prepared for this
partition and with this outcome. Some time after healing no transaction is open beyond its timeout, and none is half done.

A transaction is complete only when each of its partitions has the marker below its high watermark (rule 51).

In each partition at most as many transactions of a producer and epoch end with an outcome as were prepared with it. A
marker may be written twice, if its coordinator did not get the answer; but the second must find nothing to end: not the
producer's next transaction, which in the classic protocol has the same epoch.

A permitted loss in `__transaction_state` excuses the producers named in the lost records, and no others. No coordinator ends
their transactions any more, so these stay open until `kafka-transactions abort`. Or they stay prepared: the partitions know a
newer epoch of the producer and refuse the markers (as Apache's do).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from minikafka.broker.transactions import records as wire
from minikafka.broker.transactions.records import stored_data
from minikafka.broker.transactions.shell.coordinator import TRANSACTION_TOPIC
from minikafka.broker.transactions.states import NEXT, PREPARED, TransactionState
from minikafka.broker.transactions.transaction import EPOCH_BUMPS, TransactionData
from minikafka.log.batch import BatchHeader, records
from minikafka.log.markers import is_commit
from minikafka.proof.invariants.invariant import Invariant
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.replica import Key, ReplicaSeen, Truth

SLACK = 15.0  # seconds of virtual time after the last deadline
# What may follow a state in the log: the fence is written together with the abort that carries it.
MAY_FOLLOW = {state: {*events.values()} | ({TransactionState.PREPARE_ABORT} if "fence" in events else set())
              for state, events in NEXT.items()}


class TransactionsAreSound(Invariant):
    """The invariant I13."""

    id, patient = "I13", True

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self.ids: dict[str, TransactionData] = {}
        self._outcomes: dict[tuple[int, int], TransactionState] = {}  # of (producer id, epoch), with KIP-890
        self._forgotten: dict[int, None] = {}  # producer ids with records lost, with permission
        self._prepared: dict[tuple[int, int, bool], Counter[Key]] = {}  # (id, epoch, commit) -> how often, by partition
        self._open: dict[tuple[Any, int, int], None] = {}  # (topic id, partition, producer id) with records since a marker
        self._ended: Counter[tuple[Any, int, int, int, bool]] = Counter()  # (..., epoch, commit): transactions ended so
        self._markers: Counter[tuple[int, int, bool, Key]] = Counter()  # (id, epoch, commit, partition), below the watermark
        self._ahead: set[int] = set()  # producer ids whose transactions cannot have run out of time yet

    def on_committed(self, truth: Truth, header: BatchHeader, raw: bytes) -> None:
        if header.is_control:
            if header.count and header.producer_id >= 0:
                self._marker(truth, header, raw)
        elif header.is_transactional:
            self._note(truth, header, raw)
        elif truth.key[0] == TRANSACTION_TOPIC:
            for record in records(raw):
                name = wire.read_transaction_key(record.key) if record.key else None
                if name is not None:
                    self._decision(truth, name, record)

    def _decision(self, truth: Truth, name: str, record: Any) -> None:
        before = self.ids.get(name)
        state = TransactionState.DEAD if record.value is None else None
        data = None if record.value is None else stored_data(wire.read_transaction_value(record.value))
        state = state or (data.state if data is not None else TransactionState.DEAD)
        if before is not None and state not in MAY_FOLLOW[before.state]:
            self.fail(f"transactional id {name}: {state.value} at offset {record.offset} of {truth.name} follows "
                      f"{before.state.value}")
        if data is None:
            self.ids.pop(name, None)
            return
        self.ids[name] = data
        if data.state in PREPARED:
            self._decided(name, data)
        elif before is not None and before.state in PREPARED:
            self._complete(name, before)

    def _decided(self, name: str, data: TransactionData) -> None:
        who = data.producer_id, data.epoch
        commit = data.state is TransactionState.PREPARE_COMMIT
        self._prepared.setdefault((*who, commit), Counter()).update(data.partitions)
        if data.version < EPOCH_BUMPS:
            return
        other = self._outcomes.setdefault(who, data.state)
        if other is not data.state:
            self.fail(f"transactional id {name}, producer {who[0]}, epoch {who[1]}: {other.value}, then "
                      f"{data.state.value}")

    def _complete(self, name: str, decided: TransactionData) -> None:
        """Check that every partition of the decision has its markers; a topic that was deleted meanwhile has none."""
        who = decided.producer_id, decided.epoch, decided.state is TransactionState.PREPARE_COMMIT
        for key in decided.partitions if decided.producer_id not in self._forgotten else ():
            truth = self.watch.truths.get(key)
            if truth is None or truth.was_lost or key in self.watch.deleted or key not in self.cluster.states:
                continue
            if not self._markers[*who, key]:
                self.fail(f"transactional id {name}: complete, but {truth.name} has no marker of producer {who[0]}, epoch "
                          f"{who[1]} below its high watermark")

    def _marker(self, truth: Truth, header: BatchHeader, raw: bytes) -> None:
        commit = is_commit(raw)
        self._markers[header.producer_id, header.producer_epoch, commit, truth.key] += 1
        known = self._prepared.get((header.producer_id, header.producer_epoch, commit))
        ended, prepared = self._note(truth, header, raw), (known or {}).get(truth.key, 0)
        if header.producer_id in self._forgotten:
            return
        outcome = "commit" if commit else "abort"
        if 0 < prepared < ended:
            self.fail(f"{truth.name}: with the {outcome} marker of producer {header.producer_id}, epoch "
                      f"{header.producer_epoch} at offset {header.base_offset}: {ended} transactions have ended so, of "
                      f"which {prepared} had been prepared")
        if prepared:
            return
        what = "which nobody had prepared" if known is None else f"prepared for other partitions: {list(known)}"
        self.fail(f"{truth.name}: a {outcome} marker of producer {header.producer_id}, epoch {header.producer_epoch} "
                  f"at offset {header.base_offset}, {what}")

    def _note(self, truth: Truth, header: BatchHeader, raw: bytes) -> int:
        """Count a record of a transaction, or a marker; return how many this producer, epoch and outcome have ended here."""
        where = truth.topic_id, truth.key[1], header.producer_id
        if not header.is_control:
            self._open[where] = None
            return 0
        how = *where, header.producer_epoch, is_commit(raw)
        if where in self._open:
            del self._open[where]
            self._ended[how] += 1
        return self._ended[how]

    def on_lost(self, truth: Truth) -> None:
        here = truth.topic_id, truth.key[1]
        self._open = {where: None for where in self._open if where[:2] != here}
        self._ended = Counter({how: count for how, count in self._ended.items() if how[:2] != here})
        for header, raw in truth.in_order():
            if header.is_transactional and header.count:
                self._note(truth, header, raw)
        if truth.key[0] == TRANSACTION_TOPIC:
            before, self.ids, self._outcomes, self._prepared = self.ids, {}, {}, {}
            for other in self.watch.truths.values():
                if other.key[0] == TRANSACTION_TOPIC:
                    for header, raw in other.in_order():
                        self.on_committed(other, header, raw)
            self._forgotten |= {data.producer_id: None for name, data in before.items() if self.ids.get(name) != data}

    # --- after healing --------------------------------------------------------------------------------------------

    async def at_end(self) -> None:
        self._ahead = self._begun_in_the_future()
        for text in await self.watch.wait(self._left_open, self._longest() + SLACK):
            self.fail(text)

    def _longest(self) -> float:
        """Return the seconds from now until the last open transaction must have been aborted."""
        if not self.ids:
            return 0.0
        broker = next(b for n in self.cluster.nodes if (b := self.cluster.running(n)) is not None)
        check = broker.config["transaction.abort.timed.out.transaction.cleanup.interval.ms"]
        return float(check + max(data.timeout_ms for data in self.ids.values())) / 1000

    def _begun_in_the_future(self) -> set[int]:
        """Return producers whose transaction began, by their coordinator's clock, later than now. The clock went back since, and
        the timeout comes later by as much (as in Apache's, which compares wall clocks too)."""
        ahead = set()
        for node in self.cluster.nodes:
            if (broker := self.cluster.running(node)) is None:
                continue
            now, mine = self.cluster.world.hosts[node].env.wall_ms(), broker.transactions
            ahead |= {data.producer_id for name, data in self.ids.items() if data.state is TransactionState.ONGOING
                      and data.start_ms > now and mine.partition_for(name) in mine.partitions}
        return ahead

    def _left_open(self) -> list[str]:
        half = [f"transactional id {name} (producer {data.producer_id}, epoch {data.epoch}) is still {data.state.value}"
                for name, data in self.ids.items()
                if data.state in (TransactionState.ONGOING, *PREPARED) and not self._excused(data.producer_id)]
        # Where records were lost with permission a marker may be among them: then only `kafka-transactions abort` helps.
        leading = [s for s in self.watch.replicas() if s.core.is_leader and self.cluster.leads(s) and not s.truth.was_lost]
        return half + [f"{seen}: a transaction is open from offset {first} on, LSO {seen.partition.last_stable_offset}"
                       f", HW {seen.core.high_watermark}"
                       for seen in leading if (first := self._first_open(seen)) >= 0]

    def _first_open(self, seen: ReplicaSeen) -> int:
        """Return where the oldest open transaction begins that a coordinator must still end; -1 if there is none."""
        return min((entry.txn_first_offset for producer_id, entry in seen.log.producers.entries.items()
                    if entry.txn_first_offset >= 0 and not self._excused(producer_id)), default=-1)

    def _excused(self, producer_id: int) -> bool:
        return producer_id in self._forgotten or producer_id in self._ahead
