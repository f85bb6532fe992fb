"""Rules of classic groups and their coordinator switched off (58 to 60, 62)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from minikafka.broker.coordinator.shell.coordinator_log import CoordinatorLog
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import Assigned, Store, Sync
from minikafka.broker.groups.shell.shard import GroupPartition
from minikafka.log.producers import UNGUARDED
from minikafka.proof.ablations.ablation import ablation
from minikafka.protocol.errors import Err
from minikafka.sim.world.replaced import replaced


def answered_at_once(write: Callable[..., Any]) -> Callable[..., Any]:
    """Return CoordinatorLog.write without its wait: what is written counts as soon as it is in the coordinator's own log."""
    def hasty(self: CoordinatorLog, data: bytes, apply: Callable[[int], None] | None = None,
              guard: object = UNGUARDED) -> Any:
        todo = [apply] if apply is not None else []

        def once(base: int) -> None:
            while todo:
                todo.pop()(base)

        outcome = write(self, data, once, guard)
        if not outcome.done():
            once(self.waiting[-1].base)
            outcome.set_result(Err.NONE)
        return outcome

    return hasty


def anybody(*_: Any, **__: Any) -> Err:
    """Refuse no member."""
    return Err.NONE


@ablation("60", "a commit of a member that is out is taken", falls="lost-commit zombie-commit",
          script="a15_zombie_consumer")
def anybody_commits() -> AbstractContextManager[object]:
    return replaced(ClassicGroup, "check_commit", anybody)


@ablation("59, 60", "a commit of a static member's predecessor is taken", falls="lost-commit zombie-commit",
          script="a15_zombie_static_member")
def any_instance_commits() -> AbstractContextManager[object]:
    return replaced(ClassicGroup, "check_commit", anybody)


@ablation("60", "a commit is answered, and shown, before it is replicated", falls="lost-commit I12",
          script="r60_commits_last")
def commits_at_once() -> AbstractContextManager[object]:
    return replaced(CoordinatorLog, "write", answered_at_once(CoordinatorLog.write))


@ablation("62", "a coordinator serves without having read its partition", falls="lost-commit I12",
          script="r60_commits_last")
def unread_partition() -> AbstractContextManager[object]:
    async def load(self: GroupPartition) -> None:
        self._loaded()

    return replaced(GroupPartition, "load", load)


@ablation("58", "an assignment is handed out before it is in the log", falls="two-owners I12", script="r58_one_owner")
def assignments_at_once() -> AbstractContextManager[object]:
    carry_out = GroupPartition._carry_out

    def hasty(self: GroupPartition, group: ClassicGroup, effects: list[Any]) -> None:
        carry_out(self, group, effects)
        for effect in effects:
            if isinstance(effect, Store) and effect.then is not None:
                self.run(group, group.on_committed(effect.then, Err.NONE, self.env.now()))

    return replaced(GroupPartition, "_carry_out", hasty)


@ablation("58", "an assignment counts for whatever generation there is when it is in the log", falls="two-owners I12",
          script="r58_former_assignment")
def any_generation() -> AbstractContextManager[object]:
    on_committed = ClassicGroup.on_committed

    def of_today(self: ClassicGroup, then: Any, error: Err, now: float) -> list[Any]:
        today = replace(then, generation=self.generation) if isinstance(then, Assigned) else then
        return on_committed(self, today, error, now)

    return replaced(ClassicGroup, "on_committed", of_today)


@ablation("58", "an assignment of any generation is taken", falls="two-owners", script="r58_late_assignment")
def any_sync() -> AbstractContextManager[object]:
    check = ClassicGroup._check_sync

    def lenient(self: ClassicGroup, request: Sync) -> Err:
        return check(self, replace(request, generation=self.generation))

    return replaced(ClassicGroup, "_check_sync", lenient)
