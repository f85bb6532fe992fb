"""A classic group without a broker: named clients, a clock moved by hand, a log that commits when told. No I/O.

It plays the shell's part (carry out effects from left to right, hand stored records back) and the clients' (remember their
member id and generation), and writes each event as a readable line. Every question to the group goes through `ask`, where
classic_life.py has each answer judged.
"""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import (
    Assigned,
    CompleteCall,
    Effect,
    GroupConfig,
    Join,
    JoinResult,
    Leaving,
    Moved,
    Protocols,
    Replaced,
    Store,
    StoredGroup,
    Sync,
    SyncResult,
)
from minikafka.broker.groups.group import GroupContext, OffsetCommit
from minikafka.protocol.errors import Err


@dataclass
class JoiningClient:
    """One client: what it remembers of its group."""

    name: str
    member_id: str = ""
    generation: int = -1
    assignment: str = ""
    instance_id: str | None = None


@dataclass
class LoneClassicGroup:
    """The group, its clients and its log. `now`: seconds."""

    config: GroupConfig = field(default_factory=GroupConfig)
    now: float = 0.0
    lines: list[str] = field(default_factory=list)
    clients: dict[str, JoiningClient] = field(default_factory=dict)
    answers: dict[str, JoinResult | SyncResult] = field(default_factory=dict)        # by client: its last answer
    log: list[StoredGroup] = field(default_factory=list)                             # appended records
    in_flight: deque[tuple[Assigned | Replaced | None, int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        numbers = itertools.count(1)
        self.group = ClassicGroup("g", self.config, lambda: str(next(numbers)))
        self.waiting: dict[str, str] = {}             # call -> client
        self._calls = itertools.count(1)

    @property
    def context(self) -> GroupContext:
        return GroupContext(self.now)

    def ask(self, what: str, *arguments: Any) -> Any:
        """Call a method of the group."""
        return getattr(self.group, what)(*arguments)

    # --- clients ------------------------------------------------------------------------------------------------

    def client(self, name: str) -> JoiningClient:
        return self.clients.setdefault(name, JoiningClient(name))

    def join(self, name: str, protocols: Protocols = (("range", b"t"),), session: int = 10_000,
             rebalance: int = 60_000, instance: str | None = None, member_id: str | None = None,
             protocol_type: str = "consumer", version: int = 9) -> None:
        client = self.client(name)
        client.instance_id = instance
        request = Join(client.member_id if member_id is None else member_id, protocol_type, protocols, session,
                       rebalance, name, "/127.0.0.1", instance, must_return=version >= 4, may_skip=version >= 9)
        self.run(self.ask("join", self._call(name), request, self.context))

    def enter(self, name: str, **how: Any) -> None:
        """Join twice, as a client without a member id does."""
        self.join(name, **how)
        if self.client(name).member_id and name in self.answers and name not in self.waiting.values():
            self.join(name, **how)

    def sync(self, name: str, assign: dict[str, str] | None = None, generation: int | None = None,
             protocol: str | None = None) -> None:
        client = self.client(name)
        sent = tuple((self.client(who).member_id, what.encode()) for who, what in (assign or {}).items())
        request = Sync(client.member_id, client.generation if generation is None else generation, sent,
                       client.instance_id, None, protocol)
        self.run(self.ask("sync", self._call(name), request, self.context))

    def heartbeat(self, name: str, generation: int | None = None) -> Err:
        client = self.client(name)
        sent = client.generation if generation is None else generation
        answer: Err = self.ask("heartbeat", client.member_id, client.instance_id, sent, self.context)
        self.lines.append(f"{name} <- {answer.name}")
        return answer

    def commit(self, name: str, generation: int | None = None) -> Err:
        client = self.client(name)
        commit = OffsetCommit(client.member_id, client.instance_id, client.generation if generation is None else generation)
        answer: Err = self.ask("check_commit", commit, self.context)
        self.lines.append(f"{name} <- {answer.name}")
        return answer

    def leave(self, *names: str) -> list[Err]:
        leaving = [Leaving(self.client(n).member_id, self.client(n).instance_id) for n in names]
        reply, *effects = self.ask("leave", "call", leaving, self.context)
        assert isinstance(reply, CompleteCall) and isinstance(reply.result, list)
        errors = reply.result
        self.lines += [f"{name} <- {error.name}" for name, error in zip(names, errors, strict=True)]
        self.run(effects)
        return errors

    def forget(self, name: str) -> None:
        """Start the client anew: it has no member id and no generation any more."""
        self.clients[name] = JoiningClient(name)

    def _call(self, name: str) -> str:
        call = f"{name}#{next(self._calls)}"
        self.waiting[call] = name
        return call

    # --- the shell ----------------------------------------------------------------------------------------------

    def run(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, CompleteCall):
                self._answer(self.waiting.pop(str(effect.call)), effect.result)
            elif isinstance(effect, Store):
                self.log.append(effect.group)
                self.in_flight.append((effect.then, effect.group.generation))
                self.lines.append(f"append group record: {_stored(effect.group)}")
            elif isinstance(effect, Moved):
                who = " ".join(effect.members) or "no members"
                self.lines.append(f"group {effect.state.value}, generation {effect.generation}: {who}")
        self.group.check()

    def committed(self, error: Err = Err.NONE) -> None:
        """Commit the oldest record in flight, or let it fail."""
        then, _ = self.in_flight.popleft()
        self.run(self.ask("on_committed", then, error, self.now))

    def advance(self, seconds: float) -> None:
        """Let time pass; each deadline on the way is served at its own time."""
        end = self.now + seconds
        while (due := self.group.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            before = len(self.lines)
            self.run(self.ask("tick", self.context))
            if len(self.lines) > before:
                self.lines.insert(before, f"at {self.now:g} s:")
        self.now = end

    def _answer(self, name: str, result: JoinResult | SyncResult) -> None:
        client = self.client(name)
        self.answers[name] = result
        if isinstance(result, JoinResult):
            if result.error in (Err.NONE, Err.MEMBER_ID_REQUIRED):
                client.member_id, client.generation = result.member_id, result.generation
            self.lines.append(f"{name} <- {_joined(result)}")
        else:
            client.assignment = result.assignment.decode()
            shown = f"assigned {client.assignment or 'nothing'}" if result.error is Err.NONE else result.error.name
            self.lines.append(f"{name} <- {shown}")


def _joined(r: JoinResult) -> str:
    if r.error is not Err.NONE:
        return r.error.name + (f" {r.member_id}" if r.error is Err.MEMBER_ID_REQUIRED else "")
    others = " ".join(f"{member_id}{f'({instance})' if instance else ''}" for member_id, instance, _ in r.members)
    skip = ", skip the assignment" if r.skip_assignment else ""
    return (f"joined generation {r.generation} as {r.member_id}, protocol {r.protocol_name}, leader {r.leader}"
            + (f", members {others}" if others else "") + skip)


def _stored(g: StoredGroup) -> str:
    who = ", ".join(f"{m.member_id}={m.assignment.decode() or 'nothing'}" for m in g.members) or "no members"
    return f"generation {g.generation}, leader {g.leader}, {who}"
