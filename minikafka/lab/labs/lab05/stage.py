"""Lab 5's stage: a simulated cluster, a topic full of rides, and a list of the consumers' requests to the coordinator.

Time 0 is the moment of Consumer 1's first record.

Owns: the cluster, the consumers' histories, the requests that were overheard.
Invariants
  nothing is counted by a rule: the committed offset is the coordinator's, commits are requests that a consumer sent
"""
from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from minikafka.broker.groups import records as group_records
from minikafka.client import Admin, Consumer, Producer
from minikafka.cluster.settings import PRESETS
from minikafka.proof.history import History
from minikafka.protocol.errors import Err
from minikafka.sim.engine.cluster import SimCluster
from minikafka.sim.engine.watched import Told

TOPIC, GROUP = "rides", "meter"
TP = (TOPIC, 0)
BATCH = 10                    # max.poll.records


class ClassStage:
    """A simulated class cluster (or the one that is given) with `records` records in `rides-0`; `cluster.run(story)` drives
    it."""

    def __init__(self, records: int, cluster: SimCluster | None = None) -> None:
        self.cluster = cluster or SimCluster(seed=5, config={**PRESETS["class"], "offsets.topic.num.partitions": 2})
        self.world = self.cluster.world
        self.records, self.begin = records, 0.0
        self.histories: dict[str, History] = {}
        self.cluster.run(self._fill())
        self.wire = GroupWire(self)

    async def _fill(self) -> None:
        """Make the topic, with everything in it before the first consumer comes."""
        env, bootstrap = self.world.client_env(), self.world.bootstrap
        admin, producer = Admin(env, bootstrap), Producer(env, bootstrap, name="taxis")
        await admin.create_topic(TOPIC, partitions=1)
        await asyncio.gather(*[await producer.post(TOPIC, f"ride {n}", partition=0) for n in range(self.records)])
        await producer.close()
        await admin.close()

    def consumer(self, name: str, **settings: Any) -> Consumer:
        """Return a new member of the group, on a machine of its own with the same name."""
        history = self.histories[name] = Told(self.world, name, None)
        chosen = {"session_timeout": 6.0, "heartbeat_interval": 3.0, "max_records": BATCH, **settings}
        with self.world.loop.entered():
            return Consumer(self.world.client_env(name), self.world.bootstrap, GROUP, [TOPIC], history=history, name=name,
                            **chosen)

    def now(self) -> float:
        """Return the seconds since the first record."""
        return self.world.now() - self.begin

    def unplug(self, name: str) -> None:
        """Pull the network cable of a consumer's machine."""
        for broker in self.cluster.ids:
            self.world.cut(name, broker)

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Return the trace's events of a kind about our group, with times in seconds since the first record."""
        return [{**e, "t": e["t"] - self.begin} for e in self.world.events if e["k"] == kind and e.get("group") == GROUP]

    def committed(self) -> int | None:
        """Return the offset that the coordinator has for the group; None for no commit."""
        commits = self.told("commit")
        return commits[-1]["offset"] if commits else None

    def commits(self, name: str) -> list[dict[str, Any]]:
        """Return the commits that a consumer asked for: when, which offset, how each ended ("ok", "fail", or "info":
        nobody knows), and the seconds until then."""
        events = [e for e in self.histories[name] if e["f"] == "commit"]
        ends = {e["op"]: e for e in events if e["type"] != "invoke"}
        asked = [(e, ends.get(e["op"], {**e, "type": "info"})) for e in events if e["type"] == "invoke"]
        return [{"t": e["t"] - self.begin, "offset": e["offsets"][f"{TOPIC}-0"], "type": end["type"], "took": end["t"] - e["t"]}
                for e, end in asked]

    async def read_on(self, consumer: Consumer, patience: float = 20.0) -> list[int]:
        """Return the offsets that a consumer gets from the group's committed offset to the end of the log."""
        got: list[int] = []
        until = self.world.now() + patience
        while (not got or got[-1] < self.records - 1) and self.world.now() < until:
            got += [record.offset for record in await consumer.poll(0.5)]
        return got

    async def at(self, seconds: float, do: Callable[[], None]) -> None:
        """Do something `seconds` after the first record (a task)."""
        while not self.begin:
            await self.world.sleep(0.01)
        await self.world.sleep(seconds - self.now())
        do()


