"""A11 to A13: the effect of a late request, and of an off-by-one, on transactions."""

from __future__ import annotations

from minikafka.proof.stories.telling.client import Stuck
from minikafka.proof.stories.telling.ending import STATE, CoordinatedStory
from minikafka.proof.stories.telling.reader import UNCOMMITTED, poll
from minikafka.proof.stories.telling.script import script
from minikafka.proof.stories.telling.writer import StoryWriter


async def one_producer(story: CoordinatedStory) -> StoryWriter:
    """Return a producer with its identity; broker 1 coordinates it, 2 leads t, 3 leads u."""
    await story.topic("t", 2, 3, 1)
    await story.topic("u", 3, 1, 2)
    await story.coordinator(STATE, 1, 2, 3)
    story.step("p is the producer; broker 1 coordinates it, 2 leads t, 3 leads u")
    return await StoryWriter(story, "p", home=1).init()


@script("A11 torn transaction", rules="49, 52", stage=CoordinatedStory)
async def a11_torn_transaction(story: CoordinatedStory) -> None:
    """A commit is delayed on one connection, sent again on another, and carried out. The next transaction begins.
    Now the first request arrives. It carries the epoch of the old transaction, and every end raises the epoch
    (KIP-890): the coordinator refuses it. Before KIP-890 both transactions had the same epoch. The late commit then
    committed those records of the new transaction that were there already, and the producer might still abort it.
    Jepsen reported it in 2024 (KAFKA-17754).
    """
    p = await one_producer(story)

    story.step("the first transaction writes a; its commit is stuck on the way to the coordinator")
    p.begin()
    await p.send("a", "t", to=2)
    stuck = await p.hang(1)
    p.end(commit=True)
    await story.world.sleep(2.0)

    story.step("p gives up waiting, and sends its commit again on a new connection")
    p.reconnect()
    await p.end(commit=True)

    story.step("the second transaction writes b1 to t")
    p.begin()
    await p.send("b1", "t", to=2)

    story.step("now the stuck request arrives")
    stuck.release()
    await story.world.sleep(1.0)

    story.step("the second transaction writes b2 to u, and is aborted")
    await p.send("b2", "u", to=3)
    await p.end(commit=False)
    await story.judge("t", "u")


async def record_on_its_way(story: CoordinatedStory) -> tuple[StoryWriter, Stuck]:
    """Return a producer whose second record is stuck, and what holds the record."""
    p = await one_producer(story)

    story.step("a transaction writes a1 to t; a2, for u, is stuck on its way")
    p.begin()
    await p.send("a1", "t", to=2)
    await p.add("u")
    stuck = await p.hang(3)
    p.send("a2", "u", to=3)
    await story.world.sleep(2.0)
    return p, stuck


@script("A12 hanging transaction", rules="10, 52", stage=CoordinatedStory)
async def a12_hanging_transaction(story: CoordinatedStory) -> None:
    """A record of a transaction is delayed until the transaction is aborted and has its markers. If the leader took it,
    it would begin a transaction that no coordinator has: no marker ever comes, and the last stable offset stays
    where it is for ever. So before the first record of a transaction goes into a log, its leader verifies it with the
    coordinator (KIP-890), which refuses an old epoch; a classic client's partition is not in the transaction any more.
    """
    p, stuck = await record_on_its_way(story)

    story.step("p gives up and aborts; every partition in the coordinator's transaction gets its marker")
    p.reconnect()
    await p.end(commit=False)
    await story.world.sleep(1.0)

    story.step("now a2 arrives at the leader of u")
    stuck.release()
    await story.world.sleep(1.0)
    story.show("u-0")

    story.step("another producer writes to u: can its record be read?")
    q = await StoryWriter(story, "q").init()
    await q.send("c", "u", to=3)
    await story.judge("t", "u")


@script("A12 late record in the next transaction", rules="52", stage=CoordinatedStory)
async def a12_late_record(story: CoordinatedStory) -> None:
    """The same delay, but by the time the record arrives its producer writes to the same partition again, in its next
    transaction. Asking the coordinator does not help the classic client: the partition is in the transaction, the epoch
    is right, the sequence fits. So a record of an aborted transaction is committed. With an epoch of its own for every
    transaction the leader refuses the record.
    """
    p, stuck = await record_on_its_way(story)

    story.step("p gives up, aborts, and begins the next transaction")
    p.reconnect()
    await p.end(commit=False)
    p.begin()
    await p.add("u")

    story.step("now a2 arrives at the leader of u")
    stuck.release()
    await story.world.sleep(1.0)

    story.step("p writes b to u and commits")
    await p.send("b", "u", to=3)
    await p.end(commit=True)
    await story.judge("t", "u")


@script("A13 last stable offset off by one", rules="9, 10", stage=CoordinatedStory)
async def a13_last_stable_offset(story: CoordinatedStory) -> None:
    """The last stable offset is where the first undecided transaction begins, and a reader of committed records gets
    only the records below it. A reader that got the record at this offset too would see the first record of a
    transaction that may yet be aborted (Redpanda, PR 3036).
    """
    p = await one_producer(story)
    q = await StoryWriter(story, "q").init()

    story.step("q writes x, p writes a1 and a2 in a transaction, q writes y")
    await q.send("x", "t", to=2)
    p.begin()
    await p.send("a1", "t", to=2)
    await p.send("a2", "t", to=2)
    await q.send("y", "t", to=2)

    story.step("readers read t while the transaction is open")
    await story.world.sleep(1.0)
    await poll(story, "t", 2, UNCOMMITTED)
    await poll(story, "t", 2)

    story.step("p aborts")
    await p.end(commit=False)
    await story.judge("t")


@script("A record without the transactional flag", rules="53", stage=CoordinatedStory)
async def r53_unmarked_record(story: CoordinatedStory) -> None:
    """Readers know the records of an aborted transaction by two things: their producer, and the mark on each batch.
    While a producer has a transaction open, a leader takes no unmarked batch of this producer: readers would get its
    records even after an abort.
    """
    p = await one_producer(story)

    story.step("a transaction writes a1, and a2 in a batch without the transactional flag")
    p.begin()
    await p.send("a1", "t", to=2)
    await p.send("a2", "t", to=2, marked=False)

    story.step("p aborts")
    await p.end(commit=False)
    await story.judge("t")
