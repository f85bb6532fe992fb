"""Frames that a student must be able to read at once: of traces where a few events tell the story, else made by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from minikafka.lab.picture.frame import (
    Cell,
    EpochSpan,
    Finger,
    Frame,
    Ghost,
    Lane,
    Ledger,
    Level,
    Mark,
    MomentKind,
    PartitionRow,
    Sentence,
    ShownBatch,
    ShownBroker,
    ShownFlow,
    ShownGroup,
    ShownPartition,
    ShownProducer,
    ShownProgress,
    ShownQuery,
    ShownQuorum,
    ShownVoter,
    Span,
)
from tests.lab.picture.script import TP, Script


def cells(
    start: int, end: int, hw: int | None, epoch: Callable[[int], int | None] = lambda offset: 4, acked: int = 0
) -> tuple[Cell, ...]:
    """Cells [start, end), readable below hw, acknowledged below `acked`."""
    return tuple(Cell(offset, epoch(offset), None if hw is None else offset < hw, offset < acked)
                 for offset in range(start, end))


def lane(broker: int, end: int | None, hw: int | None = 47, first: int = 28, **changes: object) -> Lane:
    """A follower in sync; `changes` make it anything else."""
    epochs = lambda offset: 3 if offset < 36 else 4  # noqa: E731
    kept = () if end is None else cells(max(first, 0), end, hw, epochs, min(end, hw or 0))
    folded = (Span(0, min(first, end)),) if end and first else ()
    plain = Lane(broker, "follower", "running", (), 4, False, True, 0.3, 10.0, 4.7, 0, hw, end, kept, folded, (), None)
    return replace(plain, **changes)  # type: ignore[arg-type]


def leader(broker: int, end: int | None, hw: int | None = 47, first: int = 28, **changes: object) -> Lane:
    """The leader's lane."""
    return lane(broker, end, hw, first, **{
        "role": "leader", "believes_leader": True, "behind_for": None, "next_check": None} | changes)


def partition(*lanes: Lane, **changes: object) -> ShownPartition:
    """flights-2 with these lanes."""
    plain = ShownPartition(
        "flights", 2, 1, 4, tuple(lane.broker for lane in lanes if lane.in_sync), 2, len(lanes), 47,
        max((lane.end or 0 for lane in lanes), default=None), 0, None, lanes,
        (EpochSpan(3, 0, 36, 2), EpochSpan(4, 36, 51, 1)),
        (Finger("billing", "committed", 44), Finger("billing", "position", 47)))
    return replace(plain, **changes)  # type: ignore[arg-type]


MARKS = (
    Mark(7.5, MomentKind.FAULT, "broker 2 killed", Level.BAD),
    Mark(12.0, MomentKind.ELECTION, "broker 1 leads flights-2, epoch 4", Level.WAIT),
    Mark(24.2, MomentKind.FAULT, "broker 3 slow", Level.WAIT),
)
PRODUCER = ShownProducer("trips", 1208, 1201, 0, 3, 4, 0.012, 7.2, None)
GROUP = ShownGroup("billing", "Stable", 3, ("A", "B"), (
    ShownProgress("flights-0", "A", 120, 118, 2), ShownProgress("flights-1", "A", 98, 98, 0),
    ShownProgress("flights-2", "B", 47, 44, 3)))
QUORUM = ShownQuorum((1, 2, 3), 1, 6, (1, 2, 3), (), 218, 218, tuple(
    ShownVoter(n, "running", "leader" if n == 1 else "follower", 6, 1 if n < 3 else None, 218) for n in (1, 2, 3)))
LEDGER = Ledger(1201, 1199, 1198, 7, 0, 0, 0)
BROKERS = (ShownBroker(1, "running", 2, True), ShownBroker(2, "running", 1, False), ShownBroker(3, "running", 0, False))


def frame(chosen: ShownPartition | None, sentence: str, level: Level = Level.WAIT, **changes: object) -> Frame:
    """A frame around one partition."""
    plain = Frame(
        31.4, 0.0, 38.0, False, "minikafka", Sentence(level, sentence), BROKERS, (), chosen,
        (ShownFlow(0, 1, "produce", 9.8, False), ShownFlow(1, 2, "fetch", 9.8, False), ShownFlow(1, 3, "fetch", 4.1, False)),
        (PRODUCER,), (GROUP,), QUORUM, LEDGER, MARKS)
    return replace(plain, **changes)  # type: ignore[arg-type]


def calm() -> Frame:
    return Script(records=51).produce(range(51)).frame()


def dead_leader() -> Frame:
    s = Script(records=47).produce(range(47)).lead(2, 1).decide(2, 1, [1, 2, 3], 1)
    return s.append(2, 47, 51, 1).append(1, 47, 51, 1).fault("kill", 2).after(1.8).frame()


def no_leader() -> Frame:
    s = Script(records=70).lead(2, 1).decide(2, 1, [2], 1).append(2, 70, 100, 1).say("hw", 2, tp=TP, hw=100)
    return s.isr([2], 1, 2, 2).fault("kill", 2).after(4.0).decide(-1, 2, [2], 3).frame()


