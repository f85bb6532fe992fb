"""D8, three consumers: as many work as there are partitions."""
from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from minikafka.client import Consumer
from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.sim.engine.watched import Told, killed

TOPIC, GROUP = "rides", "meter"
WORK = 0.25               # seconds for a record: a member does four a second, from however many partitions
WINDOW = 4.0              # seconds over which a speed is measured
NEWS = 2.0                # metadata.max.age.ms, 5 minutes by default: until then a member knows of no new partition
BACKLOG = 200             # records in each partition


class SharedWork:
    """A topic with a backlog, and members of one group that work on it, each on a machine of its own."""

    def __init__(self, cluster: Any) -> None:
        self.cluster, self.world = cluster, cluster.world
        self.done: list[tuple[float, str, int]] = []    # when, by whom, of which partition
        self._members: dict[str, tuple[Consumer, asyncio.Task[Any]]] = {}

    def fill(self, partition: int, records: int = BACKLOG) -> None:
        """Put a backlog into a partition."""
        producer = self.cluster.producer()

        async def send() -> None:
            await asyncio.gather(*[await producer.unblocked.post(TOPIC, f"ride {n}", partition=partition)
                                   for n in range(records)])

        self.cluster.run(send())
        producer.close()

    def start(self, name: str) -> None:
        """Start a new member, which begins to work."""
        with self.world.loop.entered():
            member = Consumer(self.world.client_env(name), self.world.bootstrap, GROUP, [TOPIC], name=name, max_records=1,
                              history=Told(self.world, name, None), session_timeout=6.0, heartbeat_interval=1.0)
        member.client.metadata_max_age = NEWS
        self._members[name] = member, self.world.loop.create_task(self._work(name, member))

    async def _work(self, name: str, member: Consumer) -> None:
        while True:
            for record in await member.poll(0.5):
                await self.world.sleep(WORK)
                self.done.append((self.world.now(), name, record.partition))
            member.commit_async()

    def kill(self, name: str) -> None:
        """End a member without a farewell."""
        killed(self.world, name, self._members[name][0])
        self._end(name)

    def _end(self, name: str) -> None:
        member, working = self._members.pop(name)
        working.cancel()
        self.cluster.run(member.kill())

    def speed(self) -> float:
        """Let WINDOW seconds pass; records a second that the group did in them."""
        before, begin = len(self.done), self.world.now()
        self.cluster.sleep(WINDOW)
        return (len(self.done) - before) / (self.world.now() - begin)

    def workers(self) -> set[str]:
        """Return the members that have worked on a record in the last second."""
        return {name for name, _ in self._latest()}

    def read(self) -> set[int]:
        """Return the partitions whose records were worked on in the last second."""
        return {partition for _, partition in self._latest()}

    def _latest(self) -> set[tuple[str, int]]:
        return {(name, partition) for t, name, partition in self.done if t > self.world.now() - 1.0}

    def grow(self, member: str) -> None:
        """Start a member and add a third partition; return when three members read from three partitions."""
        self.cluster.sleep(0.3)
        self.start(member)
        self.cluster.sleep(1.0)
        self.cluster.admin().create_partitions(TOPIC, 3)
        self.cluster.wait(lambda: self.cluster.leader(TOPIC, 2))
        self.fill(2)
        self.cluster.wait(lambda: len(self.workers()) == len(self.read()) == 3, timeout=60)

    def close(self) -> None:
        for name in [*self._members]:
            self._end(name)


def story(stage: Stage) -> None:
    """Start one, two and three members for two partitions, kill one of them, and then add a third partition."""
    cluster = stage.cluster(seed=8, controllers=1, config={"offsets.topic.num.partitions": 1})
    cluster.admin().create_topic(TOPIC, assignment={0: [1, 2, 3], 1: [2, 3, 1]})
    room, speed = SharedWork(cluster), {}
    for partition in (0, 1):
        room.fill(partition)
    room.start("C1")
    cluster.wait(lambda: room.workers() == {"C1"})
    speed["one"] = room.speed()
    stage.moment("ask", f"Two partitions, one consumer: {speed['one']:.0f} records a second. I start a second one, and a third.")
    cluster.sleep(0.3)
    room.start("C2")
    cluster.wait(lambda: room.workers() == {"C1", "C2"})
    speed["two"] = room.speed()
    stage.moment("two", f"Two consumers: {speed['two']:.0f} records a second, twice as many. Now the third. How many then?")
    cluster.sleep(0.3)
    room.start("C3")
    cluster.sleep(4.0)
    speed["three"] = room.speed()
    stage.moment("freeze", f"Three consumers: {speed['three']:.0f} records a second. One sits on an idle chair. Whose records "
                           "could it read?")
    stage.fact("idle", sorted({"C1", "C2", "C3"} - room.workers()))
    victim = min(room.workers())
    cluster.sleep(0.3)
    room.kill(victim)
    cluster.sleep(3.0)
    stage.moment("killed", f"{victim} was killed three seconds ago, without a farewell. Its partition stands still: its chair is "
                           "still taken.")
    cluster.wait(lambda: len(room.workers()) == 2)
    speed["taken over"] = room.speed()
    stage.moment("taken over", f"Its session has run out. The idle one has its partition: {speed['taken over']:.0f} a second.")
    room.grow(victim)
    speed["three partitions"] = room.speed()
    stage.moment("explain", f"Three partitions: {speed['three partitions']:.0f} records a second. Nobody is idle.")
    cluster.sleep(0.1)                                 # the picture of that moment has the members that still read
    room.close()
    stage.fact("speed", speed)
    stage.fact("victim", victim)


