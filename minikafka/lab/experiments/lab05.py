"""Lab 5's experiments: one consumer, one crash, and the second consumer who has to go on.

Everything happens in a simulated cluster (three brokers, simulated clients that speak the real protocol), so that a crash
can be set to the millisecond. A topic `rides` with one partition is full of records; consumer C1 of the group `meter` polls
ten at a time and works a tenth of a second on each. Time 0 is the moment of its first record.

The commit policies are the functions at the top; read them first, they are what the lab is about.

Owns: the stage, the policies, what is counted after a crash.
Invariants
  I-L5-1  nothing is counted by a rule: processed records are those whose work ended, commits are requests that C1 sent,
          the committed offset is the coordinator's, and what comes again is what C2 really gets
"""
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from minikafka.cluster.settings import PRESETS
from minikafka.history import History
from minikafka.protocol import group_records
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.clients import Admin, Consumer, Producer
from minikafka.sim.cluster import SimCluster
from minikafka.sim.watched import Told

TOPIC, GROUP = "rides", "meter"
TP = (TOPIC, 0)
BATCH = 10                    # max.poll.records
WORK = 0.1 + 1e-6             # seconds for a record; no real sleep ever ends early
INTERVAL = 5.0                # auto.commit.interval.ms, Kafka's default
Work = Callable[[Any], Awaitable[None]]


# --- six ways to commit ----------------------------------------------------------------------------------------------

async def auto(consumer: Consumer, work: Work) -> None:
    """enable.auto.commit: poll looks at the clock and, every five seconds, commits what earlier polls returned."""
    while True:
        for record in await consumer.poll():
            await work(record)


async def sync_batch(consumer: Consumer, work: Work) -> None:
    """commitSync after each batch: wait for the coordinator's answer."""
    while True:
        for record in await consumer.poll():
            await work(record)
        await consumer.commit()


async def async_batch(consumer: Consumer, work: Work) -> None:
    """commitAsync after each batch: send it, do not wait, do not try again."""
    while True:
        for record in await consumer.poll():
            await work(record)
        consumer.commit_async()


async def sync_record(consumer: Consumer, work: Work) -> None:
    """commitSync after each record: what is committed is the offset of the NEXT record to read, so plus one."""
    while True:
        for record in await consumer.poll():
            await work(record)
            await consumer.commit({TP: record.offset + 1})


async def before(consumer: Consumer, work: Work) -> None:
    """Commit first, work afterwards."""
    while True:
        records = await consumer.poll()
        await consumer.commit()
        for record in records:
            await work(record)


POLICIES = {"auto": auto, "sync per batch": sync_batch, "async per batch": async_batch,
            "sync per record": sync_record, "before the work": before}


# --- the stage -------------------------------------------------------------------------------------------------------

