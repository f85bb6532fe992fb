"""The watch over one run: it gets every event, and after the step it checks what has changed, and nothing else.

    watch = Watch(world)        before world.start()
    ... run, with faults ...; await world.mend()
    await watch.at_end()        wait for what must come after healing, then look at everything
    watch.violations            [] if all is well

A step is one callback of the loop. It has no await in it, so everything that a broker promises between two awaits holds after
each step.
Owns: the invariants, and when each of them looks. known.py has what they may ask, and where they report.
Invariants: I-LOOK-1 a run with a watch takes the same course as one without: nothing here draws a random number, sends,
              writes, or reads through anything that counts reads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from minikafka.proof.history import History
from minikafka.proof.invariants.cluster_view import Key
from minikafka.proof.invariants.commitment import LogsMatch
from minikafka.proof.invariants.invariant import GREW, LED, MOVED, REASONS, ROLE, Invariant
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.replica import ReplicaSeen, Truth
from minikafka.proof.invariants.table import ALL
from minikafka.sim.world.world import World

SAMPLE_EVERY = 64  # steps


class Watch(Known):
    """The watch over `world`, in which it installs itself. `unclean`: loss is permitted (an unclean election); `raises`: at the
    first violation; `only`, `without`: ids of invariants; `history`: the clients' (minikafka.proof.history)."""

    def __init__(self, world: World, unclean: bool = False, *, raises: bool = False, only: Collection[str] = (),
                 without: Collection[str] = (), history: History | None = None) -> None:
        chosen = {cls.id for cls in ALL if (not only or cls.id in only) and cls.id not in without}
        super().__init__(world, unclean, raises, history, chosen)
        self._dirty: dict[tuple[int, str], int] = {}
        self._keys: dict[str, Key] = {}
        self._steps = 0
        self.invariants: list[Invariant] = [cls(self) for cls in ALL if cls.id in self._chosen or cls is LogsMatch]
        self._sort_by_occasion()
        world.listeners.append(self._on_event)
        world.after_step.append(self._after_step)

    def _sort_by_occasion(self) -> None:
        def those(name: str) -> list[Any]:
            has = [i for i in self.invariants if getattr(type(i), name) is not getattr(Invariant, name)]
            return [getattr(i, name) for i in has]

        self._on_replica, self._on_committed = those("on_replica"), those("on_committed")
        self._on_metadata, self._on_sample = those("on_metadata"), those("on_sample")
        self._on_lost, self._on_fault = those("on_lost"), those("on_fault")
        self._by_kind: dict[str, list[Callable[[dict[str, Any]], None]]] = {}
        for invariant in self.invariants:
            for kind in invariant.events:
                self._by_kind.setdefault(kind, []).append(invariant.on_event)

    # --- occasions ------------------------------------------------------------------------------------------------

    def _on_event(self, event: dict[str, Any]) -> None:
        kind = event["k"]
        why = REASONS.get(kind)
        if why is not None:
            if kind == "hw" and self._leads(event):
                why |= LED
            key = (event["b"], event["tp"])
            self._dirty[key] = self._dirty.get(key, 0) | why
        elif kind == "fault":
            self.keeper.on_fault(event)
            for listener in self._on_fault:
                listener(event)
        elif kind == "crash":
            self.keeper.on_crash(event["b"])
        for listener in self._by_kind.get(kind, ()):
            listener(event)

    def _after_step(self) -> None:
        self._steps += 1
        if self._dirty:
            self._check_dirty()
        elif not self._steps % SAMPLE_EVERY:
            self.sample()

    def sample(self) -> None:
        """Check what no event reports."""
        self.check_metadata()
        self.keeper.check()
        for listener in self._on_sample:
            listener()

    def _check_dirty(self) -> None:
        dirty, self._dirty = self._dirty, {}
        self.check_metadata()
        self.keeper.check()
        for (node, name), why in dirty.items():
            self.check_replica(node, self.key(name), why)

    def key(self, name: str) -> Key:
        """Return the topic and partition that a trace calls by that name."""
        key = self._keys.get(name)
        if key is None:
            topic, _, index = name.rpartition("-")
            key = self._keys[name] = (topic, int(index))
        return key

    def _leads(self, event: dict[str, Any]) -> bool:
        broker = self.cluster.running(event["b"])
        partition = broker.replicas.partitions.get(self.key(event["tp"])) if broker is not None else None
        return partition is not None and partition.replica.is_leader

    def check_metadata(self) -> None:
        """Check what the metadata has changed since the last check."""
        changed = self.cluster.refresh()
        if changed is None:
            return
        for key in changed:
            if key not in self.cluster.states:
                self._forget(key)
            elif key in self.truths and self.truths[key].suspects:
                self.keeper.heal(self.truths[key])
        for listener in self._on_metadata:
            listener(changed)

    def check_replica(self, node: int, key: Key, why: int) -> None:
        """Check one replica that has changed."""
        broker = self.cluster.running(node)
        partition = broker.replicas.partitions.get(key) if broker is not None else None
        state = self.cluster.states.get(key)
        if partition is None or state is None or state.topic_id != partition.topic_id:
            return
        if partition.failed and not why & MOVED:  # a commit in the very step in which its disk failed counts
            return
        seen = self.seen.get((node, key))
        if seen is None or seen.partition is not partition:
            seen = self.seen[node, key] = ReplicaSeen(node, partition, self._truth(key, partition))
            why |= GREW | MOVED | ROLE
        if partition.log.truncations != seen.truncations:
            seen.truncations = partition.log.truncations
            seen.cursor.back_to(partition.log.end_offset)
        self.ends[node, key] = partition.log.end_offset
        for listener in self._on_replica:
            listener(seen, why)

    # --- what is known ------------------------------------------------------------------------------------------------

    def _truth(self, key: Key, partition: Any) -> Truth:
        truth = self.truths.get(key)
        if truth is None or truth.topic_id != partition.topic_id:
            if truth is not None:
                self._forget(key)
            truth = self.truths[key] = Truth(key, partition.topic_id, partition.log.start_offset)
        return truth

    def _forget(self, key: Key) -> None:
        """Forget a partition: its topic is deleted."""
        self.truths.pop(key, None)
        self.deleted[key] = None
        for node in self.cluster.nodes:
            self.seen.pop((node, key), None)
            self.ends.pop((node, key), None)

    def check_everything(self) -> None:
        """Check every replica of every running broker, whether an event reported it or not."""
        self.check_metadata()
        for node in self.cluster.nodes:
            broker = self.cluster.running(node)
            for key in list(broker.replicas.partitions) if broker is not None else ():
                self.check_replica(node, key, GREW | MOVED | ROLE)

    async def at_end(self) -> None:
        """Let each invariant, after healing, wait for what must come, and look at everything."""
        self.check_everything()
        self.sample()
        for invariant in sorted(self.invariants, key=lambda each: not each.patient):
            await invariant.at_end()
