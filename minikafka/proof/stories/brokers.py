"""Nodes that missed what happened: A14, A16, A18, and a controller that was deposed."""

from __future__ import annotations

from minikafka.proof.stories.telling.reader import StoryReader
from minikafka.proof.stories.telling.script import script
from minikafka.proof.stories.telling.story import CONTROLLER, Story


@script("A14 the zombie leader", rules="2, 8, 14, 22")
async def a14_zombie_leader(story: Story) -> None:
    """1 is cut off from the controller and from its followers, but not from a client, and still believes that it leads.
    A record sent with acks=all is never acknowledged: the followers are members of the ISR, and only the controller
    could take them out. A record sent with acks=1 is acknowledged at once, and vanishes when 1 learns that it leads no
    more: acks=1 promises no more than that."""
    await story.topic("t", 1, 2, 3, min_insync_replicas=1)
    story.step("m1 is committed")
    await story.send("m1", to=1)
    await story.until(lambda: story.high_watermark(2) == story.high_watermark(3) == 1)
    story.step("1 is cut off; 2 is elected, and takes m2")
    story.cut_off(1, 2, 3, CONTROLLER)
    await story.until(lambda: story.leads(2) and story.follows(3, 2))
    await story.send("m2", to=2)
    story.step("a client with old metadata writes to 1")
    await story.send("z1", to=1, acks=1)
    await story.send("z2", to=1, timeout=15.0)
    await story.show_at_rest()


@script("A reader of the zombie leader", rules="22")
async def r22_zombie_reader(story: Story) -> None:
    """1 is cut off and still believes that it leads, while 2 does. A consumer has read from 2. When 2 dies, the
    consumer takes its metadata from any broker that it reaches, and 1 names itself the leader. The log of 1 ends before
    the consumer's offset: a consumer that got OFFSET_OUT_OF_RANGE would begin anew, and read
    everything twice. But the consumer names the leader epoch that it has seen, and 1, which has only an older one, refuses:
    the consumer tries other brokers (KIP-320)."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=1)
    c = StoryReader(story, "c", "t")
    story.step("m1 is committed; 1 is cut off; 2 is elected, and takes m2 and m3")
    await story.send("m1", to=1)
    await story.until(lambda: story.high_watermark(2) == story.high_watermark(3) == 1)
    story.cut_off(1, 2, 3, CONTROLLER)
    await story.until(lambda: story.leads(2) and story.follows(3, 2))
    await story.send("m2", to=2)
    await story.send("m3", to=2)
    await story.show_at_rest()
    story.step("c reads from 2; 2 dies, and 1 names itself the leader")
    await c.poll(2)
    world.kill(2)
    await c.poll(1)
    story.step("3 is elected")
    await story.until(lambda: story.leads(3))
    await story.send("m4", to=3)
    await c.poll(3)


@script("A16 a crash after a clean start", rules="63, 64")
async def a16_stale_clean_marker(story: Story) -> None:
    """A broker that is shut down leaves a file on its disk: its logs are whole, and the next start need not check them.
    That is true of this next start only, so the file must be gone before the first log is opened. If the file outlives
    a start, the start after a crash believes it too, and serves the logs as the crash left them (KAFKA-10471)."""
    world = story.world
    marker = "/data/.kafka_cleanshutdown"
    story.narrated = (*story.narrated, "recover")

    def note_marker() -> None:
        there = marker in world.hosts[1].disk.names
        story.note(f"disk of 1: {marker.rpartition('/')[2]} is {'there' if there else 'not there'}")

    await story.topic("t", 2, 1, 3, min_insync_replicas=2)
    story.step("m1 is written; 1 is shut down")
    await story.send("m1", to=2)
    await story.until(lambda: story.high_watermark(1) == 1)
    await world.stop(1)
    note_marker()
    story.step("1 starts, and dies while it loads its logs")
    story.at_once(lambda: world.events[-1]["k"] == "recover", lambda: world.kill(1))
    world.boot(1)
    await story.until(lambda: 1 not in world.alive)
    note_marker()
    story.step("1 starts again, and copies more")
    await world.restart(1)
    for value in ("m2", "m3", "m4"):
        await story.send(value, to=2, key=b"k" * 2000)
    await story.until(lambda: story.end(1) == 4 and story.committed_isr() == (1, 2, 3))
    await story.show_at_rest()
    story.step("its power fails: all that it wrote is on its disk, but for one sector in the middle of m3")
    story.power_loss_but_for_a_sector(1, offset=2)
    note_marker()
    story.step("1 starts once more")
    await world.restart(1)
    await story.until(lambda: story.end(1) == 4 and story.committed_isr() == (1, 2, 3))
    await story.send("m5", to=2)


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
    await story.show_at_rest()
    story.step("3 is back")
    await world.restart(3)
    await story.until(lambda: story.committed_isr() == (1, 2, 3))
    await story.show_at_rest()
    story.step("1 and 2 die; a client reads from 3")
    world.kill(1)
    world.kill(2)
    await story.until(lambda: story.leads(3))
    story.note(f"client: reads {' '.join(value for _, value in await story.read(3))}")


@script("The zombie controller", rules="26", controllers=3, config={"replica.lag.time.max.ms": 1000})
async def r26_zombie_controller(story: Story) -> None:
    """The active controller and broker 1 are cut off together from all others. 1 proposes an ISR without
    the others, and this controller would agree; but it cannot bring its decision to a majority of the controllers. A
    controller that answers only with committed decisions does no harm, whatever it decides."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=1)
    story.step("m1 is committed")
    await story.send("m1", to=1)
    await story.until(lambda: story.high_watermark(2) == story.high_watermark(3) == 1)
    story.step("the active controller and 1 are cut off from all others; a client writes to 1")
    zombie = world.controller()
    for here in (zombie, 1):
        for there in world.nodes:
            if there not in (zombie, 1):
                world.cut(here, there)
    await story.send("z1", to=1, timeout=4.0)
    await story.show_at_rest()
    story.step("the other controllers elect one of them, and that elects another leader")
    await story.until(lambda: world.controller() != zombie)
    await world.sleep(6)
    await story.send("m2", to=2 if story.follows(2, 2) and story.follows(3, 2) else 3)
    await story.show_at_rest()
