"""What goes wrong among the controllers: A9, A10, and what check-quorum and pre-votes are for."""

from __future__ import annotations

from minikafka.proof.stories.telling.quorum_story import QuorumStory
from minikafka.proof.stories.telling.script import script


@script("A9 figure 8, off by one", rules="37", stage=QuorumStory, voters=3, max_entries=1)
async def a9_figure_8(story: QuorumStory) -> None:
    """A record that lies on a majority of disks is not committed by that alone: if its epoch is over, a node with a newer
    epoch in its log may still win an election and replace it. A leader therefore counts only from the first record of its
    own epoch on: the high watermark must be *greater* than where that epoch starts (KAFKA-12619 had "not less").
    The name is that of the figure in the Raft paper."""
    story.step("1 leads epoch 1; then its messages reach no node, and it appends one record more")
    _led_by_1(story)
    story.cut(1, 2, 3)
    story.append(1)
    story.passes(0.1)
    story.show()
    story.step("2 restarts; 3 wins epoch 2 with its vote, and loses its power before a voter fetched its first record")
    story.restart(2)
    story.stand(3)
    story.until(lambda: story.leads(3))
    story.cut(3, 2)
    story.passes(0.1)
    story.power_loss(3)
    story.show()
    story.step("1 and 2 see each other again; 1 wins epoch 3, and 2 fetches 1a, but not yet 3^")
    story.join(1, 2)
    story.until(lambda: not story.leads(1))
    story.stand(1)
    story.until(lambda: story.leads(1) and story.end(2) == 2)
    story.world.net.cut(1, 2)
    story.passes(0.1)
    story.show()
    story.step("1 loses its power; 3 is back, and wins epoch 4 with the vote of 2")
    _won_by_3(story)
    story.step("1 is back and follows")
    story.join(1, 3)
    story.start(1)
    story.until(lambda: story.high_watermark(1) == 3)
    story.show()


def _led_by_1(story: QuorumStory) -> None:
    """Start the voters; 1 leads epoch 1, and its first record is committed everywhere."""
    story.start()
    story.stand(1)
    story.until(lambda: min(story.high_watermark(id) for id in (1, 2, 3)) == 1)


def _won_by_3(story: QuorumStory) -> None:
    """Stop 1, and let 3 win with the vote of 2 and commit what it has."""
    story.power_loss(1)
    story.join(3, 2)
    story.start(3)
    story.restart(2)
    story.passes(0.1)
    story.stand(3)
    story.until(lambda: story.leads(3) and story.high_watermark(2) == 3)
    story.show()


@script("A10 vote amnesia", rules="34, 35", stage=QuorumStory, voters=3)
async def a10_vote_amnesia(story: QuorumStory) -> None:
    """A vote is a promise: no other candidate gets one in this epoch. The promise binds a node that lost its power as
    well, so the vote must be on disk before the answer leaves. Node 2 has a slow disk, and 1 and 3 do not see each
    other."""
    story.step("1 stands, and gets the vote of 2")
    story.start()
    story.world.nodes[2].disk_delay = 0.05
    story.cut(1, 3)
    story.stand(1)
    story.until(lambda: story.leads(1))
    story.step("the power of 2 fails before the message of the new leader 1 arrives")
    story.cut(1, 2)
    story.power_loss(2)
    story.show()
    story.step("2 is back, and 3 stands in the same epoch")
    story.world.nodes[2].disk_delay = 0.0
    story.start(2)
    story.stand(3)
    story.until(lambda: len(story.world.leaders()) == 2)
    story.show()
    story.step("all see each other again")
    story.join(1, 3, 2)
    story.until(lambda: not story.leads(1) and all(story.high_watermark(id) == story.end(2) for id in (1, 2, 3)))
    story.show()


@script("The controller that reaches no other", rules="38", stage=QuorumStory, voters=3)
async def r38_check_quorum(story: QuorumStory) -> None:
    """A leader that is cut off cannot commit anything, so it does no harm to the log. But a node that reaches only this
    leader would wait for it for ever. The leader therefore gives up when no majority has fetched from it for 1.5 fetch
    timeouts."""
    story.step("1 leads; then it is cut off from 2 and 3")
    _led_by_1(story)
    story.cut(1, 2, 3)
    story.step("2 or 3 is elected")
    story.until(lambda: story.leads(2) or story.leads(3))
    story.must("1 leads no more", lambda: not story.leads(1), within=4.0)
    story.show()


@script("A node returns without a new epoch", rules="39", stage=QuorumStory, voters=3)
async def r39_pre_vote(story: QuorumStory) -> None:
    """A voter that received nothing for long believes that there is no leader. If it raised its epoch at each attempt, its
    first message after its return would depose a leader that all others follow. It therefore requests pre-votes first,
    which change nothing on any node; and voters that receive a leader's messages refuse (KIP-996)."""
    story.step("1 leads; 3 is cut off for ten seconds")
    _led_by_1(story)
    story.cut(3, 1, 2)
    story.passes(10.0)
    story.show()
    story.step("3 is back")
    story.join(3, 1, 2)
    story.append(1)
    story.must("3 follows, and the epoch is still 1",
               lambda: story.leads(1) and story.epoch(3) == 1 and story.high_watermark(3) == 2, within=5.0)
    story.show()
