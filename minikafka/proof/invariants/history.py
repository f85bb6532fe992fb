"""I17: the clients' own view: their history, judged with Jepsen's names by the checker that also judges live clusters.

A permitted loss enters the history as facts (`may-lose`, minikafka/client/history.py) about the partition. If the partition
is an internal one, which no client reads, they are about the groups and transactional ids that the lost records are about.

Such a fact is also written for an answer of a coordinator that was deposed and does not know it. Cut off from the controller
it goes on answering with the offsets that it knows, because OffsetFetch does not make it prove that it still leads (Apache's
does the same). A member that goes on from such an offset reads records again and commits them: exactly once does not hold
while two brokers act as coordinator of one group.

A record that was acknowledged with acks=1 is promised as long as its partition has one leader in one epoch; an election may
lose the last ones. In a topic where any producer used acks=all, nothing is excused.

Owns: the excuses for a deposed coordinator's answer and for an election after acks=1. Those for a permitted loss are in
excuses.py.
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.coordinator.hashing import partition_of
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.proof.history import History
from minikafka.proof.invariants.invariant import Invariant
from minikafka.proof.invariants.known import Known

SHOWN = 3
OF_OLD_OFFSETS = ["lost-commit", "repeated-copy"]


class HistoryIsValid(Invariant):
    """The invariant I17."""

    id, events = "I17", ("partition",)

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self._coordinators: dict[str, list[tuple[float, int]]] = {}  # partition of __consumer_offsets -> (since when, leader)
        self._epochs: dict[str, dict[int, None]] = {}  # partition -> its leader epochs

    def on_event(self, event: dict[str, Any]) -> None:
        self._epochs.setdefault(event["tp"], {})[event["epoch"]] = None
        if event["tp"].startswith(OFFSETS_TOPIC):
            self._coordinators.setdefault(event["tp"], []).append((event["t"], event["leader"]))

    async def at_end(self) -> None:
        if self.watch.history is None:
            return
        from minikafka.proof.history import check

        self._excuse_one_ack(self.watch.history)
        reads = [e for e in self.watch.history if e["f"] == "committed"]
        groups = {e["op"]: e["group"] for e in reads if e["type"] == "invoke"}
        for e in reads:
            if e["type"] == "ok" and self._was_deposed(e, groups[e["op"]]):
                self.watch.history.fact("may-lose", group=groups[e["op"]], anomalies=OF_OLD_OFFSETS,
                                        why=f"broker {e['by']} told offsets and led no more")
        for verdict in check(self.watch.history).verdicts:
            if verdict.valid is False:
                shown = "; ".join(evidence.text for evidence in verdict.evidence[:SHOWN])
                self.fail(f"{verdict.name} ({verdict.count}): {shown}", verdict.name)

    def _excuse_one_ack(self, history: History) -> None:
        """Excuse losses in topics where each producer used acks=1, if leaders have changed since."""
        acks: dict[str, set[int]] = {}
        for sent in (e for e in history if e["type"] == "invoke" and e["f"] == "send"):
            acks.setdefault(sent["topic"], set()).add(sent.get("acks", -1))
        for name, epochs in self._epochs.items():
            topic, _, partition = name.rpartition("-")
            if acks.get(topic) == {1} and len(epochs) > 1:
                history.fact("may-lose", topic=topic, partition=int(partition), why="acks=1, and another leader")

    def _was_deposed(self, answer: dict[str, Any], group: str) -> bool:
        partition = f"{OFFSETS_TOPIC}-{partition_of(group, len(self._coordinators))}"
        leaders = [leader for t, leader in self._coordinators[partition] if t <= answer["t"]]
        return answer.get("by") not in (None, leaders[-1])  # a story's own clients do not say who answered
