"""I17: the clients' own view: their history, judged with Jepsen's names by the checker that also judges live clusters.

A loss with permission is told to the history as facts (`may-lose`, minikafka/history/history.py): of the partition; and
where the partition is an internal one, which no client reads, of the groups and transactional ids of which the lost
records had spoken, and of no others.

So is an answer of a deposed coordinator that has not heard of it: cut off from the controller, it goes on answering with
the offsets that it knows, for OffsetFetch does not ask it to prove that it still leads (Apache's does the same). A member
that goes on from such an offset reads records again and commits them: exactly once does not hold while two brokers act
as coordinator of one group.

What was acknowledged with acks=1 is promised as long as its partition has one leader in one epoch; with the first election
its last records may go. In a topic where anybody asked for more, nothing is excused.

Owns: what a deposed coordinator's answer, or an election where acks=1 was asked for, excuses; what a permitted loss
excuses is in excuses.py.
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.coordinator.hashing import partition_of
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.history import History
from minikafka.sim.invariants.invariant import Invariant
from minikafka.sim.invariants.known import Known

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
        from minikafka.history import check

        self._excuse_one_ack(self.watch.history)
        asked = [e for e in self.watch.history if e["f"] == "committed"]
        groups = {e["op"]: e["group"] for e in asked if e["type"] == "invoke"}
        for e in asked:
            if e["type"] == "ok" and self._was_deposed(e, groups[e["op"]]):
                self.watch.history.fact("may-lose", group=groups[e["op"]], anomalies=OF_OLD_OFFSETS,
                                        why=f"broker {e['by']} told offsets and led no more")
        for verdict in check(self.watch.history).verdicts:
            if verdict.valid is False:
                told = "; ".join(evidence.text for evidence in verdict.evidence[:SHOWN])
                self.fail(f"{verdict.name} ({verdict.count}): {told}", verdict.name)

    def _excuse_one_ack(self, history: History) -> None:
        """Excuse losses in topics where each producer was content with the leader, if leaders have changed since."""
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
