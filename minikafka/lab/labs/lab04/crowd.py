"""Members of groups in a simulated cluster: programs that join, work, leave or die, each on a machine of its own.

    crowd = Crowd(cluster, "rides")
    crowd.start("A1", group="A")                   # begins to read; it commits automatically
    crowd.kill("A1"); crowd.leave("A2")            # kill -9; close()
    crowd.read                                     # all that was handed out, in order

Owns: the members, and what each of them was handed. Times are seconds of the simulator's clock.
Invariants
  `read` has a row for each record that a member's poll returned, at the moment when its work on it ended
"""
from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, NamedTuple

from minikafka.client import Consumer
from minikafka.sim.engine.watched import Told, killed


class Handed(NamedTuple):
    """One record in the hands of one member."""

    t: float
    group: str
    member: str
    partition: int
    offset: int
    key: str | None
    value: str


class Crowd:
    """Members that read one topic."""

    def __init__(self, cluster: Any, topic: str) -> None:
        self.cluster, self.world, self.topic = cluster, cluster.world, topic
        self.read: list[Handed] = []
        self.members: dict[str, Consumer] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, name: str, group: str, takes: float = 0.0, batch_takes: float = 0.0, **settings: Any) -> None:
        """Start a new member of `group`, which works `takes` seconds on each record, and `batch_takes` seconds on all
        records of a poll together. `settings` are the simulated consumer's."""
        chosen = {"session_timeout": 6.0, "heartbeat_interval": 1.0, "max_records": 10, "auto_commit": True,
                  "auto_commit_interval": 0.2, **settings}
        with self.world.loop.entered():
            member = Consumer(self.world.client_env(name), self.world.bootstrap, group, [self.topic], name=name,
                              history=Told(self.world, name, None), **chosen)
        self.members[name] = member
        self._tasks[name] = self.world.loop.create_task(self._work(name, group, member, takes, batch_takes))

    async def _work(self, name: str, group: str, member: Consumer, takes: float, batch_takes: float) -> None:
        while True:
            for record in (records := await member.poll(0.5)):
                if takes:
                    await self.world.sleep(takes)
                key = record.key.decode() if record.key is not None else None
                self.read.append(Handed(self.world.now(), group, name, record.partition, record.offset, key,
                                        record.value.decode()))
            if records and batch_takes:
                await self.world.sleep(batch_takes)

    def kill(self, name: str) -> None:
        """End a member without a farewell: the group learns of it when its session has run out."""
        self._tasks.pop(name).cancel()
        killed(self.world, name, member := self.members.pop(name))
        self.cluster.run(member.kill())

    def leave(self, name: str) -> None:
        """End a member politely: it says goodbye to its group."""
        self._tasks.pop(name).cancel()
        self.cluster.run(self.members.pop(name).close())

    def assignment(self, group: str) -> dict[str, list[int]]:
        """Return the partitions that each member of the group has now."""
        return {name: sorted(partition for _, partition in member.assignment)
                for name, member in sorted(self.members.items()) if member.group == group}

    def settled(self, group: str, partitions: int) -> bool:
        """Return whether each partition has an owner among the group's members, and no two members share one."""
        held = Counter(p for each in self.assignment(group).values() for p in each)
        return held == Counter(range(partitions)) and all(
            member.membership is not None and member.membership.stable
            for member in self.members.values() if member.group == group)

    def settle(self, group: str, partitions: int, timeout: float = 60.0) -> dict[str, list[int]]:
        """Wait until the group is settled, and return its assignment."""
        self.cluster.wait(lambda: self.settled(group, partitions), timeout)
        return self.assignment(group)
