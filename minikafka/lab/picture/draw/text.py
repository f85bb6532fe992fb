"""A frame as text: the same content as the picture, for screen readers, dull projectors and tests.

    to_text(frame)

Owns: the order in which a frame is told: the sentence first, then the partition lane by lane, then who is around it.

Invariants
  every number on the picture stands in the text as well (words.py formats both)
  a line is one fact; nothing depends on columns
"""
from __future__ import annotations

from collections.abc import Iterator

from minikafka.lab.picture.frame import (
    Cell,
    Frame,
    Lane,
    Mark,
    PartitionRow,
    ShownBroker,
    ShownGroup,
    ShownPartition,
    ShownProducer,
    ShownQuorum,
    Span,
)
from minikafka.lab.picture.sentences import words


def to_text(frame: Frame) -> str:
    """Return the frame as text, line by line."""
    return "\n".join(_lines(frame)) + "\n"


def _lines(frame: Frame) -> Iterator[str]:
    yield from _head(frame)
    if len(frame.rows) > 1:
        yield "Partitions:"
        yield from (f"  {_row(row)}" for row in frame.rows)
    if frame.chosen is not None:
        yield from _partition(frame.chosen)
        yield from (f"  traffic: {words.ends([flow.source])} to {words.ends([flow.target])}: {words.flow(flow)}"
                    for flow in frame.flows)
        for query in frame.chosen.queries:
            about = "; ".join([words.query(query), *filter(None, [words.watermark(query)]), *map(words.batch, query.batches)])
            yield f"  Spark {query.name}: {about}"
    yield from (_producer(each) for each in frame.producers)
    for group in frame.groups:
        yield from _group(group)
    yield from _quorum(frame.quorum)
    if frame.covered:
        yield f"Ledger: {words.cover(frame.covered)}"
    elif entries := words.ledger(frame.ledger):
        yield "Ledger: " + ", ".join(f"{label} {value}" for label, value, _ in entries)
    if frame.marks:
        yield "What happened:"
        yield from (f"  {_mark(mark)}" for mark in frame.marks)


def _head(frame: Frame) -> Iterator[str]:
    yield f"[{frame.sentence.level.upper()}] {frame.sentence.text}"
    whole = f"of a run from {words.clock(frame.begin)} to {words.clock(frame.end)}"
    now = "now" if frame.live and frame.t >= frame.end else whole
    yield f"At {words.clock(frame.t)}, {now}; engine {frame.engine}."
    if frame.brokers:
        yield "Brokers: " + "; ".join(_broker(each) for each in frame.brokers)


def _broker(broker: ShownBroker) -> str:
    state = "state ?" if broker.process == "unknown" else broker.process
    return f"{broker.id} {state}, leads {words.count(broker.leads)}{', controller' if broker.controller else ''}"


def _row(row: PartitionRow) -> str:
    leader = "no leader" if row.leader is None else f"leader {row.leader} in epoch {words.offset(row.epoch)}"
    return (f"{row.name} [{row.level}]: {leader}, in sync {words.brokers(row.isr)} of {words.brokers(row.replicas)}, "
            f"high watermark {words.offset(row.high_watermark)}, end {words.offset(row.log_end)}, "
            f"lag {words.count(row.lag)}")


def _partition(chosen: ShownPartition) -> Iterator[str]:
    leader = "no leader" if chosen.leader is None else f"leader {chosen.leader}"
    members = words.UNKNOWN if chosen.isr is None else str(len(chosen.isr))
    yield f"{' '.join(words.title(chosen))}: {leader}, epoch {words.offset(chosen.epoch)}"
    yield (f"  in sync {words.brokers(chosen.isr)} ({members}), minimum {words.offset(chosen.min_isr)}, "
           f"replication factor {words.count(chosen.replication_factor)}")
    stable = "" if chosen.last_stable is None else f", last stable {chosen.last_stable}"
    yield (f"  log start {words.offset(chosen.log_start)}, high watermark {words.offset(chosen.high_watermark)}"
           f"{stable}, end {words.offset(chosen.log_end)}")
    for lane in chosen.lanes:
        yield from _lane(lane, chosen)
    for each in chosen.epochs:
        written = words.span(each.start, each.end) if each.end > each.start else "nothing"
        yield f"  {words.epoch(each, chosen)[0]}: {written}"
    yield from (f"  {finger.who} {finger.kind} {finger.offset}" for finger in chosen.fingers)
    yield from (f"  {level} {told}" for level, _, told in words.readers(chosen))
    for one in chosen.transactions:
        yield f"  {words.transaction(one)} from {one.start}" + ("" if one.marker is None else f", marker at {one.marker}")


