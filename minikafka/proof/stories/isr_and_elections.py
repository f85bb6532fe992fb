"""The replicas that are in sync, and those that may lead: A4 to A8."""

from __future__ import annotations

from minikafka.proof.stories.telling.script import script
from minikafka.proof.stories.telling.story import CONTROLLER, Story
from minikafka.protocol.apis import AlterPartitionRequest

# A broker that receives nothing from the controller for some seconds does not search for another controller.
SLOW_NEWS = {"controller.quorum.fetch.timeout.ms": 20000, "controller.quorum.request.timeout.ms": 20000}


@script("A4 a fetch of a former epoch moves the high watermark", rules="4, 22",
        config=SLOW_NEWS)
async def a4_stale_epoch_fetch(story: Story) -> None:
    """1 leads, then 2, then 1 again; 3 receives these changes late. It still fetches from 1 as it did in the first of these
    epochs, and its offset fits into the log of 1, which could be tempted to answer. But next 3 will learn that 2 leads,
    and follow 2, which is cut off, believes that it leads, and does not have the new record. So 3 will throw away again
    what it has copied. A fetch in another epoch than the leader's is refused, and moves no high watermark (rule 4;
    hachikuji's Kip320FirstTry is the design that counted it)."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=2)
    story.step("m1 is committed")
    await story.send("m1", to=1)
    await story.until(lambda: story.high_watermark(2) == story.high_watermark(3) == 1)
    story.step("2 is made the leader; 3 does not receive this yet; then 2 is cut off, and 1 leads again")
    await story.order(2, 1, 3, by=2)
    late = story.hold_metadata(3)
    await story.elect(by=2)
    await story.until(lambda: late.frames and story.leads(2) and story.follows(1, 2))
    story.cut_off(2, 1, CONTROLLER)
    await story.until(lambda: story.leads(1))
    story.show_controller()
    await story.show_at_rest()
    story.step("m2 is sent to 1")
    await story.send("m2", to=1, timeout=2.0)
    await story.show_at_rest()
    story.step("3 receives the first change")
    late.release_one()
    await story.until(lambda: story.follows(3, 2))
    await world.sleep(0.3)
    await story.show_at_rest()
    story.step("1 dies, and 3 receives all changes")
    world.kill(1)
    late.release()
    await world.sleep(5)
    await story.show_at_rest()


@script("A5 no maximal ISR", rules="2")
async def a5_no_maximal_isr(story: Story) -> None:
    """The leader proposes that 3 joins the ISR, the controller agrees, but its answer is late. From the moment of the
    proposal the leader must count 3 as a member, for the controller may elect it. If the leader still acknowledged
    records that only 1 and 2 have, these records would be gone with 1 and 2 (Vanlightly's example; the maximal ISR of
    KIP-497)."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=2)
    story.step("3 is away for a while")
    world.kill(3)
    await story.until(lambda: story.committed_isr() == (1, 2))
    await story.send("m1", to=1)
    story.step("3 is back and has everything; 1 proposes it, the controller agrees, and its answer does not reach 1")
    world.boot(3)
    story.at_once(lambda: story.committed_isr() == (1, 2, 3), lambda: world.cut(CONTROLLER, 1, one_way=True))
    await story.until(lambda: story.committed_isr() == (1, 2, 3))
    world.hold_follower(3)
    await story.show_at_rest(rest=0.0)
    story.step("three records are sent; only 2 copies them")
    for number in (2, 3, 4):
        sent = story.send(f"m{number}", to=1, timeout=0.5)
        await story.until(lambda number=number: story.end(2) == number)
    await sent
    await story.show_at_rest()
    story.step("1 and 2 die; 3 is elected")
    world.kill(1)
    world.kill(2)
    await story.until(lambda: story.leads(3))
    await story.show_at_rest()


async def fetches_in_vain(story: Story, node: int, leader: int) -> None:
    """Let a node come back and fetch from where its log ends; the leader has its fetch, and the answer does not arrive."""
    story.world.hold_follower(node)
    story.world.cut(node, leader, one_way=True)
    story.world.boot(node)
    await story.until(lambda: story.follows(node, leader) and story.has_alive(leader, node))
    story.join(node, leader)
    await story.world.sleep(1)
    story.show_controller()
    await story.show_at_rest()


