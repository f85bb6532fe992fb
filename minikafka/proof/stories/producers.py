"""A17, and the numbers by which a partition knows its producers' retries."""

from __future__ import annotations

from minikafka.proof.stories.telling.ending import CoordinatedStory
from minikafka.proof.stories.telling.reader import UNCOMMITTED
from minikafka.proof.stories.telling.script import script
from minikafka.proof.stories.telling.writer import StoryWriter


async def idempotent_producer(story: CoordinatedStory) -> StoryWriter:
    """Make a topic led by broker 1, and return a producer that has written m0 to it."""
    await story.topic("t", 1, 2, 3)
    story.step("e, an idempotent producer, writes m0 to broker 1, the leader of t")
    producer = await StoryWriter(story, "e").init()
    await producer.send("m0", "t", to=1)
    return producer


@script("A17 producer state after failover", rules="23, 42-46", stage=CoordinatedStory)
async def a17_producer_state(story: CoordinatedStory) -> None:
    """A producer that receives no answer sends its record again, to the present leader. The record must be in the log once,
    and the answer must carry its offset. So every replica keeps the leader's state of all producers: a follower takes it
    from the batches that it copies, a broker that starts from its log, a broker that truncates from the rest of its log.
    """
    e = await idempotent_producer(story)
    await truncated(story, e)
    await copied(story, e)
    await restarted(story, e)
    await story.judge("t", isolation=UNCOMMITTED)


async def truncated(story: CoordinatedStory, e: StoryWriter) -> None:
    """Let broker 1 lose m1, and send m1 to it again."""
    story.step("m1 reaches broker 1 while its followers stand still, and broker 1 dies")
    story.world.hold_follower(2)
    story.world.hold_follower(3)
    story.at_once(lambda: story.end(1) == 2, lambda: story.world.kill(1))
    await e.send("m1", "t", to=1)
    story.world.heal()
    await story.until(lambda: story.leads(2))

    story.step("another producer writes x to the new leader")
    f = await StoryWriter(story, "f", node=2).init()
    await f.send("x", "t", to=2)

    story.step("broker 1 is back, truncates and copies; broker 2 dies")
    story.world.boot(1)
    await story.until(lambda: story.committed_isr() == (1, 2, 3))
    story.show("t-0")
    story.world.kill(2)
    await story.until(lambda: story.leads(1))

    story.step("e sends m1 again, to broker 1 that has it no more, then m2")
    await e.send("m1", "t", to=1)
    await e.send("m2", "t", to=1)


async def copied(story: CoordinatedStory, e: StoryWriter) -> None:
    """Let a follower have m3, and send m3 to it again as the leader."""
    story.step("m3 reaches all replicas, and broker 1 dies before it answers")
    story.world.boot(2)
    await story.until(lambda: story.committed_isr() == (1, 2, 3))
    before = story.end(1)
    story.at_once(lambda: min(story.end(2), story.end(3)) > before, lambda: story.world.kill(1))
    await e.send("m3", "t", to=1)
    await story.until(lambda: story.leads(2))
    story.step("e sends m3 again, to broker 2 that has it as a follower")
    await e.send("m3", "t", to=2)


async def restarted(story: CoordinatedStory, e: StoryWriter) -> None:
    """Kill the brokers that have m4; they read it from their logs when they start again."""
    story.step("m4 reaches brokers 2 and 3, and both die")
    before = story.end(2)
    story.at_once(lambda: min(story.end(2), story.end(3)) > before, lambda: (story.world.kill(2), story.world.kill(3)))
    await e.send("m4", "t", to=2)
    story.step("all start again; e sends m4 again")
    await story.world.mend()
    await e.insist("m4", "t")


@script("Sequence numbers", rules="43, 44", stage=CoordinatedStory)
async def r44_sequences(story: CoordinatedStory) -> None:
    """Requests on two connections overtake each other. A leader takes only the batch that follows the last one of its
    producer, so records stand in the log in the order in which they were sent. A batch that it has already, it
    recognizes.
    """
    e = await idempotent_producer(story)

    story.step("m1 is stuck on its way; m2 comes first, over a new connection")
    stuck = await e.hang(1)
    e.send("m1", "t", to=1)
    await story.world.sleep(2.0)
    e.reconnect()
    await e.send("m2", "t", to=1)

    story.step("now m1 arrives; no client waits for its answer")
    stuck.release()
    await story.world.sleep(1.0)

    story.step("e sends both again")
    await e.send("m1", "t", to=1)
    await e.send("m2", "t", to=1)
    story.show("t-0")
    await story.judge("t", isolation=UNCOMMITTED)


@script("A former epoch", rules="45", stage=CoordinatedStory)
async def r45_former_epoch(story: CoordinatedStory) -> None:
    """A producer that does not know whether its batches were written takes the next epoch, numbers anew, and sends them
    again (KIP-360). From then on no batch of the former epoch may get into the log. A late one would be there a second
    time, and no sequence number shows that, for they count from 0 in every epoch.
    """
    await story.topic("t", 1, 2, 3)
    story.step("m0 of e, an idempotent producer, is stuck on its way")
    e = await StoryWriter(story, "e").init()
    stuck = await e.hang(1)
    e.send("m0", "t", to=1)
    await story.world.sleep(2.0)

    story.step("e raises its epoch, and sends m0 again over a new connection")
    e.reconnect()
    e.raise_epoch()
    await e.send("m0", "t", to=1)

    story.step("now the first m0 arrives")
    stuck.release()
    await story.world.sleep(1.0)
    story.show("t-0")

    story.step("e sends m1")
    await e.send("m1", "t", to=1)
    await story.judge("t", isolation=UNCOMMITTED)
