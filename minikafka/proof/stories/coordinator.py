"""The duties of a transaction coordinator: write each decision down first, keep it, and carry it out."""

from __future__ import annotations

from kafka.protocol.producer.transaction import WriteTxnMarkersRequest

from minikafka.proof.stories.telling.ending import OFFSETS, STATE, CoordinatedStory
from minikafka.proof.stories.telling.member import GROUP, TOPIC, StoryMember
from minikafka.proof.stories.telling.reader import poll
from minikafka.proof.stories.telling.script import script
from minikafka.proof.stories.telling.writer import StoryWriter
from minikafka.sim.world.hold import Message


@script("Written down before it is answered", rules="48", stage=CoordinatedStory)
async def r48_write_first(story: CoordinatedStory) -> None:
    """A commit is done when the coordinator's decision is replicated, not before. If a coordinator answers first, and
    dies, its successor finds an open transaction only: the transaction runs out of time, and is aborted.
    """
    await story.topic("t", 3, 2)
    await story.coordinator(STATE, 1, 2)
    story.step("p writes a to t in a transaction; broker 1 coordinates it, broker 2 is its only follower")
    p = await StoryWriter(story, "p", home=1).init()
    p.begin()
    await p.send("a", "t", to=3)

    story.step("nothing passes between broker 1 and the others; p commits; broker 1 dies")
    story.world.cut(1, 2)
    story.world.cut(1, 3)
    await p.end(commit=True, timeout=2.0)
    story.world.kill(1)
    story.world.reset(1, 2)
    story.world.reset(1, 3)
    story.world.heal()

    story.step("broker 2 coordinates; the transaction may take 20 seconds")
    await story.until(lambda: story.leads(2, STATE))
    await story.world.sleep(40.0)
    await story.judge("t")


async def _writes_to_two_leaders(story: CoordinatedStory) -> StoryWriter:
    """Return the writer of a transaction on its way in two partitions; their leaders and its coordinator are three brokers."""
    await story.topic("t", 2, 3)
    await story.topic("u", 3, 2)
    await story.coordinator(STATE, 1, 2)
    story.step("p writes a1 to t and a2 to u in a transaction; broker 1 coordinates it, 2 leads t, 3 leads u")
    p = await StoryWriter(story, "p", home=1).init()
    p.begin()
    await p.send("a1", "t", to=2)
    await p.send("a2", "u", to=3)
    return p


@script("A decision stays", rules="49, 55", stage=CoordinatedStory)
async def r49_decision_stays(story: CoordinatedStory) -> None:
    """Once PrepareCommit is in the coordinator's log the transaction is committed, whichever broker dies. The markers
    say so to every partition. If only some partitions have theirs when the coordinator dies, its successor finds
    PrepareCommit and sends the others, under its own epoch. Otherwise half of the transaction would be committed, or it
    would stay open for ever.
    """
    p = await _writes_to_two_leaders(story)

    story.step("p commits; the marker reaches t, that for u is lost, for broker 1 dies")
    story.world.cut(1, 3)
    await p.end(commit=True)
    await story.until(lambda: story.end(2, "t") == 2)
    story.world.kill(1)
    story.show("t-0")
    story.show("u-0")
    story.world.reset(1, 3)
    story.world.heal()

    story.step("broker 2 coordinates")
    await story.until(lambda: story.leads(2, STATE))
    await story.world.sleep(40.0)
    story.show("u-0")
    await story.judge("t", "u")