class Stage:
    """A simulated class cluster with `records` records in `rides-0`; `cluster.run(story)` drives it."""

    def __init__(self, records: int, seed: int = 5) -> None:
        self.cluster = SimCluster(seed=seed, config={**PRESETS["class"], "offsets.topic.num.partitions": 2})
        self.world = self.cluster.world
        self.records, self.begin = records, 0.0
        self.histories: dict[str, History] = {}
        self.cluster.run(self._fill())
        self.wire = Wire(self)

    async def _fill(self) -> None:
        """Make the topic, with everything in it before the first consumer comes."""
        env, bootstrap = self.world.client_env(), self.world.bootstrap
        admin, producer = Admin(env, bootstrap), Producer(env, bootstrap, name="taxis")
        await admin.create_topic(TOPIC, partitions=1)
        await asyncio.gather(*[await producer.post(TOPIC, f"ride {n}", partition=0) for n in range(self.records)])
        await producer.close()
        await admin.close()

    def consumer(self, name: str, **settings: Any) -> Consumer:
        """A member of the group, on a machine of its own of the same name."""
        history = self.histories[name] = Told(self.world, name, None)
        chosen = {"session_timeout": 6.0, "heartbeat_interval": 3.0, "max_records": BATCH, **settings}
        with self.world.loop.entered():
            return Consumer(self.world.client_env(name), self.world.bootstrap, GROUP, [TOPIC], history=history, name=name,
                            **chosen)

    def now(self) -> float:
        """Seconds since the first record."""
        return self.world.now() - self.begin

    def unplug(self, name: str) -> None:
        """Pull the network cable of a consumer's machine."""
        for broker in self.cluster.ids:
            self.world.cut(name, broker)

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Events of the trace about our group, their times counted from the first record."""
        return [{**e, "t": e["t"] - self.begin} for e in self.world.events if e["k"] == kind and e.get("group") == GROUP]

    def committed(self) -> int | None:
        """What the coordinator knows of the group; None for no commit."""
        commits = self.told("commit")
        return commits[-1]["offset"] if commits else None

    def commits(self, name: str) -> list[dict[str, Any]]:
        """The commits that a consumer asked for: when, which offset, how it ended ("ok", "fail", "info": nobody knows),
        and the seconds until then."""
        events = [e for e in self.histories[name] if e["f"] == "commit"]
        ends = {e["op"]: e for e in events if e["type"] != "invoke"}
        asked = [(e, ends.get(e["op"], {**e, "type": "info"})) for e in events if e["type"] == "invoke"]
        return [{"t": e["t"] - self.begin, "offset": e["offsets"][f"{TOPIC}-0"], "type": end["type"], "took": end["t"] - e["t"]}
                for e, end in asked]

    async def read_on(self, consumer: Consumer, patience: float = 20.0) -> list[int]:
        """Everything that a consumer gets from where its group stands to the end of the log: offsets."""
        got: list[int] = []
        until = self.world.now() + patience
        while (not got or got[-1] < self.records - 1) and self.world.now() < until:
            got += [record.offset for record in await consumer.poll(0.5)]
        return got


class Wire:
    """What the consumers say to the coordinator, read off the wire: one dict a request, `answer` added when it comes."""

    ASKED = ("Heartbeat", "OffsetCommit", "JoinGroup", "SyncGroup", "LeaveGroup")

    def __init__(self, stage: Stage) -> None:
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
        """Requests of one kind (and one consumer), times counted from the first record."""
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


# --- the crash -------------------------------------------------------------------------------------------------------

@dataclass
class Aftermath:
    """What was found after a crash. Offsets are those of `rides-0`."""

    policy: str
    at: float                      # seconds after the first record
    done: list[int]                # offsets whose work C1 had finished
    position: int                  # where C1 would have polled next
    committed: int | None          # by the coordinator's book; None: nothing
    requests: int                  # commits that C1 sent
    second: list[int]              # offsets that C2 got
    end: int                       # of the log
    stage: Stage = field(repr=False)
    told: dict[str, float] = field(default_factory=dict)

    @property
    def duplicates(self) -> int:
        """Records that were worked on and come again."""
        return len(set(self.done) & set(self.second))

    @property
    def lost(self) -> int:
        """Records of the log that nobody worked on, nor ever will."""
        return self.end - len(set(self.done) | set(self.second))

    @property
    def answer_ms(self) -> float:
        """Milliseconds until C1 had the answer to a commit, on average over those that were answered."""
        took = [commit["took"] for commit in self.stage.commits("C1") if commit["type"] == "ok"]
        return 1000 * sum(took) / len(took) if took else 0.0

    @property
    def row(self) -> dict[str, Any]:
        """One line of the table."""
        return {"policy": self.policy, "processed": len(self.done), "committed": self.committed,
                "duplicates": self.duplicates, "lost": self.lost, "commit requests": self.requests}


def picture(after: Aftermath, at: float | None = None) -> Any:
    """The cluster at a moment (None: when C1 dies): a still picture of `rides-0`, with the fingers of C1 and of the group."""
    from minikafka.lab.picture.run import Run
    from minikafka.lab.picture.svg import to_svg
    from minikafka.lab.picture.text import to_text
    from minikafka.lab.view.front import Still
    run = Run.of(after.stage.cluster)
    began = run.events[0]["t"]
    frame = run.at(after.stage.begin - began + (after.at - 0.001 if at is None else at), f"{TOPIC}-0")
    return Still(to_svg(frame), to_text(frame))


async def _work_until(stage: Stage, consumer: Consumer, loop: Callable[..., Any], at: float, done: list[int]) -> int:
    """Let C1's loop run until `at` seconds after its first record, and no further; returns its position then."""
    first: asyncio.Future[None] = stage.world.client_env().future()

    async def work(record: Any) -> None:
        if not first.done():
            stage.begin = stage.world.now()
            first.set_result(None)
        await stage.world.sleep(WORK)
        done.append(record.offset)

    running = stage.world.loop.create_task(loop(consumer, work))
    await first
    await stage.world.sleep(at)
    running.cancel()               # not another line of it runs
    return consumer.position(TP) or 0


