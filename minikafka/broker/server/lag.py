"""The loop's lag: how late a broker's event loop comes to what is due, written to its log and its trace above 250 ms.

While one piece of code runs, nobody else is served. Long work is done in slices (turns.py) or in a thread; what slips through
is seen here. It runs on real brokers only: in the simulator time stands still while code runs.

Owns: the timer that should fire every PERIOD_S.
Invariants: a lag above LAG_S is logged once, when it is over; who holds the loop up for LAG_S + PERIOD_S is logged for certain.
What Kafka does differently: idle percentages of its threads, as metrics.
"""

from __future__ import annotations

import logging

from minikafka.broker.server.env import Env

log = logging.getLogger("minikafka.lag")

PERIOD_S, LAG_S = 0.2, 0.25


class LagMonitor:
    """Watches the event loop of one broker once `start` has been called."""

    def __init__(self, env: Env) -> None:
        self._env = env

    def start(self) -> None:
        """Begin to look, until the loop ends."""
        self._due = self._env.now() + PERIOD_S
        self._env.later(PERIOD_S, self._look)

    def _look(self) -> None:
        late = self._env.now() - self._due
        if late > LAG_S:
            self._env.trace("lag", ms=round(late * 1000))
            log.warning("for %d ms nobody was served: the event loop was busy, or this process did not run", late * 1000)
        self.start()
