"""Frames that hypothesis makes: anything that the dataclasses allow and a trace could lead to."""

from __future__ import annotations

from hypothesis import strategies as st

from minikafka.lab.picture import frame as f

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=70) | st.sampled_from(["billing", "flights"])
offsets = st.integers(0, 300) | st.integers(0, 10**13)
counts = st.none() | st.integers(0, 10**9)
spans_of_time = st.floats(0, 5000)
levels = st.sampled_from(list(f.Level))
processes = st.sampled_from(["running", "killed", "stopped", "paused", "held", "slow", "starting", "unknown"])
brokers = st.integers(1, 9)


def maybe(strategy: st.SearchStrategy) -> st.SearchStrategy:
    return st.none() | strategy


def tuples(strategy: st.SearchStrategy, most: int) -> st.SearchStrategy:
    return st.lists(strategy, max_size=most).map(tuple)


@st.composite
def spans(draw: st.DrawFn, base: int) -> tuple[int, int]:
    start = base + draw(st.integers(0, 400))
    return start, start + draw(st.integers(1, 300))


@st.composite
def lanes(draw: st.DrawFn, broker: int, base: int) -> f.Lane:
    start = base + draw(st.integers(0, 300))
    end = draw(maybe(st.integers(start, start + 320)))
    first = start if end is None else draw(st.integers(start, end))
    hw = draw(maybe(st.integers(start, start + 330)))
    cells = tuple(
        f.Cell(offset, draw(st.sampled_from([None, 3, 4])) if offset % 50 == 0 else 4, None if hw is None else offset < hw,
               offset % 3 > 0, offset % 7 == 0)
        for offset in range(first, end or first))
    ghosts = tuple(f.Ghost(*draw(spans(base)), draw(maybe(st.integers(0, 9))), draw(st.integers(0, 9)), 1.0)
                   for _ in range(draw(st.integers(0, 3))))
    return f.Lane(
        broker, draw(st.sampled_from(["leader", "follower", "unknown"])), draw(processes), draw(tuples(st.integers(0, 5), 3)),
        draw(maybe(st.integers(0, 9))), draw(st.booleans()), draw(maybe(st.booleans())), draw(maybe(spans_of_time)),
        draw(maybe(st.sampled_from([10.0, 0.5, 30.0]))), draw(maybe(st.floats(0, 6))), draw(maybe(st.just(start))), hw, end,
        cells, (f.Span(start, first),) if first > start else (), ghosts, draw(maybe(st.floats(0, 10**6))))


@st.composite
def partitions(draw: st.DrawFn) -> f.ShownPartition:
    base = draw(st.sampled_from([0, 0, 40, 99_000, 10**12]))
    ids = draw(st.lists(brokers, min_size=0, max_size=5, unique=True))
    drawn = tuple(draw(lanes(broker, base)) for broker in ids)
    epochs, at = [], base
    for epoch in range(draw(st.integers(0, 6))):
        end = at + draw(st.integers(0, 200))
        epochs.append(f.EpochSpan(epoch, at, end, draw(maybe(brokers))))
        at = end
    fingers = st.builds(f.Finger, names, st.sampled_from(["position", "committed"]), st.integers(base, base + 500))
    near = st.integers(base, base + 500)
    return f.ShownPartition(
        draw(names), draw(st.integers(0, 200)), draw(maybe(brokers)), draw(maybe(st.integers(0, 10**6))),
        draw(maybe(st.just(tuple(lane.broker for lane in drawn if lane.in_sync)))), draw(maybe(st.integers(1, 3))),
        draw(maybe(st.just(len(ids)))), draw(maybe(near)), draw(maybe(near)), draw(maybe(near)), draw(maybe(near)), drawn,
        tuple(epochs), draw(tuples(fingers, 9)),
        aborted=tuple(f.Span(at, at + 1) for at in range(base, base + 500, 7)) if draw(st.booleans()) else ())


rows = st.builds(f.PartitionRow, names, maybe(brokers), maybe(st.integers(0, 999)), maybe(tuples(brokers, 5)),
                 maybe(tuples(brokers, 5)), maybe(offsets), maybe(offsets), counts, levels)
producers = st.builds(
    f.ShownProducer, names, *[st.integers(0, 10**9)] * 5, maybe(spans_of_time), maybe(spans_of_time), maybe(names)
)
progress = st.builds(f.ShownProgress, names, maybe(names), maybe(offsets), maybe(offsets), counts)
groups = st.builds(
    f.ShownGroup, names, maybe(st.sampled_from(["Stable", "CompletingRebalance"])), maybe(st.integers(0, 99)), tuples(names, 4),
    tuples(progress, 9),
    tuples(st.builds(f.ShownMember, names, st.sampled_from(["running", "killed", "died", "paused"]), spans_of_time), 3))
voters = st.builds(
    f.ShownVoter, brokers, processes,
    maybe(st.sampled_from(["leader", "follower", "candidate", "prospective", "unattached", "resigned"])),
    maybe(st.integers(0, 99)), maybe(brokers), maybe(offsets))
quorums = st.builds(
    f.ShownQuorum, maybe(tuples(brokers, 5)), maybe(brokers), maybe(st.integers(0, 99)), tuples(brokers, 5), tuples(brokers, 5),
    maybe(offsets), maybe(offsets), tuples(voters, 5))
marks = st.builds(f.Mark, st.floats(0, 100), st.sampled_from(list(f.MomentKind)), names, levels)
flows = st.builds(f.ShownFlow, st.integers(0, 5), st.integers(0, 5), st.sampled_from(["produce", "fetch"]),
                  st.floats(0, 10**6), st.booleans())
heads = st.builds(f.ShownBroker, brokers, processes, counts, st.booleans())
frames = st.builds(
    f.Frame, st.floats(0, 100), st.just(0.0), st.floats(0, 100), st.booleans(), st.sampled_from(["minikafka", "sim", "apache"]),
    st.builds(f.Sentence, levels, names | st.just("many words " * 60)), tuples(heads, 9), tuples(rows, 40), maybe(partitions()),
    tuples(flows, 6), tuples(producers, 4), tuples(groups, 5), quorums, st.builds(f.Ledger, *[counts] * 8), tuples(marks, 30))
