"""The knowledge about one run while it is watched: invariants ask it, and report to it.

Owns: partitions and replicas as last seen, the violations and the permitted losses that were found. `Watch` (watch.py) looks
at the run, fills in what is known here, and calls the invariants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from minikafka.log.batch import BatchHeader
from minikafka.proof.history import History
from minikafka.proof.invariants.cluster_view import Key, ObservedCluster
from minikafka.proof.invariants.excuses import excused_by_loss
from minikafka.proof.invariants.losses import Losses
from minikafka.proof.invariants.replica import ReplicaSeen, Truth
from minikafka.proof.invariants.violation import Loss, Violation
from minikafka.sim.world.world import World

CHECK_AGAIN = 0.25  # seconds


class Known:
    """The knowledge of one run. `chosen`: the ids of the invariants whose violations count; the rest as for `Watch`."""

    def __init__(self, world: World, unclean: bool, raises: bool, history: History | None, chosen: set[str]) -> None:
        self.world, self.unclean, self.raises, self.history = world, unclean, raises, history
        self.violations: list[Violation] = []
        self.losses: list[Loss] = []
        self.cluster = ObservedCluster(world)
        self.truths: dict[Key, Truth] = {}
        self.seen: dict[tuple[int, Key], ReplicaSeen] = {}
        self.ends: dict[tuple[int, Key], int] = {}  # log end offsets, of dead brokers as last seen
        self.keeper = Losses(self)
        self.deleted: dict[Key, None] = {}
        self.goals: list[tuple[str, Callable[[], bool]]] = []  # other conditions that must come true after healing (I15)
        self._chosen = chosen
        self._sent: dict[int, dict[str, Any]] = {}  # the clients' sends by number, and how much of the history was read
        self._read = 0
        self._reported: set[tuple[Any, ...]] = set()
        self._on_committed: list[Callable[[Truth, BatchHeader, bytes], None]] = []
        self._on_lost: list[Callable[[Truth], None]] = []

    # --- findings -------------------------------------------------------------------------------------------------

    def report(self, id: str, text: str, about: tuple[Any, ...] = ()) -> None:
        """Record that an invariant does not hold. The same `about` is recorded once."""
        key = (id, *(about or (text,)))
        if key in self._reported or id not in self._chosen:
            return
        self._reported.add(key)
        violation = Violation(id, text, self.world.now())
        self.violations.append(violation)
        if self.raises:
            raise violation

    def permits(self, truth: Truth, end: int, why: str) -> bool:
        """Return whether a loss is permitted; if so, record that committed records from `end` on are gone."""
        permitted = self.keeper.permitted(truth)
        if permitted:
            self.lose(truth, end, why)
        return permitted

    def lose(self, truth: Truth, end: int, why: str) -> None:
        """Record that committed records from `end` on are gone, with permission."""
        if end >= truth.end:
            return
        text = f"{truth.name}: records {end} to {truth.end - 1} are lost: {why}"
        self.losses.append(Loss(truth.name, end, truth.end, text, self.world.now()))
        if self.history is not None:
            self.history.fact("may-lose", topic=truth.key[0], partition=truth.key[1], why=text)
            for concerned in excused_by_loss(truth, end):
                self.history.fact("may-lose", **concerned, why=text)
        truth.lower(end)
        for listener in self._on_lost:
            listener(truth)

    def commit(self, truth: Truth, header: BatchHeader, raw: bytes) -> None:
        """Add a batch, the next one, to the truth: a leader has it below its high watermark."""
        truth.add(header, raw)
        for listener in self._on_committed:
            listener(truth, header, raw)

    def check_everything(self) -> None:
        """Check every replica of every running broker."""
        raise NotImplementedError("watch.py checks")

    # --- what is known ------------------------------------------------------------------------------------------------

    def replicas(self) -> list[ReplicaSeen]:
        """Return every replica on a running broker whose disk works."""
        found = [seen for (node, key), seen in self.seen.items()
                 if (b := self.cluster.running(node)) is not None and b.replicas.partitions.get(key) is seen.partition]
        return [seen for seen in found if not seen.partition.failed]

    def undamaged(self) -> list[ReplicaSeen]:
        """Return those of them on disks in which the run has flipped no bit."""
        return [seen for seen in self.replicas() if seen.node not in self.keeper.flipped]

    def client_events(self) -> list[dict[str, Any]]:
        """Return the clients' history so far."""
        return self.history.events if self.history is not None else []

    def acked(self, start: int = 0) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Yield (invoke, ok with topic and value added) of each send with acks=all whose answer stands at `start` or later in
        the history."""
        events = self.client_events()
        for event in events[start:]:
            if event["type"] != "ok" or event["f"] != "send":
                continue
            sent = self._sent.get(event["op"])
            while sent is None and self._read < len(events):
                each = events[self._read]
                self._read += 1
                if each["type"] == "invoke" and each["f"] == "send":
                    self._sent[each["op"]] = each
                sent = self._sent.get(event["op"])
            if sent is not None and sent.get("acks", -1) == -1 and event.get("offset", -1) >= 0:
                yield sent, {**sent, **event}

    async def wait(self, missing: Callable[[], list[str]], timeout: float) -> list[str]:
        """Wait until nothing is missing; return what still is after `timeout` seconds of virtual time."""
        deadline = self.world.now() + timeout
        while (left := missing()) and self.world.now() < deadline:
            await self.world.sleep(CHECK_AGAIN)
        return left
