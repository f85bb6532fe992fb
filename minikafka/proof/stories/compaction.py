"""The records that compaction may remove."""

from __future__ import annotations

from minikafka.proof.stories.telling.ending import STATE, CoordinatedStory
from minikafka.proof.stories.telling.reader import poll
from minikafka.proof.stories.telling.script import script
from minikafka.proof.stories.telling.writer import StoryWriter


@script("The cleaner waits for decisions", rules="10, 66", stage=CoordinatedStory,
        config={"log.cleaner.backoff.ms": 1000})
async def r66_undecided_records(story: CoordinatedStory) -> None:
    """Compaction keeps the last record of every key. Whether a record of an open transaction is the last one of its
    key, or none at all, is not decided yet: so the cleaner stops at the last stable offset. If it went on to the high
    watermark, it would delete the last good value of a key in favour of one that is then aborted.
    """
    await story.topic("t", 1, 2, 3, cleanup_policy="compact", internal_segment_bytes=200, min_cleanable_dirty_ratio=0.1)
    await story.coordinator(STATE, 3, 2)
    story.history.fact("compacts", topic="t")
    story.narrated = (*story.narrated, "compact")
    story.step("q writes the value old for k, p the value new in a transaction; q goes on with other keys")
    p, q = StoryWriter(story, "p", home=3), StoryWriter(story, "q")
    await p.init()
    await q.init()
    await q.send("old", "t", to=1, key="k")
    p.begin()
    await p.send("new", "t", to=1, key="k")
    for number in range(6):
        await q.send(f"x{number}", "t", to=1, key="x")

    story.step("the cleaner comes round")
    await story.world.sleep(5.0)
    await poll(story, "t", 1)

    story.step("p aborts")
    await p.end(commit=False)
    await story.judge("t")
