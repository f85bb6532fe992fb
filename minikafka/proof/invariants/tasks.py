"""I14: nothing is forgotten and nothing piles up inside the processes.

No exception goes unhandled. No broker dies except by its disk, or by metadata in which a bit has flipped. When the thing that a
task waits for has happened, the task is awake in the same step (no lost wakeup). At rest no request waits for an
acknowledgement, and no broker's tasks, connections or files grow between two samples some seconds apart.
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.coordinator.shell.coordinator_log import CoordinatorLog
from minikafka.broker.replication.shell.delayed_operations import DelayedFetch, DelayedProduce
from minikafka.broker.storage.shell.log_dir import LogDirError
from minikafka.proof.invariants.invariant import Invariant
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.replica import ReplicaSeen
from minikafka.protocol.errors import Err, KafkaError

REST, SAMPLES = 2.0, 4  # seconds between two samples of resting brokers, and their number
TASKS_AT_REST, A_CONNECTION = 100, 5  # tasks of a broker; a dozen partitions and three clients make about 30


class NothingIsForgotten(Invariant):
    """The invariant I14."""

    id, events, patient = "I14", ("crash",), True

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self._errors: dict[str, int] = {}

    def on_event(self, event: dict[str, Any]) -> None:
        node = event["b"]
        error = self.cluster.world.hosts[node].error
        disk = isinstance(error, OSError) or (isinstance(error, KafkaError) and error.code == Err.KAFKA_STORAGE_ERROR)
        keeper = self.watch.keeper
        spoiled = isinstance(error, LogDirError) and node in keeper.spoiled
        if not (disk and node in keeper.troubled or spoiled):
            self.fail(f"broker {node} died of {event['error']}")

    def on_sample(self) -> None:
        world = self.cluster.world
        for loop in (world.loop, *(host.loop for host in world.hosts.values())):
            known = self._errors.get(loop.name, 0)
            if len(loop.errors) > known:
                self._errors[loop.name] = len(loop.errors)
                for context in loop.errors[known:]:
                    self.fail(f"{loop.name}: {context.get('message')}: {context.get('exception')!r}")

    # --- lost wakeups ---------------------------------------------------------------------------------------------

    def on_replica(self, seen: ReplicaSeen, why: int) -> None:
        partition = seen.partition
        for waiting in partition.moved:
            if self._ready(waiting, partition):
                kind = type(waiting).__name__
                self.fail(f"{seen} (HW {seen.core.high_watermark}, LEO {seen.log.end_offset}): a {kind} waits for what "
                          f"has happened", str(seen), kind)

    def _ready(self, waiting: Any, partition: Any) -> bool:
        if isinstance(waiting, CoordinatorLog):
            return bool(waiting.waiting) and partition.ack(waiting.waiting[0].required) is not None
        if waiting.finished.done():
            return False
        if isinstance(waiting, DelayedProduce):
            return partition in waiting.pending and partition.ack(waiting.pending[partition]) is not None
        if isinstance(waiting, DelayedFetch):
            wanted = waiting.waiting[partition]
            if waiting.min_bytes > 1 or wanted.offset >= partition.bound(waiting.isolation):
                return False
            # Offsets up to the bound may all be without records: compacted away, and what followed was truncated.
            return len(partition.read(wanted.offset, wanted.max_bytes, waiting.isolation).records) > 0
        return False

    # --- at rest --------------------------------------------------------------------------------------------------

    async def at_end(self) -> None:
        for text in await self.watch.wait(self._waiting, 40.0):
            self.fail(text)
        samples = []
        for _ in range(SAMPLES):
            await self.cluster.world.sleep(REST)
            samples.append(self._counts())
        for what, last in samples[-1].items():
            counts = [sample.get(what, 0) for sample in samples]
            if all(a < b for a, b in zip(counts, counts[1:], strict=False)):
                self.fail(f"{what} of a broker at rest grow: {counts} in {REST * SAMPLES:.0f} s")
            allowed = TASKS_AT_REST + A_CONNECTION * samples[-1].get(what.replace("tasks", "connections"), 0)
            if what.startswith("tasks") and last > allowed:
                self.fail(f"{what}: {last} at rest, {allowed} are plenty")
        self.on_sample()

    def _waiting(self) -> list[str]:
        """Return what waits for an acknowledgement or for an answer of the controller."""
        found = []
        for seen in self.watch.replicas():
            produces = [w for w in seen.partition.moved if isinstance(w, DelayedProduce)]
            logs = [w for w in seen.partition.moved if isinstance(w, CoordinatorLog) and w.waiting]
            found += [f"{seen}: {len(produces)} produce requests wait for their acknowledgement"] if produces else []
            found += [f"{seen}: its coordinator waits for {len(logs[0].waiting)} records"] if logs else []
            if seen.core.is_leader and seen.core.isr.proposal is not None:
                found.append(f"{seen}: an ISR of {list(seen.core.isr.proposal.members)} is still proposed")
        return found

    def _counts(self) -> dict[str, int]:
        counts = {}
        for node in self.cluster.nodes:
            host, broker = self.cluster.world.hosts[node], self.cluster.running(node)
            if broker is None:
                continue
            counts[f"tasks of broker {node}"] = len(host.env._tasks)
            counts[f"files of broker {node}"] = len(host.disk.names)
            open_here = [t for t in self.cluster.world.net.transports if t.loop is host.loop]
            counts[f"connections of broker {node}"] = len(open_here)
        return counts
