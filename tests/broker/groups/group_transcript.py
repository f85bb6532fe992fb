"""Transcripts of the group protocol: `tests/stories/groups/*.txt`, read by people and by the test beside this.

Commands:

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

from pathlib import Path
from typing import Any

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import GroupConfig
from minikafka.protocol.errors import Err
from tests.broker.groups.lone_classic_group import LoneClassicGroup

SCENARIOS = Path(__file__).parents[2] / "stories" / "groups"
KEYS = {"session": "session", "rebalance": "rebalance", "instance": "instance", "id": "member_id", "type":
        "protocol_type", "v": "version", "protocols": "protocols"}


def do(world: LoneClassicGroup, line: str) -> LoneClassicGroup:
    """Carry out one line; `group` makes a new world."""
    command, *words = line.split()
    names = [w for w in words if "=" not in w]
    given = dict(w.split("=", 1) for w in words if "=" in w)
    if command == "group":
        return LoneClassicGroup(GroupConfig(int(given.get("delay", 3000)), int(given.get("max", 2**31 - 1))))
    if command in ("join", "enter"):
        getattr(world, command)(names[0], **_join_arguments(given))
    elif command == "sync":
        assign = dict(pair.split(":") for pair in given["assign"].split(";")) if "assign" in given else None
        world.sync(names[0], assign, _number(given.get("generation")), given.get("protocol"))
    elif command in ("heartbeat", "commit"):
        getattr(world, command)(names[0], _number(given.get("generation")))
    elif command in ("leave", "forget"):
        getattr(world, command)(*names)
    elif command == "commit-log":
        world.committed(Err[names[0]] if names else Err.NONE)
    elif command == "advance":
        world.advance(float(names[0]))
    elif command == "unload":
        world.run(world.group.unload())
    elif command == "reload":
        _reload(world)
    else:
        raise ValueError(f"no such command: {line}")
    return world


def _reload(world: LoneClassicGroup) -> None:
    world.group = ClassicGroup.restore("g", world.log[-1], world.config, world.group.new_id)
    world.in_flight.clear()
    world.run(world.group.start(world.context))
    members = " ".join(world.group.members.by_id) or "no members"
    world.lines.append(f"loaded: {world.group.state.value}, generation {world.group.generation}: {members}")


def _join_arguments(given: dict[str, str]) -> dict[str, Any]:
    arguments: dict[str, Any] = {KEYS[key]: value for key, value in given.items()}
    for key in ("session", "rebalance", "version"):
        if key in arguments:
            arguments[key] = int(arguments[key])
    if "protocols" in arguments:
        arguments["protocols"] = tuple((name, b"t") for name in arguments["protocols"].split(","))
    return arguments


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
