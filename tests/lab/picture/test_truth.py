"""The picture cannot lie: what a frame says is what the brokers themselves hold, at hundreds of moments of bad runs."""
from __future__ import annotations

from typing import Any

import pytest

from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.picture.frame import Frame, Lane
from tests.lab.picture.stories import trouble, unclean


class Compare:
    """Compares frames with the state of the brokers in the simulated world."""

    def __init__(self) -> None:
        self.compared = 0

    def __call__(self, c: Any, run: RecordedRun) -> None:
        run.refresh()
        frame = run.at(None, "flights-0")
        for index in (0, 1):
            self.partition(c, run.at(None, f"flights-{index}"), index)
        active = c.world.controller()
        assert frame.quorum.active in (active, c.controller()) or active is None, (frame.quorum, active)
        for broker in frame.brokers:
            assert (broker.process in ("killed", "stopped")) == (c.world.broker(broker.id) is None), broker

    def partition(self, c: Any, frame: Frame, index: int) -> None:
        assert frame.chosen is not None
        for lane in frame.chosen.lanes:
            broker = c.world.broker(lane.broker)
            own = broker.replicas.partitions.get(("flights", index)) if broker is not None else None
            if own is None or not c.world.hosts[lane.broker].serving:
                continue
            assert (lane.end, lane.start) == (own.log.end_offset, own.log.start_offset), (frame.t, lane)
            assert lane.high_watermark == own.high_watermark, (frame.t, lane)
            assert lane.epoch == own.leader_epoch and lane.believes_leader == own.replica.is_leader, (frame.t, lane)
            written = [epoch for epoch, start in own.log.epochs.entries if start < own.log.end_offset]
            assert not lane.cells or written[-1] == lane.cells[-1].epoch, (frame.t, lane)
            self.compared += 1
            if lane.broker == frame.chosen.leader and own.replica.is_leader:
                self.leader(c, frame, lane, own)

    def leader(self, c: Any, frame: Frame, lane: Lane, own: Any) -> None:
        assert frame.chosen is not None
        assert frame.chosen.isr is not None and set(frame.chosen.isr) == set(own.replica.isr.committed), frame
        assert frame.chosen.min_isr == own.replica.min_insync
        assert frame.chosen.replication_factor == len(own.replica.replicas)
        now = c.world.hosts[lane.broker].env.now()
        for other in frame.chosen.lanes:
            follower = own.replica.followers.get(other.broker)
            if follower is None or follower.log_end_offset < 0 or other.behind_for is None or not other.in_sync:
                continue
            late = 0.0 if follower.log_end_offset == own.log.end_offset else now - follower.last_caught_up_time
            assert abs(other.behind_for - late) <= 0.7, (frame.t, other.broker, other.behind_for, late)


@pytest.mark.parametrize("seed", (1, 3, 5, 21))
def test_frames_agree_with_the_brokers(seed: int) -> None:
    """Fails if an event that changes an offset, a role or an ISR is not told, or folded into something else."""
    compare = Compare()
    trouble(seed, compare)
    assert compare.compared > 200


def test_frames_agree_after_an_unclean_election() -> None:
    """Fails if a truncation, or records of another epoch at the same offsets, are folded wrongly."""
    compare = Compare()
    unclean(compare)
    assert compare.compared >= 10
