"""Where two logs diverge, and which replica truncates its own: A1, A2, A3."""

from __future__ import annotations

from minikafka.proof.stories.telling.script import script
from minikafka.proof.stories.telling.story import Story


@script("A1 high watermark truncation", rules="7, 19-21")
async def a1_hw_truncation(story: Story) -> None:
    """A follower learns of a high watermark one fetch later than its leader. Before KIP-101 a follower of a new leader
    cut its log to the high watermark that it knew. So a record could be acknowledged, cut by a follower, and gone for
    good when the only other broker that had it died before the follower had fetched it again. Today a follower cuts
    only where its log parts from the leader's, and finds this offset by leader epochs."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=2)
    story.step("m1 is written and committed, and all replicas have the high watermark")
    await story.send("m1", to=1)
    await story.until(lambda: story.high_watermark(2) == story.high_watermark(3) == 1)
    story.step("m2 is written; 2 and 3 have it, but do not receive the high watermark any more")
    for node in (2, 3):
        story.at_once(lambda node=node: story.end(node) == 2, lambda node=node: world.hold_follower(node))
    await story.send("m2", to=1)
    await story.show_at_rest()
    story.step("1 dies; 3 follows 2")
    world.kill(1)
    await story.until(lambda: story.leads(2) and story.follows(3, 2))
    await story.show_at_rest()
    story.step("2 dies before 3 has fetched anything from it")
    world.kill(2)
    await story.until(lambda: story.leads(3))
    await story.show_at_rest()


@script("A2 divergence after a double power loss", rules="21", unclean=True, brokers=2)
async def a2_double_power_loss(story: Story) -> None:
    """Two brokers lose their power at once. m2 was acknowledged by both, but it was not yet on the disk of 2. 2 comes
    back first and is allowed to lead (unclean.leader.election.enable): m2 is lost, which is the price of that setting.
    More must not be lost: when 1 returns with m2 in its log, it has to give m2 up, for the new log has m3 at that
    offset. The last record of 1 is of an epoch that ended earlier at the new leader. Only the epochs show that, for the
    log of 1 is no longer than that of 2."""
    world = story.world
    await story.topic("t", 1, 2, min_insync_replicas=1, unclean_leader_election_enable="true")
    story.step("m1 is on both disks; m2 is in both logs, but only 1 has written it to its disk")
    await story.send("m1", to=1)
    await story.until(lambda: story.high_watermark(2) == 1)
    story.written_out(1)
    story.written_out(2)
    await story.send("m2", to=1)
    await story.until(lambda: story.end(2) == 2)
    story.written_out(1)
    await story.show_at_rest()
    story.step("both lose their power")
    story.power_loss(1)
    story.power_loss(2)
    await story.show_at_rest()
    story.step("2 is back first, leads although it may lack records, and takes m3")
    story.history.fact("elect-unclean", topic="t", partition=0)
    world.boot(2)
    await story.until(lambda: story.leads(2))
    await story.send("m3", to=2)
    await story.show_at_rest()
    story.step("1 is back, and m4 is written")
    await world.restart(1)
    await story.until(lambda: story.committed_isr() == (1, 2))
    await story.send("m4", to=2)
    await story.until(lambda: story.end(1) == 3)
    await story.show_at_rest()


@script("A3 fast failover", rules="20, 21", brokers=2)
async def a3_fast_failover(story: Story) -> None:
    """Leadership goes from 1 to 2 and back before 1 has applied the first change. Epoch 1 exists only in the log of 2,
    while that of 1 is longer: by the offset alone 2 could go on where it is. The leader must answer with the last epoch
    its own log has up to the requested one, and where that ended. The follower then cuts to where its own log leaves that
    epoch (KIP-279)."""
    world = story.world
    await story.topic("t", 1, 2, min_insync_replicas=1)
    story.step("m1 is committed")
    await story.send("m1", to=1)
    await story.until(lambda: story.high_watermark(2) == 1)
    story.step("1 receives nothing from the controller; an administrator makes 2 the leader; each is sent records")
    world.cut(1, 101)
    await story.prefer(2, 1, by=2)
    await story.until(lambda: story.leads(2))
    for value, to in (("a1", 1), ("a2", 1), ("a3", 1), ("b1", 2), ("b2", 2)):
        end = story.end(to)
        story.send(value, to=to)
        await story.until(lambda to=to, end=end: story.end(to) > end)
    await story.show_at_rest()
    story.step("1 is made the leader again, and only then receives both changes")
    await story.prefer(1, 2, by=2)
    await story.until(lambda: story.follows(2, 1))
    story.join(1, 101)
    await story.until(lambda: story.end(2) >= 4)
    await story.show_at_rest()
    story.step("m2 is written")
    await story.send("m2", to=1)
    await story.until(lambda: story.high_watermark(2) == 5)
    await story.show_at_rest()


@script("A leader that writes nothing", rules="5", brokers=2)
async def r5_epoch_without_records(story: Story) -> None:
    """As in A3, leadership goes from 1 to 2 and back, and 2 has a record of an epoch that 1 has never seen. This time
    nothing is written afterwards. When 2 requests the end of epoch 1, 1 can answer only if it noted at once where its own
    epoch 2 begins. If it noted that with its first record only, epoch 1 would be newer than every epoch in its cache,
    and 2 would get no answer until the next write."""
    world = story.world
    await story.topic("t", 1, 2, min_insync_replicas=1)
    story.step("m1 is committed")
    await story.send("m1", to=1)
    await story.until(lambda: story.high_watermark(2) == 1)
    story.step("1 receives nothing from the controller; 2 is made the leader; each is sent a record")
    world.cut(1, 101)
    await story.prefer(2, 1, by=2)
    await story.until(lambda: story.leads(2))
    for value, to in (("a1", 1), ("b1", 2)):
        story.send(value, to=to)
        await story.until(lambda to=to: story.end(to) == 2)
    await story.show_at_rest()
    story.step("1 is made the leader again, and only then receives both changes; no client writes")
    await story.prefer(1, 2, by=2)
    await story.until(lambda: story.follows(2, 1))
    story.join(1, 101)
    await world.sleep(5)
    await story.show_at_rest()
