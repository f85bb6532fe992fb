"""A frame from a scene: every fact that the picture shows, by rule, and None for what the trace does not tell.

Owns: the order of lanes. What of a long log is shown record by record is the rule of focus.py.
Invariants
  composing asks nothing but the scene and changes nothing in it: same events, same moment, equal frame
"""
from __future__ import annotations

from dataclasses import replace

from minikafka.lab.picture import frame as f
from minikafka.lab.picture.facts.clients import GroupFacts
from minikafka.lab.picture.facts.intervals import Intervals
from minikafka.lab.picture.facts.partitions import NOBODY, PartitionFacts, ReplicaFacts
from minikafka.lab.picture.facts.quorum import METADATA
from minikafka.lab.picture.flows import flows, rates
from minikafka.lab.picture.focus import extent, focus, folds, marks
from minikafka.lab.picture.scene import PictureScene, names
from minikafka.lab.picture.sentences.sentence import sentence

BOXES = 64                             # boxes of a lane, folds included: more than any paper has room for


def compose(scene: PictureScene, begin: float, end: float, live: bool, engine: str, marks: tuple[f.Mark, ...]) -> f.Frame:
    """Return the picture of this moment; its times are in seconds since the run began."""
    chosen = scene.chosen
    return f.Frame(
        t=scene.t - scene.zero, begin=begin, end=end, live=live, engine=engine, sentence=sentence(scene),
        brokers=tuple(_broker(scene, b) for b in scene.state.brokers),
        rows=tuple(_row(scene, scene.state.partitions[name]) for name in shown(scene)),
        chosen=_partition(scene, chosen) if chosen is not None else None, flows=flows(scene),
        producers=_producers(scene), groups=_groups(scene), quorum=_quorum(scene), ledger=_ledger(scene), marks=marks)


def shown(scene: PictureScene) -> list[str]:
    """Return the partitions in the strip; internal ones are there only once they hold something."""
    def has_records(name: str) -> bool:
        return name == scene.tp or any(r.log.end for r in scene.state.partitions[name].replicas.values())
    return [name for name in names(scene.state) if not name.startswith("__") or has_records(name)]


# --- brokers and controllers ----------------------------------------------------------------------------------------


def _broker(scene: PictureScene, broker: int) -> f.ShownBroker:
    state = scene.state
    led = sum(p.leader == broker for p in state.partitions.values() if p.name != METADATA)
    known = any(p.leader is not None for p in state.partitions.values())
    return f.ShownBroker(broker, state.conditions.shown(broker), led if known else None, state.quorum.active == broker)


def _quorum(scene: PictureScene) -> f.ShownQuorum:
    quorum, log = scene.state.quorum, scene.state.partitions.get(METADATA)
    nodes = quorum.voters
    if nodes is None:                                  # nobody told who votes: those who took a part
        nodes = tuple(sorted(n for n, (role, *_) in quorum.roles.items() if role != "observer"))
    return f.ShownQuorum(quorum.voters, quorum.active, quorum.newest, tuple(n for n in nodes if scene.runs(n)), quorum.fenced,
                    log.log_end if log is not None else None, log.high_watermark if log is not None else None,
                    tuple(_voter(scene, node, log) for node in nodes))


def _voter(scene: PictureScene, node: int, log: PartitionFacts | None) -> f.ShownVoter:
    quorum = scene.state.quorum
    role, epoch, _ = quorum.roles.get(node, (None, None, None))
    replica = log.replicas.get(node) if log is not None else None
    return f.ShownVoter(node, scene.state.conditions.shown(node), role, epoch, quorum.vote(node),
                        replica.log.end if replica is not None else None)


# --- partitions -----------------------------------------------------------------------------------------------------


def _row(scene: PictureScene, p: PartitionFacts) -> f.PartitionRow:
    mark = p.high_watermark
    lags = [mark - at for g in scene.state.groups.values() if mark is not None
            and (at := g.committed.get(p.name)) is not None]
    return f.PartitionRow(p.name, _leader(p), _epoch(p), p.isr, p.assigned, mark, p.log_end,
                          max(lags, default=None), level(scene, p))


def level(scene: PictureScene, p: PartitionFacts) -> f.Level:
    """Return how a partition stands."""
    if p.leader is None or p.isr is None and p.name != METADATA:
        return f.Level.UNKNOWN
    if p.leader == NOBODY or not scene.runs(p.leader):
        return f.Level.BAD
    if p.isr is not None and p.settings.min_isr is not None and len(p.isr) < needed(p):
        return f.Level.BAD
    if p.isr is not None and p.assigned is not None and len(p.isr) < len(p.assigned):
        return f.Level.WAIT
    return f.Level.WAIT if p.stalled is not None and scene.t - p.stalled > 0.5 else f.Level.GOOD


