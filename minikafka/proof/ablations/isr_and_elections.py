"""Rules of the ISR, of elections and of the controller switched off (15 to 17, 26, 27, 29, 33)."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

from minikafka.broker.controller import alter_partition
from minikafka.broker.controller.alter_partition import IsrMember, Proposal
from minikafka.broker.controller.controller import Controller
from minikafka.broker.controller.shell.active_controller import ActiveController
from minikafka.broker.metadata.image import BrokerRegistration, MetadataImage, PartitionRegistration
from minikafka.broker.replication import replica
from minikafka.broker.replication.effects import Effect
from minikafka.broker.replication.isr import RemoteReplica
from minikafka.broker.replication.replica import Replica
from minikafka.proof.ablations.ablation import ablation
from minikafka.proof.small_worlds.partition_chaos import partition_chaos
from minikafka.protocol.errors import Err
from minikafka.sim.world.replaced import replaced


@ablation("15", "a replica may join as soon as it fetches", falls="I2 I3 I4 lost-write",
          script="r15_join_too_early")
def expands_below_high_watermark() -> AbstractContextManager[object]:
    expand = Replica._maybe_expand

    def anywhere(self: Replica, replica: int) -> list[Effect]:
        high, self.high_watermark = self.high_watermark, -1
        try:
            return expand(self, replica)
        finally:
            self.high_watermark = high

    return replaced(Replica, "_maybe_expand", anywhere)


@ablation("15", "a replica may join that has only what the new leader knows to be committed",
          falls="I3 I4 lost-write", script="a6_expand_below_epoch_start")
def expands_below_epoch_start() -> AbstractContextManager[object]:
    expand = Replica._maybe_expand

    def anywhere(self: Replica, replica: int) -> list[Effect]:
        start, self.epoch_start = self.epoch_start, 0
        try:
            return expand(self, replica)
        finally:
            self.epoch_start = start

    return replaced(Replica, "_maybe_expand", anywhere)


@ablation("15, 16", "a member of a proposed ISR is known by its id alone (before KIP-903)",
          falls="I2 I3 I4 lost-write", script="a7_empty_disk_rejoins")
def ignores_broker_epochs() -> AbstractContextManager[object]:
    def eligible(image: MetadataImage, member: IsrMember) -> bool:
        broker = image.brokers.get(member.broker)
        return broker is not None and broker.active

    return replaced(alter_partition, "_eligible", eligible)


@ablation("15", "a fenced broker may join", falls="I9", script="r15_fenced_member")
def admits_fenced_brokers() -> AbstractContextManager[object]:
    def eligible(self: Replica, replica: int, follower: RemoteReplica) -> bool:
        return follower.broker_epoch is not None

    stack = ExitStack()
    stack.enter_context(replaced(Replica, "_eligible", eligible))
    stack.enter_context(replaced(alter_partition, "_eligible", lambda image, member: True))
    return stack


@ablation("15, 27", "a broker that is shutting down may join, and be elected", falls="I9", profile=partition_chaos)
def counts_on_leaving_brokers() -> AbstractContextManager[object]:
    return replaced(BrokerRegistration, "active", property(lambda self: not self.fenced))


@ablation("16", "the controller does not ask of which state a proposal was made", falls="I2 I3 I4 I6 lost-write",
          script="r16_stale_proposal")
def ignores_partition_epochs() -> AbstractContextManager[object]:
    validate = alter_partition._validate

    def blind(image: MetadataImage, broker: int, partition: PartitionRegistration | None, proposal: Proposal) -> Err:
        if partition is not None:
            proposal = replace(proposal, partition_epoch=partition.partition_epoch)
        return validate(image, broker, partition, proposal)

    return replaced(alter_partition, "_validate", blind)


@ablation("17", "a leader returns to its old ISR whatever it is refused with", falls="I2 I3 I4 I6 lost-write",
          script="r17_lost_answer")
def reverts_at_any_refusal() -> AbstractContextManager[object]:
    return replaced(replica, "REVERTIBLE", replica.REVERTIBLE | replica.AWAIT_METADATA)


@ablation("26", "the controller answers before its decision is committed", falls="I2 I3 I4 I5 I6 I9 lost-write",
          script="r26_zombie_controller")
def answers_uncommitted() -> AbstractContextManager[object]:
    async def at_once(self: ActiveController) -> None:
        return None

    return replaced(ActiveController, "_committed", at_once)


@ablation("29, 33", "a broker keeps its places although it comes back from an unclean shutdown", falls="I2 I3 I4 lost-write",
          script="a8_last_replica_standing")
def believes_every_return() -> AbstractContextManager[object]:
    leave = Controller._leave
    return replaced(Controller, "_leave", lambda self, broker, clean: leave(self, broker, clean) if clean else [])


@ablation("33", "the last member of an ISR may always lead, and nobody else (before KIP-966)",
          falls="I2 I3 I4 lost-write", script="a8_last_replica_standing")
def without_eligible_leaders() -> AbstractContextManager[object]:
    return replaced(Controller, "elr", property(lambda self: False))
