"""AlterPartition: carries the ISR proposals of leaders to the controller, and the controller's verdicts back (KIP-497).

Owns: the proposals not sent yet. One request is under way at a time; proposals that come meanwhile go into the next one.
Invariants
  I-ALTER-1  a partition gets each verdict together with the proposal that the verdict answers, and decides what it means.
  I-ALTER-2  a request that got no verdict (no controller, an error about the whole request) may have been applied. So it is
             sent again until it gets one, or until the proposal is no longer under way (rule 17).
Source: kafka.server.AlterPartitionManager.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from minikafka.broker.replication.isr import ProposedIsr
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.controller.shell.broker_lifecycle import Lifecycle
    from minikafka.broker.controller.shell.controller_channel import Channel
    from minikafka.broker.replication.shell.partition import Partition
    from minikafka.broker.server.node import Node
    from minikafka.protocol.apis import AlterPartitionRequest, AlterPartitionResponse
    from minikafka.protocol.record_codec import Uuid

log = logging.getLogger("minikafka.isr")

RETRY_S = 0.05
TIMEOUT_S = 30.0


class AlterPartitionSender:
    """The proposals of every partition led by this broker."""

    def __init__(self, node: Node, channel: Channel, lifecycle: Lifecycle) -> None:
        self.node, self.env, self.channel, self.lifecycle = node, node.env, channel, lifecycle
        self._waiting: dict[Partition, ProposedIsr] = {}
        self._running = False

    def submit(self, partition: Partition, proposal: ProposedIsr) -> None:
        """Send `proposal` with the next request."""
        self._waiting[partition] = proposal
        if not self._running:
            self._running = True
            self.env.spawn(self._run(), "alter ISR")

    async def _run(self) -> None:
        try:
            while batch := self._take():
                if not await self._send(batch):
                    for partition, proposal in batch.items():
                        self._waiting.setdefault(partition, proposal)
                    await self.env.sleep(RETRY_S)
        finally:
            self._running = False

    def _take(self) -> dict[Partition, ProposedIsr]:
        batch = {p: proposal for p, proposal in self._waiting.items() if p.replica.isr.proposal is proposal}
        self._waiting.clear()
        return batch

    async def _send(self, batch: dict[Partition, ProposedIsr]) -> bool:
        """Send one request; return True if it got a verdict for each partition."""
        from minikafka.protocol.apis import AlterPartitionRequest as Request
        try:
            answer = await self.channel.request(self._request(Request, batch), Request.max_version, TIMEOUT_S)
        except (OSError, TimeoutError, KafkaError) as error:
            log.info("AlterPartition got no answer, trying again: %s", error)
            return False
        if answer.error_code != Err.NONE:
            log.info("AlterPartition was refused with %s, trying again", Err(answer.error_code).name)
            return False
        verdicts = {(topic.topic_id, p.partition_index): p for topic in answer.topics for p in topic.partitions}
        retry = []
        for partition, proposal in batch.items():
            with self.env.contained(f"the new ISR of {partition.name}"):
                if not self._deliver(partition, proposal, verdicts.get((partition.topic_id, partition.index))):
                    retry.append(partition)
        for partition in retry:
            self.env.later(RETRY_S, self._again, partition, batch[partition])
        return True

    def _request(self, request: type[AlterPartitionRequest], batch: dict[Partition, ProposedIsr]) -> AlterPartitionRequest:
        topics: dict[Uuid, list[AlterPartitionRequest.TopicData.PartitionData]] = {}
        data = request.TopicData.PartitionData
        for partition, proposal in batch.items():
            members = [data.BrokerState(broker_id=b, broker_epoch=e) for b, e in proposal.isr]
            topics.setdefault(partition.topic_id, []).append(data(
                partition_index=partition.index, leader_epoch=proposal.leader_epoch, new_isr_with_epochs=members,
                leader_recovery_state=0, partition_epoch=proposal.partition_epoch))
        return request(broker_id=self.node.node_id, broker_epoch=self.lifecycle.broker_epoch,
                       topics=[request.TopicData(topic_id=i, partitions=ps) for i, ps in topics.items()])

    def _deliver(self, partition: Partition, proposal: ProposedIsr,
                 verdict: AlterPartitionResponse.TopicData.PartitionData | None) -> bool:
        """Hand a verdict to its partition; False if it wants the proposal sent again."""
        now = self.env.now()
        if verdict is None:
            return False
        error = Err(verdict.error_code)
        if error != Err.NONE:
            log.info("ISR of %s: %s refused with %s", partition.name, list(proposal.members), error.name)
        effects = partition.replica.on_alter_response(
            proposal, error, now, tuple(verdict.isr), verdict.leader_epoch, verdict.partition_epoch)
        again = any(getattr(e, "proposal", None) is proposal for e in effects)
        if not again:
            partition.carry_out(effects)
        return not again

    def _again(self, partition: Partition, proposal: ProposedIsr) -> None:
        if partition.replica.isr.proposal is proposal:
            self.submit(partition, proposal)
