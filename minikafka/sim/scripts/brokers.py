"""Brokers that missed what happened: A14, A16, A18."""

from __future__ import annotations

from minikafka.sim.scripts.script import script
from minikafka.sim.scripts.story import CONTROLLER, Story


@script("A14 the zombie leader", rules="2, 8, 14, 22")
async def a14_zombie_leader(story: Story) -> None:
    """1 is cut off from the controller and from its followers, but not from a client. It still believes to lead. What is
    sent with acks=all is never acknowledged: the followers are members of the ISR, and only the controller could take
    them out. What is sent with acks=1 is acknowledged at once, and vanishes when 1 hears that it leads no more: that is
    what acks=1 means."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=1)
    story.step("m1 is committed")
    await story.send("m1", to=1)
    await story.until(lambda: story.high_watermark(2) == story.high_watermark(3) == 1)
    story.step("1 is cut off; 2 is elected, and takes m2")
    for other in (2, 3, CONTROLLER):
        world.cut(1, other)
    await story.until(lambda: story.leads(2) and story.follows(3, 2))
    await story.send("m2", to=2)
    story.step("a client that knows nothing of it writes to 1")
    await story.send("z1", to=1, acks=1)
    await story.send("z2", to=1, timeout=15.0)
    story.show()
    await story.finish()


@script("A18 a topic is created anew", rules="68")
async def a18_recreated_topic(story: Story) -> None:
    """While 3 is away its topic is deleted, and another one of the same name is created. The folder on the disk of 3 has
    the right name, and even the leader epochs fit; but it belongs to another topic id. 3 must begin anew, or records of
    a deleted topic come back to life in the new one (KIP-516)."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=2)
    story.step("two records are written; 3 goes away")
    await story.send("old1", to=1)
    await story.send("old2", to=1)
    await story.until(lambda: story.end(3) == 2)
    world.kill(3)
    story.step("the topic is deleted and created anew, and a record is written")
    await story.delete("t", by=1)
    story.history.fact("delete-topic", topic="t")
    await story.topic("t", 1, 2, 3, min_insync_replicas=2)
    await story.send("new1", to=1)
    story.show()
    story.step("3 is back")
    await world.restart(3)
    await story.until(lambda: story.committed_isr() == (1, 2, 3))
    story.show()
    story.step("1 and 2 die; a client reads from 3")
    world.kill(1)
    world.kill(2)
    await story.until(lambda: story.leads(3))
    story.say(f"client: reads {' '.join(value for _, value in await story.read(3))}")
    await story.finish()
