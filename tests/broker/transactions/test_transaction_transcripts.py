"""Every transcript of one transactional id in `tests/stories/transactions/*.txt` happens as it is written.

Producers have names (a, b, ...) and remember the identity they were given. Commands:

    WHO init [expect] [timeout=MS] [lost]  InitProducerId; `expect`: the identity that WHO has is sent along;
                                          `lost`: the answer does not arrive
    WHO add PARTITION ...                 AddPartitionsToTxn           WHO verify PARTITION ...
    WHO commit | abort [v2] [id=N] [epoch=N]   EndTxn; v2: of a client that knows KIP-890
    stored | refused                      the oldest append is committed, or was never written
    marked                                every partition has its marker
    time-out [v2]                         the coordinator checks the timeout       advance SECONDS
    exhaust                               as if the epoch were the last but one that can be given away
    reload                                another coordinator takes over with what the log holds
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minikafka.broker.transactions.states import PREPARED
from minikafka.broker.transactions.transaction import LAST_EPOCH, TransactionData
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.proof.small_worlds.transactions.lone_transaction import LoneTransaction
from minikafka.proof.small_worlds.transactions.transaction_rules import Expected
from minikafka.protocol.errors import Err
from tests.transcripts import compare, replay, scenarios


@pytest.mark.parametrize("path", scenarios("transactions"), ids=lambda path: path.stem)
def test_transcript(path: Path, rewrite: bool) -> None:
    """Fails when any change of transactions/transaction.py changes an answer or an appended record."""
    compare(path, replay(path.read_text(), ToldTransaction(), ToldTransaction.do), rewrite)


class ToldTransaction(LoneTransaction):
    """The id alone, with producers that remember their answers, and a line for each event."""

    def __init__(self) -> None:
        super().__init__(TransactionData(7))
        self.now = self.cluster_version = 0
        self.asks = self.waiting = ("", "")              # who sends which request; whose request waits for the append
        self.known: dict[str, ProducerIdAndEpoch] = {}
        self.lines: list[str] = []

    def do(self, line: str) -> None:
        """Carry out one command."""
        words, self.asks = line.split(), ("", "")
        if words[0] in ("stored", "refused", "marked", "advance", "exhaust", "reload", "time-out"):
            getattr(self, f"do_{words[0].replace('-', '_')}")(*words[1:])
            return
        (who, what), rest = words[:2], words[2:]
        self.asks = "" if "lost" in rest else who, what
        found = self.send(who, what, rest, dict(word.split("=") for word in rest if "=" in word))
        if isinstance(found, dict):
            self.lines.append(f"{who} <- " + ", ".join(f"{name} {error.name}" for (name, _), error in found.items()))
        elif isinstance(found, Err):
            self.lines.append(f"{who} <- {found.name}")
        elif found is None:
            self.lines.append(f"{who} <- NONE, at once" + ("" if what == "add" else f", {_identity(self.txn.data)}"))

    def send(self, who: str, what: str, rest: list[str], given: dict[str, str]) -> Expected | dict[tuple[str, int], Err]:
        known, partitions = self.known.get(who), [(name, 0) for name in rest]
        if what == "init":
            return self.init(int(given.get("timeout", 60_000)), known if "expect" in rest else None)
        assert known is not None
        if what in ("add", "verify"):
            return getattr(self, what)(known, partitions)  # type: ignore[no-any-return]
        identity = ProducerIdAndEpoch(int(given.get("id", known.producer_id)), int(given.get("epoch", known.epoch)))
        return self.end(identity, what == "commit", 2 if "v2" in rest else 0)

    def append(self, data: TransactionData) -> None:
        super().append(data)
        self.waiting = self.asks
        self.lines.append(f"append {_shown(data)}")

    def do_stored(self) -> None:
        data = self.commit()
        assert data is not None, "nothing is being appended"
        self.send_markers(data)
        who, what = self.waiting
        if who and what == "init" and data.state in PREPARED:
            self.lines.append(f"{who} <- {Err.CONCURRENT_TRANSACTIONS.name}")
        elif who and (what == "init" or data.version >= 2 and what != "add"):
            given = ProducerIdAndEpoch(data.producer_id, data.epoch) if data.next_id < 0 else ProducerIdAndEpoch(data.next_id, 0)
            self.known[who] = given
            self.lines.append(f"{who} <- NONE, producer {given.producer_id} epoch {given.epoch}")
        elif who:
            self.lines.append(f"{who} <- NONE")

    def send_markers(self, data: TransactionData) -> None:
        if data.state in PREPARED:
            self.lines.append(f"markers of {_identity(data)} to {_names(data)}")

    def do_refused(self) -> None:
        assert self.waits is not None, "nothing is being appended"
        self.lose()
        self.lines.append(f"{self.waiting[0]} <- {Err.COORDINATOR_NOT_AVAILABLE.name}")

    def do_marked(self) -> None:
        self.mark()

    def do_time_out(self, version: str = "") -> None:
        self.cluster_version, before = 2 if version == "v2" else 0, len(self.lines)
        self.time_out()
        if len(self.lines) == before:
            self.lines.append("nothing has run out of time")

    def do_advance(self, seconds: str) -> None:
        self.now += int(float(seconds) * 1000)

    def do_exhaust(self) -> None:
        self.txn.data = self.history.last = replace(self.txn.data, epoch=LAST_EPOCH)
        self.known = {who: ProducerIdAndEpoch(one.producer_id, LAST_EPOCH) for who, one in self.known.items()}

    def do_reload(self) -> None:
        self.read_from_log()
        self.lines.append(f"loaded {_shown(self.txn.data)}")
        self.send_markers(self.txn.data)


def _identity(data: TransactionData) -> str:
    return f"producer {data.producer_id} epoch {data.epoch}"


def _names(data: TransactionData) -> str:
    return " ".join(name for name, _ in data.partitions) or "none"


def _shown(data: TransactionData) -> str:
    changed = f", then producer {data.next_id}" if data.next_id >= 0 else ""
    return f"{data.state.value}: {_identity(data)}{changed}, partitions {_names(data)}"
