"""Rules of the consumer protocol (KIP-848) switched off: found by the swarm's groups in which the brokers assign."""

from __future__ import annotations

from collections.abc import Set
from contextlib import AbstractContextManager
from typing import Any

from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.proof.ablations.ablation import ablation
from minikafka.proof.swarm.faults import BROKERS_ASSIGN, CLIENT_KINDS
from minikafka.proof.swarm.swarm import SeedRun
from minikafka.protocol.errors import Err
from minikafka.sim.world.replaced import replaced


def groups_struck(seed: int) -> tuple[str, ...]:
    """Run a seed of the swarm in which only members of groups are struck; return what fell."""
    run = SeedRun(BROKERS_ASSIGN + seed, tuple(CLIENT_KINDS))
    if not any(work.name in ("group", "copy") for work in run.work):
        return ()
    return tuple(violation.id for violation in run.execute().violations)


def nobody_has_any(*_: Any) -> Set[Any]:
    return frozenset()


def anybody(*_: Any) -> Err:
    return Err.NONE


@ablation("848", "a partition is given to a member before another has given it up", falls="I12 two-owners",
          profile=groups_struck)
def given_too_early() -> AbstractContextManager[object]:
    return replaced(ConsumerGroupState, "taken", nobody_has_any)


@ablation("848", "a commit of any member and any epoch is taken", falls="I17 lost-commit zombie-commit",
          profile=groups_struck)
def any_epoch_commits() -> AbstractContextManager[object]:
    return replaced(ConsumerGroup, "check_commit", anybody)
