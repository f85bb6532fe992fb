"""The controller's decisions: brokers' lives, ISR changes, elections, producer ids.

A decision reads the image and returns records, which carry it out, and a verdict, from which api/ makes the response.
apply() replays the records once they are in the quorum's log. The shell (shell/active_controller.py) takes one decision at
a time and answers when its records are committed, so no client ever sees a decision of a controller that has lost its
quorum (rule 26).

Owns: the image that includes uncommitted records, the brokers' sessions, the times of the periodic checks.

Invariants
  I-CTL-1  a decision changes no metadata: only apply() changes the image.
  I-CTL-2  AlterPartition is checked in Kafka's order (rule 16): a leader with a newer epoch than this controller's must
           look for a new controller before its proposal is judged.
  I-CTL-3  a new incarnation of a broker leaves every ISR and leadership before it is registered (rule 29).
  I-CTL-4  producer ids are handed out in blocks that never overlap (rule 47).
  I-CTL-9  a broker that is fenced leads nothing, and is in no ISR that has a leader (rules 15, 28).

What Kafka does differently: an event queue with deferred events; heartbeats older than a second are only noted; log
directories may go offline one by one. Source: QuorumController, ClusterControlManager, ReplicationControlManager,
ProducerIdControlManager, ActivationRecordsGenerator; KIP-500, KIP-631, KIP-966.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TypeAlias

from minikafka.broker.config.alter import Alteration, alter_configs
from minikafka.broker.config.effective import BrokerConfig, topic_value
from minikafka.broker.controller.admin.alter_reassignments import (
    Reassignment,
    ReassignmentContext,
    alter_reassignments,
)
from minikafka.broker.controller.admin.elect_leaders import elect_leaders
from minikafka.broker.controller.admin.verdicts import PartitionVerdict
from minikafka.broker.controller.alter_partition import Proposal, ProposalVerdict, alter_partition
from minikafka.broker.controller.heartbeats import (
    NEVER,
    BrokerControlState,
    BrokerHeartbeat,
    Heartbeats,
    HeartbeatVerdict,
)
from minikafka.broker.controller.leader_election import Election, Rules, Target, change
from minikafka.broker.controller.reassignment_steps import Assignment, Replicas
from minikafka.broker.metadata.delegation_tokens import expired
from minikafka.broker.metadata.image import BrokerRegistration, MetadataImage, PartitionRegistration
from minikafka.broker.metadata.records import (
    BROKER_RESOURCE,
    FENCE,
    NO_LEADER,
    UNFENCE,
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
    Uuid,
)
from minikafka.broker.metadata.registrations import Changes
from minikafka.protocol.errors import Err, KafkaError

Records: TypeAlias = list[MetadataRecord]
PRODUCER_ID_BLOCK = 1000
MAX_ELECTIONS = 1000                # of one periodic check
ELR_FEATURE = "eligible.leader.replicas.version"
BOOTSTRAP_FEATURES = {"metadata.version": 30, ELR_FEATURE: 1, "transaction.version": 2, "group.version": 1}   # 4.3-IV0


@dataclass(frozen=True, slots=True)
class Registration:
    """The registration that a broker sends; `previous_epoch` is its epoch before a clean shutdown, -1 after any other end."""

    broker: int
    cluster_id: str
    incarnation: Uuid
    listeners: tuple[BrokerEndpoint, ...]
    features: tuple[BrokerFeature, ...]
    rack: str | None = None
    log_dirs: tuple[Uuid, ...] = ()
    previous_epoch: int = -1


class Controller:
    """The active controller's state. Times are seconds of the monotonic clock; offsets are of the metadata log."""

    def __init__(self, image: MetadataImage, config: BrokerConfig, now: float) -> None:
        """Take over `image`, which must contain every record of the log so far; the caller does not use it any more."""
        self.image, self.config = image, config
        self.heartbeats = Heartbeats(config["broker.session.timeout.ms"] / 1000)
        for broker in image.brokers.values():
            self.heartbeats.register(broker.id, broker.fenced, now)
        self._imbalance_s = config["leader.imbalance.check.interval.seconds"]
        self._unclean_s = config["unclean.leader.election.interval.ms"] / 1000
        self._next_balance = now + self._imbalance_s if config["auto.leader.rebalance.enable"] else NEVER
        self._next_unclean = now + self._unclean_s
        self._sweep_s = config["delegation.token.expiry.check.interval.ms"] / 1000
        self._next_sweep = now + self._sweep_s if config["delegation.token.secret.key"] is not None else NEVER
        self._idle_s = config["metadata.max.idle.interval.ms"] / 1000 or NEVER
        self._next_no_op = now + self._idle_s

    def apply(self, records: Records, last_offset: int, epoch: int,
              contained: Callable[[str], AbstractContextManager[None]] = nullcontext) -> None:
        """Replay a decision's records, as each broker will: they are in the log, though not yet committed."""
        self.image.replay(records, last_offset, epoch, contained)
        changes = self.image.take_changes()
        if __debug__:
            self.check(changes)

    def check(self, changes: Changes) -> None:
        """Assert what is true after each decision, of the brokers and the partitions that it changed."""
        image, sessions = self.image, self.heartbeats.sessions
        assert {b: s.fenced for b, s in sessions.items()} == {b.id: b.fenced for b in image.brokers.values()}, (
            f"I-SESS-3 {sessions} {image.brokers}")
        serving = {b.id for b in image.brokers.values() if not b.fenced}
        changed = [image.topics[topic].partitions[index] for topic, index in changes.partitions]
        for partition in changed if serving >= changes.brokers.keys() else image.partitions():
            partition.check()
            assert partition.leader == NO_LEADER or serving >= {*partition.isr}, f"I-CTL-9 {partition} {serving}"
            assert image.brokers.keys() >= {*partition.elr}, f"I-ELR-2 not registered, and eligible: {partition}"

    def bootstrap(self, users: Sequence[UserScramCredentialRecord] = ()) -> Records:
        """Return the first records of a new cluster: its features, its first users and, for the ELR, a cluster-wide
        min.insync.replicas."""
        if self.image.features:
            return []
        minimum = str(self.config["min.insync.replicas"])
        return [*(FeatureLevelRecord(name, level) for name, level in BOOTSTRAP_FEATURES.items()),
                ConfigRecord(BROKER_RESOURCE, "", "min.insync.replicas", minimum), *users]

    # --- a broker's life ---------------------------------------------------------------------------------------

    def register_broker(self, wanted: Registration, next_offset: int, now: float) -> tuple[Records, int]:
        """Return the records and the broker epoch of a registration: the offset of its registration record."""
        broker, known = wanted.broker, self.image.brokers.get(wanted.broker)
        if wanted.cluster_id != self.image.cluster_id:
            raise KafkaError(Err.INCONSISTENT_CLUSTER_ID, f"Expected cluster ID {self.image.cluster_id}, "
                             f"but got cluster ID {wanted.cluster_id}")
        same = known is not None and known.incarnation == wanted.incarnation
        if not same and self.heartbeats.valid(broker, now):
            raise KafkaError(Err.DUPLICATE_BROKER_REGISTRATION, "Another broker is registered with that broker id.")
        self._check_features(wanted)
        records: Records = []
        if known is not None and not same:
            records += self._leave(broker, clean=known.epoch == wanted.previous_epoch)
        epoch = known.epoch if same else next_offset + len(records)
        records.append(_registration(wanted, epoch, known if same else None))
        self.heartbeats.register(broker, known.fenced if same else True, now)
        return records, epoch

    def _check_features(self, wanted: Registration) -> None:
        ranges = {f.name: (f.min_supported_version, f.max_supported_version) for f in wanted.features}
        for name, level in self.image.features.items():
            low, high = ranges.get(name, (0, 0))
            if not low <= level <= high:
                raise KafkaError(Err.UNSUPPORTED_VERSION, "Unable to register because the broker does not support "
                                 f"finalized version {level} of {name}. The broker wants a version between {low} and "
                                 f"{high}, inclusive.")

    def heartbeat(self, heard: BrokerHeartbeat, next_offset: int, now: float) -> tuple[Records, HeartbeatVerdict]:
        """Return the records and the verdict of a heartbeat: it may fence or unfence the broker, move its leaders away, or
        let it exit."""
        broker = self.check_epoch(heard.broker, heard.broker_epoch)
        caught_up = heard.metadata_offset >= broker.registration_offset
        before = self.heartbeats.sessions[broker.id].state
        after = self.heartbeats.next_state(heard, caught_up, self._leads(broker.id))
        records = self._enter(broker, after) if after is not before else []
        self.heartbeats.touch(broker.id, after.fenced, heard.metadata_offset, now)
        if after is BrokerControlState.CONTROLLED_SHUTDOWN:
            self.heartbeats.start_shutdown(broker.id, next_offset + len(records) - 1)
        return records, HeartbeatVerdict(caught_up, after.fenced, should_shut_down=after is BrokerControlState.SHUTDOWN_NOW)

    def check_epoch(self, broker_id: int, epoch: int) -> BrokerRegistration:
        """Return a broker's registration; KafkaError STALE_BROKER_EPOCH if the request comes from an older one (rule 31)."""
        broker = self.image.brokers.get(broker_id)
        if broker is None:
            raise KafkaError(Err.STALE_BROKER_EPOCH, f"No broker registration found for broker id {broker_id}")
        if broker.epoch != epoch:
            raise KafkaError(Err.STALE_BROKER_EPOCH, f"Expected broker epoch {broker.epoch}, but got broker epoch {epoch}")
        return broker

    def unregister_broker(self, broker_id: int) -> Records:
        """Return the records that take a broker out of every leadership, ISR and ELR, and out of the cluster."""
        broker = self.image.brokers.get(broker_id)
        if broker is None:
            raise KafkaError(Err.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered")
        self.heartbeats.remove(broker_id)
        return [*self._leave(broker_id, clean=False), UnregisterBrokerRecord(broker_id, broker.epoch)]

    def _enter(self, broker: BrokerRegistration, state: BrokerControlState) -> Records:
        if state is BrokerControlState.UNFENCED:
            return self._unfence(broker)
        if state is BrokerControlState.CONTROLLED_SHUTDOWN:
            change_ = BrokerRegistrationChangeRecord(broker.id, broker.epoch, in_controlled_shutdown=1)
            marked: Records = [] if broker.in_controlled_shutdown else [change_]
            return marked + self._leave(broker.id, clean=True)
        return self._fence(broker)

    def _fence(self, broker: BrokerRegistration) -> Records:
        fenced = BrokerRegistrationChangeRecord(broker.id, broker.epoch, fenced=FENCE)
        return [*self._leave(broker.id, clean=True), fenced]

    def _unfence(self, broker: BrokerRegistration) -> Records:
        unfenced = BrokerRegistrationChangeRecord(broker.id, broker.epoch, fenced=UNFENCE)
        leaderless = [p for p in self.image.partitions() if p.leader == NO_LEADER]
        return [unfenced, *self._elect(leaderless, returning=broker.id)]

    def _leave(self, broker: int, clean: bool) -> Records:
        """Return the records that take a broker out of every ISR and leadership; after an unclean restart out of every ELR
        too (I-ELR-2)."""
        parts = [p for p in self.image.partitions() if broker in p.isr or (not clean and broker in p.elr)]
        return self._elect(parts, leaving=broker, unclean_shutdown=None if clean else broker)

    def _elect(self, partitions: Iterable[PartitionRegistration], leaving: int | None = None, returning: int | None = None,
               unclean_shutdown: int | None = None) -> Records:
        def may_lead(replica: int) -> bool:
            # The record that fences or unfences this broker is made by the same decision: the image does not have it yet.
            return replica != leaving and (replica == returning or self.image.is_active(replica))

        records: Records = []
        for partition in partitions:
            isr = tuple(r for r in partition.isr if r != leaving)
            record = change(partition, self._rules(partition, may_lead), self._election(partition.topic),
                            Target(isr, unclean_shutdown=unclean_shutdown))
            records += [record] if record else []
        return records

    def _leads(self, broker: int) -> bool:
        return any(p.leader == broker for p in self.image.partitions())

    # --- partitions --------------------------------------------------------------------------------------------

    def alter_partition(self, broker: int, epoch: int, proposals: Sequence[tuple[Uuid, Sequence[Proposal]]],
                        ) -> tuple[Records, list[tuple[Uuid, list[ProposalVerdict]]]]:
        """Return the records of the ISR changes that are accepted, and a verdict for each proposal (rule 16)."""
        self.check_epoch(broker, epoch)
        return alter_partition(self.image, broker, proposals, self._altered)

    def _altered(self, partition: PartitionRegistration, isr: Replicas, recovering: bool) -> PartitionChangeRecord | None:
        rules = self._rules(partition, self.image.is_active)
        return change(partition, rules, self._election(partition.topic), Target(isr, recovering=recovering))

    def _rules(self, partition: PartitionRegistration, may_lead: Callable[[int], bool]) -> Rules:
        minimum = topic_value(self.image, self.config, partition.topic, "min.insync.replicas")
        return Rules(may_lead, minimum, self.elr, self.image.new_directory)

    @property
    def elr(self) -> bool:
        """Return whether eligible leader replicas are in use."""
        return self.image.features.get(ELR_FEATURE, 0) >= 1

    def _election(self, topic: str) -> Election:
        return Election.UNCLEAN if self._unclean(topic) else Election.ONLINE

    def _unclean(self, topic: str) -> bool:
        return bool(topic_value(self.image, self.config, topic, "unclean.leader.election.enable"))

    def elect_leader(self, partition: PartitionRegistration, election: Election) -> PartitionChangeRecord | None:
        """Return the record of an election that was requested; None if no other replica can be elected."""
        return change(partition, self._rules(partition, self.image.is_active), election)

    # --- administration ----------------------------------------------------------------------------------------

    def elect_leaders(self, kind: Election,
                      requested: Sequence[tuple[str, Sequence[int]]]) -> Iterator[tuple[Records, PartitionVerdict]]:
        """Yield the record of the election and the verdict for each partition requested (admin/elect_leaders.py)."""
        return elect_leaders(self.image, kind, requested, self.elect_leader)

    def reassign(self, requested: Sequence[tuple[str, Sequence[Reassignment]]],
                 allow_replication_factor_change: bool) -> Iterator[tuple[Records, PartitionVerdict]]:
        """Yield the record of the reassignment and the verdict for each partition requested."""
        ctx = ReassignmentContext(self.image, self._reassigned, self._unclean)
        return alter_reassignments(ctx, requested, allow_replication_factor_change)

    def _reassigned(self, partition: PartitionRegistration, assignment: Assignment,
                    isr: Replicas | None) -> PartitionChangeRecord | None:
        return change(partition, self._rules(partition, self.image.is_active), self._election(partition.topic),
                      Target(isr, assignment))

    def alter_configs(self, wanted: list[Alteration]) -> Iterator[tuple[Records, KafkaError | None]]:
        """Yield for each of `wanted` its records, and the refusal or None."""
        return alter_configs(self.image, self.config, wanted, self.elr)

    # --- producer ids ------------------------------------------------------------------------------------------

    def allocate_producer_ids(self, broker: int, epoch: int) -> tuple[Records, range]:
        """Return the next block of producer ids, which is this broker's from now on (I-CTL-4)."""
        self.check_epoch(broker, epoch)
        first = self.image.next_producer_id
        return [ProducerIdsRecord(broker, epoch, first + PRODUCER_ID_BLOCK)], range(first, first + PRODUCER_ID_BLOCK)

    # --- time --------------------------------------------------------------------------------------------------

    def next_deadline(self) -> float:
        """Return the time of the next tick() that has something to do, if no request comes before."""
        return min(self.heartbeats.next_deadline(), self._next_balance, self._next_unclean, self._next_no_op,
                   self._next_sweep)

    def tick(self, now: float, wall_ms: int = 0) -> Records:
        """Return the records of one thing that is due: a silent broker is fenced, preferred leaders come back, an unclean
        election is held, tokens have ended, or the log is shown to move. The caller applies them and calls again, until nothing
        is due; `wall_ms` is the time of the tokens."""
        silent = self.heartbeats.stale(now)
        if silent is not None:
            self.heartbeats.fence(silent)
            return self._fence(self.image.brokers[silent])
        if now >= self._next_balance:
            self._next_balance = now + self._imbalance_s
            return self._balance()
        if now >= self._next_unclean:
            self._next_unclean = now + self._unclean_s
            return self._elect(p for p in self.image.partitions()
                               if p.leader == NO_LEADER and self._election(p.topic) is Election.UNCLEAN)
        if now >= self._next_sweep and not (ended := expired(self.image.tokens, wall_ms)):
            self._next_sweep = now + self._sweep_s
        elif now >= self._next_sweep:
            return ended
        if now >= self._next_no_op:
            self._next_no_op = now + self._idle_s
            return [NoOpRecord()]
        return []

    def _balance(self) -> Records:
        records: Records = []
        for partition in self.image.partitions():
            if partition.leader != partition.preferred_leader and len(records) < MAX_ELECTIONS:
                record = self.elect_leader(partition, Election.PREFERRED)
                records += [record] if record else []
        return records


def _registration(wanted: Registration, epoch: int, amended: BrokerRegistration | None) -> RegisterBrokerRecord:
    """Return the record. `amended`: the same incarnation registers again and stays as fenced as it is."""
    return RegisterBrokerRecord(
        wanted.broker, False, wanted.incarnation, epoch, wanted.listeners, wanted.features, wanted.rack,
        amended.fenced if amended else True, amended.in_controlled_shutdown if amended else False, wanted.log_dirs)
