"""What a script of a whole cluster does and sees: the world, and one client that says which broker it talks to.

Under each step the narrator (narrate.py) adds what the brokers did: who leads, who truncates, how the ISR changes.

Owns: the client's requests and their history, the watch over the invariants.
Invariants: I-STORY-3 what a story tells of a broker comes from its trace, its replicas or its disk, never from the script.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from kafka.protocol.admin import CreateTopicsRequest
from kafka.protocol.producer import ProduceRequest

from minikafka.broker.peer import Peer
from minikafka.log.batch import build
from minikafka.protocol.errors import Err
from minikafka.sim.scripts import narrate, tables
from minikafka.sim.scripts.teller import Teller

PATIENCE = 60.0  # seconds of virtual time that a story waits for anything


class Story(Teller):
    """One telling. `seed` and the arguments in `world` make the World."""

    def __init__(self, seed: int, unclean: bool, world: dict[str, Any]) -> None:
        from minikafka.history import History
        from minikafka.sim.invariants import Watch
        from minikafka.sim.world import World
        super().__init__()
        self.narrated: tuple[str, ...] = narrate.KINDS
        self.world = World(seed, **world)
        self.watch = Watch(self.world, unclean=unclean)
        self.history = History()
        self.env = self.world.client_env("clients")
        self._verdicts: list[str] = []
        self._peers: dict[tuple[int, int], Peer] = {}
        self._sent = 0
        self._topics: dict[str, None] = {}
        self.world.listeners.append(self._narrate)

    # --- telling --------------------------------------------------------------------------------------------------

    def show(self, tp: str) -> None:
        """The table of the replicas of `tp` ("t-0")."""
        self.lines += [f"  {line}" for line in tables.replicas(self.world, tp)]

    def _narrate(self, event: dict[str, Any]) -> None:
        told = narrate.sentence(event, self.narrated, self._topics)
        if told is not None:
            self.say(told)

    # --- running --------------------------------------------------------------------------------------------------

    def run(self, tell: Callable[[Story], Awaitable[None]]) -> None:
        async def whole() -> None:
            await self.world.start()
            await tell(self)
        self.world.run(whole())

    async def until(self, condition: Callable[[], object], timeout: float = PATIENCE) -> None:
        await self.world.until(condition, timeout)

    def violations(self) -> tuple[str, ...]:
        found = [v.id for v in self.watch.violations] + self._verdicts
        return tuple(dict.fromkeys(found))

    # --- the client -----------------------------------------------------------------------------------------------

    def peer(self, node: int, lane: int = 0) -> Peer:
        """A connection to that broker, and to no other; each `lane` is one of its own."""
        if (node, lane) not in self._peers:
            host, port = dict(zip(self.world.nodes, self.world.bootstrap))[node]
            self._peers[node, lane] = Peer(self.env, node, host, port, f"client-{lane}")
        return self._peers[node, lane]

    async def topic(self, name: str, replicas: Sequence[int], **config: object) -> None:
        """A topic of one partition on these brokers, the first of which leads; every replica knows its role."""
        kind = CreateTopicsRequest.CreatableTopic
        configs = [kind.CreatableTopicConfig(name=key.replace("_", "."), value=str(value)) for key, value in config.items()]
        assigned = [kind.CreatableReplicaAssignment(partition_index=0, broker_ids=list(replicas))]
        self._topics[name] = None
        request = CreateTopicsRequest(timeout_ms=9000, validate_only=False, topics=[
            kind(name=name, num_partitions=-1, replication_factor=-1, assignments=assigned, configs=configs)])
        answer = await self.peer(replicas[0]).request(request, 7, PATIENCE)
        assert answer.topics[0].error_code == 0, Err(answer.topics[0].error_code).name
        await self.until(lambda: all(self.knows(node, name, replicas[0]) for node in replicas))

    def knows(self, node: int, topic: str, leader: int) -> bool:
        partition = self.partition(node, topic)
        return partition is not None and partition.core.leader == leader

    def partition(self, node: int, topic: str, index: int = 0) -> Any:
        """The Partition object of a running broker, or None."""
        broker = self.world.broker(node)
        return None if broker is None else broker.replicas.partitions.get((topic, index))

    def send(self, value: str, to: int, acks: int = -1, topic: str = "t", timeout: float = 5.0,
             lane: int = 0) -> asyncio.Task[str]:
        """Produce one record to that broker; the task's result is what the client learns, which is also told."""
        process = f"producer-{lane or ''}{to}"
        self._sent += 1
        self.history.record(process, "invoke", "send", topic=topic, partition=0, value=value, acks=acks)
        return self.env.spawn(self._send(process, value, to, acks, topic, timeout, lane), f"send {value}")

    async def _send(self, process: str, value: str, to: int, acks: int, topic: str, timeout: float, lane: int) -> str:
        data = build([(None, value.encode())], timestamp_ms=self.env.wall_ms())
        named = ProduceRequest.TopicProduceData
        request = ProduceRequest(transactional_id=None, acks=acks, timeout_ms=int(timeout * 1000), topic_data=[
            named(name=topic, partition_data=[named.PartitionProduceData(index=0, records=data)])])
        fields = {"topic": topic, "partition": 0, "value": value, "acks": acks}
        try:
            answer = await self.peer(to, lane).request(request, 9, timeout + 1)
        except (OSError, TimeoutError):
            self.history.record(process, "info", "send", **fields)
            self.say(f"client: no answer for {value}")
            return "no answer"
        found = answer.responses[0].partition_responses[0]
        error = Err(found.error_code)
        if error is Err.NONE:
            self.history.record(process, "ok", "send", offset=found.base_offset, **fields)
            self.say(f"client: {value} acknowledged at offset {found.base_offset}")
        else:
            self.history.record(process, "info" if error in UNKNOWN_OUTCOME else "fail", "send", **fields)
            self.say(f"client: {value} {error.name}")
        return error.name

    # --- the end --------------------------------------------------------------------------------------------------

    async def finish(self, topic: str = "t") -> None:
        """Heal everything, read the partition back, and say what the checkers think of it all."""
        self.step("everything heals; a client reads the partition from its start")
        await self.world.mend()
        await self.watch.at_end()


UNKNOWN_OUTCOME = (Err.REQUEST_TIMED_OUT, Err.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Err.UNKNOWN_SERVER_ERROR)
