"""A lone controller whose decisions are judged: when each may be refused, and what must be true of its answer and of the image.

    answer = world.ask("UnregisterBroker 3", lambda: world.core.unregister_broker(3), {Err.BROKER_ID_NOT_REGISTERED: False})

A refusal needs its reason, and where a reason holds, the request is refused. Which reason comes first is Kafka's order: the tests
on the wire judge it.

Owns: what each broker has sent to this controller (`heard`), the checks of registrations, heartbeats, sessions and time.
Invariants (the cores' own are asserted in Controller.check() and leader_election.py)
  I-ALONE-1  a decision itself changes nothing; a refusal has its reason, an accepted request none.
  I-ALONE-2  each changed partition's epoch grows by one; equal logs give equal images.
  I-ALONE-3  a broker that begins a new life gets a new epoch, the offset of its registration, and is eligible nowhere if its
             last life did not end well.
  I-ALONE-4  a broker is fenced for silence at the session timeout, neither before nor later.
  I-ALONE-9  a partition without a leader has no active replica that is complete; its last member leaves the ISR where replicas
             can be eligible, and only there.
  I-ALONE-5  a stopping broker exits when it leads nothing and every serving broker has read that, neither before nor later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from minikafka.broker.controller.controller import Controller, Registration
from minikafka.broker.controller.heartbeats import BrokerHeartbeat, HeartbeatVerdict
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import NO_LEADER, FeatureLevelRecord, decode, encode
from minikafka.broker.server.turns import at_once, collected
from minikafka.proof.small_worlds.checks import same, that
from minikafka.proof.small_worlds.controller.lone_controller import CLUSTER, SESSION_S, LoneController
from minikafka.protocol.errors import Err, KafkaError

ELR_FEATURE = "eligible.leader.replicas.version"
MOST_TICKS = 40
Reasons: TypeAlias = Mapping[Err, bool | None]  # of each refusal: whether it must be; None: it may be


@dataclass
class BrokerHeard:
    """The state of one broker, by its requests to this controller alone."""

    at: float
    has_read: int = -1  # of the metadata
    exits_after: int | None = None  # the others must have read this far


class JudgedController(LoneController):
    """A controller of random brokers and administrators, which may lose its quorum."""

    def __init__(self, rng: Random, elr: bool, config: dict[str, str]) -> None:
        self.heard: dict[int, BrokerHeard] = {}
        super().__init__(0, config)
        self.rng, self.elr, self.loses, self.next_id = rng, elr, 0.02, 0  # `loses`: how often the quorum is lost before a commit
        if not elr:
            self.append([FeatureLevelRecord(ELR_FEATURE, 0)])

    # --- any decision ---------------------------------------------------------------------------------------------

    def ask(self, what: str, decide: Callable[[], Any], reasons: Reasons) -> Any:
        """Take and commit a decision; return its answer, the Err that refuses it, None if the quorum was lost meanwhile."""
        before = self.image.copy()
        try:
            decided = decide()
            records, answer = decided if isinstance(decided, tuple) else at_once(collected(decided))
        except KafkaError as refused:
            records, answer = [], refused.code
        same_image("I-ALONE-1", f"{what} is only decided", self.image, before)
        self.judge(what, answer if isinstance(answer, Err) else Err.NONE, reasons)
        if records and self.rng.random() < self.loses:
            self.fail_over()
            return None
        self.append(records)
        for p in self.image.partitions():
            old = before.partition(p.topic, p.index)
            if old is not None and old is not p and old.topic_id == p.topic_id:
                same("I-ALONE-2", f"the partition epoch after {what}: {p}", p.partition_epoch, old.partition_epoch + 1)
            if p.leader == NO_LEADER:
                that("I-ALONE-9", not any(map(self.image.is_active, p.isr or p.elr)), f"no replica leads after {what}: {p}")
                if old is not None and old.leader != NO_LEADER and old.replicas == p.replicas:
                    that("I-ALONE-9", bool(p.isr) is not self.elr, f"the last member of the ISR after {what}: {p}")
        return answer

    def judge(self, what: str, code: Err, reasons: Reasons) -> None:
        """Check that a refusal has its reason, and that what is accepted has none against it."""
        if code is Err.NONE:
            that("I-ALONE-1", True not in reasons.values(), f"{what} is accepted against {reasons}")
        else:
            that("I-ALONE-1", reasons.get(code, False) is not False, f"{what} is refused with {code.name}: {reasons}")

    def fail_over(self) -> None:
        """Let another controller take over: it has replayed the log, and has no heartbeat."""
        image = MetadataImage(CLUSTER)
        image.replay([decode(encode(record)) for record in self.log], len(self.log) - 1, 1)
        same_image("I-ALONE-2", "the log replayed", image, self.image)
        image.take_changes()
        self.core = Controller(image, self.config, self.now)
        self.heard = {broker: BrokerHeard(self.now) for broker in image.brokers}

    # --- brokers --------------------------------------------------------------------------------------------------

    def enroll(self, wanted: Registration) -> Any:
        """Register a broker; return its epoch or the refusal."""
        known, levels = self.image.brokers.get(wanted.broker), {f.name: f for f in wanted.features}
        again = known is not None and known.incarnation == wanted.incarnation
        able = all(name in levels and levels[name].min_supported_version <= level <= levels[name].max_supported_version
                   for name, level in self.image.features.items())
        epoch = self.ask(f"{wanted}", lambda: self.core.register_broker(wanted, len(self.log), self.now), {
            Err.INCONSISTENT_CLUSTER_ID: wanted.cluster_id != CLUSTER, Err.UNSUPPORTED_VERSION: not able,
            Err.DUPLICATE_BROKER_REGISTRATION: not again and self.serving(wanted.broker)})
        if epoch is None or isinstance(epoch, Err):
            return epoch
        made = self.image.brokers[wanted.broker]
        same("I-ALONE-3", f"what is registered of {wanted}", (made.incarnation, made.end_points, made.rack, made.features,
             made.log_dirs), (wanted.incarnation, wanted.listeners, wanted.rack, wanted.features, wanted.log_dirs))
        if known is not None and again:
            same("I-ALONE-3", f"the same life, {wanted}", (made.epoch, made.fenced), (known.epoch, known.fenced))
        else:
            same("I-ALONE-3", f"the epoch of {wanted}", (made.epoch, made.fenced), (made.registration_offset, True))
            unclean = known is not None and known.epoch != wanted.previous_epoch
            that("I-ALONE-3", not unclean or all(made.id not in p.elr for p in self.image.partitions()), f"eligible: {wanted}")
        same("I-ALONE-3", "the epoch in the answer", epoch, made.epoch)
        self.heard[made.id] = BrokerHeard(self.now)
        return epoch

    def serving(self, broker: int) -> bool:
        """Return whether a broker is unfenced and within its session."""
        known = self.image.brokers.get(broker)
        return known is not None and not known.fenced and self.now < self.heard[broker].at + SESSION_S

    def beat(self, beat: BrokerHeartbeat) -> Any:
        """Send a heartbeat; return the verdict or the refusal."""
        before, leads = self.image.brokers.get(beat.broker), any(p.leader == beat.broker for p in self.image.partitions())
        verdict = self.ask(f"{beat} at {self.now}", lambda: self.core.heartbeat(beat, len(self.log), self.now), {
            Err.STALE_BROKER_EPOCH: before is None or before.epoch != beat.broker_epoch})
        if before is None or not isinstance(verdict, HeartbeatVerdict):
            return verdict
        heard, ready = self.heard[beat.broker], before.registration_offset <= beat.metadata_offset
        if heard.exits_after is not None:
            others = [one.has_read for id, one in self.heard.items()
                      if not self.image.brokers[id].fenced and one.exits_after is None]
            exits = not leads and all(read >= heard.exits_after for read in others)
        else:
            exits = beat.want_shut_down and not (leads and not beat.want_fence)
        stopping = beat.want_shut_down or heard.exits_after is not None
        serves = not exits and (stopping or not beat.want_fence and (ready or not before.fenced))
        same("I-ALONE-5", f"{beat} at {self.now}", verdict, HeartbeatVerdict(ready, not serves, exits))
        same("I-ALONE-5", f"whether it is fenced after {beat}", self.image.brokers[beat.broker].fenced, verdict.fenced)
        if not serves:
            heard.exits_after = None
        elif stopping and heard.exits_after is None:
            heard.exits_after = len(self.log) - 1
        heard.at, heard.has_read = self.now, beat.metadata_offset
        return verdict

    def unregister(self, broker: int) -> None:
        """Take a broker out of the cluster."""
        if self.ask(f"UnregisterBroker {broker}", lambda: (self.core.unregister_broker(broker), broker), {
                Err.BROKER_ID_NOT_REGISTERED: broker not in self.image.brokers}) is broker:
            that("I-ALONE-3", broker not in self.image.brokers, f"broker {broker} is still registered")
            del self.heard[broker]

    def take_ids(self, broker: int, epoch: int) -> None:
        """Take a block of producer ids: it follows on all that were given out."""
        known = self.image.brokers.get(broker)
        ids = self.ask(f"AllocateProducerIds {broker}", lambda: self.core.allocate_producer_ids(broker, epoch), {
            Err.STALE_BROKER_EPOCH: known is None or known.epoch != epoch})
        if isinstance(ids, range):
            same("I-CTL-4", "a block of producer ids", ids, range(self.next_id, self.next_id + 1000))
            self.next_id = ids.stop

    # --- time -----------------------------------------------------------------------------------------------------

    def due(self) -> None:
        """Let everything happen that is due by now, one after the other."""
        for _ in range(MOST_TICKS):
            before, is_due = self.image.copy(), self.core.next_deadline() <= self.now
            self.ask(f"the time {self.now}", lambda: (self.core.tick(self.now), None), {})
            for id, broker in before.brokers.items():
                that("I-ALONE-4", broker.fenced or not self.image.brokers[id].fenced or self.silent(id),
                     f"broker {id} is fenced at {self.now}, heard at {self.heard[id].at}")
                if self.image.brokers[id].fenced:
                    self.heard[id].exits_after = None
            if not is_due:
                late = [id for id, one in self.image.brokers.items() if not one.fenced and self.silent(id)]
                return same("I-ALONE-4", f"silent brokers that serve at {self.now}", late, [])
        raise AssertionError(f"I-ALONE-4 there is always something to do at {self.now}")

    def silent(self, broker: int) -> bool:
        return self.now >= self.heard[broker].at + SESSION_S


def state(image: MetadataImage) -> tuple[Any, ...]:
    """Return the content of an image."""
    topics = {topic.name: (topic.id, topic.partitions) for topic in image.topics.values()}
    return (image.brokers, topics, image.configs, image.features, image.client_quotas, image.scram, image.acls,
            image.next_producer_id)


def same_image(id: str, what: str, found: MetadataImage, wanted: MetadataImage) -> None:
    """Raise RuleFallen, with the part that differs, unless two images are equal."""
    for one, other in zip(state(found), state(wanted)):
        same(id, what, one, other)
