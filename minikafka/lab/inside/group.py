"""A night of a group: members read the topic, work on its records one after the other, and commit.

    first = night.joins()
    first.works(10)
    arrives = first.sends_commit(10)     # it is on its way
    first.burns()
    second = night.joins()
    second.works(25)                     # it has to begin where the group has committed
    second.commits()
    arrives()

Owns: the members, and where the next one has to begin.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minikafka.client.client import GROUP as OF_A_GROUP
from minikafka.client.consumer.commits import COMMIT, Committed
from minikafka.lab.inside.night import TOPIC, AdversaryNight, Refused
from minikafka.protocol.errors import Err, KafkaError

GROUP, PLACE = "meter", (TOPIC, 0)
LONG = 30.0      # seconds within which a member must have its turn


class Skipped(Refused):
    """An error: records lie behind the group that nobody has worked on."""

    word = "skipped"


class Again(Refused):
    """An error: the group works again on what it had committed."""

    word = "worked on twice"


class GroupNight(AdversaryNight):
    """A night with a group. `place`: where the next member has to begin, which is what the present one has committed."""

    moves, kept = 4, "0 lost, and every member began where the group had committed"
    topics = [TOPIC]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.members: list[NightMember] = []
        self.place = 0
        self.late = ""      # which commit arrived late, in a sentence
        self.post = self.cluster.consumer(group=GROUP, name="post").unblocked   # takes what is on its way to the coordinator

    def joins(self, name: str = "") -> NightMember:
        """Start one more machine, which is a member as soon as it polls."""
        self.members.append(NightMember(self, name or f"C{len(self.members) + 1}"))
        return self.members[-1]

    def until_members(self, *members: NightMember) -> None:
        """Let these poll until they, and nobody else, are the group."""
        def settled() -> bool:
            now = self._now()
            return now["state"] == "Stable" and len(now["members"]) == len(members) and all(
                member.consumer.membership.stable for member in members)
        self.until(settled, *members)

    def until_out(self, member: NightMember) -> None:
        """Wait until a member that burnt is out. Nobody polls meanwhile, so that the next generation does not begin."""
        self.until(lambda: not any(name.startswith(f"{member.name}-") for name in self._now()["members"]))

    def until(self, done: Callable[[], bool], *members: NightMember) -> None:
        """Let members poll until something is so. Raises Refused."""
        since = self.cluster.now()
        while not done():
            if self.cluster.now() > since + LONG:
                raise Refused(f"For {LONG:g} s {' and '.join(one.name for one in members) or 'somebody'} had no turn")
            if not members:
                self.passes(0.1)
            for member in members:
                member.polls()

    def ends(self) -> None:
        """Let everybody burn, and a last member begin."""
        for member in self.members:
            member.burns()
        super().ends()
        self.joins().works(1)

    def anything(self) -> None:
        """Make some moves, drawn by chance. What a dead member has sent arrives when another one has begun."""
        now = self.members[-1] if self.members and self.members[-1].alive else self.joins()
        self.writes(self.random.randint(1, 5))
        now.works(self.random.randrange(4))
        self.random.choice((now.commits, lambda: now.commits(self.place), lambda: None))()
        if self.random.random() < 0.4:
            arrives = now.sends_commit(self.random.randrange(60))
            now.burns()
            self.joins().works()
            arrives()

    def _now(self) -> dict[str, Any]:
        events = [event for event in self.cluster.trace.events("group") if event["group"] == GROUP]
        return events[-1] if events else {"state": "Empty", "members": []}


class NightMember:
    """A consumer on a machine of its own. `at`: the offset that it works on next; None while it has no partition."""

    def __init__(self, night: GroupNight, name: str) -> None:
        self.night, self.name, self.alive = night, name, True
        self.at: int | None = None
        self.consumer = night.cluster.watch(night.cluster.consumer(topics=night.topics, group=GROUP, name=name), name)
        self._hand: list[Any] = []      # what it got, and has not worked on

    def works(self, count: int = 0) -> None:
        """Wait for the partition, and work on its next `count` records, fewer if no more come. Raises Refused."""
        self.night.until(lambda: self.at is not None, self)
        while len(self._hand) < count and self.polls():
            pass
        for record in self._hand[:count]:
            self.at = record.offset + 1
        del self._hand[:count]

    def polls(self) -> bool:
        """Poll, so that the group goes on; return whether there was a record. Raises Skipped and Again if the member has the
        partition now, and does not begin where it has to."""
        found = self.night.during(self.consumer.unblocked.poll(0.5))
        self._hand += found
        if PLACE not in self.consumer.assignment:
            self.at, self._hand = None, []
        elif self.at is None and (begin := found[0].offset if found else self.consumer.position(PLACE)) is not None:
            self.at = begin
            self._judge()
        return bool(found)

    def _judge(self) -> None:
        at, place = self.at, self.night.place
        assert at is not None
        begins = f"The group had committed {place}.{self.night.late} Then {self.name} got the partition, and began at {at}"
        got = [event["t"] for event in self.night.cluster.trace.events("assigned") if event["client"] == self.name]
        if at > place:
            raise Skipped(f"{begins}: {place} to {at - 1} are skipped", got[-1])
        if at < place:
            raise Again(f"{begins}: {at} to {place - 1} come again", got[-1])

    def commits(self, offset: int | None = None) -> None:
        """Commit where it is. Raises Refused."""
        offset = self.at if offset is None else offset
        try:
            self.night.during(self.consumer.unblocked.commit({PLACE: offset}))
        except KafkaError as error:
            raise Refused(f"{self.name} has the partition, and its commit of {offset} was refused with {error.code.name}"
                          ) from None
        self.night.place = offset

    def sends_commit(self, offset: int) -> Callable[[], None]:
        """Send a commit that is long on its way; return a function that lets it arrive."""
        member, night = self.consumer.unblocked, self.night
        request = member.commits._request({PLACE: Committed(offset, -1)})

        def arrives() -> None:
            night.late = f" A late commit of {self.name}, {offset}, arrived."
            night.during(night.post.client.ask_coordinator(OF_A_GROUP, GROUP, lambda: request, COMMIT, lambda _: Err.NONE))
        return arrives

    def burns(self) -> None:
        if self.alive:
            self.alive = False
            self.night.during(self.consumer.unblocked.kill())
