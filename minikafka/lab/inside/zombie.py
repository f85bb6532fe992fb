"""Exercise 5.7 inside: which commit the coordinator refuses. It is called at each commit of a member, with all events so far, and
the commit is refused if it is among what the function returns.

The adversary's knowledge: a commit may be on its way for long. It arrives when its member is dead and another one is ahead of it
(night A), when its member is out and the next generation has not begun (B), when its member is in a later generation (C); there
it is ahead of the new member, and what lies between is skipped.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from minikafka.broker.groups.api import offsets
from minikafka.lab.inside.group import GroupNight
from minikafka.lab.inside.night import Plot
from minikafka.lab.inside.student import Student
from minikafka.protocol.errors import Err

COMMIT = offsets._commit


def the_commits(said: Any) -> list[dict[str, Any]]:
    refused = list(said)
    if not all(isinstance(one, dict) for one in refused):
        raise TypeError
    return refused


def in_place(student: Student) -> Callable[..., Any]:
    """Return a function for the `_commit` of OffsetCommit that asks the student's."""
    events: list[dict[str, Any]] = []

    async def commit(ctx: Any, groups: Any, request: Any, wanted: Any) -> Any:
        partition, generation = groups.loaded(request.group_id), request.generation_id_or_member_epoch
        group, t = partition.groups.get(request.group_id), round(ctx.node.env.now(), 3)
        if group is None or generation < 0:
            return await COMMIT(ctx, groups, request, wanted)
        now = {"k": "generation", "generation": group.generation, "members": [member.member_id for member in group.members]}
        last = next((event for event in reversed(events) if event["k"] == "generation"), {})
        if last != {"t": last.get("t"), **now}:
            events.append({"t": t, **now})
        events.append({"t": t, "k": "commit", "member": request.member_id, "generation": generation,
                       "offset": wanted[0][3].committed_offset})
        refused = student.read(the_commits, "a list of commits", [], [dict(event) for event in events])
        if events[-1] in refused:
            code = Err.ILLEGAL_GENERATION if request.member_id in now["members"] else Err.UNKNOWN_MEMBER_ID
            return [(topic, index, code) for topic, index, _, _ in wanted]
        anybody = SimpleNamespace(check_commit=lambda *_: partition, max_metadata=groups.max_metadata)
        return await COMMIT(ctx, anybody, request, wanted)
    return commit


def the_dead_one_is_behind(night: GroupNight) -> None:
    night.writes(40)
    first = night.joins()
    first.works(10)
    arrives = first.sends_commit(10)
    first.burns()
    second = night.joins()
    second.works(25)
    second.commits()
    arrives()
    arrives()
    second.burns()
    night.ends()


def the_dead_one_is_ahead(night: GroupNight) -> None:
    night.writes(40)
    first, second = night.joins(), night.joins()
    night.until_members(first, second)
    first.works(10)
    first.commits()
    arrives = first.sends_commit(30)
    first.burns()
    night.until_out(first)
    arrives()
    second.works(5)
    night.ends()


def the_living_one_is_ahead(night: GroupNight) -> None:
    night.writes(40)
    second = night.joins("C2")
    second.works(10)
    second.commits(8)
    second.commits(5)
    arrives = second.sends_commit(30)
    first = night.joins("C1")
    night.until_members(first, second)
    first.works(5)
    first.commits()
    arrives()
    first.burns()
    second.works(1)
    night.ends()


plot = partial(Plot, replicas=(1,), kind=GroupNight)
NIGHTS = (plot("C1 dies with a commit on its way, and C2 has done more when it arrives", the_dead_one_is_behind),
          plot("C1 commits what it has polled, and dies; the commit arrives when C1 is out", the_dead_one_is_ahead),
          plot("C1 gets the partition of C2, of which a commit is still on its way", the_living_one_is_ahead))
