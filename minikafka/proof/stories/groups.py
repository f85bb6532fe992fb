"""A15, and the duties of a group coordinator towards the members whose offsets and assignments it keeps."""

from __future__ import annotations

from kafka.protocol.consumer import FetchRequest

from minikafka.proof.stories.telling.client import Stuck
from minikafka.proof.stories.telling.ending import OFFSETS, CoordinatedStory
from minikafka.proof.stories.telling.member import SESSION, StoryMember
from minikafka.proof.stories.telling.reader import UNCOMMITTED
from minikafka.proof.stories.telling.script import script


async def eight_records(story: CoordinatedStory) -> None:
    """Make a group that broker 1 coordinates (2 is next), and a topic t led by broker 3, with the records r0 to r7."""
    await story.topic("t", 3, 2, 1)
    await story.coordinator(OFFSETS, 1, 2)
    story.step("t has eight records; broker 1 coordinates the group")
    for number in range(8):
        await story.send(f"r{number}", to=3)


async def stand_still(story: CoordinatedStory, follower: int) -> None:
    """Let a follower replicate nothing, from when the fetch that waits at the leader has come back."""
    story.world.hold_follower(follower)
    await story.world.sleep(1.0)


async def zombie(story: CoordinatedStory, joins: str, is_stopped: str, instance: str | None = None) -> None:
    """Stop the member z, which has committed 2; m gets its partition and commits 6; then z wakes up and commits 4."""
    await eight_records(story)
    story.step(joins)
    z, m = StoryMember(story, "z", home=1, instance=instance), StoryMember(story, "m", home=1, instance=instance)
    await z.enter()
    await z.commit(2)

    story.step(is_stopped)
    z.stop()
    await m.enter()
    await m.commit(6)

    story.step("z goes on where it was, and commits 4")
    await z.commit(4)
    await m.committed()
    m.stop()
    await story.judge("t", isolation=UNCOMMITTED)


@script("A15 zombie consumer", rules="57, 60", stage=CoordinatedStory)
async def a15_zombie_consumer(story: CoordinatedStory) -> None:
    """A member is stopped for longer than its session. The group goes on without it: its partition has another owner,
    which reads on and commits. Then the member wakes up with its old state, and commits where it was. If that
    commit were taken, the group would be set back, and its next owner would read every record in between again.
    """
    await zombie(story, "z joins, reads, and commits 2",
                 "z is stopped; m joins, and gets the partition when z's session is over")


@script("A15 zombie consumer, a static member", rules="59, 60", stage=CoordinatedStory)
async def a15_zombie_static_member(story: CoordinatedStory) -> None:
    """A member with a name of its own (group.instance.id) is stopped, and another process is started with that name. It
    gets the partition at once, without a rebalance, in the same generation. When the first process wakes up, its
    generation is right and its name too; only the member id differs.
    """
    await zombie(story, "z joins as instance i, and commits 2",
                 "z is stopped; m starts as the same instance i, reads on and commits 6", instance="i")


@script("Commits that last", rules="60, 62", stage=CoordinatedStory)
async def r60_commits_last(story: CoordinatedStory) -> None:
    """An offset that a coordinator has acknowledged must still be committed with the next coordinator. So a coordinator
    answers when the record is replicated, and the next one reads the partition before it answers anything.
    """
    await eight_records(story)
    story.step("m joins and commits 2")
    m = StoryMember(story, "m", home=1)
    await m.enter()
    await m.commit(2)

    story.step("the followers of the coordinator stand still; m commits 6; the coordinator dies")
    await stand_still(story, 2)
    await m.commit(6, timeout=2.0)
    m.stop()
    story.world.kill(1)
    story.world.heal()

    story.step("m reads the group's offset from the next coordinator")
    m.home = 2
    await m.committed()
    await story.judge("t", isolation=UNCOMMITTED)


@script("One owner a generation", rules="58", stage=CoordinatedStory)
async def r58_one_owner(story: CoordinatedStory) -> None:
    """The leader's assignment is handed out when it is in the log of the group, replicated. If a coordinator handed it
    out first, and died, members would have a generation that its successor cannot read. The successor counts on
    from the generation before, and gives the same partition to another member in a generation of the same number.
    """
    await eight_records(story)
    story.step("a joins, alone")
    a, b = StoryMember(story, "a", home=1), StoryMember(story, "b", home=1)
    await a.enter()

    story.step("the coordinator's followers stand still; a joins again, for a new assignment; the coordinator dies")
    a.stop()
    await stand_still(story, 2)
    await a.join()
    await a.sync([a.id], timeout=2.0)
    story.world.kill(1)
    story.world.heal()

    story.step("b finds the next coordinator; a sends nothing")
    b.home = 2
    await story.world.sleep(SESSION)
    await b.enter()
    b.stop()
    await story.judge("t", isolation=UNCOMMITTED)