def must_see(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see: a third member adds no speed, and sits idle until a neighbour dies or a partition
    is added."""
    speed = facts["speed"]
    steps = [round(speed[name] / speed["one"], 1) for name in ("one", "two", "three", "three partitions")]
    yield MustSee(steps == [1.0, 2.0, 2.0, 3.0], "speed with 1, 2, 3 consumers, then with 3 partitions: "
                                              + ", ".join(f"{step:g}x" for step in steps))
    chairs = {name: seats(run.at(facts.t(name))) for name in ("freeze", "killed", "taken over", "explain")}
    idle = [name for name, held in chairs["freeze"].items() if not held]
    yield MustSee(idle == facts["idle"] and len(chairs["freeze"]) == 3,
                  f"three members, and {' and '.join(idle)} has no partition")
    victim = facts["victim"]
    yield MustSee(bool(chairs["killed"].get(victim)), f"three seconds after its death {victim} holds {chairs['killed'][victim]}")
    yield MustSee(victim not in chairs["taken over"] and all(chairs["taken over"].values()),
               f"then its partition goes over: {chairs['taken over']}")
    yield MustSee(round(speed["taken over"] / speed["one"], 1) == 2.0, f"{speed['taken over']:.0f} records a second again")
    yield MustSee(sorted(map(len, chairs["explain"].values())) == [1, 1, 1], f"at the end nobody is idle: {chairs['explain']}")
    blocks = [sum(p.rate for p in group.progress) for name in ("ask", "two", "freeze", "killed", "taken over", "explain")
              for group in run.at(facts.t(name)).groups[:1]]
    yield MustSee(blocks == [4, 8, 8, 4, 8, 12], f"records of the last second on the page: {blocks}")
    group = next(group for group in run.at(facts.t("explain")).groups if group.name == GROUP)
    yield MustSee(all(p.position for p in group.progress),
                  f"they have read to {', '.join(str(p.position) for p in group.progress)}")


def seats(frame: Any) -> dict[str, list[str]]:
    """Return the partitions that each member of the group holds, by member, as the picture knows them."""
    group = next(group for group in frame.groups if group.name == GROUP)
    return {member: [p.partition for p in held] for member, held in group.assignment.items()}


DEMO = Demo(
    name="D8",
    title="Three consumers",
    purpose="The partition is the unit of parallelism: a consumer more than partitions sits idle.",
    exercise=("4.6", "write the rule that shares partitions out among members"),
    question="A topic has two partitions. One consumer of a group does four records a second. What do three consumers do?",
    answers=(
        Choice("Twelve: the records are shared among three.",
               "Records are not shared. Partitions are, and each belongs to one member at a time, so that its order is kept."),
        Choice("Four: all of them read the same records.",
               "So it is with three groups. Within one group each record goes to one member."),
        Choice("Eight: two work, and one is idle.", "Right. The third waits for somebody to die, or for a third partition.",
               right=True),
        Choice("Less than eight: the third one is refused and joins again and again.",
               "It is a member like the others, with heartbeats, and with no partition."),
    ),
    notes=(
        "Ask, vote, run. The commonest wrong answers are A (shared among three) and B (all read the same).",
        "At 'two' let them say the next number before you go on.",
        "At the freeze: show the idle chair. Ask whether it costs anything. (A connection and heartbeats. It is a spare.)",
        "At 'killed': nobody reads that partition. Ask until when. (Six seconds: session.timeout.ms of this group.)",
        "At the end: a third partition. The members find it when they ask for metadata again: here after 2 s, by default after "
        "5 minutes. Ask what this does to keys. (Lab 3: some keys move, and their order breaks.)",
    ),
    scenes=(Scene("two partitions, then three", story, must_see),),
    seeds=("S3.9", "S3.24", "S1.17"),
    counters=("chairs", "speed"),
)
