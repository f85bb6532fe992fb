"""I17: the clients' own view. Their history, judged with Jepsen's names by the checker that also judges live clusters."""

from __future__ import annotations

from minikafka.sim.invariants.invariant import Invariant

SHOWN = 3


class HistoryIsValid(Invariant):
    """I17. A loss with permission is told to the history as a fact (`may-lose`)."""

    id = "I17"

    async def at_end(self) -> None:
        if self.watch.history is None:
            return
        from minikafka.history import check

        for verdict in check(self.watch.history).verdicts:
            if verdict.valid is False:
                told = "; ".join(evidence.text for evidence in verdict.evidence[:SHOWN])
                self.fail(f"{verdict.name} ({verdict.count}): {told}", verdict.name)
