"""The quorum with its real shell: three controllers on loopback in one event loop, with files and fsync."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from minikafka.broker.broker import Broker
from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.metadata.records import ProducerIdsRecord
from minikafka.broker.raft import api
from minikafka.broker.server.live import LiveEnv
from minikafka.broker.server.registry import INTERNAL, Context
from minikafka.protocol.apis import BeginQuorumEpochRequest, VoteRequest
from minikafka.protocol.errors import Err, KafkaError

IDS = (1, 2, 3)
OBSERVER = 9
WITHIN = 30.0  # seconds; only a bound for what hangs


class Node:
    """One controller process that can be killed and started again on its folder."""

    def __init__(self, id: int, ports: dict[int, int], folder: Path, settings: dict[str, str]) -> None:
        self.id = id
        voters = ",".join(f"{voter}@127.0.0.1:{ports[voter]}" for voter in IDS)
        self.config = BrokerConfig({
            "node.id": str(id), "process.roles": "controller", "controller.quorum.voters": voters,
            "listeners": f"INTERNAL://127.0.0.1:{ports[id]}", "inter.broker.listener.name": "INTERNAL",
            "log.dirs": str(folder / str(id)), "minikafka.cluster.id": "live-test",
            "controller.quorum.append.linger.ms": "1", **settings,
        })  # fmt: skip

    async def start(self) -> None:
        self.env = LiveEnv(asyncio.get_running_loop())
        self.broker = Broker(self.env, self.config)
        self.seen: list[int] = []
        replay = self.broker.handle_commit

        def handle_commit(records: list[Any], offset: int, epoch: int) -> Any:
            yield from replay(records, offset, epoch)
            self.seen += [r.next_producer_id for r in records if isinstance(r, ProducerIdsRecord)]

        self.broker.handle_commit = handle_commit  # type: ignore[method-assign]
        await self.broker.start()

    def kill(self) -> None:
        """As kill -9 does it: no goodbye, no flush."""
        self.broker.quorum.running = False
        self.env.cancel_tasks()
        self.broker.internal.close()
        self.broker.quorum.network.close()
        for lock in self.env.fs._locks:
            os.close(lock)  # a process that ends lets go of its folders

    @property
    def leads(self) -> bool:
        return self.broker.quorum.is_leader


class Quorum:
    """The nodes that are up."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        ports = free_ports(*IDS, OBSERVER)
        self.all = {id: Node(id, ports, folder, settings) for id in (*IDS, OBSERVER)}
        self.up: dict[int, Node] = {}

    async def start(self, *ids: int) -> None:
        for id in ids:
            await self.all[id].start()
            self.up[id] = self.all[id]

    def kill(self, id: int) -> None:
        self.up.pop(id).kill()

    async def leader(self) -> Node:
        return await until(lambda: next((node for node in self.up.values() if node.leads), None))

    async def append(self, *values: int) -> None:
        """Through whoever leads; returns when it is committed."""
        while True:
            quorum = (await self.leader()).broker.quorum
            try:
                return await quorum.committed(quorum.append([ProducerIdsRecord(1, 1, value) for value in values]))
            except KafkaError as error:
                assert error.code == Err.NOT_CONTROLLER

    async def all_saw(self, *values: int) -> None:
        await until(lambda: all(node.seen == list(values) for node in self.up.values()))

    async def stop(self) -> None:
        for node in self.up.values():
            await node.broker.stop()


def free_ports(*ids: int) -> dict[int, int]:
    sockets = {id: socket.create_server(("127.0.0.1", 0)) for id in ids}
    ports = {id: each.getsockname()[1] for id, each in sockets.items()}
    for each in sockets.values():
        each.close()
    return ports


async def until(condition: Callable[[], Any]) -> Any:
    while not (result := condition()):
        await asyncio.sleep(0.01)
    return result


def play(folder: Path, story: Callable[[Quorum], Awaitable[None]], **settings: str) -> None:
    async def run() -> None:
        quorum = Quorum(folder, {name.replace("_", "."): value for name, value in settings.items()})
        await story(quorum)
        await quorum.stop()
        for node in quorum.up.values():
            assert not node.env.crashed.done(), node.env.crashed.exception()

    asyncio.run(asyncio.wait_for(run(), WITHIN))


def test_elects_appends_survives_its_leader_and_replays(tmp_path: Path) -> None:
    """Fails if nobody is elected, a commit is lost with its leader, or a restarted node does not catch up."""

    async def story(quorum: Quorum) -> None:
        await quorum.start(*IDS)
        await quorum.append(1)
        await quorum.append(2, 3)
        await quorum.all_saw(1, 2, 3)
        old = await quorum.leader()
        epoch = old.broker.quorum.epoch
        quorum.kill(old.id)
        await quorum.append(4)
        assert (await quorum.leader()).broker.quorum.epoch > epoch
        await quorum.start(old.id)
        await quorum.append(5)
        await quorum.all_saw(1, 2, 3, 4, 5)

    play(tmp_path, story)


