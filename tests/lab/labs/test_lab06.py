"""Lab 6: that each figure follows its fault; strict cells compare the figures themselves."""
from __future__ import annotations

import pytest

from minikafka.lab.labs.lab06 import experiment as lab06
from minikafka.lab.labs.stage import simulated
from minikafka.lab.labs.steady import Reader


def last_read(lag: tuple[int, int]) -> tuple[int, int, int | None]:
    """Section 2 with followers that stop copying at these ends: the leader's end, its high watermark, the last offset read."""
    with simulated(6) as sim:
        sim.admin().create_topic("positions", assignment={0: [1, 2, 3]})
        producer = sim.producer(acks=1)
        for number in range(50):
            for follower, end in zip((2, 3), lag):
                if number == end:
                    sim.hold_follower(follower)
            producer.send("positions", "left the depot", partition=0)
            sim.sleep(0.1)
        reader = Reader(sim, "positions")
        sim.sleep(1)
        leader = lab06.replicas(sim).loc[1]
        return leader["log end"], leader["high watermark"], reader.last


@pytest.mark.parametrize("lag, mark", [((47, 48), 47), ((48, 30), 30), ((50, 50), 50)])
def test_the_consumer_stops_below_the_slowest_follower(lag, mark):
    """Fails if a consumer is given a record that a replica in sync does not have, or if the mark waits for anything else."""
    assert last_read(lag) == (50, mark, mark - 1)


@pytest.mark.parametrize("seconds, followers, grown, passed", [(1, (2, 3), 10, 0), (2, (3,), 20, 0), (2, (), 20, 20)])
def test_what_is_held_decides_what_can_be_read(seconds, followers, grown, passed):
    """Fails if the figures of section 4 do not come from the fault: shorter, one follower only, none."""
    looks = lab06.held(seconds=seconds, followers=followers)
    assert looks["held"].log_end - looks["before"].log_end == grown
    assert looks["held"].high_watermark - looks["before"].high_watermark == passed


def test_who_leads():
    """Section 5: fails if a broker that comes back leads again without an election."""
    assert lab06.six_partitions(victim=2, elect=False).iloc[1][2] == 0


def test_the_controller_looks_for_itself():
    """Fails if leadership came back by anything but the controller's regular look, every 300 s by default."""
    assert tuple(lab06.six_partitions(wait=40, elect=False, check_every=300).iloc[-1]) == (0, 4, 2)


def test_a_placement_of_ones_own_is_obeyed():
    """Fails if the cluster placed otherwise: one heir gets all, or each gets one."""
    greedy = [[1, 2, 3], [2, 3, 1], [3, 1, 2]] * 2
    fair = [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 3, 2], [2, 1, 3], [3, 2, 1]]
    assert tuple(lab06.six_partitions(placement=greedy).loc["1 is dead"]) == (0, 4, 2)
    assert tuple(lab06.six_partitions(placement=fair).loc["1 is dead"]) == (0, 3, 3)


def test_what_else_decides_how_many_may_die():
    """Fails if the table did not come from its conditions: controllers that die too, a larger min.insync.replicas."""
    assert lab06.one_by_one(controllers=None, kills=2).loc[2, "readable"] == "0/100"
    strict = lab06.one_by_one(min_isr=2, kills=2)
    assert strict.loc[2, "readable"] == "100/100" and not strict.loc[2, "one more is acknowledged"]


def test_one_failure_too_many():
    """Fails if the partition is offline after one death although the others had not left the ISR."""
    behind = lab06.left_behind(seconds=2)
    assert behind["alive"] == [2, 3] and behind["leader"] == 2 and behind["lost"] == 0 and behind["in sync"] == [1, 2, 3]
