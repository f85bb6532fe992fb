"""Exercise 4.6 inside: which member reads which partitions. The group's leader calls it whenever somebody comes or goes.

The adversary's knowledge: partitions often cannot be shared evenly (night A), somebody dies (B), there may be more members than
partitions (C). What nobody reads stands still, what two read is worked on twice, and who has too many is late.
"""
from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import Any

from minikafka.client.consumer import assignors
from minikafka.lab.inside.group import LONG, Again, GroupNight, NightMember, Refused
from minikafka.lab.inside.night import Plot
from minikafka.lab.inside.student import Student
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.values import shown

EACH = 3     # records that are written to each partition at a time


class Unread(Refused):
    """An error: records that nobody reads."""

    word = "stood still"


class Uneven(Refused):
    """An error: a member reads two partitions more than another one."""

    word = "uneven"


def the_shares(said: Any) -> dict[str, list[tuple[str, int]]]:
    if not isinstance(said, Mapping):
        raise TypeError
    try:
        return {member: [(str(topic), int(p)) for topic, p in share] for member, share in said.items()}
    except (TypeError, ValueError):
        raise AssertionError(f"your function returned {shown(said)}; a list of pairs (topic, number) is wanted for each member"
                             ) from None


def in_place(student: Student) -> dict[str, Any]:
    """Return the table of assignors whose "range" asks the student's function, with the members by their short names."""
    def share_out(members: list[assignors.JoinedMember], partitions: dict[str, list[int]]) -> assignors.Assignment:
        ids = {member.id.split("-")[0]: member.id for member in members}
        counts = {topic: len(numbers) for topic, numbers in partitions.items()}
        said = student.read(the_shares, "a dictionary of lists", {}, list(ids), counts)
        for stranger in said.keys() - ids.keys():
            student.refuse(f"you give partitions to {stranger!r}, and the members are {list(ids)}")
        return {ids[name]: share for name, share in said.items() if name in ids}
    return {**assignors.ASSIGNORS, "range": share_out}


class ShareNight(GroupNight):
    """A night in which members share partitions. `owners`: who worked on which record; `open`: what nobody has worked on."""

    moves, kept = 3, "0 lost, each worked on by one member"

    def has(self, **topics: int) -> None:
        """Create topics, each with its number of partitions."""
        self.topics, self.partitions = list(topics), [(topic, p) for topic, count in topics.items() for p in range(count)]
        self.cluster.admin().create_topics(topics, replicas=1)
        self.owners: dict[tuple[str, int, int], str] = {}
        self.open: set[tuple[str, int, int]] = set()

    def joins(self, name: str = "") -> NightMember:
        self.members.append(Reading(self, name or f"C{len(self.members) + 1}"))
        return self.members[-1]

    def settles(self) -> None:
        """Let the living members share the partitions; then every partition gets records, and all of them are worked on, each by
        one. Raises Unread, Again and Uneven."""
        alive = [member for member in self.members if member.alive]
        self.until_members(*alive)
        for (topic, partition), n in product(self.partitions, range(EACH)):
            self.open.add((topic, partition, self._producer.send(topic, str(n), partition=partition)[1]))
        self.acknowledged += len(self.open)
        done = dict.fromkeys((member.name for member in alive), self.cluster.now())
        reads = {member.name: len({key[:2] for key in self.open if key in self.owners and self.owners[key] == member.name})
                 for member in self._read(alive, done)}
        self.open = set()
        most, least = max(reads, key=reads.__getitem__), min(reads, key=reads.__getitem__)
        if reads[most] > reads[least] + 1:
            topic, partition, _ = [*self.owners][-1]
            raise Uneven(f"{most} reads {counted(reads[most], 'partition')}, {least} reads {reads[least]}: "
                         f"{least} has nothing to do, and {EACH * (reads[most] - reads[least])} records still wait for {most}",
                         done[least], f"{topic}-{partition}")

    def _read(self, members: list[NightMember], done: dict[str, float]) -> list[NightMember]:
        """Let members work until nothing is left, and note in `done` when each got its last record. Raises Unread and Again."""
        since, working = self.cluster.now(), members
        while working or self.open - self.owners.keys():
            working = [member for member in members if member.polls()]
            done.update((member.name, self.cluster.now()) for member in working)
            self.passes(0.001)      # the picture stands between two rounds
            if self.cluster.now() > since + LONG:
                tp = "{}-{}".format(*min(self.open - self.owners.keys()))
                raise Unread(f"Nobody reads {tp}: for {LONG:g} s its records have waited", tp=tp)
        for member in members:
            self.during(member.consumer.unblocked.commit())
        return members

    def ends(self) -> None:
        """Let one more come, and all share once more."""
        self.joins()
        self.settles()

    def anything(self) -> None:
        """Let somebody come or die, drawn by chance."""
        if not self.members:
            self.has(**{topic: self.random.randint(1, 4) for topic in "abc"[:self.random.randint(1, 3)]})
        alive = [member for member in self.members if member.alive]
        if len(alive) > 1 and self.random.random() < 0.5:
            self.random.choice(alive).burns()
        else:
            self.joins()
        self.settles()


class Reading(NightMember):
    """A member that works on one record whenever it polls."""

    night: ShareNight

    def polls(self) -> bool:
        found = self.night.during(self.consumer.unblocked.poll(0.2, 1))
        for record in found or ():
            key = record.topic, record.partition, record.offset
            other = self.night.owners.setdefault(key, self.name)
            if other != self.name:
                tp = f"{record.topic}-{record.partition}"
                raise Again(f"{other} has worked on record {record.offset} of {tp}, and {self.name} works on it, too", tp=tp)
        return bool(found)


def two_topics_of_three(night: ShareNight) -> None:
    night.has(rides=3, fares=3)
    night.joins()
    night.joins()
    night.settles()
    night.ends()


def one_dies(night: ShareNight) -> None:
    night.has(rides=4, fares=3)
    for _ in range(3):
        night.joins()
    night.settles()
    night.members[1].burns()
    night.settles()


def more_members(night: ShareNight) -> None:
    night.has(rides=2)
    for _ in range(3):
        night.joins()
    night.settles()
    night.members[0].burns()
    night.settles()


plot = partial(Plot, replicas=(1,), kind=ShareNight)
NIGHTS = (plot("two members, two topics of three partitions; then a third member comes", two_topics_of_three),
          plot("three members, seven partitions; one member dies", one_dies),
          plot("three members, two partitions; one member dies", more_members))
