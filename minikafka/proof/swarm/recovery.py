"""The operator, when the faults are over: starts the nodes that ended, and repairs what no broker repairs itself.

    1  heal links and disks, start every broker except one that is gone for good
    2  where all replicas that may lead are gone for good: an unclean election (its losses are permitted); again after
       step 3, because a broker that comes back from a check as after a crash may not lead any more (KIP-966)
    3  brokers on whose disks bits have flipped, one after the other: stopped once others can take over, their logs
       checked from the first byte as after a crash (recovery ends a log before the first bad batch), started again;
       and nodes with flipped bits in their metadata: damaged files are taken away while they are down, and they fetch
       the content again from the others
    4  when no client moves partitions any more: partitions that the dead broker leaves with too few replicas, or that
       wait to be moved to it, are moved to living ones

Owns: the order of these steps.
Invariants: no broker is stopped to mend its disk while one that could take over is still catching up.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from minikafka.broker.raft.shell.metadata_log import FOLDER
from minikafka.broker.storage.shell.log_dir import CLEAN, RECOVERY_POINTS
from minikafka.client.admin.admin import Admin
from minikafka.proof.history import History
from minikafka.proof.invariants.watch import Watch
from minikafka.proof.swarm import damage
from minikafka.protocol.errors import KafkaError
from minikafka.sim.world.disk import Mount
from minikafka.sim.world.world import World

PATIENCE_S = 20.0
Key = tuple[str, int]


class Operator:
    """The operator of one world; `gone`: the broker that cannot be started again."""

    def __init__(self, world: World, watch: Watch, history: History, gone: Collection[int]) -> None:
        self.world, self.watch, self.history, self.gone = world, watch, history, gone

    async def mend(self) -> list[str]:
        """Do the first three steps; return what could not be done."""
        await self.world.mend(gone=self.gone)
        for node in self.watch.keeper.spoiled:
            await self._renew_metadata(node)
        if not self.gone and not self.watch.keeper.flipped:
            return []
        if self.gone:
            await self._elect()
        left = []
        for node in self.world.brokers:
            if damage.damaged(self.world, node):
                await self._check_disk(node)
            found = damage.damaged(self.world, node)
            left += [f"{topic}-{index} of broker {node} is still damaged" for topic, index in found]
            if not found:
                self.watch.keeper.flipped.pop(node, None)
        if self.gone and self._leaderless():
            await self._elect()
        return left

    def _admin(self) -> Admin:
        return Admin(self.world.client_env(), self.world.bootstrap, history=self.history, name="operator")

    # --- a broker is gone for good -----------------------------------------------------------------------------------

    async def _elect(self) -> None:
        admin = self._admin()
        await self._wait(self._known_as_gone)
        await self._wait(lambda: not self._leaderless())
        for key in self._leaderless():
            state = self.watch.cluster.states[key]
            if {*state.isr, *state.elr} <= {*self.gone}:
                self.watch.keeper.pardoned[key] = None
                try:
                    await admin.elect_leader(key, unclean=True)
                except KafkaError:
                    pass  # a leader is there by now, or the topic is gone; otherwise I15 fails
        await admin.close()

    def _known_as_gone(self) -> bool:
        """Return whether the controller has fenced them; until then they lead what they led."""
        self.watch.check_metadata()
        image = self.watch.cluster.image
        return image is not None and all(image.brokers[n].fenced for n in self.gone if n in image.brokers)

    def _leaderless(self) -> list[Key]:
        self.watch.check_metadata()
        return [key for key, state in self.watch.cluster.states.items() if state.leader < 0]

    async def tidy(self) -> None:
        """Do the fourth step."""
        if not self.gone:
            return
        admin = self._admin()
        self.watch.check_metadata()
        living = [node for node in self.world.brokers if node not in self.gone]
        for key, state in list(self.watch.cluster.states.items()):
            too_few = len(set(state.replicas) - {*self.gone}) < 2 and len(state.replicas) > 1
            if {*state.replicas} & {*self.gone} and (too_few or state.adding or state.removing):
                try:
                    await admin.reassign(key, living)
                except KafkaError:
                    pass  # the topic is gone
        await admin.close()

    # --- damaged disks -----------------------------------------------------------------------------------------------

    async def _check_disk(self, node: int) -> None:
        await self._wait(lambda: self._dispensable(node))
        self.world.tell("fault", fault="check_disk", node=node)
        await self.world.stop(node)
        host = self.world.hosts[node]
        for name in (CLEAN, RECOVERY_POINTS):
            Mount(host.disk, self.world.loop).remove(f"{host.config.log_dir}/{name}")
        await self.world.restart(node)
        await self._wait(lambda: all(node in state.isr for state in self.watch.cluster.states.values()
                                     if node in state.replicas and state.leader >= 0))  # fmt: skip

    async def _renew_metadata(self, node: int) -> None:
        """Take the damaged metadata files away; the ballot stays: it must not be lost."""
        host = self.world.hosts[node]
        folder = f"{host.config.metadata_dir}/{FOLDER}"
        if host.broker is not None and not damage.metadata_damaged(host.disk, folder):
            return
        if host.broker is not None:
            await self._wait(lambda: self._dispensable(node))
            try:
                await self.world.stop(node)
            except ConnectionError:
                pass  # it has read the damage and ended
        await self._wait(self._all_caught_up)
        self.world.tell("fault", fault="renew_metadata", node=node)
        for path in damage.metadata_files(host.disk, folder):
            Mount(host.disk, self.world.loop).remove(path)
        await self.world.restart(node)

    def _all_caught_up(self) -> bool:
        """Return whether every running voter knows all that is committed."""
        logs = [b.quorum.raft.state.high_watermark for n in self.world.alive if (b := self.world.broker(n)) is not None]
        return len({*logs}) == 1

    def _dispensable(self, node: int) -> bool:
        """Return whether another replica is in the ISR of every partition that it leads."""
        self.watch.check_metadata()
        return all(state.leader != node or len(state.isr) > 1 for state in self.watch.cluster.states.values())

    async def _wait(self, condition: Any) -> None:
        """Wait for a condition, but not forever: after that long it will not come true."""
        try:
            await self.world.until(condition, PATIENCE_S)
        except TimeoutError:
            pass