def crash(policy: str = "auto", at: float = 12.48, *, unplugged: float | None = None, seed: int = 5) -> Aftermath:
    """Kill C1 (as kill -9 does) `at` seconds after its first record; C2 of the same group starts at once.

    `unplugged`: the network cable of C1's machine comes out at that second, so that a commit sent after it gets lost.
    """
    stage = Stage(records=10 * int(at) + 20, seed=seed)

    async def story() -> Aftermath:
        one = stage.consumer("C1", auto_commit=policy == "auto", auto_commit_interval=INTERVAL)
        if unplugged is not None:
            stage.world.loop.create_task(_later(stage, unplugged, lambda: stage.unplug("C1")))
        done: list[int] = []
        position = await _work_until(stage, one, POLICIES[policy], at, done)
        await one.kill()
        stage.world.tell("fault", fault="kill -9", client="C1")
        committed, requests = stage.committed(), len(stage.commits("C1"))
        two = stage.consumer("C2")
        after = Aftermath(policy, at, done, position, committed, requests, [], stage.records, stage)
        after.second = await stage.read_on(two)
        after.told["C2 reads"] = _first_poll(stage, "C2")
        await two.kill()
        return after

    return stage.cluster.run(story())


async def _later(stage: Stage, at: float, do: Callable[[], None]) -> None:
    while not stage.begin:
        await stage.world.sleep(0.01)
    await stage.world.sleep(at - stage.now())
    do()


def table(at: float = 12.48, seed: int = 5) -> list[Aftermath]:
    """The same crash under every policy, and once more under `async per batch` with its last commit lost on the way."""
    found = [crash(policy, at, seed=seed) for policy in POLICIES]
    lossy = crash("async per batch", at, unplugged=int(at) - 0.1, seed=seed)
    lossy.policy = "async, last one lost"
    return [*found[:3], lossy, *found[3:]]


# --- the hand-over ---------------------------------------------------------------------------------------------------

def timetable(after: Aftermath) -> list[tuple[float, str]]:
    """Who knew what, and when: the last heartbeat, the crash, the expulsion, the first record of C2."""
    stage = after.stage
    beat = max(r["t"] for r in stage.wire.of("Heartbeat", "C1"))
    joined = min(r["t"] for r in stage.wire.of("JoinGroup", "C2"))
    alone = next(e for e in stage.told("group") if e["generation"] > 1 and not any(m.startswith("C1") for m in e["members"]))
    return sorted([(beat, "C1: its last heartbeat"), (after.at, "C1: killed"), (joined, "C2: asks to join"),
                   (alone["t"], "coordinator: gives C1 up"), (after.told["C2 reads"], f"C2: reads offset {after.second[0]}")])


