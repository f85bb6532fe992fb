"""Tasks that a broker repeats: each is called again and again, after a fixed number of seconds, until the shutdown.

Owns: whether the tasks go on.
Invariants: I-SCHED-1 an error in a task ends neither the broker nor the task; only a failed disk ends the broker (rule 67).
What Kafka does differently: threads (background.threads). Source: KafkaScheduler.
"""

from __future__ import annotations

from collections.abc import Callable

from minikafka.broker.server.env import Env
from minikafka.protocol.errors import KafkaError


class Scheduler:
    """The repeated tasks of one part of a broker."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self._over = False

    def schedule(self, name: str, seconds: float, task: Callable[[], None], first: float | None = None) -> None:
        """Call `task` in `first` seconds (None: in `seconds`), and `seconds` after each call."""
        def call() -> None:
            if self._over:
                return
            try:
                task()
            except (OSError, KafkaError) as error:     # the disk has failed
                self._env.crash(error)
            except Exception as error:
                self._env.report(f"the task {name}", error)
            self._env.later(seconds, call)
        self._env.later(seconds if first is None else first, call)

    def shutdown(self) -> None:
        """Call no task any more."""
        self._over = True