class GroupWire:
    """The requests of the consumers to the coordinator, read off the wire: one dict a request, `answer` added when it comes."""

    ASKED = ("Heartbeat", "OffsetCommit", "JoinGroup", "SyncGroup", "LeaveGroup")

    def __init__(self, stage: ClassStage) -> None:
        self.stage = stage
        self.requests: list[dict[str, Any]] = []
        self._open: dict[tuple[Any, ...], dict[str, Any]] = {}
        stage.world.tap(self._look)

    def _look(self, message: Any) -> None:
        what = message.api.__name__.removesuffix("Request") if message.api else ""
        if what not in self.ASKED:
            return
        key = (message.dst if message.is_response else message.src, message.api_key, message.correlation)
        if not message.is_response:
            self._open[key] = asked = {"t": self.stage.world.now(), "who": message.src, "what": what, **_said(message.body)}
            self.requests.append(asked)
        elif key in self._open:
            self._open.pop(key).update(answer=_error(message.body))

    def of(self, what: str, who: str | None = None) -> list[dict[str, Any]]:
        """Return the requests of one kind (and of one consumer, if named), with times in seconds since the first record."""
        begin = self.stage.begin
        return [{**r, "t": r["t"] - begin} for r in self.requests if r["what"] == what and who in (None, r["who"])]


def _said(body: Any) -> dict[str, Any]:
    generation = getattr(body, "generation_id_or_member_epoch", getattr(body, "generation_id", None))
    said = {"member": getattr(body, "member_id", None), "generation": generation}
    if hasattr(body, "generation_id_or_member_epoch"):
        said["offset"] = body.topics[0].partitions[0].committed_offset
    return said


def _error(body: Any) -> str:
    code = body.error_code if hasattr(body, "error_code") else body.topics[0].partitions[0].error_code
    return Err(code).name


# --- what the cluster has written down ---------------------------------------------------------------------------------

def offsets_topic(stage: ClassStage) -> list[dict[str, Any]]:
    """Return every record of `__consumer_offsets`, decoded, as an ordinary consumer without a group reads them."""
    async def story() -> list[dict[str, Any]]:
        env = stage.world.client_env()
        reader = Consumer(env, stage.world.bootstrap, name="auditor")
        reader.assign([("__consumer_offsets", 0), ("__consumer_offsets", 1)])
        found = []
        while records := await reader.poll(1.0):
            found += [(r.partition, r.offset, r.key, r.value) for r in records]
        await reader.close()
        return [decode(*record) for record in found]

    return stage.cluster.run(story())


def decode(partition: int, offset: int, key: bytes, value: bytes | None) -> dict[str, Any]:
    """Decode one record of `__consumer_offsets`: a commit (group, partition, offset), or the state of a group."""
    where, kind = {"partition": partition, "offset": offset}, group_records.read_key(key)
    if isinstance(kind, group_records.OffsetKey):
        said = group_records.read_offset(value).offset if value else "(forgotten)"
        return {**where, "key": f"{kind.group}, {kind.topic}-{kind.partition}", "value": f"committed offset {said}"}
    if isinstance(kind, group_records.GroupKey):
        if value is None:
            return {**where, "key": kind.group, "value": "(forgotten)"}
        group = group_records.read_group(value)
        members = ", ".join(member.member_id.split("-")[0] for member in group.members) or "nobody"
        return {**where, "key": kind.group, "value": f"generation {group.generation}: {members}"}
    return {**where, "key": "(another kind)", "value": ""}


def group_events(stage: ClassStage) -> list[dict[str, Any]]:
    """Return what the coordinator saw, for the detector: new generations and commits, in order, members by their short
    names."""
    formed = [{"t": round(e["t"], 3), "k": "generation", "generation": e["generation"],
               "members": [m.split("-")[0] for m in e["members"]]} for e in stage.told("group") if e["state"] == "Stable"]
    asked = [{"t": round(r["t"], 3), "k": "commit", "member": r["who"], "generation": r["generation"], "offset": r["offset"]}
             for r in stage.wire.of("OffsetCommit")]
    return sorted(formed + asked, key=lambda event: event["t"])