def offsets_topic(stage: Stage) -> list[dict[str, Any]]:
    """Every record of `__consumer_offsets`, decoded, read by an ordinary consumer without a group."""
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
    """One record of `__consumer_offsets`: who commits what, or what the group looks like."""
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


def farewell(finish: bool = True, at: float = 12.48, seed: int = 5) -> Aftermath:
    """C1 is not killed but asked to go: it closes its consumer, after its batch (`finish`) or in the middle of it."""
    stage = Stage(records=10 * int(at) + 20, seed=seed)

    async def story() -> Aftermath:
        one = stage.consumer("C1", auto_commit=True, auto_commit_interval=INTERVAL)
        done: list[int] = []
        position = await _work_until(stage, one, auto, at, done)
        while finish and len(done) < position:
            await stage.world.sleep(WORK)
            done.append(len(done))
        closing = stage.now()
        await one.close()
        committed, requests = stage.committed(), len(stage.commits("C1"))
        two = stage.consumer("C2")
        after = Aftermath("close()", closing, done, position, committed, requests, [], stage.records, stage)
        after.second = await stage.read_on(two)
        after.told["C2 reads"] = _first_poll(stage, "C2")
        await two.kill()
        return after

    return stage.cluster.run(story())


def _first_poll(stage: Stage, name: str) -> float:
    return next(e["t"] - stage.begin for e in stage.histories[name] if e["f"] == "poll" and e.get("records"))


# --- the pool --------------------------------------------------------------------------------------------------------

def pool(workers: int = 3, seconds: float = 0.5, at: float = 10.05, seed: int = 5) -> Aftermath:
    """C1 hands ten records a second to a pool of `workers`, each busy for `seconds` with a record; auto-commit; a crash."""
    stage = Stage(records=10 * int(at) + 20, seed=seed)

    async def story() -> Aftermath:
        one = stage.consumer("C1", auto_commit=True, auto_commit_interval=INTERVAL)
        queue: asyncio.Queue[int] = asyncio.Queue()
        done: list[int] = []

        async def worker() -> None:
            while True:
                offset = await queue.get()
                await stage.world.sleep(seconds)
                done.append(offset)

        async def reader() -> None:
            while True:
                for record in await one.poll():
                    stage.begin = stage.begin or stage.world.now()
                    queue.put_nowait(record.offset)        # "done", as far as this loop can see
                await stage.world.sleep(BATCH * WORK)

        tasks = [stage.world.loop.create_task(job) for job in (reader(), *(worker() for _ in range(workers)))]
        while not stage.begin:
            await stage.world.sleep(0.001)
        await stage.world.sleep(at - stage.now())
        for task in tasks:
            task.cancel()
        position = one.position(TP) or 0
        await one.kill()
        committed, requests = stage.committed(), len(stage.commits("C1"))
        second = await stage.read_on(stage.consumer("C2"))
        return Aftermath("a pool", at, sorted(done), position, committed, requests, second, stage.records, stage)

    return stage.cluster.run(story())


# --- too slow, and back from the dead --------------------------------------------------------------------------------

@dataclass
class Late:
    """A consumer that comes back to find its place taken."""

    left: float                    # when the group went on without C1 (seconds after its first record)
    first: list[int]               # offsets that C1 worked on
    second: list[int]              # offsets that C2 got meanwhile, in its first poll
    commit: dict[str, Any]         # C1's commit as it went over the wire, with the coordinator's answer
    error: str                     # what C1's own client said
    generation: int                # of the group by then
    committed: int | None          # by the coordinator's book, afterwards
    stage: Stage = field(repr=False)


def too_slow(work: float = 1.5, max_poll_interval: float = 10.0, seed: int = 5) -> Late:
    """C1 needs ten times `work` seconds from one poll to the next; its heartbeats go on all the while."""
    return _late(work, {"max_poll_interval": max_poll_interval, "rebalance_timeout": max_poll_interval}, None, seed)