@script("A6 expansion below the start of the epoch", rules="15", brokers=4)
async def a6_expand_below_epoch_start(story: Story) -> None:
    """A new leader has every committed record, but its high watermark may be behind. Until the others have fetched from
    it, "has reached my high watermark" is too weak a condition for a replica that wants to join the ISR. The replica
    must also have reached the offset at which this leader's epoch began: every record that may have been committed
    before lies below it (Vanlightly's example)."""
    world = story.world
    await story.topic("t", 1, 2, 3, 4, min_insync_replicas=2)
    story.step("m1 is everywhere; 3 goes away")
    await story.send("m1", to=1)
    await story.until(lambda: all(story.high_watermark(node) == 1 for node in (2, 3, 4)))
    world.kill(3)
    await story.until(lambda: story.committed_isr() == (1, 2, 4))
    story.step("m2 is committed by 1, 2 and 4; 2 and 4 do not receive the high watermark, and 1 dies")
    for node in (2, 4):
        story.at_once(lambda node=node: story.end(node) == 2, lambda node=node: world.hold_follower(node))
    await story.send("m2", to=1)
    world.kill(1)
    world.cut(2, 4)
    await story.until(lambda: story.leads(2) and story.follows(4, 2))
    await story.show_at_rest()
    story.step("3 is back, and fetches from 2 at offset 1; what 2 sends does not arrive")
    await fetches_in_vain(story, 3, leader=2)
    story.step("2 and 4 die")
    world.kill(2)
    world.kill(4)
    await world.sleep(5)
    await story.show_at_rest()


@script("A7 an empty disk rejoins", rules="15, 16, 29")
async def a7_empty_disk_rejoins(story: Story) -> None:
    """2 has caught up, and 1 proposes it to the controller for the ISR. The request is slow. Meanwhile 2 dies, gets a
    new disk and registers again: a broker of the same id that has nothing. Now the request arrives. It names the broker
    epoch with which 2 fetched, and that incarnation is gone, so the controller refuses (KIP-903). Without that 2 could
    be elected with an empty log."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=2)
    story.step("2 is away while m1 and m2 are committed")
    world.kill(2)
    await story.until(lambda: story.committed_isr() == (1, 3))
    await story.send("m1", to=1)
    await story.send("m2", to=1)
    story.step("2 is back and catches up; the request of 1 to take it into the ISR is on its way for long")
    late = world.hold(lambda m: m.api is AlterPartitionRequest and not m.is_response and m.src == 1)
    world.boot(2)
    await story.until(lambda: late.frames)
    await story.show_at_rest()
    story.step("2 dies, gets a new disk, and starts")
    world.kill(2)
    world.wipe(2)
    world.hold_follower(2)
    world.cut(2, 1, one_way=True)
    await story.until(lambda: not story.has_alive(CONTROLLER, 2))
    world.boot(2)
    await story.until(lambda: story.has_alive(CONTROLLER, 2) and story.follows(2, 1))
    await story.show_at_rest()
    story.step("the request arrives")
    late.release()
    await world.sleep(0.5)
    story.show_controller()
    story.step("the controller receives no heartbeats of 1 and 3 any more")
    story.cut_off(CONTROLLER, 1, 3)
    await world.sleep(5)
    story.show_controller()
    await story.show_at_rest()


@script("A8 the last replica standing", rules="3, 33")
async def a8_last_replica_standing(story: Story) -> None:
    """Kafka acknowledges a record that min.insync.replicas brokers have in memory; a broker alone that loses its power
    may lose it. m1 is acknowledged by three; then 3 and 2 are shut down, and 1 loses its power. Before KIP-966 the last
    member of an ISR was elected whatever had happened to it, and the others cut their logs to what it had left. Now a
    broker whose leaving makes an ISR smaller than min.insync.replicas stays an eligible leader (ELR); a broker that
    comes back from an unclean shutdown is none. That is enough because the high watermark stands still while the ISR is
    too small (rule 3): m2, which only 1 has, is never committed."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=2)
    story.step("m1 is in the logs of all three")
    await story.send("m1", to=1)
    await story.until(lambda: story.high_watermark(2) == story.high_watermark(3) == 1)
    story.step("3 and 2 are shut down; m2 is written with acks=1, m3 with acks=all")
    await world.stop(3)
    await world.stop(2)
    await story.until(lambda: story.committed_isr() == (1,))
    await story.send("m2", to=1, acks=1)
    await story.send("m3", to=1)
    story.show_controller()
    await story.show_at_rest()
    story.note(f"consumer: {' '.join(value for _, value in await story.read(1))}")
    story.step("1 loses its power, and with it both records; it comes back before the others")
    story.power_loss(1)
    await story.until(lambda: story.registration().leader < 0)
    world.boot(1)
    await story.until(lambda: story.partition(1) is not None)
    await world.sleep(2)
    story.show_controller()
    await story.show_at_rest()
    story.step("2 and 3 come back")
    await world.restart(2)
    await world.restart(3)
    await story.until(lambda: story.registration().leader > 0 and len(story.committed_isr()) == 3)
    await story.show_at_rest()
