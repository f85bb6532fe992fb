"""Which losses are permitted: the promise of acks=all ends where more disks lose data than min.insync.replicas covers.

A replica is lossy from the fault that took committed bytes off its disk (loss of power, a wipe, a failed fsync, a flipped
bit) until it has them again. With fewer lossy replicas than min.insync.replicas nothing committed may be lost. With as
many, and no member of ISR or ELR intact, the committed records that no candidate has are lost with permission: they are
written down as a Loss and looked for no more.

Owns: the rule above. Source: Vanlightly's v3.5 description, sections 2 and 5; KIP-966.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.sim.invariants.replica import Key, Truth, log_on_disk

if TYPE_CHECKING:
    from minikafka.sim.invariants.watch import Watch

DISK_FAULTS = ("powerloss", "wipe", "fail_disk", "fill_disk", "flip_bit")


class Losses:
    """Of one watch."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.suspects: dict[int, None] = {}  # whose disk something was done to, ever
        self.flipped: dict[int, None] = {}  # whose disk was damaged without telling
        self._look_at: dict[int, None] = {}

    def on_fault(self, event: dict[str, Any]) -> None:
        node = event.get("node")
        if event["fault"] in DISK_FAULTS and node in self.watch.cluster.nodes:
            self.suspects[node] = self._look_at[node] = None
            if event["fault"] == "flip_bit":
                self.flipped[node] = None

    def look(self) -> None:
        """After a step: what do the damaged disks hold now?"""
        if not self._look_at:
            return
        nodes, self._look_at = list(self._look_at), {}
        for node in nodes:
            for key, truth in self.watch.truths.items():
                self._measure(node, key, truth)
        for truth in self.watch.truths.values():
            self._judge(truth)

    def _measure(self, node: int, key: Key, truth: Truth) -> None:
        broker = self.watch.cluster.brokers.get(node)
        if broker is None or (node, key) not in self.watch.ends:
            return
        found = log_on_disk(self.watch.cluster.disk(node), f"{broker.config.log_dir}/{truth.name}")
        end = 0 if found is None else found[1]
        if end < self.watch.ends[node, key]:
            self.watch.ends[node, key] = end
        if end < truth.end:
            truth.lossy[node] = None

    def healed(self, truth: Truth) -> None:
        """Replicas that have all again are lossy no more."""
        for node in [n for n in truth.lossy if self.watch.ends.get((n, truth.key), 0) >= truth.end]:
            del truth.lossy[node]

    def _judge(self, truth: Truth) -> None:
        state = self.watch.cluster.states.get(truth.key)
        if state is None or not truth.lossy or len(truth.lossy) < self._min_insync(truth):
            return
        ends = {n: self.watch.ends.get((n, truth.key), 0) for n in (*state.isr, *state.elr)}
        if ends and all(end < truth.end for end in ends.values()):
            who = ", ".join(map(str, truth.lossy))
            self.watch.lose(truth, min(ends.values()), f"the disks of {who} lost them, and no candidate has them")

    def _min_insync(self, truth: Truth) -> int:
        found = [s.core.effective_min_insync for (_, key), s in self.watch.seen.items() if key == truth.key]
        return max(1, *found, 1)