def _lane(lane: Lane, chosen: ShownPartition) -> Iterator[str]:
    sync = {True: "in sync", False: "out of sync", None: "in sync ?"}[lane.in_sync]
    state = "state ?" if lane.process == "unknown" else lane.process
    yield (f"  Broker {lane.broker}: {words.role(lane, chosen)}, {state}, {sync}, epoch {words.offset(lane.epoch)}, "
           f"start {words.offset(lane.start)}, high watermark {words.offset(lane.high_watermark)}, "
           f"end {words.offset(lane.end)}" + ("" if lane.rate is None else f", {words.rate(lane.rate)}"))
    if lane.cut_from:
        yield f"    cannot hear {words.ends(lane.cut_from)}"
    if not words.crown(lane, chosen):
        check = "" if lane.next_check is None else f"; the leader looks again in {words.seconds(lane.next_check)}"
        late = "" if lane.behind_for is None else "not caught up for "
        yield f"    {late}{words.stopwatch(lane)[0]}{check}"
    yield from (f"    {line}" for line in _log(lane, chosen))


def _log(lane: Lane, chosen: ShownPartition) -> Iterator[str]:
    if lane.folded:
        yield "folded " + ", ".join(
            "".join(words.folded(each.start, each.end, chosen)[:2]) for each in lane.folded if each.end > each.start)
    cells = lane.cells
    for what, found in (("readable", [cell for cell in cells if cell.readable]),
                        ("written, not readable", [cell for cell in cells if cell.readable is False]),
                        ("readable ?", [cell for cell in cells if cell.readable is None]),
                        ("acknowledged", [cell for cell in cells if cell.acked]),
                        ("aborted", [cell for cell in cells if cell.aborted])):
        spans = _spans(found)
        if spans:
            yield f"{what} " + ", ".join(words.span(each.start, each.end) for each in spans)
    yield from (words.ghost(ghost) for ghost in lane.ghosts)


def _spans(cells: list[Cell]) -> list[Span]:
    spans: list[Span] = []
    for cell in cells:
        if spans and spans[-1].end == cell.offset:
            spans[-1] = Span(spans[-1].start, cell.offset + 1)
        else:
            spans.append(Span(cell.offset, cell.offset + 1))
    return spans


def _producer(producer: ShownProducer) -> str:
    facts = ", ".join(f"{label} {value}" for label, value, _ in words.producer(producer))
    wait = "" if producer.oldest_wait is None else f", oldest waits {words.seconds(producer.oldest_wait)}"
    acks = f", {words.acks(producer)}" if producer.acks is not None else ""
    error = f", last error {producer.last_error}" if producer.last_error else ""
    return f"Producer {producer.name}: {facts}{acks}{wait}{error}"


def _group(group: ShownGroup) -> Iterator[str]:
    members = [f"{each} ({told})" if (told := words.condition(group, each)) else each for each in words.everybody(group)]
    yield f"Group {group.name}: {words.group(group)}: {', '.join(members) or 'none'}"
    for each in group.progress:
        yield (f"  {each.partition} by {words.member(group, each)}: position {words.offset(each.position)}, "
               f"committed {words.offset(each.committed)}, lag {words.count(each.lag)}")


def _quorum(quorum: ShownQuorum) -> Iterator[str]:
    yield f"Controllers, epoch {words.offset(quorum.epoch)}: " + ", ".join(
        f"{label} {value}" for label, value, _ in words.quorum(quorum))
    for each in quorum.each:
        yield f"  {each.id}: {', '.join(text for text, _, _ in words.voter(quorum, each))}"


def _mark(mark: Mark) -> str:
    return f"{words.clock(mark.t)} {mark.text} [{mark.kind}, {mark.level}]"