def needed(p: PartitionFacts) -> int:
    """Return min.insync.replicas, but never more than there are replicas."""
    wanted = p.settings.min_isr or 1
    return wanted if p.assigned is None else min(wanted, len(p.assigned))


def _leader(p: PartitionFacts) -> int | None:
    return None if p.leader is None or p.leader == NOBODY else p.leader


def _epoch(p: PartitionFacts) -> int | None:
    return None if p.epoch == NOBODY else p.epoch


def _partition(scene: PictureScene, p: PartitionFacts) -> f.ShownPartition:
    log = p.reference
    speeds = rates(scene, p.name)
    lanes = [_lane(scene, p, b, p.replicas.get(b, ReplicaFacts()), speeds.get(b)) for b in _order(p)]
    return _focused(scene, p, f.ShownPartition(
        topic=p.topic, index=p.index, leader=_leader(p), epoch=_epoch(p), isr=p.isr, min_isr=p.settings.min_isr,
        replication_factor=len(p.assigned) if p.assigned is not None else None, high_watermark=p.high_watermark,
        log_end=p.log_end, log_start=log.start if log is not None else None,
        last_stable=log.last_stable if log is not None else None, lanes=tuple(lanes), epochs=_epochs(p),
        fingers=_fingers(scene, p.name), queries=_queries(scene, p.name), transactions=p.transactions, aborted=_aborted(p)))


def _aborted(p: PartitionFacts) -> tuple[f.Span, ...]:
    """Return the aborted records that are still in the log; those that touch are one span."""
    first, found = (p.reference.start if p.reference is not None else None) or 0, Intervals()
    for each in p.written:
        if each.aborted:
            found.add(max(first, each.start), each.end)
    return tuple(f.Span(start, end) for start, end in found)


def _order(p: PartitionFacts) -> list[int]:
    """Return the replicas in the order of lanes: the leader first, then those in sync, then the rest."""
    brokers = sorted({*p.replicas, *(p.assigned or ())})
    return sorted(brokers, key=lambda b: (b != p.leader, p.isr is not None and b not in p.isr, b))


def _lane(scene: PictureScene, p: PartitionFacts, broker: int, r: ReplicaFacts, rate: float | None) -> f.Lane:
    conditions, log, leads = scene.state.conditions, r.log, broker == p.leader
    down = conditions.is_down(broker)
    role = "leader" if leads else "follower" if p.leader is not None and p.leader >= 0 else "unknown"
    return f.Lane(
        broker=broker, role=role, process=conditions.shown(broker), cut_from=conditions.cut_from(broker), epoch=r.epoch,
        believes_leader=r.role == "leader" and not down, in_sync=None if p.isr is None else broker in p.isr,
        behind_for=scene.behind_for(p, broker), lag_limit=scene.lag_limit, next_check=scene.next_check(p, broker),
        start=log.start, high_watermark=log.high_watermark, end=log.end, cells=(), folded=(),
        ghosts=log.ghosts_from(scene.zero), rate=rate)


def _focused(scene: PictureScene, p: PartitionFacts, shown: f.ShownPartition) -> f.ShownPartition:
    """Return the partition with the records of its lanes: one by one what is open, the same in every lane; the rest folded."""
    opened = focus(marks(shown), *(extent(shown) or (0, 0)), room=BOXES)
    return replace(shown, lanes=tuple(
        lane if lane.end is None else replace(lane, cells=_cells(scene, p, p.replicas[lane.broker], opened),
                                              folded=tuple(folds(opened, lane.start or 0, lane.end))) for lane in shown.lanes))


def _cells(scene: PictureScene, p: PartitionFacts, r: ReplicaFacts, opened: tuple[f.Span, ...]) -> tuple[f.Cell, ...]:
    mark, account, counts = p.high_watermark, scene.state.account, p.reference
    void = Intervals([each.start for each in _aborted(p)], [each.end for each in _aborted(p)])
    return tuple(f.Cell(offset, epoch, None if mark is None else offset < mark, account.is_acked(p.name, epoch, offset),
                        offset in void and counts is not None and counts.epoch_at(offset) == epoch)
                 for each in opened for epoch, start, end in r.log.parts(each.start, each.end) for offset in range(start, end))


def _epochs(p: PartitionFacts) -> tuple[f.EpochSpan, ...]:
    log = p.reference
    return () if log is None else tuple(f.EpochSpan(epoch, start, end, p.led_by.get(epoch))
                                        for epoch, start, end in log.parts() if epoch is not None)


