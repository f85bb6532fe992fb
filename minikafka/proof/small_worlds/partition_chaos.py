"""Three brokers, one partition, and no rest: leaders change, followers fall behind, logs part, records are deleted.

    partition_chaos(seed)          the id of what fell first, within some twenty seconds or after healing; () if nothing did
    partition_moves(seed)          the same on five brokers: replicas move, too

The swarm (proof/swarm/swarm.py) reaches all of this too, among all other faults. Here nothing else happens, and the timeouts are
short, so that few seeds are needed to show that a rule of replication is off.

Owns: the writers, and the faults of the brokers.
With every rule on nothing falls. A run that breaks off is reported like an invariant.
"""

from __future__ import annotations

from random import Random

from minikafka.client.admin.admin import Admin
from minikafka.client.producer.producer import Producer
from minikafka.proof.history import History
from minikafka.proof.invariants.watch import Watch
from minikafka.protocol.errors import KafkaError
from minikafka.sim.world.world import World

ROUNDS, RATE = 6, 10.0  # records a second of each writer
TP = ("t", 0)
QUICK = {"broker.session.timeout.ms": 1000, "broker.heartbeat.interval.ms": 250, "replica.lag.time.max.ms": 800,
         "replica.fetch.max.bytes": 1}  # a follower that has fallen behind catches up a batch at a time


def partition_chaos(seed: int) -> tuple[str, ...]:
    """Run one seed: the world of many weakened rules of replication."""
    return PartitionChaos(seed).live()


def partition_moves(seed: int) -> tuple[str, ...]:
    """Run one seed with two brokers more, so that reassignments move the replicas."""
    return PartitionChaos(seed, brokers=5).live()


class PartitionChaos:
    """One seed; in every third one losing is allowed (unclean elections)."""

    def __init__(self, seed: int, brokers: int = 3) -> None:
        self.rng, self.unclean = Random(f"{seed}:unrest"), seed % 3 == 2
        self.world = World(seed, brokers=brokers, controllers=1, config=QUICK)
        self.history = History(self.world.now)
        self.watch = Watch(self.world, unclean=self.unclean, raises=True, history=self.history)
        self.admin = Admin(self.world.client_env(), self.world.bootstrap, history=self.history, timeout=5.0)
        self.stopped = False
        self.moves = [self._elect, self._isolate, self._hold, self._kill, self._lose_power, self._stop, self._delete,
                      *[self._forsake] * (3 if self.unclean else 0)]

    def live(self) -> tuple[str, ...]:
        """Run the seed; return what `partition_chaos` returns."""
        end: tuple[str, ...] = ()
        try:
            self.world.run(self._story())
        except Exception as error:  # what fell, as a rule
            end = (f"broke off: {error!r}",)
        finally:
            self.world.close()
        return tuple(violation.id for violation in self.watch.violations) or end

    async def _story(self) -> None:
        world, env = self.world, self.world.client_env()
        await world.start()
        configs = {"min.insync.replicas": "2"}
        if self.unclean:
            configs["unclean.leader.election.enable"] = "true"
        await self.admin.create_topic("t", 1, 3, configs)
        writers = [env.spawn(self._write(acks), f"acks={acks}") for acks in (-1, 1)]
        for _ in range(ROUNDS):
            await world.sleep(self.rng.uniform(0.2, 1.0))
            await self.rng.choice(self.moves)()
            await world.sleep(self.rng.uniform(0.1, 2.0))
            if self.rng.random() < 0.7:
                await world.mend()
        await world.mend()
        self.stopped = True
        for writer in writers:
            await writer
        await self.watch.at_end()

    async def _write(self, acks: int) -> None:
        """Write records one after another, whatever their fate; with acks=1 the logs diverge."""
        producer = Producer(self.world.client_env(), self.world.bootstrap, acks=acks, delivery_timeout=5.0,
                            history=self.history if acks == -1 else None, name=f"acks={acks}")
        number = 0
        while not self.stopped:
            number += 1
            try:
                await producer.post("t", f"{acks}/{number}")
            except (KafkaError, TimeoutError):
                pass
            await self.world.sleep(self.rng.expovariate(RATE))
        await producer.close(timeout=10.0)

    # --- moves ------------------------------------------------------------------------------------------------------

    def _leader(self) -> int:
        """Return the leader that the metadata names; any broker if it names none."""
        self.watch.sample()
        state = self.watch.cluster.states.get(TP)
        return state.leader if state is not None and state.leader > 0 else self.rng.choice(self.world.brokers)

    def _any(self) -> int:
        """Return a broker, the leader more often than others."""
        return self._leader() if self.rng.random() < 0.5 else self.rng.choice(self.world.brokers)

    async def _elect(self) -> None:
        try:
            await self.admin.reassign(TP, self.rng.sample(self.world.brokers, 3))
            await self.admin.elect_leaders([TP])
        except (KafkaError, TimeoutError):
            pass

    async def _isolate(self) -> None:
        """Cut a broker off from all brokers; its clients still reach it."""
        node = self._any()
        for other in self.world.nodes:
            if other != node:
                self.world.cut(node, other)

    async def _hold(self) -> None:
        self.world.hold_follower(self.rng.choice(self.world.brokers))

    async def _kill(self) -> None:
        self.world.kill(self._any())

    async def _lose_power(self) -> None:
        self.world.powerloss(self._any())

    async def _stop(self) -> None:
        """Shut a broker down in a controlled way, while an admin client, unaware of it, reorders replicas."""
        node = self._any()
        if node in self.world.alive:
            stopping = self.world.client_env().spawn(self._leave(node), "stop")
            await self.world.sleep(self.rng.uniform(0.0, 0.2))
            await self._elect()
            await stopping

    async def _leave(self, node: int) -> None:
        try:
            await self.world.stop(node)
        except ConnectionError:
            pass  # it was killed on its way

    async def _delete(self) -> None:
        try:
            await self.admin.delete_records(TP, -1)
        except (KafkaError, TimeoutError):
            pass

    async def _forsake(self) -> None:
        """Leave only a replica that has missed committed records to lead; the last leader lives, and will follow it."""
        leader = self._leader()
        left, dies = self.rng.sample([node for node in self.world.brokers if node != leader], 2)
        self.world.hold_follower(left)
        await self.world.sleep(1.2)
        self.world.kill(dies)
        for other in self.world.nodes:
            if other != leader:
                self.world.cut(leader, other)
        await self.world.sleep(1.5)
