"""I18 on values: which changes of a partition that moves are allowed in the metadata."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from minikafka.broker.metadata.image import PartitionRegistration
from minikafka.proof.invariants.watch import Watch
from minikafka.sim.world.world import World

MOVING = PartitionRegistration("t", None, 0, (1, 2, 3, 4), (1, 2), 1, 1, adding=(3, 4), removing=(1, 2))  # type: ignore[arg-type]


@pytest.mark.parametrize("after, broken", [
    ({"isr": (1, 2, 3)}, False), ({"replicas": (2, 3, 4), "removing": (2,)}, True),
    ({"replicas": (3, 4), "isr": (3, 4), "adding": (), "removing": ()}, False),
    ({"replicas": (3, 4), "isr": (3,), "adding": (), "removing": ()}, True),
    ({"replicas": (1, 2), "adding": (), "removing": ()}, False),
    ({"replicas": (1, 4), "isr": (1, 4), "adding": (), "removing": ()}, False),
    ({"replicas": (1, 4), "isr": (1,), "adding": (), "removing": ()}, True)])
def test_every_end_of_a_reassignment(monkeypatch: pytest.MonkeyPatch, after: dict[str, Any], broken: bool) -> None:
    """Fails if a replica may leave early, or a target may be missing at the end of the reassignment that came last."""
    judge = Watch(World(1), only=("I18",))
    now = replace(MOVING, partition_epoch=MOVING.partition_epoch + 1, **after)
    monkeypatch.setattr(judge.cluster, "change", lambda key: (MOVING, now))
    for invariant in judge.invariants:
        invariant.on_metadata([("t", 0)])
    assert [violation.id for violation in judge.violations] == ["I18"] * broken