def _fingers(scene: PictureScene, tp: str) -> tuple[f.Finger, ...]:
    groups = scene.state.groups
    reading = [f.Finger(name, "position", c.positions[tp]) for name, c in sorted(scene.state.consumers.items())
               if tp in c.positions and not (c.is_dead and groups.get(c.group or "", GroupFacts()).owner(tp) != c.member)]
    return (*reading, *(f.Finger(name, "committed", g.committed[tp]) for name, g in sorted(scene.state.groups.items())
                        if tp in g.committed))


def _queries(scene: PictureScene, tp: str) -> tuple[f.ShownQuery, ...]:
    return tuple(f.ShownQuery(name, q.planned, q.done, q.watermark, tuple(
        f.ShownBatch(number, start, end, q.done is not None and number <= q.done) for number, start, end in q.batches(tp)),
        q.running, tuple(f.ShownRecord(*each) for each in q.written(tp)), q.verdict,
        tuple(f.ShownTask(*task, q.done is not None and task[0] <= q.done) for task in q.tasks()))
        for name, q in sorted(scene.state.queries.items()))


# --- clients --------------------------------------------------------------------------------------------------------


def _producers(scene: PictureScene) -> tuple[f.ShownProducer, ...]:
    return tuple(f.ShownProducer(name, p.sent, p.acked, p.failed, p.unknown, len(p.waiting), p.last_latency,
                            scene.t - min(p.waiting.values()) if p.waiting else None, p.last_error, p.acks,
                            scene.t - p.last_sent if p.last_sent is not None else None)
                 for name, p in sorted(scene.state.producers.items()))


def _groups(scene: PictureScene) -> tuple[f.ShownGroup, ...]:
    found = []
    for name, g in sorted(scene.state.groups.items()):
        called = scene.called(g)
        positions = {tp: (who, at) for who, c in sorted(scene.state.consumers.items())
                     if c.group == name and (c.member is None or c.member in g.members or g.state is None)
                     for tp, at in c.positions.items()}
        assigned = {tp for tps in g.assignment.values() for tp in tps}
        tps = [tp for tp in names(scene.state) if tp in positions or tp in g.committed or tp in assigned]
        found.append(f.ShownGroup(name, g.state, g.generation, tuple(called[m] for m in g.members),
                             tuple(_progress(scene, name, g, called, tp, positions.get(tp), owner)
                                   for tp in tps for owner in g.owners(tp) or [None]),
                             tuple(f.ShownMember(who, c.process, scene.t - c.since)
                                   for who, c in sorted(scene.state.consumers.items())
                                   if c.group == name and c.process is not None and c.process != "left")))
    return tuple(found)


def _progress(scene: PictureScene, name: str, g: GroupFacts, called: dict[str, str], tp: str,
              position: tuple[str, int] | None, owner: str | None) -> f.ShownProgress:
    committed = g.committed.get(tp)
    mark = scene.state.partitions[tp].high_watermark
    member = called[owner] if owner is not None else position[0] if position is not None else None
    lag = mark - committed if mark is not None and committed is not None else None
    rate = sum(event.get("records", 0) for event in scene.recent
               if event["k"] == "position" and event["tp"] == tp and event.get("group") == name)
    return f.ShownProgress(tp, member, position[1] if position is not None else None, committed, lag, rate)


def _unreadable(scene: PictureScene, p: PartitionFacts) -> int:
    """Return how many acknowledged records below the high watermark read_committed does not hand out."""
    log = p.reference
    if log is None or log.high_watermark is None:
        return 0
    stable = log.high_watermark if log.last_stable is None else min(log.high_watermark, log.last_stable)
    void = [part for each in _aborted(p) for part in log.parts(each.start, min(each.end, stable))]
    return scene.state.account.count(p.name, [*void, *log.parts(stable, log.high_watermark)])


def _ledger(scene: PictureScene) -> f.Ledger:
    account, told = scene.state.account, scene.state.account.producers_told
    logs = {tp: p.reference for tp, p in scene.state.partitions.items() if tp in account.acked}
    known = {tp: log for tp, log in logs.items() if log is not None}
    void = sum(_unreadable(scene, scene.state.partitions[tp]) for tp in known)
    readable = sum(account.readable(tp, log) for tp, log in known.items()) if told else None
    judged = told and all(account.is_judged(tp, log) for tp, log in logs.items())
    return f.Ledger(
        acknowledged=account.acknowledged if told else None,
        readable=readable, committed=None if readable is None else readable - void,
        delivered=account.handed_out if account.consumers_told else None,
        unknown=sum(p.unknown for p in scene.state.producers.values()) if told else None,
        lost=sum(account.lost(tp, log) for tp, log in known.items()) if judged else None,
        duplicate=account.duplicates if account.consumers_told else None, reordered=account.reordered if told else None)
