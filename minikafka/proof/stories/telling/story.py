"""The means of a script about a whole cluster: the world, and one client that names the broker of each request.

Under each step the narrator (narrate.py) adds what the brokers did: which one leads or truncates, how the ISR changes; then the
client's answer, and the invariant that fell. Events of the same time are written broker by broker, because their order among
brokers changes with every change of the code. A story has a controller of its own, 101, so that any broker may die.

Owns: the client's requests and their history, the watch over the invariants.
Invariants: what a story has of a broker comes from its trace, its replicas or its disk, never from the script.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from typing import Any

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
)
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest

from minikafka.broker.server.peer import Peer
from minikafka.client.history import History
from minikafka.log.batch import batches, build, frames, records
from minikafka.proof.history import AnomalyVerdict, check
from minikafka.proof.invariants.watch import Watch
from minikafka.proof.stories.telling import narrate, tables
from minikafka.proof.stories.telling.teller import Teller
from minikafka.protocol.errors import Err
from minikafka.sim.world.hold import Hold, Message
from minikafka.sim.world.host import host_name
from minikafka.sim.world.world import World

SECTOR = 512  # bytes
TIMES = re.compile(r" at [0-9]+\.[0-9]+ s\b| \(t=[0-9.]+\)|,? t=[0-9.]+")  # no times are written
PATIENCE = 60.0  # seconds of virtual time that a story waits for anything
CONTROLLER = 101
CLIENT, VERDICTS = 1000, 1001  # written after the brokers
# Answers after which it is unknown whether the record is, or will be, in the log.
UNKNOWN_OUTCOME = (Err.REQUEST_TIMED_OUT, Err.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Err.UNKNOWN_SERVER_ERROR,
                   Err.NOT_LEADER_OR_FOLLOWER)


class Story(Teller):
    """One telling of a script; `world` are arguments of World."""

    def __init__(self, seed: int, unclean: bool, world: dict[str, Any]) -> None:
        super().__init__()
        self.narrated: tuple[str, ...] = narrate.KINDS
        self.world = World(seed, **{"controllers": 1} | world)
        self.history = History(self.world.now)
        self.watch = Watch(self.world, unclean=unclean, history=self.history)
        self.env = self.world.client_env()
        self._verdicts: list[str] = []
        self._reads = 0
        self._sentences: list[tuple[int, str]] = []  # (broker, sentence), not written yet
        self._known: dict[str, None] = {}  # violations that are not written again
        self._shown = 0  # violations that have been written
        self._peers: dict[tuple[int, int], Peer] = {}
        self._topics: dict[str, None] = {}
        self.world.listeners.append(self._narrate)
        self.world.after_step.append(self._add_violations)

    # --- telling --------------------------------------------------------------------------------------------------

    def show(self, tp: str = "t-0") -> None:
        """Write the table of the replicas of `tp`, as it is at this moment."""
        self._add_sentences()
        self.lines += [f"  {line}" for line in tables.replicas(self.world, tp)]

    def _narrate(self, event: dict[str, Any]) -> None:
        text = narrate.sentence(event, self.narrated, self._topics)
        if text is not None:
            self._sentences.append((event["b"], text))

    def _add_violations(self) -> None:
        for violation in self.watch.violations[self._shown :]:
            if violation.id in self._known:
                continue
            self._sentences.append((VERDICTS, f"VIOLATION {violation.id}: {TIMES.sub('', violation.text)}"))
        self._shown = len(self.watch.violations)

    def _add_sentences(self) -> None:
        sentences, self._sentences = self._sentences, []
        for _, sentence in sorted(sentences, key=lambda one: one[0]):
            super().note(sentence)

    @property
    def text(self) -> str:
        self._add_sentences()
        return super().text

    def step(self, text: str) -> None:
        self._add_sentences()
        super().step(text)

    def note(self, text: str) -> None:
        self._add_sentences()
        super().note(text)

    def broke_off(self, error: BaseException) -> None:
        self._add_sentences()
        super().broke_off(error)

    async def show_at_rest(self, rest: float = 0.6) -> None:
        """Write the table when all requests in flight have come to rest."""
        await self.world.sleep(rest)
        self.show()

    # --- running --------------------------------------------------------------------------------------------------

    def run(self, tell: Callable[[Any], Awaitable[None]]) -> None:
        async def whole() -> None:
            await self.world.start()
            await tell(self)
            await self.finish()
        self.world.run(whole())

    def close(self) -> None:
        self.world.close()

    async def until(self, condition: Callable[[], object], timeout: float = PATIENCE) -> None:
        """Wait until the condition holds."""
        await self.world.until(condition, timeout)

    def at_once(self, condition: Callable[[], object], action: Callable[[], object]) -> None:
        """Do it in the very step in which the condition becomes true, before anything else can happen."""
        def check() -> None:
            if condition():
                self.world.after_step.remove(check)
                action()
        self.world.after_step.append(check)

    def written_out(self, node: int) -> None:
        """Let the operating system of that machine write everything to its disk."""
        disk = self.world.hosts[node].disk
        for path in disk.files():
            disk.names[path].sync()  # type: ignore[union-attr]
        for folder in list(disk.pending):
            disk.sync_names(folder)

    def power_loss(self, node: int) -> None:
        """Cut the power of that machine, when nothing that was not synced had arrived on its disk."""
        disk = self.world.hosts[node].disk
        disk.pending.clear()
        for inode in disk.names.values():
            if inode is not None:
                inode.content[:] = inode.durable
                inode.pending.clear()
        self.world.powerloss(node)

    def power_loss_but_for_a_sector(self, node: int, offset: int) -> None:
        """Cut the power of that machine, when all had arrived on its disk except one sector of the batch at `offset`."""
        self.written_out(node)
        self.world.powerloss(node)
        disk = self.world.hosts[node].disk
        inode = disk.names[next(path for path in disk.files("/data/t-0") if path.endswith(".log"))]
        assert inode is not None
        at, header = next((at, h) for at, h in frames(bytes(inode.content)) if h.base_offset == offset)
        assert header.size > 2 * SECTOR, "a batch that small has no sector to itself"
        for content in (inode.content, inode.durable):
            content[at + SECTOR : at + 2 * SECTOR] = bytes(SECTOR)

    def cut_off(self, node: int, *others: int) -> None:
        """Let nothing arrive between a node and each of these others."""
        for other in others:
            self.world.cut(node, other)

    def let_follow(self, node: int) -> None:
        """End `hold_follower` of this broker only."""
        self.world.hosts[node].hold_follower(False, 0.0)

    def join(self, a: int | str, b: int | str) -> None:
        """End the cut between these two only; bytes in flight arrive."""
        self.world.net.heal(host_name(a), host_name(b))
        self.world.net.heal(host_name(b), host_name(a))

    def violations(self) -> tuple[str, ...]:
        found = [v.id for v in self.watch.violations] + self._verdicts
        return tuple(dict.fromkeys(found))

    # --- looking --------------------------------------------------------------------------------------------------

    def partition(self, node: int, topic: str = "t", index: int = 0) -> Any:
        """Return the Partition of a running broker, or None."""
        broker = self.world.broker(node)
        return None if broker is None else broker.replicas.partitions.get((topic, index))

    def end(self, node: int, topic: str = "t") -> int:
        """Return the log end offset on that broker, -1 if it does not run or has nothing of the topic."""
        partition = self.partition(node, topic)
        return -1 if partition is None else partition.log.end_offset

    def high_watermark(self, node: int, topic: str = "t") -> int:
        partition = self.partition(node, topic)
        return -1 if partition is None else partition.high_watermark

    def leads(self, node: int, topic: str = "t") -> bool:
        """Return whether that broker believes to lead."""
        partition = self.partition(node, topic)
        return partition is not None and partition.is_leader

    def follows(self, node: int, leader: int, topic: str = "t") -> bool:
        partition = self.partition(node, topic)
        return partition is not None and partition.replica.leader == leader

    def has_alive(self, node: int, other: int) -> bool:
        """Return whether the image of one broker has the other one, unfenced."""
        broker = self.world.broker(node)
        found = broker.image.brokers.get(other) if broker is not None else None
        return found is not None and found.active

    def registration(self) -> Any:
        """Return the partition in the controller's metadata."""
        controller = self.world.broker(CONTROLLER)
        assert controller is not None
        return controller.image.partition("t", 0)

    def committed_isr(self) -> tuple[int, ...]:
        """Return the ISR in the controller's metadata."""
        return tuple(sorted(self.registration().isr))

    def show_controller(self) -> None:
        """Write the partition's state in the controller's metadata, in one line."""
        state = self.registration()
        leader = f"leader {state.leader}" if state.leader >= 0 else "no leader"
        isr, elr = (" ".join(map(str, sorted(some))) or "none" for some in (state.isr, state.elr))
        self.note(f"controller: {leader}, epoch {state.leader_epoch}, ISR {isr}, ELR {elr}")

    # --- the client -----------------------------------------------------------------------------------------------

    def peer(self, node: int, lane: int = 0) -> Peer:
        """Return a connection to that broker, and to no other; each `lane` is one of its own."""
        if (node, lane) not in self._peers:
            host, port = dict(zip(self.world.brokers, self.world.bootstrap))[node]
            self._peers[node, lane] = Peer(self.env, node, host, port, f"client-{lane}")
        return self._peers[node, lane]

    async def topic(self, name: str, *replicas: int, **config: object) -> None:
        """Create a topic of one partition on these brokers, the first of which leads; return when each living replica knows."""
        kind = CreateTopicsRequest.CreatableTopic
        configs = [kind.CreatableTopicConfig(name=key.replace("_", "."), value=str(value)) for key, value in config.items()]
        assigned = [kind.CreatableReplicaAssignment(partition_index=0, broker_ids=list(replicas))]
        request = CreateTopicsRequest(timeout_ms=9000, topics=[kind(name=name, num_partitions=-1, replication_factor=-1,
                                                                    assignments=assigned, configs=configs)])
        answer = await self.peer(replicas[0]).request(request, 7, PATIENCE)
        assert answer.topics[0].error_code == 0, Err(answer.topics[0].error_code).name
        await self.until(lambda: self.leads(replicas[0], name)
                         and all(self.follows(node, replicas[0], name) for node in replicas[1:] if node in self.world.alive))
        self._topics[name] = None

    async def delete(self, name: str, by: int) -> None:
        """Delete a topic; return when every running broker that had it knows."""
        named = DeleteTopicsRequest.DeleteTopicState(name=name)
        answer = await self.peer(by).request(DeleteTopicsRequest(topics=[named], timeout_ms=9000), 6, PATIENCE)
        assert answer.responses[0].error_code == 0, Err(answer.responses[0].error_code).name
        await self.until(lambda: all(self.partition(node, name) is None for node in self.world.brokers))

    async def prefer(self, *replicas: int, by: int) -> None:
        """Put the replicas into another order, and have the first of them elected, as an operator does."""
        await self.order(*replicas, by=by)
        await self.elect(by=by)

    async def order(self, *replicas: int, by: int) -> None:
        """Put the replicas into another order; no leader changes."""
        row = AlterPartitionReassignmentsRequest.ReassignableTopic
        moved = row(name="t", partitions=[row.ReassignablePartition(partition_index=0, replicas=list(replicas))])
        request = AlterPartitionReassignmentsRequest(timeout_ms=9000, topics=[moved], allow_replication_factor_change=True)
        answer = await self.peer(by).request(request, 1, PATIENCE)
        assert answer.responses[0].partitions[0].error_code == 0

    async def elect(self, by: int) -> None:
        """Have the first of the replicas elected."""
        wanted = [ElectLeadersRequest.TopicPartitions(topic="t", partitions=[0])]
        request = ElectLeadersRequest(election_type=0, topic_partitions=wanted, timeout_ms=9000)
        await self.peer(by).request(request, 2, PATIENCE)

    def hold_metadata(self, node: int) -> Hold:
        """Hold the controller's news from that broker; the first thing it misses can be let through alone."""
        controller = self.world.broker(CONTROLLER)
        assert controller is not None
        known = controller.quorum.applied

        def is_news(m: Message) -> bool:
            mine = m.api is FetchRequest and m.is_response and (m.src, m.dst) == (CONTROLLER, node)
            return mine and m.body.responses[0].partitions[0].high_watermark > known
        return self.world.hold(is_news)

    def send(self, value: str, to: int, acks: int = -1, topic: str = "t", timeout: float = 5.0,
             key: bytes | None = None) -> asyncio.Task[str]:
        """Produce one record to that broker; the task's result is what the client learns, which is also written."""
        return self.env.spawn(self._send(value, to, acks, topic, timeout, key), f"send {value}")

    async def _send(self, value: str, to: int, acks: int, topic: str, timeout: float, key: bytes | None) -> str:
        operation = self.history.invoke(f"producer of {value}", "send", topic=topic, partition=0, value=value, acks=acks,
                                    idempotent=False)
        data = build([(key, value.encode())], timestamp_ms=self.env.wall_ms())
        named = ProduceRequest.TopicProduceData
        request = ProduceRequest(acks=acks, timeout_ms=int(timeout * 1000), topic_data=[
            named(name=topic, partition_data=[named.PartitionProduceData(index=0, records=data)])])
        try:
            answer = await self.peer(to, operation["op"]).request(request, 9, timeout + 1)  # a connection of its own
        except (OSError, TimeoutError):
            self.history.info(operation)
            self._sentences.append((CLIENT, f"client: no answer for {value}"))
            return "no answer"
        found = answer.responses[0].partition_responses[0]
        error = Err(found.error_code)
        if error is Err.NONE:
            # acks=1 does not promise that a record stays: to the checker its fate is unknown.
            (self.history.ok if acks == -1 else self.history.info)(operation, partition=0, offset=found.base_offset)
            only = " (acks=1)" if acks == 1 else ""
            self._sentences.append((CLIENT, f"client: {value} acknowledged at offset {found.base_offset}{only}"))
        else:
            (self.history.info if error in UNKNOWN_OUTCOME else self.history.fail)(operation)
            self._sentences.append((CLIENT, f"client: {value} {error.name}"))
        return error.name

    async def read(self, node: int, topic: str = "t", start: int = 0) -> list[tuple[int, str]]:
        """Return (offset, value) of what a consumer gets from that broker in one fetch; raises ValueError for an error."""
        part = FetchRequest.FetchTopic.FetchPartition(partition=0, fetch_offset=start, partition_max_bytes=1 << 20)
        request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20,
                               topics=[FetchRequest.FetchTopic(topic=topic, partitions=[part])])
        self._reads += 1
        data = (await self.peer(node, -self._reads).request(request, 12, PATIENCE)).responses[0].partitions[0]
        if data.error_code:
            raise ValueError(Err(data.error_code).name)
        found = [r for _, raw in batches(bytes(data.records or b"")) for r in records(raw)]
        return [(r.offset, bytes(r.value or b"").decode()) for r in found]

    def settled(self) -> bool:
        """Return whether every replica is in the ISR, and has and knows all that its leader has committed."""
        state = self.registration()
        replicas = sorted(state.replicas)
        ends = {(self.end(node), self.high_watermark(node)) for node in replicas}
        leader = self.partition(state.leader) if state.leader >= 0 else None
        known = sorted(leader.replica.isr.committed) if leader is not None else []
        return replicas == sorted(state.isr) == known and len(ends) == 1 and len(set(*ends)) == 1

    # --- the end --------------------------------------------------------------------------------------------------

    async def finish(self) -> None:
        """Heal everything, read the partition back, and write the checkers' verdicts."""
        self.step("everything heals; a client reads the partition from its start")
        self.narrated = tuple(kind for kind in self.narrated if kind != "isr")  # the order of joining changes with the code
        self._known = {violation.id: None for violation in self.watch.violations}
        await self.world.mend()
        with contextlib.suppress(TimeoutError):     # with a rule off it may never come; the watch reports what is missing
            await self.until(self.settled)
        await self.watch.at_end()
        self.show()
        leader = next(node for node in self.world.brokers if self.leads(node))
        operation = self.history.invoke("reader", "final", topic="t", partition=0, isolation="read_uncommitted")
        found = await self.read(leader)
        self.history.ok(operation, start=0, records=[["t", 0, offset, value] for offset, value in found])
        self.note("client: reads " + (" ".join(value for _, value in found) or "nothing"))
        self.add_verdicts(lambda verdict: verdict.count)

    def add_verdicts(self, shown: Callable[[AnomalyVerdict], object]) -> None:
        """Write the verdicts on the history that are false, each with what is `shown` of it."""
        for verdict in check(self.history).verdicts:
            if verdict.valid is False:
                self._verdicts.append(verdict.name)
                self.note(f"VERDICT {verdict.name}: {shown(verdict)}")
