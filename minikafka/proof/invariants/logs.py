"""I16: at the end, acknowledged records can be read, replicas are equal, and recovery neither loses nor changes bytes.

All bytes are read again, because bytes that were right when they were written may have been damaged since. Hosts on whose disk
the run has flipped a bit (`flip_bit`) are left out. A restart after kill -9 is judged at once: the page cache survives it.
"""

from __future__ import annotations

from typing import Any

from minikafka.log import Log
from minikafka.log.batch import crc_ok, records
from minikafka.proof.invariants.invariant import Invariant
from minikafka.proof.invariants.replica import Key, LogCursor, ReplicaSeen, Truth
from minikafka.sim.world.disk import Inode, Mount, SimDisk

SHOWN = 5


class LogsAreWhole(Invariant):
    """The invariant I16."""

    id, events = "I16", ("recover",)

    def on_event(self, event: dict[str, Any]) -> None:
        topic, _, index = event["tp"].rpartition("-")
        node, key = event["b"], (topic, int(index))
        broker = self.cluster.running(node)
        if broker is not None and broker.publisher.caught_up:  # no log of the last life, but a new one of a partition
            self.watch.ends.pop((node, key), None)  # that comes here, perhaps once more
            return
        end, truth, died = self.watch.ends.get((node, key), 0), self.watch.truths.get(key), self.watch.seen.get((node, key))
        if event["leo"] >= end or died is not None and died.log.truncations != died.truncations:
            return  # in the second case its broker died in the step in which it was cut
        if truth is not None and self._may_end_in_nothing(truth) and not event["truncated_bytes"]:
            truth.suspects[node] = True
        elif node not in self.watch.keeper.troubled:
            self.fail(f"broker {node} recovered {event['tp']} up to {event['leo']}, it ended at {end}, and its disk is "
                      f"sound")

    async def at_end(self) -> None:
        for seen in self.watch.undamaged():
            self._bytes(seen)
            self._recovery(seen)
        self._acknowledged()

    # --- equal replicas -------------------------------------------------------------------------------------------

    def _bytes(self, seen: ReplicaSeen) -> None:
        truth, end = seen.truth, min(seen.core.high_watermark, seen.truth.end)
        truth.compacted = truth.compacted or seen.log.config.compact
        cursor = LogCursor(seen.log)
        for header, raw in cursor.read(end):
            if not crc_ok(raw, 0, header) or not truth.agrees(header, raw):
                self.fail(f"{seen}: the batch at offset {header.base_offset} is not what was committed there", str(seen))
                return
        if cursor.offset < end and not truth.compacted:
            self.fail(f"{seen}: its bytes end at {cursor.offset}, HW is {end}", str(seen))

    # --- recovery -------------------------------------------------------------------------------------------------

    def _recovery(self, seen: ReplicaSeen) -> None:
        """Recover a copy of the log twice, as if the broker had been killed now, and compare."""
        copy, folder = self._copy(self.cluster.disk(seen.node), seen.log.path), seen.log.path
        log = self._open(copy, seen)
        once = contents(copy, folder)
        if log.end_offset != seen.log.end_offset and not self._ends_without_records(seen, log.end_offset):
            self.fail(f"{seen}: recovery ends at {log.end_offset}, LEO is {seen.log.end_offset}")
        self._open(copy, seen)
        twice = contents(copy, folder)
        differ = [path for path in sorted({*once, *twice}) if once.get(path) != twice.get(path)]
        if differ:
            self.fail(f"{seen}: a second recovery changed {differ}", str(seen))

    def _ends_without_records(self, seen: ReplicaSeen, recovered: int) -> bool:
        cursor = LogCursor(seen.log)
        for _ in cursor.read(seen.log.end_offset):
            pass
        return self._may_end_in_nothing(seen.truth) and recovered == cursor.offset

    @staticmethod
    def _may_end_in_nothing(truth: Truth) -> bool:
        """Return whether a permitted loss may have cut the log where compaction had removed all records. Then no batch shows the
        offsets before the log's end, so after a restart the log ends behind its last batch (as Apache's does)."""
        return truth.was_lost and truth.compacted

    def _copy(self, disk: SimDisk, folder: str) -> SimDisk:
        copy = SimDisk()
        for path, inode in disk.names.items():
            if path == folder or path.startswith(folder + "/") or folder.startswith(path.rstrip("/") + "/"):
                copy.names[path] = twin(inode)
        return copy

    def _open(self, disk: SimDisk, seen: ReplicaSeen) -> Log:
        world, log = self.cluster.world, seen.log
        return Log.open(Mount(disk, world.loop), log.path, log.config, now_ms=world.hosts[seen.node].env.wall_ms(),
                        topic=log.topic, topic_id=log.topic_id, recovery_point=0, start_offset=log.start_offset)

    # --- acknowledged records ---------------------------------------------------------------------------------------

    def _acknowledged(self) -> None:
        """Check that every send with acks=all that was answered is in its leader's log."""
        readable: dict[Key, dict[int, Any]] = {}
        lost = 0
        for sent, answered in self.watch.acked():
            key = (answered["topic"], answered["partition"])
            truth = self.watch.truths.get(key)
            if truth is None or truth.compacted or key in self.watch.deleted or self._excused(truth, sent, answered):
                continue
            if key not in readable:
                readable[key] = self._read(key)
            value = readable[key].get(answered["offset"], b"nothing")
            if value != sent["value"] and answered["offset"] >= readable[key].get(-1, 0):
                lost += 1
                if lost <= SHOWN:
                    self.fail(f"{truth.name}: {sent['value']!r} was acknowledged at {answered['t']:.3f} s at offset "
                              f"{answered['offset']}, where there is {value!r}")

    def _excused(self, truth: Truth, sent: dict[str, Any], answered: dict[str, Any]) -> bool:
        """Return whether a record was lost with permission; its answer may have been in flight then."""
        return any(loss.name == truth.name and sent["t"] <= loss.t and loss.start <= answered["offset"] < loss.end
                   for loss in self.watch.losses)

    def _read(self, key: Key) -> dict[int, Any]:
        """Return the leader's values by offset; under -1 the offset where its log begins."""
        state = self.cluster.states.get(key)
        replica = self.cluster.replica(state.leader, key) if state is not None else None
        if replica is None:
            return {}
        values: dict[int, Any] = {-1: replica.log.start_offset}
        for header, raw in LogCursor(replica.log).read(replica.log.end_offset):
            if not header.is_control:
                values.update((r.offset, r.value.decode(errors="replace") if r.value is not None else None)
                              for r in records(raw))
        return values


def twin(inode: Inode | None) -> Inode | None:
    if inode is None:
        return None
    other = Inode()
    other.content = bytearray(inode.content)
    return other


def contents(disk: SimDisk, folder: str) -> dict[str, bytes]:
    return {path: bytes(inode.content) for path in disk.files(folder) if (inode := disk.names[path]) is not None}
