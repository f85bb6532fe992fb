"""A dozen frames made by hand, each of them something a student must be able to see at once; and ways to make more."""

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
    Span,
)


def cells(
    start: int, end: int, hw: int | None, epoch: Callable[[int], int | None] = lambda offset: 4, acked: int = 0
) -> tuple[Cell, ...]:
    """Cells [start, end), readable below hw, acknowledged below `acked`."""
    return tuple(
        Cell(offset, epoch(offset), None if hw is None else offset < hw, offset < acked)
        for offset in range(start, end)
    )


def lane(broker: int, end: int | None, hw: int | None = 47, first: int = 28, **changes: object) -> Lane:
    """A follower in sync; `changes` make it anything else."""
    epochs = lambda offset: 3 if offset < 36 else 4  # noqa: E731
    kept = () if end is None else cells(max(first, 0), end, hw, epochs, min(end, hw or 0))
    folded = (Span(0, min(first, end)),) if end and first else ()
    plain = Lane(
        broker, "follower", "running", (), 4, False, True, 0.3, 10.0, 4.7, 0, hw, end, kept, folded, (), None
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def leader(broker: int, end: int | None, hw: int | None = 47, first: int = 28, **changes: object) -> Lane:
    """The leader's lane."""
    return lane(
        broker,
        end,
        hw,
        first,
        **{"role": "leader", "believes_leader": True, "behind_for": None, "next_check": None} | changes,
    )


def partition(*lanes: Lane, **changes: object) -> ShownPartition:
    """flights-2 with these lanes."""
    plain = ShownPartition(
        "flights",
        2,
        1,
        4,
        tuple(lane.broker for lane in lanes if lane.in_sync),
        2,
        len(lanes),
        47,
        max((lane.end or 0 for lane in lanes), default=None),
        0,
        None,
        lanes,
        (EpochSpan(3, 0, 36, 2), EpochSpan(4, 36, 51, 1)),
        (Finger("billing", "committed", 44), Finger("billing", "position", 47)),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


MARKS = (
    Mark(7.5, MomentKind.FAULT, "broker 2 killed", Level.BAD),
    Mark(12.0, MomentKind.ELECTION, "broker 1 leads flights-2, epoch 4", Level.WAIT),
    Mark(24.2, MomentKind.FAULT, "broker 3 slow", Level.WAIT),
)
PRODUCER = ShownProducer("trips", 1208, 1201, 0, 3, 4, 0.012, 7.2, None)
GROUP = ShownGroup(
    "billing",
    "Stable",
    3,
    ("A", "B"),
    (
        ShownProgress("flights-0", "A", 120, 118, 2),
        ShownProgress("flights-1", "A", 98, 98, 0),
        ShownProgress("flights-2", "B", 47, 44, 3),
    ),
)
QUORUM = ShownQuorum((1, 2, 3), 1, 6, (1, 2, 3), (), 218, 218)
LEDGER = Ledger(1201, 1199, 1198, 7, 0, 0, 0)
BROKERS = (ShownBroker(1, "running", 2, True), ShownBroker(2, "running", 1, False), ShownBroker(3, "running", 0, False))


def frame(chosen: ShownPartition | None, sentence: str, level: Level = Level.WAIT, **changes: object) -> Frame:
    """A frame around one partition."""
    plain = Frame(
        31.4,
        0.0,
        38.0,
        False,
        "minikafka",
        Sentence(level, sentence),
        BROKERS,
        (),
        chosen,
        (ShownFlow(0, 1, "produce", 9.8, False), ShownFlow(1, 2, "fetch", 9.8, False), ShownFlow(1, 3, "fetch", 4.1, False)),
        (PRODUCER,),
        (GROUP,),
        QUORUM,
        LEDGER,
        MARKS,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def calm() -> Frame:
    chosen = partition(
        leader(1, 51, 51),
        lane(2, 51, 51),
        lane(3, 51, 50, behind_for=0.1),
        high_watermark=51,
        fingers=(Finger("billing", "committed", 48), Finger("billing", "position", 51)),
    )
    return frame(
        chosen,
        "All is well: 51 records, all of them on 3 of 3 replicas and readable.",
        Level.GOOD,
        t=38.0,
        live=True,
        producers=(replace(PRODUCER, waiting=0, oldest_wait=None, unknown=0),),
    )


def slow_follower() -> Frame:
    chosen = partition(
        leader(1, 51, rate=9.8),
        lane(2, 51, ghosts=(Ghost(36, 38, 3, 0, 12.5),), rate=9.8),
        lane(3, 47, behind_for=7.2, next_check=2.1, process="slow", rate=4.1),
    )
    return frame(
        chosen,
        "Broker 3 has not caught up for 7.2 s of 10 s. Until it does, or leaves the ISR, the high "
        "watermark waits at 47: 47-50 are written, not readable.",
        brokers=(*BROKERS[:2], ShownBroker(3, "slow", 0, False)),
    )


def dead_leader() -> Frame:
    chosen = partition(leader(1, 51, process="killed", cut_from=()), lane(2, 51), lane(3, 49, hw=46))
    return frame(
        chosen,
        "Broker 1, the leader, has been dead for 1.8 s; the controller fences it after 3.0 s. "
        "Nothing is written or read until then.",
        Level.BAD,
        brokers=(ShownBroker(1, "killed", 2, False), ShownBroker(2, "running", 1, True), BROKERS[2]),
        flows=(ShownFlow(0, 1, "produce", 9.8, True), ShownFlow(1, 2, "fetch", 0.0, True), ShownFlow(1, 3, "fetch", 0.0, True)),
        producers=(replace(PRODUCER, last_error="TimeoutError: no answer in 1.5 s", oldest_wait=1.8),),
    )


def no_leader() -> Frame:
    chosen = partition(
        lane(1, 100, 100, 80, process="killed", behind_for=None),
        lane(2, 70, 70, 60, in_sync=False, behind_for=42.0),
        lane(3, 70, 70, 60, in_sync=False, behind_for=41.5),
        leader=None,
        isr=(1,),
        high_watermark=100,
        epochs=(EpochSpan(4, 0, 100, 1),),
        fingers=(),
    )
    return frame(
        chosen,
        "No leader: broker 1 is dead and the only one in sync. Brokers 2 and 3 end at 70 and may not lead: "
        "unclean.leader.election.enable is false.",
        Level.BAD,
        flows=(),
        brokers=(ShownBroker(1, "killed", 0, False), *BROKERS[1:]),
    )


def below_minimum() -> Frame:
    chosen = partition(
        leader(1, 52),
        lane(2, 47, in_sync=False, behind_for=14.2, process="stopped"),
        lane(3, 47, in_sync=False, behind_for=13.9, process="paused", cut_from=(1, 2, 0)),
        isr=(1,),
    )
    return frame(
        chosen,
        "Only broker 1 is in sync and min.insync.replicas is 2: acks=all is refused with "
        "NOT_ENOUGH_REPLICAS, and 47-51 stay unreadable.",
        Level.BAD,
        producers=(replace(PRODUCER, failed=12, last_error="NotEnoughReplicasError (19)"),),
        quorum=replace(QUORUM, fenced=(2, 3), alive=(1,)),
    )


def two_crowns() -> Frame:
    old = leader(
        3,
        56,
        47,
        role="leader",
        epoch=3,
        cut_from=(1, 2),
        in_sync=False,
        behind_for=6.1,
        cells=cells(28, 56, 47, lambda offset: 3),
    )
    chosen = partition(leader(1, 50, 50), lane(2, 50, 50), old, high_watermark=50, min_isr=1)
    return frame(
        chosen,
        "Two brokers act as leader: 1 in epoch 4, and 3, cut off, still in epoch 3. What 3 takes now "
        "(36-55) will be cut off when it comes back.",
        Level.BAD,
        flows=(ShownFlow(0, 1, "produce", 5.0, False), ShownFlow(0, 3, "produce", 3.0, False),
               ShownFlow(1, 2, "fetch", 5.0, False)),
    )


def unclean_loss() -> Frame:
    chosen = partition(
        leader(3, 90, 90, 62),
        lane(1, 90, 90, 62, ghosts=(Ghost(70, 100, 3, 30, 29.0),)),
        lane(2, 90, 90, 62),
        leader=3,
        high_watermark=90,
        min_isr=1,
        epochs=(EpochSpan(3, 0, 70, 1), EpochSpan(5, 70, 90, 3)),
        epoch=5,
        fingers=(Finger("billing", "committed", 100), Finger("audit", "position", 85)),
    )
    return frame(
        chosen,
        "30 acknowledged records are lost: broker 3 was elected without them (unclean), 70-99 of broker 1 "
        "were cut off when it came back.",
        Level.BAD,
        ledger=Ledger(120, 90, 100, 0, 30, 20, 0),
        marks=(*MARKS, Mark(29.0, MomentKind.LOSS, "30 acknowledged records lost", Level.BAD)),
    )


def long_log() -> Frame:
    first, hw, end = 1_204_700, 1_204_890, 1_204_912
    own = lambda broker, end, **more: lane(broker, end, hw, first, epoch=17, **more)  # noqa: E731
    behind = lane(
        3,
        1_190_000,
        1_189_990,
        1_190_000,
        in_sync=False,
        behind_for=812.4,
        folded=(Span(1_000_000, 1_190_000),),
        start=1_000_000,
    )
    chosen = partition(
        replace(
            own(1, end),
            role="leader",
            believes_leader=True,
            behind_for=None,
            start=1_000_000,
            folded=(Span(1_000_000, first),),
        ),
        own(2, end - 5, start=1_000_000, folded=(Span(1_000_000, first),)),
        behind,
        epoch=17,
        high_watermark=hw,
        log_start=1_000_000,
        epochs=(EpochSpan(16, 1_000_000, first + 30, 2), EpochSpan(17, first + 30, end, 1)),
        fingers=(
            Finger("a-group-with-a-name-that-nobody-would-want-to-type-twice", "committed", 1_150_000),
            Finger("billing", "position", hw),
        ),
    )
    return frame(
        chosen,
        "Broker 3 copies what it missed: 1190000 of 1204912.",
        producers=(replace(PRODUCER, sent=1_204_912, acked=1_204_890),),
    )


def twelve_partitions() -> Frame:
    levels = [Level.GOOD] * 9 + [Level.WAIT, Level.BAD, Level.UNKNOWN]
    rows = tuple(
        PartitionRow(
            f"flights-{i}",
            i % 3 + 1 if level is not Level.BAD else None,
            4,
            (1, 2, 3) if level is Level.GOOD else (1,),
            (1, 2, 3),
            1000 + i,
            1003 + i,
            3 if i % 2 else None,
            level,
        )
        for i, level in enumerate(levels)
    )
    rows = (
        *rows[:11],
        replace(rows[11], leader=None, epoch=None, isr=None, replicas=None, high_watermark=None, log_end=None),
    )
    groups = tuple(
        ShownGroup(
            name,
            "Stable",
            12,
            ("consumer-1-6c2b9d3f", "consumer-2-5d1c8e2a"),
            tuple(
                ShownProgress(f"flights-{i}", f"consumer-{i % 2 + 1}-6c2b9d3f-1f4a", 900 + i, 890 + i, 110)
                for i in range(12)
            ),
        )
        for name in ("billing", "audit")
    )
    return replace(
        slow_follower(), rows=rows, groups=groups, brokers=tuple(ShownBroker(i, "running", 2, i == 4) for i in range(1, 7))
    )


def unknown() -> Frame:
    blank = Lane(1, "unknown", "unknown", (), None, False, None, None, None, None, None, None, None, (), (), (), None)
    chosen = ShownPartition(
        "flights",
        0,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        tuple(replace(blank, broker=broker) for broker in (1, 2, 3)),
        (),
        (),
    )
    return frame(
        chosen,
        "Nothing is known yet.",
        Level.UNKNOWN,
        engine="apache",
        flows=(),
        producers=(),
        groups=(),
        marks=(),
        brokers=tuple(ShownBroker(i, "unknown", None, False) for i in (1, 2, 3)),
        quorum=ShownQuorum(None, None, None, (), (), None, None),
        ledger=Ledger(*[None] * 7),
    )


def polled() -> Frame:
    blank = Lane(
        1, "leader", "unknown", (), 7, False, True, None, None, None, 12, None, 5400, (), (Span(12, 5400),), (), None
    )
    other = replace(blank, role="follower", end=None, folded=(), start=None, epoch=None)
    chosen = ShownPartition(
        "flights",
        0,
        1,
        7,
        (1, 2),
        2,
        3,
        5390,
        5400,
        12,
        None,
        (blank, replace(other, broker=2), replace(other, broker=3, in_sync=False)),
        (),
        (Finger("spark", "committed", 5000),),
    )
    return replace(
        unknown(),
        chosen=chosen,
        sentence=Sentence(Level.WAIT, "Asked of Apache Kafka from outside: 5390 of 5400 are readable."),
    )


def transactions() -> Frame:
    chosen = partition(
        leader(1, 58, 55, 40),
        lane(2, 58, 55, 40),
        lane(3, 55, 55, 40, behind_for=5.5),
        high_watermark=55,
        last_stable=51,
        log_start=20,
        fingers=(Finger("audit", "position", 51), Finger("billing", "position", 55)),
    )
    return frame(
        chosen, "A transaction that began at 51 is open: readers of committed records wait there, others read to 55."
    )


def no_commit() -> Frame:
    group = ShownGroup("audit", "PreparingRebalance", 1, ("A",), (ShownProgress("flights-2", None, None, None, None),))
    return frame(
        partition(leader(1, 51, 51), lane(2, 51, 51), lane(3, 51, 51), high_watermark=51, fingers=()),
        "Group audit has no commit for flights-2: where it begins is decided by auto.offset.reset.",
        groups=(group, GROUP),
    )


def metadata_log() -> Frame:
    chosen = partition(
        leader(1, 218, 218, 190, lag_limit=None),
        lane(2, 218, 218, 190, lag_limit=None, behind_for=0.02),
        lane(3, 216, 216, 190, in_sync=None, behind_for=None),
        topic="__cluster_metadata",
        index=0,
        min_isr=None,
        isr=None,
        high_watermark=218,
        epoch=6,
        epochs=(EpochSpan(6, 0, 218, 1),),
        fingers=(),
    )
    return frame(chosen, "The metadata log: 218 records on 2 of 3 controllers.", Level.GOOD, producers=(), groups=())


def hostile_names() -> Frame:
    name = "<script>alert('x')</script>&\x00\"" + "very-long-name-" * 12
    chosen = replace(slow_follower().chosen, topic=name)  # type: ignore[type-var]
    return replace(
        slow_follower(),
        chosen=chosen,
        producers=(replace(PRODUCER, name=name, last_error=name),),
        groups=(
            replace(GROUP, name=name, members=(name,), progress=(ShownProgress(name, name, 10**15, 10**15, 10**15),)),
        ),
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


FRAMES = {
    make.__name__: make
    for make in (
        calm,
        slow_follower,
        dead_leader,
        no_leader,
        below_minimum,
        two_crowns,
        unclean_loss,
        long_log,
        twelve_partitions,
        unknown,
        polled,
        transactions,
        no_commit,
        metadata_log,
        hostile_names,
        spark_queries,
    )
}
