"""Which losses are permitted: the promise of acks=all ends where more disks lose data than min.insync.replicas covers.

A replica becomes suspect for a partition by a fault that may have taken committed bytes off its disk (loss of power, a wipe; a
flipped bit only for its partition). It stays suspect until its new life is back in the ISR with all committed records; a
replica with a damaged log may be in the ISR all the time, and is suspect until its log is whole again. A replica that was
killed, or that ended by an error of its own (of its disk, for example), is suspect too: it has its bytes, but the controller
cannot know that, and removes it from ISR and ELR as well.
Nothing committed may be lost in three cases: fewer replicas than min.insync.replicas are suspect at once; all suspect ones were
only killed; a member of ISR or ELR is not suspect, since it has everything, and only such members are elected.
In any other case, or if the watch was told that losses are permitted (unclean elections, by a setting or an operator), a loss
is recorded as a Loss, and those records are not checked any more.

With min.insync.replicas=2 one lost disk and one kill are enough for a loss. That is Kafka's decision: the killed broker returns
with all its records, but the last member of the ISR is the one whose disk lost them. With an empty ELR the last leader is
elected again (PartitionChangeBuilder, lastKnownElr), even if another replica has more records.

Owns: the rule above, and what is known of the disks of the dead.
Source: Vanlightly's v3.5 description, sections 2 and 5 ("safe for f = minISR - 1 lossy unclean shutdowns"); KIP-966.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.proof.invariants.replica import Key, Truth, log_on_disk, whole

if TYPE_CHECKING:
    from minikafka.proof.invariants.known import Known

METADATA = "/__cluster_metadata-0/"
LOSING = ("powerloss", "wipe", "flip_bit")
DISK_FAULTS = (*LOSING, "fail_disk", "fill_disk")
UNCLEAN = (*LOSING, "kill")  # faults that end a broker without a controlled shutdown


class Losses:
    """The permitted losses of one watched run."""

    def __init__(self, watch: Known) -> None:
        self.watch = watch
        self.troubled: dict[int, None] = {}  # nodes with a disk fault so far
        self.flipped: dict[int, None] = {}  # nodes with a flipped bit in a partition's log
        self.spoiled: dict[int, None] = {}  # nodes with a flipped bit in their metadata: they end when they read it
        self.pardoned: dict[Key, None] = {}  # partitions with an unclean election that an operator asked for
        self._to_measure: dict[int, None] = {}

    def on_fault(self, event: dict[str, Any]) -> None:
        """Take in that a process was ended, or that a disk was made to fail, or has lost something."""
        fault, node = event["fault"], event.get("node")
        if fault == "flip_bit" and not self._loses(node, event["path"]):
            return
        if fault in UNCLEAN:
            self._suspect(node, fault in LOSING, event["path"] if fault == "flip_bit" else None)
        if fault not in DISK_FAULTS:
            return
        self.troubled[node] = None
        if fault == "flip_bit":
            self.flipped[node] = None
        if fault in LOSING:
            self._to_measure[node] = None

    def _loses(self, node: int, path: str) -> bool:
        """Return whether a bit that flips in this file can lose records: not in derived files, nor in the metadata."""
        if METADATA in path:
            self.spoiled[node] = None
        return METADATA not in path and path.endswith(".log")

    def on_crash(self, node: int) -> None:
        """Take in that a broker ended by itself; until then it counts like any other replica, however bad its disk is."""
        self._suspect(node, False)

    def _suspect(self, node: int, lost_bytes: bool, path: str | None = None) -> None:
        """Make a node's replicas suspect. `path`: a file of the one partition concerned."""
        for key, truth in self.watch.truths.items():
            if (node, key) in self.watch.ends and (path is None or f"/{truth.name}/" in path):
                truth.suspects[node] = truth.suspects.get(node, False) or lost_bytes

    def check(self) -> None:
        """Measure, after a step, what the disks that lost something hold now."""
        if self._to_measure:
            nodes, self._to_measure = list(self._to_measure), {}
            for node in nodes:
                for key, truth in self.watch.truths.items():
                    self._measure(node, key, truth)

    def _measure(self, node: int, key: Key, truth: Truth) -> None:
        broker = self.watch.cluster.brokers.get(node)
        if broker is None or (node, key) not in self.watch.ends:
            return
        found = log_on_disk(self.watch.cluster.disk(node), f"{broker.config.log_dir}/{truth.name}")
        self.watch.ends[node, key] = min(self.watch.ends[node, key], 0 if found is None else found[1])

    def heal(self, truth: Truth) -> None:
        """Clear suspects that are back in the ISR, in the life that the controller knows, with all records and undamaged."""
        state = self.watch.cluster.states.get(truth.key)
        for node in list(truth.suspects) if state is not None else ():
            replica = self.watch.cluster.replica(node, truth.key)
            if (node in state.isr and replica is not None and replica.log.end_offset >= truth.end
                    and (node not in self.flipped or whole(self.watch.cluster.disk(node), replica.log))):
                del truth.suspects[node]

    def permitted(self, truth: Truth) -> bool:
        """Return whether committed records of this partition may be lost now."""
        enough = len(truth.suspects) >= self._min_insync(truth)
        allowed = self.watch.unclean or truth.key in self.pardoned
        return allowed or enough and any(truth.suspects.values()) and not self._above_suspicion(truth)

    def _above_suspicion(self, truth: Truth) -> list[int]:
        state = self.watch.cluster.states.get(truth.key)
        return [n for n in (*state.isr, *state.elr) if n not in truth.suspects] if state is not None else []

    def _min_insync(self, truth: Truth) -> int:
        found = [s.core.effective_min_insync for (_, key), s in self.watch.seen.items() if key == truth.key]
        return max([1, *found])
