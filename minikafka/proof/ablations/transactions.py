"""Rules of transactions switched off (48 to 50, 52, 54, 55, 61), and of what read_committed may see (10)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import minikafka.broker.transactions.transaction as transaction
from minikafka.broker.coordinator.shell.coordinator_log import CoordinatorLog
from minikafka.broker.groups.offsets import OffsetStore
from minikafka.broker.replication.shell.partition import LAST_STABLE, Partition
from minikafka.broker.transactions.shell.shard import TransactionPartition
from minikafka.broker.transactions.shell.verification import Verification
from minikafka.broker.transactions.states import TransactionState
from minikafka.broker.transactions.transaction import Transaction
from minikafka.log import Log
from minikafka.proof.ablations.ablation import ablation
from minikafka.proof.ablations.classic_groups import answered_at_once
from minikafka.proof.stories.telling.writer import StoryWriter
from minikafka.sim.world.replaced import replaced

NEVER = 1 << 15


@ablation("52", "the client speaks the protocol before KIP-890: one epoch for all transactions",
          falls="aborted-read torn-txn", script="a11_torn_transaction")
def classic_end() -> AbstractContextManager[object]:
    return replaced(StoryWriter, "classic", True)


@ablation("52", "the coordinator gives no new epoch at the end of a transaction",
          falls="aborted-read torn-txn", script="a11_torn_transaction")
def same_epoch() -> AbstractContextManager[object]:
    return replaced(transaction, "EPOCH_BUMPS", NEVER)


@ablation("52", "the client speaks the protocol before KIP-890, a record of the last transaction comes late",
          falls="aborted-read", script="a12_late_record")
def classic_record() -> AbstractContextManager[object]:
    return replaced(StoryWriter, "classic", True)


@ablation("52", "a leader takes the first record of a transaction whatever the coordinator says",
          falls="I13 unseen", script="a12_hanging_transaction")
def unverified() -> AbstractContextManager[object]:
    ask = Verification.join

    async def yes(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        guards, _ = await ask(*args, **kwargs)
        return guards, {}

    return replaced(Verification, "join", yes)


@ablation("52", "everything as before KIP-890: one epoch, and no leader asks the coordinator",
          falls="I13 unseen", script="a12_hanging_transaction")
@contextmanager
def before_kip_890() -> Iterator[None]:
    with unverified(), classic_end():
        yield


@ablation("10", "the last stable offset is taken for inclusive", falls="aborted-read", script="a13_last_stable_offset")
def inclusive_last_stable_offset() -> AbstractContextManager[object]:
    bound = Partition.bound

    def one_more(self: Partition, isolation: str) -> int:
        found = bound(self, isolation)
        return min(found + 1, self.high_watermark) if isolation == LAST_STABLE else found

    return replaced(Partition, "bound", one_more)


@ablation("54", "the leader does not say which transactions were aborted", falls="aborted-read",
          script="a13_last_stable_offset")
def nobody_told_of_aborts() -> AbstractContextManager[object]:
    def none(*_: Any) -> list[Any]:
        return []

    return replaced(Log, "aborted_transactions", none)


@ablation("50", "a producer's successor gets the same epoch, and nothing is aborted", falls="inconsistent-offsets I16",
          script="r50_zombie_producer")
def no_fencing() -> AbstractContextManager[object]:
    init = Transaction.init

    def welcome(self: Transaction, timeout_ms: int, *args: Any) -> Any:
        if self.data.epoch < 0:
            return init(self, timeout_ms, *args)
        return replace(self.data, timeout_ms=timeout_ms)

    return replaced(Transaction, "init", welcome)


@ablation("61", "an offset committed in a transaction counts at once", falls="I12 missing-copy phantom-commit",
          script="r61_offsets_wait")
def offsets_at_once() -> AbstractContextManager[object]:
    def show(self: OffsetStore, _: int, group: str, key: Any, value: Any) -> None:
        self.put(group, key, value)

    return replaced(OffsetStore, "stage", show)


@ablation("55", "a new coordinator serves without having read its partition", falls="I13 unseen",
          script="r49_decision_stays")
def unread_transactions() -> AbstractContextManager[object]:
    async def load(self: TransactionPartition) -> None:
        self._loaded()

    return replaced(TransactionPartition, "load", load)


@ablation("48", "the coordinator answers, and acts, before its decision is replicated", falls="lost-write",
          script="r48_write_first")
def decided_at_once() -> AbstractContextManager[object]:
    return replaced(CoordinatorLog, "write", answered_at_once(CoordinatorLog.write))


@ablation("49", "a coordinator that finds PrepareCommit in its log takes the transaction for open", falls="torn-txn",
          script="r49_decision_stays")
def forgets_decisions() -> AbstractContextManager[object]:
    loaded = TransactionPartition._loaded

    def forgetful(self: TransactionPartition) -> None:
        for txn in self.transactions.values():
            if txn.data.state is TransactionState.PREPARE_COMMIT:
                txn.data = replace(txn.data, state=TransactionState.ONGOING)
        loaded(self)

    return replaced(TransactionPartition, "_loaded", forgetful)


@ablation("55", "a new coordinator does not see to what it finds prepared", falls="I13 unseen torn-txn",
          script="r49_decision_stays")
def leaves_prepared() -> AbstractContextManager[object]:
    def idle(self: TransactionPartition) -> None:
        self.loading = False

    return replaced(TransactionPartition, "_loaded", idle)