def zombie(out: tuple[float, float] = (2.5, 12.0), work: float = 1.0, seed: int = 5) -> Late:
    """C1's cable is out between these seconds. It works on, commits its batch into the dead cable, and is plugged in again."""
    return _late(work, {}, out, seed)


def _late(work: float, settings: dict[str, Any], out: tuple[float, float] | None, seed: int) -> Late:
    stage = Stage(records=100, seed=seed)

    async def story() -> Late:
        one = stage.consumer("C1", **settings)
        batch = await one.poll(5.0)
        stage.begin = stage.world.now()
        if out:
            stage.world.loop.create_task(_later(stage, out[0], lambda: stage.unplug("C1")))
            stage.world.loop.create_task(_later(stage, out[1], stage.world.heal))
        two = stage.world.loop.create_task(_second(stage))
        await stage.world.sleep(work * len(batch))
        try:
            await one.commit()
            error = "none"
        except KafkaError as refused:
            error = refused.code.name
        generation = stage.told("group")[-1]["generation"]
        second = await two
        gone = next(e["t"] for e in stage.told("group") if not any(m.startswith("C1") for m in e["members"]))
        sent = stage.wire.of("OffsetCommit", "C1")
        return Late(gone, [r.offset for r in batch], second, sent[-1] if sent else {}, error, generation,
                    stage.committed(), stage)

    return stage.cluster.run(story())


def group_events(stage: Stage) -> list[dict[str, Any]]:
    """What the coordinator saw, for the detector: new generations and commits, in order, members by their short names."""
    formed = [{"t": round(e["t"], 3), "k": "generation", "generation": e["generation"],
               "members": [m.split("-")[0] for m in e["members"]]} for e in stage.told("group") if e["state"] == "Stable"]
    asked = [{"t": round(r["t"], 3), "k": "commit", "member": r["who"], "generation": r["generation"], "offset": r["offset"]}
             for r in stage.wire.of("OffsetCommit")]
    return sorted(formed + asked, key=lambda event: event["t"])


async def _second(stage: Stage) -> list[int]:
    """C2 is started three seconds after C1's first record, waits for its turn, and keeps what its first poll brings."""
    await stage.world.sleep(3.0)
    two = stage.consumer("C2")
    while not (records := await two.poll(0.5)):
        pass
    return [record.offset for record in records]


# --- two commits in the wrong order ----------------------------------------------------------------------------------

def reordered(careful: bool = False, at: float = 12.48, out: tuple[float, float] = (10.95, 11.8), seed: int = 5) -> Aftermath:
    """Commits without waiting, and an error callback that tries a failed one again after 0.7 s.

    C1's cable is out while the commit of 110 is under way. `careful`: try again only if no newer commit was begun.
    """
    stage = Stage(records=10 * int(at) + 20, seed=seed)
    newest = 0

    async def stubborn(consumer: Consumer, offset: int) -> None:
        nonlocal newest
        newest = max(newest, offset)
        try:
            await consumer.commit({TP: offset}, timeout=0.5)
        except KafkaError:                                 # the callback's part
            await stage.world.sleep(0.7)
            if not careful or offset == newest:
                await consumer.commit({TP: offset})

    async def loop(consumer: Consumer, work: Work) -> None:
        while True:
            for record in await consumer.poll():
                await work(record)
            stage.world.loop.create_task(stubborn(consumer, record.offset + 1))

    async def story() -> Aftermath:
        one = stage.consumer("C1")
        stage.world.loop.create_task(_later(stage, out[0], lambda: stage.unplug("C1")))
        stage.world.loop.create_task(_later(stage, out[1], stage.world.heal))
        done: list[int] = []
        position = await _work_until(stage, one, loop, at, done)
        await one.kill()
        committed, requests = stage.committed(), len(stage.commits("C1"))
        second = await stage.read_on(stage.consumer("C2"))
        name = "careful" if careful else "stubborn"
        return Aftermath(name, at, done, position, committed, requests, second, stage.records, stage)

    return stage.cluster.run(story())