@script("An assignment for its generation", rules="58", stage=CoordinatedStory)
async def r58_former_assignment(story: CoordinatedStory) -> None:
    """An assignment is in the log some time after it was sent, and the group may have moved on: it counts for the
    generation that it was made for, and for no other. A coordinator that did not check again would hand the old
    assignment out in the new generation, which the log does not have. Its successor then begins a generation of the
    same number.
    """
    await eight_records(story)
    a, b = StoryMember(story, "a", home=1), StoryMember(story, "b", home=1)
    story.step("the coordinator's follower stands still; a joins, and gives the partition to itself")
    await stand_still(story, 2)
    await a.join()
    first = story.env.spawn(a.sync([a.id]), "first sync of a")
    await story.until(lambda: story.end(1, OFFSETS) > story.high_watermark(1, OFFSETS))

    story.step("b joins, so a joins again")
    joining = story.env.spawn(b.join(), "join of b")
    await first
    await a.join()
    await joining
    waiting = story.env.spawn(b.sync([]), "sync of b")

    story.step("the follower goes on, and has the assignment of generation 1; a gives the partition to b")
    story.let_follow(2)
    await story.until(lambda: story.high_watermark(1, OFFSETS) == story.end(1, OFFSETS))
    await a.sync([b.id])
    await waiting

    story.step("the coordinator dies; b finds the next coordinator; a sends nothing")
    a.stop()
    b.stop()
    story.world.kill(1)
    b.home = 2
    await story.world.sleep(SESSION)
    await b.enter()
    b.stop()
    await story.judge("t", isolation=UNCOMMITTED)


@script("An assignment of a former generation", rules="58", stage=CoordinatedStory)
async def r58_late_assignment(story: CoordinatedStory) -> None:
    """A leader's assignment that comes late is for members of a generation that is over, and is refused. If the
    coordinator took it for the present generation, this one would have two assignments. Members get the first of them
    in the group's log, but the next coordinator finds the last there.
    """
    await eight_records(story)
    a, b = StoryMember(story, "a", home=1), StoryMember(story, "b", home=1)
    stuck = await _joined_while_an_assignment_is_stuck(story, a, b)

    story.step("the first assignment arrives; the coordinator's follower copies it, but its next fetch is slow")
    fetches = story.world.hold(lambda m: m.api is FetchRequest and (m.src, m.dst) == (2, 1))
    await story.until(lambda: fetches.frames)
    stuck.release()
    await story.world.sleep(1.0)
    fetches.release_one()
    await story.world.sleep(1.0)

    story.step("a gives the partition to b; the follower's fetch arrives")
    before = story.end(1, OFFSETS)
    giving = story.env.spawn(a.sync([b.id]), "second sync of a")
    await story.until(lambda: story.end(1, OFFSETS) > before)
    fetches.release()
    await giving
    await story.until(lambda: story.end(2, OFFSETS) == story.end(1, OFFSETS))

    story.step("the coordinator dies before b has sent its sync; b finds the next coordinator")
    a.stop()
    story.world.kill(1)
    b.home = 2
    await story.until(lambda: story.leads(2, OFFSETS))
    await story.world.sleep(1.0)
    await b.sync([])
    b.stop()
    await story.judge("t", isolation=UNCOMMITTED)


async def _joined_while_an_assignment_is_stuck(story: CoordinatedStory, a: StoryMember, b: StoryMember) -> Stuck:
    """Let b join the group of a, whose assignment does not arrive; return what holds the assignment."""
    story.step("a joins; its assignment, the partition for itself, is stuck on its way")
    await a.join()
    stuck = await a.hang(1)
    story.env.spawn(a.sync([a.id]), "first sync of a")
    await story.world.sleep(2.0)

    story.step("b joins; a gives up waiting, and joins again over a new connection")
    joining = story.env.spawn(b.join(), "join of b")
    await story.world.sleep(1.0)
    a.reconnect()
    await a.join()
    await joining
    return stuck
