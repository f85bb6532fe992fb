"""Transcripts of one transactional id: `tests/stories/transactions/*.txt`, read by people and by the test beside it.

Producers have names (a, b, ...) and remember the identity they were given. Commands:

    WHO init [expect] [timeout=MS] [lost]  InitProducerId; `expect`: the identity that WHO has is sent along;
                                          `lost`: the answer does not arrive
    WHO add PARTITION ...                 AddPartitionsToTxn           WHO verify PARTITION ...
    WHO commit | abort [v2] [id=N] [epoch=N]   EndTxn; v2: of a client that knows KIP-890
    stored | refused                      the oldest append is committed, or was never written
    marked                                every partition has its marker
    time-out [v2]                         the coordinator looks at the clock       advance SECONDS
    exhaust                               as if the epoch were the last but one that can be given away
    reload                                another coordinator takes over with what the log holds
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from minikafka.broker.transactions.states import PREPARED
from minikafka.broker.transactions.transaction import LAST_EPOCH, Transaction, TransactionData
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err, KafkaError

SCENARIOS = Path(__file__).parents[2] / "stories" / "transactions"
FIRST_ID = 7


class World:
    """One coordinator, its log, and producers that believe what they are told."""

    def __init__(self) -> None:
        self.txn = Transaction("t", TransactionData(FIRST_ID))
        self.log: list[TransactionData] = []
        self.waiting: tuple[str, str, TransactionData] | None = None     # whose request is answered with the append
        self.known: dict[str, ProducerIdAndEpoch] = {}
        self.new_id = FIRST_ID
        self.now_ms = 0
        self.lines: list[str] = []

    def do(self, line: str) -> None:
        """Carry out one command."""
        words = line.split()
        if words[0] in ("stored", "refused", "marked", "advance", "exhaust", "reload", "time-out"):
            getattr(self, words[0].replace("-", "_"))(*words[1:])
            return
        who, command, *rest = words
        try:
            getattr(self, f"_{command}")(who, rest)
        except KafkaError as error:
            self.lines.append(f"{who} <- {error.code.name}")

    # --- requests -------------------------------------------------------------------------------------------------

    def _init(self, who: str, rest: list[str]) -> None:
        given = dict(word.split("=") for word in rest if "=" in word)
        expected = self.known[who] if "expect" in rest else None
        data = self.txn.init(int(given.get("timeout", 60_000)), expected, self.now_ms, self._next_id())
        self._append("" if "lost" in rest else who, "init", data)

    def _add(self, who: str, rest: list[str]) -> None:
        data = self.txn.add(self.known[who], [(name, 0) for name in rest], self.now_ms)
        if data is None:
            self.lines.append(f"{who} <- NONE, at once")
        else:
            self._append(who, "add", data)

    def _verify(self, who: str, rest: list[str]) -> None:
        errors = self.txn.verify(self.known[who], [(name, 0) for name in rest])
        self.lines.append(f"{who} <- " + ", ".join(f"{name} {error.name}" for (name, _), error in errors.items()))

    def _commit(self, who: str, rest: list[str]) -> None:
        self._end(who, rest, True)

    def _abort(self, who: str, rest: list[str]) -> None:
        self._end(who, rest, False)

    def _end(self, who: str, rest: list[str], commit: bool) -> None:
        given = dict(word.split("=") for word in rest if "=" in word)
        known = self.known[who]
        identity = ProducerIdAndEpoch(int(given.get("id", known.producer_id)), int(given.get("epoch", known.epoch)))
        data = self.txn.end(identity, commit, 2 if "v2" in rest else 0, self.now_ms, self._next_id())
        if data is None:
            self.lines.append(f"{who} <- NONE, at once, {_identity(self.txn.data)}")
        else:
            self._append(who, "end v2" if "v2" in rest else "end", data)

    def _next_id(self) -> int:
        """Return a producer id that no producer has had, if the next epoch needs one."""
        self.new_id += self.txn.needs_id
        return self.new_id

    def _append(self, who: str, what: str, data: TransactionData) -> None:
        self.txn.append(data)
        self.waiting = (who, what, data)
        self.lines.append(f"append {_shown(data)}")

    # --- the coordinator's log, time, other coordinators ------------------------------------------------------------

    def stored(self) -> None:
        assert self.waiting is not None, "nothing is being appended"
        (who, what, data), self.waiting = self.waiting, None
        self.txn.stored(data)
        self.log.append(data)
        if data.state in PREPARED:
            self.lines.append(f"markers of {_identity(data)} to {_names(data)}")
        if who:
            self.lines.append(self._answer(who, what, data))

    def _answer(self, who: str, what: str, data: TransactionData) -> str:
        if what == "init" and data.state in PREPARED:
            return f"{who} <- {Err.CONCURRENT_TRANSACTIONS.name}"
        if what in ("init", "end v2"):
            given = ProducerIdAndEpoch(data.producer_id, data.epoch) if data.next_id < 0 else ProducerIdAndEpoch(data.next_id, 0)
            self.known[who] = given
            return f"{who} <- NONE, producer {given.producer_id} epoch {given.epoch}"
        return f"{who} <- NONE"

    def refused(self) -> None:
        assert self.waiting is not None, "nothing is being appended"
        (who, _, data), self.waiting = self.waiting, None
        self.txn.refused(data)
        self.lines.append(f"{who} <- {Err.COORDINATOR_NOT_AVAILABLE.name}")

    def marked(self) -> None:
        self._append("", "marked", self.txn.marked(self.now_ms))

    def time_out(self, version: str = "") -> None:
        if self.txn.timed_out(self.now_ms):
            self._append("", "fence", self.txn.fence(self.now_ms, 2 if version == "v2" else 0))
        else:
            self.lines.append("nothing has run out of time")

    def advance(self, seconds: str) -> None:
        self.now_ms += int(float(seconds) * 1000)

    def exhaust(self) -> None:
        self.txn.data = replace(self.txn.data, epoch=LAST_EPOCH)
        self.known = {who: ProducerIdAndEpoch(one.producer_id, LAST_EPOCH) for who, one in self.known.items()}

    def reload(self) -> None:
        self.txn = Transaction("t", replace(self.log[-1], last_epoch=-1))
        self.waiting = None
        self.lines.append(f"loaded {_shown(self.txn.data)}")
        if self.txn.data.state in PREPARED:
            self.lines.append(f"markers of {_identity(self.txn.data)} to {_names(self.txn.data)}")


def _identity(data: TransactionData) -> str:
    return f"producer {data.producer_id} epoch {data.epoch}"


def _names(data: TransactionData) -> str:
    return " ".join(name for name, _ in data.partitions) or "none"


def _shown(data: TransactionData) -> str:
    changed = f", then producer {data.next_id}" if data.next_id >= 0 else ""
    return f"{data.state.value}: {_identity(data)}{changed}, partitions {_names(data)}"