def below_minimum() -> Frame:
    s = Script(min_isr=2, records=47).produce(range(47)).isr([1]).append(1, 47, 52).fault("pause", 3)
    return s.fault("hold_follower", 2, True, 0.0).after(13.9).frame()


def two_crowns() -> Frame:
    """Broker 3, cut off, still acts as leader in epoch 0; broker 1 leads in epoch 1."""
    s = Script(records=36).lead(3, 0).append(3, 36, 56).fault("cut", 2, 3, False)
    s.decide(1, 1, [1, 2], 1).say("role", 1, tp=TP, role="leader", epoch=1, leader=1, isr=[1, 2], hw=36, replicas=[1, 2, 3])
    return s.isr([1, 2], 1, 2, 1).append(1, 36, 50, 1).append(2, 36, 50, 1).after(6.1).frame()


def unclean_loss() -> Frame:
    """30 acknowledged records were on broker 1 alone, and broker 3 was elected without them."""
    s = Script(records=70).append(1, 70, 100).say("hw", 1, tp=TP, hw=100).produce(range(100)).decide(3, 1, [3, 1, 2], 1)
    return s.lead(3, 1).say("truncate", 1, tp=TP, to=70, records=30).write(90, 70, epoch=1).after(2.0).frame()


def polled() -> Frame:
    """Apache Kafka, asked from outside."""
    s = Script()
    s.events = []
    for b in (1, 2, 3):
        s.say("role", b, tp=TP, role="leader" if b == 1 else "follower", epoch=7, leader=1, isr=[1, 2], polled=True)
    s.say("isr", 1, tp=TP, isr=[1, 2], leader_epoch=7, polled=True).say("hw", 1, tp=TP, hw=5390, polled=True)
    return s.say("commit", 1, group="spark", tp=TP, offset=5000).after(1.0).frame()


def transactions() -> Frame:
    s = Script(records=55).append(1, 55, 58).append(2, 55, 58).say("hw", 1, tp=TP, hw=55, lso=51)
    s.say("log_start", 1, tp=TP, start=20).say("position", client="audit", group="audit", tp=TP, first=20, position=51)
    return s.say("position", client="desk", group="billing", tp=TP, first=20, position=55).after(5.5).frame()


def aborted() -> Frame:
    """Two producers wrote side by side: 41-44 and 47-48 are aborted, 45-46 committed; 51-54 are not decided yet."""
    s = Script(records=41)
    abort, commit = {"txn": 7, "marker": "abort"}, {"txn": 8, "marker": "commit"}
    for base, end, more in ((41, 45, {"txn": 7}), (45, 47, {"txn": 8}), (47, 49, {"txn": 7}), (49, 50, abort), (50, 51, commit),
                            (51, 55, {"txn": 8})):
        for broker in s.ids:
            s.append(broker, base, end)
            s.events[-1].update(more)
    return s.say("hw", 1, tp=TP, hw=55, lso=51).after(1.0).frame()


def election() -> Frame:
    """Controllers of their own: 101 is dead, 103 is a candidate of epoch 2, 102 has just voted for it."""
    s = Script(records=20)
    for n in (101, 102, 103):
        s.say("start", n, roles=["controller"], voters=[101, 102, 103])
        s.say("recover", n, tp="__cluster_metadata-0", leo=16, start=0, epochs=[[1, 0]], truncated_bytes=0)
        s.say("vote", n, epoch=1, candidate=101).say("raft", n, role="leader" if n == 101 else "follower", epoch=1, leader=101)
    s.say("hw", 101, tp="__cluster_metadata-0", hw=16).after(1.0).fault("kill", 101).after(2.0)
    s.say("vote", 103, epoch=2, candidate=103).say("raft", 103, role="candidate", epoch=2, leader=-1)
    return s.say("vote", 102, epoch=2, candidate=103).say("raft", 102, role="unattached", epoch=2, leader=-1).frame()


def no_commit() -> Frame:
    return Script(records=51).say("group", 1, group="audit", state="PreparingRebalance", generation=1, members=["a-1"],
                                  names={"a-1": "A"}, assignment={"a-1": [TP]}).frame()


def slow_follower() -> Frame:
    chosen = partition(leader(1, 51, rate=9.8), lane(2, 51, ghosts=(Ghost(36, 38, 3, 0, 12.5),), rate=9.8),
                       lane(3, 47, behind_for=7.2, next_check=2.1, process="slow", rate=4.1))
    return frame(
        chosen,
        "Broker 3 has not caught up for 7.2 s; the limit is 10 s. Until it catches up or leaves the ISR, the high "
        "watermark waits at 47: 47-50 are written, not readable.",
        brokers=(*BROKERS[:2], ShownBroker(3, "slow", 0, False)))


