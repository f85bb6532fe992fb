"""The consumer group of the demo: two processes that share the partitions, and the death of one.

Owns: the members' processes, and the reading of what they wrote down.

Invariants
  I-DEMO-2  A record counts as read when its member had written it down, before any commit.
  I-DEMO-3  Order is judged within one assignment: after a rebalance a partition begins again at its last commit, and a
            record that comes again then is redelivered, not out of order.
"""
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class MemberProcess:
    """One process and the file it writes; reading the file goes on where it stopped."""
    process: subprocess.Popen[bytes]
    file: Path
    assigned: list[int] = field(default_factory=list)
    last_seq: dict[str, int] = field(default_factory=dict)           # key -> seq, within the present assignment
    uncommitted: int = 0                                             # records read since its last commit
    _read_to: int = 0

    def lines(self) -> Iterator[Any]:
        """Return what it wrote since the last call; a line cut off by its death stays unread."""
        if not self.file.exists():
            return
        with self.file.open("rb") as source:
            source.seek(self._read_to)
            new = source.read()
        complete = new[:new.rfind(b"\n") + 1]
        self._read_to += len(complete)
        yield from map(json.loads, complete.splitlines())


class DemoGroup:
    """Two members reading a topic; `update` brings the counters up to date."""

    def __init__(self, bootstrap: str, topic: str, group: str, folder: Path) -> None:
        self._arguments = [bootstrap, topic, group]
        self._folder = folder
        self.members: list[MemberProcess] = []
        self.read: dict[tuple[int, int], int] = {}                   # (partition, offset) -> seq
        self.deliveries = 0
        self.order_violations = 0

    @property
    def redelivered(self) -> int:
        """Return how many deliveries were of records that had been delivered before."""
        return self.deliveries - len(self.read)

    def start(self, wait: Callable[[Callable[[], bool]], Any]) -> None:
        """Start two members, one after the other, until both have partitions."""
        for number in (1, 2):
            self._start_member(number)
            wait(self._all_have_partitions)

    def _start_member(self, number: int) -> None:
        file = self._folder / f"member-{number}.jsonl"
        with (self._folder / f"member-{number}.log").open("wb") as errors:
            process = subprocess.Popen([sys.executable, "-m", "minikafka.lab.demo.member", *self._arguments, str(file)],
                                       stdin=subprocess.PIPE, stderr=errors, start_new_session=True)
        self.members.append(MemberProcess(process, file))

    def _all_have_partitions(self) -> bool:
        """every member of the group has partitions"""
        self.update()
        return all(member.assigned for member in self.members)

    def update(self) -> None:
        """Read what the members wrote since the last call."""
        for member in self.members:
            for line in member.lines():
                self._take(member, line)

    def _take(self, member: MemberProcess, line: Any) -> None:
        if isinstance(line, dict):
            member.uncommitted = 0
            if "assigned" in line:
                member.assigned, member.last_seq = line["assigned"], {}
            return
        partition, offset, key, seq = line
        self.deliveries += 1
        member.uncommitted += 1
        self.read[partition, offset] = seq
        self.order_violations += seq <= member.last_seq.get(key, -1)
        member.last_seq[key] = seq

    def kill(self, number: int) -> list[int]:
        """Kill a member (kill -9); return the partitions it had, which the group gives to others when it notices."""
        member = self.members[number]
        member.process.kill()
        member.process.wait()
        self.update()
        return member.assigned

    def replace(self) -> None:
        """Replace the living members by new ones, as a supervisor does with processes that make no progress any more."""
        for number, member in enumerate(self.members):
            if member.process.poll() is None:
                self.kill(number)
        self._start_member(len(self.members) + 1)

    def stop(self) -> None:
        """Let the members that live commit and leave."""
        for member in self.members:
            if member.process.stdin:
                member.process.stdin.close()
        for member in self.members:
            try:
                member.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                member.process.kill()
                member.process.wait()
        self.update()
