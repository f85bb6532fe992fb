"""What the stories found in our own brokers, each kept as the smallest story that shows it (tests/TRACK_RECORD.md)."""

from __future__ import annotations

from minikafka.proof.stories.telling.story import Story


def test_a_follower_that_diverged_gets_the_high_watermark_although_nothing_new_is_written() -> None:
    """Fails if the only answer that told the high watermark is the one that said "logs part": the leader's fetch session
    believes that the follower knows it, and an idle partition's follower stays behind for ever."""
    story = Story(1, False, {"brokers": 2})

    async def tell(story: Story) -> None:
        await story.topic("t", 1, 2, min_insync_replicas=1)
        await story.send("m1", to=1)
        story.world.hold_follower(2)
        story.send("z1", to=1)
        await story.until(lambda: story.end(1) == 2)
        story.world.kill(1)
        await story.until(lambda: story.leads(2))
        story.world.heal()
        await story.world.restart(1)
        await story.until(lambda: story.end(1) == 1 and story.high_watermark(1) == 1)

    story.run(tell)
    assert story.violations() == ()
    story.close()