@script("Offsets of a transaction", rules="61", stage=CoordinatedStory)
async def r61_offsets_wait(story: CoordinatedStory) -> None:
    """Exactly once: what was read and what was written are committed together. The offset that a transaction commits
    counts when its commit marker comes, and not at all after an abort. A program that begins again begins where the
    last committed transaction ended.
    """
    await story.topic("t", 3, 2)
    await story.topic("u", 2, 3)
    await story.coordinator(STATE, 1, 2)
    await story.coordinator(OFFSETS, 1, 2)
    story.step("t has six records; p copies them to u, two in a transaction; broker 1 coordinates it and its group")
    for number in range(6):
        await story.send(f"r{number}", to=3)
    p, group = StoryWriter(story, "p", home=1), StoryMember(story, "p's group", home=1)
    await p.init()
    for commit in (True, False, True, True):
        start = max(0, await group.committed())
        story.step(f"a transaction from offset {start} on, to be {'committed' if commit else 'aborted'}")
        p.begin()
        for offset in range(start, min(start + 2, 6)):
            copy = f"r{offset}'" if commit else f"r{offset}' in vain"
            await p.send(copy, "u", to=2, source=("t", 0, offset))
        await p.offsets(GROUP, TOPIC, min(start + 2, 6), home=1)
        await group.committed(stable=False)
        await p.end(commit)
    await group.committed()
    await poll(story, "t", 3)
    await story.judge("t", "u")


@script("Zombie producer", rules="45, 50", stage=CoordinatedStory)
async def r50_zombie_producer(story: CoordinatedStory) -> None:
    """A transactional producer stops answering, and a successor is started under the same transactional id. From then
    on the successor alone may write: InitProducerId aborts the open transaction and raises the epoch. When the first
    producer wakes up, every request that it sends is fenced.
    """
    await story.topic("t", 2, 3)
    await story.coordinator(STATE, 1, 2)
    story.step("z, of transactional id z, writes z1 and is stopped")
    z, s = StoryWriter(story, "z", home=1), StoryWriter(story, "s", home=1, id="z")
    await z.init()
    z.begin()
    await z.send("z1", "t", to=2)

    story.step("its successor s begins a transaction under the same id, and writes s1")
    await s.init()
    s.begin()
    await s.send("s1", "t", to=2)

    story.step("z goes on: it writes z2 and commits")
    await z.send("z2", "t", to=2)
    await z.end(commit=True)

    story.step("s aborts")
    await s.end(commit=False)
    await story.judge("t")


@script("Zombie coordinator", rules="51", stage=CoordinatedStory)
async def r51_zombie_coordinator(story: CoordinatedStory) -> None:
    """A marker says for which producer and epoch it is, and which coordinator wrote it. Producer and epoch are those of
    the producer's next transaction as well, because the epoch rises when a transaction is decided. So a marker that
    arrives when another coordinator has already ended its transaction would end the next one. A leader therefore
    refuses a marker of an older coordinator than the last that it has seen.
    """
    p = await _writes_to_two_leaders(story)

    story.step("p commits; the marker for u is stuck on its way, and broker 1 stands still")

    def is_marker(m: Message) -> bool:
        return m.api is WriteTxnMarkersRequest and (m.src, m.dst) == (1, 3)

    stuck = story.world.hold(is_marker)
    await p.end(commit=True)
    await story.until(lambda: stuck.frames)
    stuck.stop()
    story.world.pause(1)

    story.step("broker 2 coordinates, and sees to the transaction")
    await story.until(lambda: story.leads(2, STATE) and story.high_watermark(3, "u") == 2)
    story.show("u-0")

    story.step("the next transaction writes b1 to t and b2 to u")
    p.home = p.node = 2
    p.begin()
    await p.send("b1", "t", to=2)
    await p.send("b2", "u", to=3)

    story.step("now the marker of broker 1 arrives")
    stuck.release()
    await story.world.sleep(1.0)
    story.show("u-0")

    story.step("p aborts")
    await p.end(commit=False)
    await story.judge("t", "u")


@script("A marker of one's own", rules="51", stage=CoordinatedStory)
async def r51_forged_marker(story: CoordinatedStory) -> None:
    """A transaction's coordinator decides for all partitions at once whether it is committed. Each partition learns the
    decision by a marker, a control record, which only brokers write. A client that could write one would decide for one
    partition by itself. So a leader takes no control batch from a client, not even from the producer of that
    transaction.
    """
    p = await _writes_to_two_leaders(story)

    story.step("p saves itself the way to the coordinator, and writes a commit marker to u")
    await p.forge("u", commit=True, to=3)
    story.show("u-0")

    story.step("p thinks better of it, and aborts")
    await p.end(commit=False)
    await story.judge("t", "u")