def test_a_clean_stop_hands_over_at_once(tmp_path: Path) -> None:
    """Fails if a stopping leader does not tell the others: they would wait for a fetch timeout."""

    async def story(quorum: Quorum) -> None:
        await quorum.start(*IDS)
        await quorum.append(1)
        old = quorum.up.pop((await quorum.leader()).id)
        successors = [node.broker.quorum.raft.state for node in quorum.up.values()]
        deadlines = {raft.node_id: raft.role.deadline for raft in successors}
        await old.broker.stop()
        new = await quorum.leader()
        assert new.env.now() < min(deadlines.values()), "somebody waited for the fetch timeout"
        assert new.broker.quorum.leader_id == new.id

    play(tmp_path, story)


def test_an_observer_follows_and_does_not_vote(tmp_path: Path) -> None:
    """Fails if a node that is no voter gets no metadata, or if its copy counts: with one voter left nothing commits."""

    async def story(quorum: Quorum) -> None:
        await quorum.start(*IDS, OBSERVER)
        await quorum.append(1)
        await quorum.all_saw(1)
        leader = await quorum.leader()
        for id in IDS:
            if id != leader.id:
                quorum.kill(id)
        offset = leader.broker.quorum.append([ProducerIdsRecord(1, 1, 2)])
        committed = leader.broker.quorum.committed(offset)
        observer = quorum.up[OBSERVER].broker.quorum
        await until(lambda: observer.log.end_offset > offset)
        with pytest.raises(KafkaError, match="controller"):
            await committed  # it resigns: no majority fetches
        assert observer.applied <= offset and quorum.up[OBSERVER].seen == [1]

    play(tmp_path, story)


def test_appends_are_committed_in_groups_and_in_order(tmp_path: Path) -> None:
    """Fails if concurrent appends get wrong offsets, are reordered, or are flushed one by one."""

    async def story(quorum: Quorum) -> None:
        await quorum.start(*IDS)
        leader = (await quorum.leader()).broker.quorum
        flushes = []
        flush = leader.log.flush
        leader.log.flush = lambda: flushes.append(1) or flush()
        offsets = [leader.append([ProducerIdsRecord(1, 1, value)]) for value in range(200)]
        await asyncio.gather(*(leader.committed(offset) for offset in offsets))
        assert offsets == list(range(offsets[0], offsets[0] + 200))
        await quorum.all_saw(*range(200))
        assert len(flushes) < 20

    play(tmp_path, story)


def test_the_election_state_on_disk_is_kafkas(tmp_path: Path) -> None:
    """Fails if quorum-state loses a field of Kafka's, or a node starts although it cannot read its vote."""

    async def story(quorum: Quorum) -> None:
        await quorum.start(*IDS)
        leader = await quorum.leader()
        path = tmp_path / str(leader.id) / "__cluster_metadata-0" / "quorum-state"
        state = json.loads(path.read_text())
        assert state == {"clusterId": "", "leaderId": leader.id, "leaderEpoch": leader.broker.quorum.epoch,
                         "votedId": leader.id, "appliedOffset": 0, "data_version": 0,
                         "currentVoters": [{"voterId": 1}, {"voterId": 2}, {"voterId": 3}]}  # fmt: skip
        quorum.kill(leader.id)
        path.write_text("{")
        with pytest.raises(ValueError, match="Expecting"):
            await quorum.start(leader.id)
        leader.broker.internal.close()

    play(tmp_path, story)


def test_a_message_of_another_cluster_or_for_another_voter_is_refused(tmp_path: Path) -> None:
    """Fails if a node of another cluster, or one that takes us for another, can win a vote (rule 40, I-RWIRE-1)."""

    async def story(quorum: Quorum) -> None:
        await quorum.start(1)
        shell, node = quorum.up[1].broker.quorum, quorum.up[1].broker.node
        ctx = Context(node, 0, 0, None, INTERNAL, "127.0.0.1", 1)
        data = VoteRequest.TopicData
        part = data.PartitionData(partition_index=0, replica_epoch=9, replica_id=2, replica_directory_id=None,
                                  voter_directory_id=None, last_offset_epoch=1, last_offset=9, pre_vote=False)
        topics = [data(topic_name="__cluster_metadata", partitions=[part])]
        strangers = ("other", 1, Err.INCONSISTENT_CLUSTER_ID), ("live-test", 2, Err.INVALID_VOTER_KEY)
        for cluster, voter, error in strangers:
            answer = await api.vote(ctx, VoteRequest(cluster_id=cluster, voter_id=voter, topics=topics), shell)
            assert answer.error_code == error
        answer = await api.begin_quorum_epoch(ctx, BeginQuorumEpochRequest(cluster_id="live-test", voter_id=1, topics=[],
                                                                           leader_endpoints=[]), shell)
        assert answer.error_code == Err.INVALID_REQUEST
        assert shell.epoch < 9

    play(tmp_path, story)
