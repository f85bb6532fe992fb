"""As many members in a playground's group as the settings say.

Owns: the members, in the order of their numbers, and how many records those had worked on that are no more.
Invariants
  a member that was killed stays dead until somebody restarts it, or its number goes
"""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

GROUP = "billing"


class Crew:
    """Brings the number of members to what the settings say. One thread calls `step`; `kill` may come from another.

    `member(name, cluster, topic, group, protocol)` starts one: members.py, or simulated.py.
    """

    def __init__(self, cluster: Any, topic: str, member: Callable[..., Any]) -> None:
        self._cluster, self._topic, self._member = cluster, topic, member
        self._members: list[Any] = []
        self._gone = 0  # records of members that are no more
        self._protocol, self._work = "classic", -1
        self._lock, self._over = threading.Lock(), False

    @property
    def delivered(self) -> int:
        """Return how many records were delivered to members that finished their work on them."""
        return self._gone + sum(member.delivered for member in tuple(self._members))

    def step(self, members: int, protocol: str, work: int) -> None:
        """Make it so: a member more joins, the last one leaves; with another protocol all leave first."""
        while self._members and (len(self._members) > members or protocol != self._protocol):
            member = self._members[-1]
            member.end()
            self._gone += member.delivered
            self._members.pop()
            self._cluster.members.pop(member.name, None)
        self._protocol = protocol
        while len(self._members) < members and not self._over:
            self._start(protocol, work)
        if work != self._work:
            self._work = work
            for member in self._members:
                member.work(work)

    def _start(self, protocol: str, work: int) -> None:
        with self._lock:
            if not self._over:
                name = f"C{len(self._members) + 1}"
                self._members.append(self._member(name, self._cluster, self._topic, GROUP, protocol))
                self._members[-1].work(work)

    def kill(self) -> None:
        """End all members at once, for good."""
        with self._lock:
            self._over = True
            for member in tuple(self._members):
                member.kill()