def long_log() -> Frame:
    first, hw, end = 1_204_700, 1_204_890, 1_204_912
    own = lambda broker, end, **more: lane(broker, end, hw, first, epoch=17, **more)  # noqa: E731
    behind = lane(3, 1_190_000, 1_189_990, 1_190_000, in_sync=False, behind_for=812.4, folded=(Span(1_000_000, 1_190_000),),
                  start=1_000_000)
    chosen = partition(
        replace(own(1, end), role="leader", believes_leader=True, behind_for=None, start=1_000_000,
                folded=(Span(1_000_000, first),)),
        own(2, end - 5, start=1_000_000, folded=(Span(1_000_000, first),)), behind, epoch=17, high_watermark=hw,
        log_start=1_000_000, epochs=(EpochSpan(16, 1_000_000, first + 30, 2), EpochSpan(17, first + 30, end, 1)),
        fingers=(Finger("a-group-with-a-name-that-nobody-would-want-to-type-twice", "committed", 1_150_000),
                 Finger("billing", "position", hw)))
    return frame(chosen, "Broker 3 copies what it missed: 1190000 of 1204912.",
                 producers=(replace(PRODUCER, sent=1_204_912, acked=1_204_890),))


def twelve_partitions() -> Frame:
    levels = [Level.GOOD] * 9 + [Level.WAIT, Level.BAD, Level.UNKNOWN]
    rows = tuple(
        PartitionRow(f"flights-{i}", i % 3 + 1 if level is not Level.BAD else None, 4, (1, 2, 3) if level is Level.GOOD else (1,),
                     (1, 2, 3), 1000 + i, 1003 + i, 3 if i % 2 else None, level)
        for i, level in enumerate(levels))
    rows = (*rows[:11],
            replace(rows[11], leader=None, epoch=None, isr=None, replicas=None, high_watermark=None, log_end=None))
    groups = tuple(
        ShownGroup(name, "Stable", 12, ("consumer-1-6c2b9d3f", "consumer-2-5d1c8e2a"), tuple(
            ShownProgress(f"flights-{i}", f"consumer-{i % 2 + 1}-6c2b9d3f-1f4a", 900 + i, 890 + i, 110) for i in range(12)))
        for name in ("billing", "audit"))
    return replace(slow_follower(), rows=rows, groups=groups,
                   brokers=tuple(ShownBroker(i, "running", 2, i == 4) for i in range(1, 7)))


def unknown() -> Frame:
    blank = Lane(1, "unknown", "unknown", (), None, False, None, None, None, None, None, None, None, (), (), (), None)
    chosen = ShownPartition("flights", 0, None, None, None, None, None, None, None, None, None,
                            tuple(replace(blank, broker=broker) for broker in (1, 2, 3)), (), ())
    return frame(chosen, "Nothing is known yet.", Level.UNKNOWN, engine="apache", flows=(), producers=(), groups=(), marks=(),
                 brokers=tuple(ShownBroker(i, "unknown", None, False) for i in (1, 2, 3)),
                 quorum=ShownQuorum(None, None, None, (), (), None, None), ledger=Ledger(*[None] * 7))


def hostile_names() -> Frame:
    name = "<script>alert('x')</script>&\x00\"" + "very-long-name-" * 12
    chosen = replace(slow_follower().chosen, topic=name)  # type: ignore[type-var]
    return replace(
        slow_follower(),
        chosen=chosen,
        producers=(replace(PRODUCER, name=name, last_error=name),),
        groups=(replace(GROUP, name=name, members=(name,), progress=(ShownProgress(name, name, 10**15, 10**15, 10**15),)),),
        marks=(Mark(3.0, MomentKind.FAULT, name, Level.BAD),),
        sentence=Sentence(Level.BAD, name + " " + "many words " * 80),
        rows=tuple(PartitionRow(name + str(i), 1, 2, (1, 2), (1, 2), 10**15, 10**15, 10**15, Level.GOOD) for i in range(70)),
    )


def spark_queries() -> Frame:
    batches = (ShownBatch(6, None, 30, True), ShownBatch(7, 30, 40, True), ShownBatch(8, 40, 41, True),
               ShownBatch(9, 41, 47, False))
    chosen = replace(calm().chosen, queries=(  # type: ignore[type-var]
        ShownQuery("prices", 9, 8, 1_700_000_000_000, batches),
        ShownQuery("a-query-with-a-very-long-name-indeed", None, None, 0, ()),
        ShownQuery("third", 1, 1, 0, ())))
    late = replace(PRODUCER, acks=-1)
    flows = (ShownFlow(0, 1, "produce", 9.8, False, 7), ShownFlow(1, 2, "fetch", 9.8, False, 0),
             ShownFlow(1, 3, "fetch", 0.0, True, 4))
    return frame(chosen, "Spark runs batch 9.", producers=(late,), flows=flows)


FRAMES = {make.__name__: make for make in (
    calm, slow_follower, dead_leader, no_leader, below_minimum, two_crowns, unclean_loss, long_log, twelve_partitions, unknown,
    polled, transactions, aborted, election, no_commit, hostile_names, spark_queries)}
