"""Changes of the ISR that come too early or too late, or whose answer is lost."""

from __future__ import annotations

from minikafka.proof.stories.isr_and_elections import SLOW_NEWS, fetches_in_vain
from minikafka.proof.stories.telling.script import script
from minikafka.proof.stories.telling.story import CONTROLLER, Story
from minikafka.protocol.apis import AlterPartitionRequest, BrokerHeartbeatRequest


@script("Who joins too early", rules="15")
async def r15_join_too_early(story: Story) -> None:
    """3 comes back and begins to fetch. Its leader has its fetch, but 3 does not yet have the records that were
    committed without it. It may join the ISR only when it has reached the high watermark: the first fetch from there on
    shows that."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=2)
    story.step("m1 is everywhere; 3 goes away, and m2 is committed")
    await story.send("m1", to=1)
    await story.until(lambda: story.high_watermark(3) == 1)
    world.kill(3)
    await story.until(lambda: story.committed_isr() == (1, 2))
    await story.send("m2", to=1)
    story.step("3 is back and fetches at offset 1; what 1 sends does not arrive")
    await fetches_in_vain(story, 3, leader=1)
    story.step("1 and 2 die")
    world.kill(1)
    world.kill(2)
    await world.sleep(5)
    await story.show_at_rest()


@script("A fenced broker copies", rules="15, 30")
async def r15_fenced_member(story: Story) -> None:
    """3 is back and registered, but its heartbeats do not arrive: to the controller it is fenced, and may not lead. Its
    fetches do arrive, and it has every record. It must stay out of the ISR all the same: the leader would wait for it
    with every record, and an ISR is a list of the brokers that may be elected."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=2)
    story.step("3 goes away")
    world.kill(3)
    await story.until(lambda: story.committed_isr() == (1, 2))
    story.step("3 is back, without heartbeats")
    late = world.hold(lambda m: m.api is BrokerHeartbeatRequest and not m.is_response and m.src == 3)
    world.boot(3)
    await story.until(lambda: story.follows(3, 1))
    await story.send("m1", to=1)
    await story.until(lambda: story.end(3) == 1)
    await world.sleep(0.5)
    story.show_controller()
    await story.show_at_rest()
    story.step("its heartbeats arrive")
    late.release()
    await story.until(lambda: story.committed_isr() == (1, 2, 3))
    story.show_controller()


@script("A proposal from before", rules="16", config={"replica.lag.time.max.ms": 2000})
async def r16_stale_proposal(story: Story) -> None:
    """3 falls behind, and 1 proposes that the ISR be 1 and 2; the request is slow. Meanwhile 3 catches up, and 2 loses
    its place in the ISR and misses m2. Then the request arrives, from the right leader, in the right leader epoch, with
    brokers that are all alive; but it changes an ISR that is no more. Only the partition epoch, which grows with every
    change, shows that."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=2)
    story.step("m1 is committed; then 3 copies nothing for a while, and 1 proposes to go on without it")
    await story.send("m1", to=1)
    world.hold_follower(3)
    story.send("n1", to=1)
    late = world.hold(lambda m: m.api is AlterPartitionRequest and not m.is_response and m.src == 1)
    await story.until(lambda: late.frames)
    await story.show_at_rest()
    story.step("3 catches up; 2 is cut off from the controller, loses its place, and is back without having copied m2")
    world.heal()
    await story.until(lambda: story.high_watermark(1) == 2 and story.high_watermark(2) == 2)
    world.hold_follower(2)
    world.cut(2, CONTROLLER)
    await story.until(lambda: story.committed_isr() == (1, 3) and not story.has_alive(1, 2))
    await story.send("m2", to=1)
    story.join(2, CONTROLLER)
    await story.until(lambda: story.has_alive(CONTROLLER, 2))
    await story.show_at_rest()
    story.step("the request arrives, and then 1 dies")
    late.release()
    await world.sleep(0.05)
    story.show_controller()
    world.kill(1)
    await world.sleep(5)
    await story.show_at_rest()


@script("An answer that is lost", rules="17", config=SLOW_NEWS | {"replica.lag.time.max.ms": 1000})
async def r17_lost_answer(story: Story) -> None:
    """As in A5, 1 proposes that 3 joins, and the controller agrees. This time the answer is lost: the connection
    breaks, 1 sends it again, and is refused, because its proposal names an ISR that is no more (its own first try was
    granted). So a refusal does not mean that 3 is out: 1 has to count 3 as a member until new metadata has the ISR.
    Only an error which means that nothing was changed, now or before, lets 1 return to the old ISR."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=2)
    story.step("3 is away for a while")
    world.kill(3)
    await story.until(lambda: story.committed_isr() == (1, 2))
    await story.send("m1", to=1)
    story.step("3 is back and has everything; 1 proposes it, the controller agrees, its answer is lost, and 1 tries again")
    proposal = world.hold(lambda m: m.api is AlterPartitionRequest and not m.is_response and m.src == 1)
    world.boot(3)
    await story.until(lambda: proposal.frames)
    world.hold_follower(3)
    news = story.hold_metadata(1)
    answer = world.hold(lambda m: m.api is AlterPartitionRequest and m.is_response and m.dst == 1)
    proposal.release()
    await story.until(lambda: answer.frames)
    answer.drop()
    await world.sleep(0.5)
    story.show_controller()
    story.step("m2 is sent; only 2 copies it")
    await story.send("m2", to=1, timeout=3.0)
    await story.show_at_rest()
    story.step("1 and 2 die")
    world.kill(1)
    world.kill(2)
    await story.until(lambda: story.leads(3))
    await story.show_at_rest()
    news.drop()


@script("Offsets of another epoch", rules="4, 5, 15")
async def r5_forgotten_offsets(story: Story) -> None:
    """1 knows that 2 has n1, for 2 has fetched beyond it. Then 3 leads for a while, and 2 throws n1 away, because 3
    does not have it. When 1 leads again, its old knowledge of 2 is worth nothing. In every new epoch a leader begins
    with no knowledge of its followers, and counts each only once it has fetched in this epoch."""
    world = story.world
    await story.topic("t", 1, 2, 3, min_insync_replicas=2)
    story.step("m1 is everywhere; then n1 is copied by 2, not by 3")
    await story.send("m1", to=1)
    await story.until(lambda: story.high_watermark(2) == story.high_watermark(3) == 1)
    world.hold_follower(3)
    story.send("n1", to=1)
    await story.until(lambda: story.end(2) == 2 and story.partition(1).replica.followers[2].log_end_offset == 2)
    await story.show_at_rest()
    story.step("1 receives nothing from the controller; 3 is made the leader, and 2 follows it")
    world.cut(1, CONTROLLER)
    await story.prefer(3, 1, 2, by=3)
    await story.until(lambda: story.leads(3) and story.end(2) == 1)
    await story.show_at_rest()
    story.step("2 copies nothing any more; 1 is made the leader again, and 3 follows it")
    story.let_follow(3)
    world.hold_follower(2)
    await story.prefer(1, 3, 2, by=3)
    await story.until(lambda: story.follows(3, 1))
    story.join(1, CONTROLLER)
    await story.until(lambda: story.end(3) == 2)
    await world.sleep(1)
    await story.show_at_rest()
    story.step("1 and 3 die")
    world.kill(1)
    world.kill(3)
    await story.until(lambda: story.leads(2))
    await story.show_at_rest()
