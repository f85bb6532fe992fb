"""Every transcript of the classic group protocol in `tests/stories/groups/*.txt` happens as it is written.

Clients have names and remember their member id and generation. Commands:

    group [delay=MS] [max=N]                       begin with an empty group (initial rebalance delay, group.max.size)
    join WHO [protocols=a,b] [session=MS] [rebalance=MS] [instance=I] [id=ID] [type=T] [v=N]
    enter WHO [...]                                join as a client without a member id does: twice if it must
    sync WHO [assign=WHO:PARTITIONS;WHO:...] [generation=N] [protocol=P]
    heartbeat WHO [generation=N]                   commit WHO [generation=N]
    leave WHO [WHO ...]                            forget WHO       (the client restarts and knows nothing)
    commit-log [ERROR]                             the oldest appended record is committed, or fails
    advance SECONDS                                unload           (this broker loses the coordinator's partition)
    reload                                         another broker takes over with what the log holds
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import (
    CompleteCall,
    GroupConfig,
    Join,
    JoinResult,
    Leaving,
    Moved,
    Store,
    StoredGroup,
    Sync,
    SyncResult,
)
from minikafka.broker.groups.group import OffsetCommit
from minikafka.proof.small_worlds.groups.lone_group import LoneGroup
from minikafka.protocol.errors import Err
from tests.transcripts import compare, replay, scenarios


@pytest.mark.parametrize("path", scenarios("groups"), ids=lambda path: path.stem)
def test_transcript(path: Path, rewrite: bool) -> None:
    """Fails when any change of groups/classic/ changes an answer, or the order of effects."""
    compare(path, replay(path.read_text(), ToldGroup(GroupConfig()), do), rewrite)


def do(group: ToldGroup, line: str) -> ToldGroup:
    """Carry out one line; `group` makes a new group."""
    command, *words = line.split()
    names = [word for word in words if "=" not in word]
    given = dict(word.split("=", 1) for word in words if "=" in word)
    if command == "group":
        return ToldGroup(GroupConfig(int(given.get("delay", 3000)), int(given.get("max", 2**31 - 1))))
    if command in ("join", "enter", "sync", "heartbeat", "commit"):
        getattr(group, f"do_{command}")(names[0], given)
    else:
        getattr(group, f"do_{command.replace('-', '_')}")(*names)
    return group


class ToldGroup(LoneGroup):
    """The group alone, with clients that remember their answers, and a line for each event."""

    classic: ClassicGroup

    def __init__(self, config: GroupConfig) -> None:
        super().__init__({}, config)
        numbers = count(1)
        self.classic.new_id = lambda: str(next(numbers))
        self.lines: list[str] = []
        self.ids: dict[str, str] = {}                     # by client, as are the next three
        self.generations: dict[str, int] = {}
        self.instances: dict[str, str | None] = {}
        self.errors: dict[str, Err] = {}                  # the last answer to JoinGroup

    def do_join(self, name: str, given: dict[str, str]) -> None:
        self.instances[name], version = given.get("instance"), int(given.get("v", 9))
        protocols = tuple((protocol, b"t") for protocol in given.get("protocols", "range").split(",") if protocol)
        self.classic_join(self.new_call(name), Join(
            given.get("id", self.ids.get(name, "")), given.get("type", "consumer"), protocols, int(given.get("session", 10_000)),
            int(given.get("rebalance", 60_000)), name, "/127.0.0.1", self.instances[name], version >= 4, version >= 9))

    def do_enter(self, name: str, given: dict[str, str]) -> None:
        self.do_join(name, given)
        if self.errors.pop(name, None) is Err.MEMBER_ID_REQUIRED:
            self.do_join(name, given)

    def do_sync(self, name: str, given: dict[str, str]) -> None:
        shares = dict(pair.split(":") for pair in given["assign"].split(";")) if "assign" in given else {}
        sent = tuple((self.ids.get(who, ""), share.encode()) for who, share in shares.items())
        self.classic_sync(self.new_call(name), Sync(*self.sender(name, given)[::2], sent, self.instances.get(name), None,
                                                    given.get("protocol")))

    def do_heartbeat(self, name: str, given: dict[str, str]) -> None:
        self.lines.append(f"{name} <- {self.classic_beat(*self.sender(name, given)).name}")

    def do_commit(self, name: str, given: dict[str, str]) -> None:
        error = self.classic.check_commit(OffsetCommit(*self.sender(name, given)), self.context)
        self.lines.append(f"{name} <- {error.name}")

    def sender(self, name: str, given: dict[str, str]) -> tuple[str, str | None, int]:
        """Return the member id, instance id and generation of a request."""
        return self.ids.get(name, ""), self.instances.get(name), int(given.get("generation", self.generations.get(name, -1)))

    def do_leave(self, *names: str) -> None:
        leaving = [Leaving(self.ids.get(name, ""), self.instances.get(name)) for name in names]
        self.classic_leave(" ".join(names), leaving)

    def do_forget(self, name: str) -> None:
        for memory in (self.ids, self.generations, self.instances):
            memory.pop(name, None)

    def do_commit_log(self, error: str = "NONE") -> None:
        self.commit(Err[error])

    def do_advance(self, seconds: str) -> None:
        self.pass_time(float(seconds))

    def do_unload(self) -> None:
        self.unload(self.classic)

    def do_reload(self) -> None:
        assert self.stored is not None
        self.in_flight.clear()
        self.classic = ClassicGroup.restore("g", self.stored, self.classic_config, self.classic.new_id)
        self.serve(self.classic)
        members = " ".join(self.classic.members.by_id) or "no members"
        self.lines.append(f"loaded: {self.classic.state.value}, generation {self.classic.generation}: {members}")

    # --- the lines ----------------------------------------------------------------------------------------------

    def tick(self) -> None:
        before = len(self.lines)
        super().tick()
        if len(self.lines) > before:
            self.lines.insert(before, f"at {self.now:g} s:")

    def carry_out_classic(self, effects: Iterable[Any]) -> None:
        effects = [*effects]
        for effect in effects:
            if isinstance(effect, CompleteCall):
                self.read(str(effect.call).split(":")[0], effect.result)
            elif isinstance(effect, Store):
                self.lines.append(f"append group record: {_stored(effect.group)}")
            elif isinstance(effect, Moved):
                who = " ".join(effect.members) or "no members"
                self.lines.append(f"group {effect.state.value}, generation {effect.generation}: {who}")
        super().carry_out_classic(effects)

    def read(self, name: str, result: JoinResult | SyncResult | list[Err]) -> None:
        """Let a client read its answer; a LeaveGroup has one for each of its clients."""
        if isinstance(result, list):
            self.lines += [f"{one} <- {error.name}" for one, error in zip(name.split(), result, strict=True)]
        elif isinstance(result, JoinResult):
            self.errors[name] = result.error
            if result.error in (Err.NONE, Err.MEMBER_ID_REQUIRED):
                self.ids[name], self.generations[name] = result.member_id, result.generation
            self.lines.append(f"{name} <- {_joined(result)}")
        else:
            shown = f"assigned {result.assignment.decode() or 'nothing'}"
            self.lines.append(f"{name} <- {shown if result.error is Err.NONE else result.error.name}")


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
