"""Lab 6: every number that its prose states, and that each figure follows the fault that it is said to come from."""
from __future__ import annotations

import pytest

from minikafka.lab.labs.lab06 import experiment as lab06
from minikafka.lab.labs.steady import Reader


def last_read(lag: tuple[int, int]) -> tuple[int, int, int | None]:
    """Section 2 with followers that stop copying at these ends: the leader's end, its high watermark, the last offset read."""
    with lab06.world() as sim:
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


@pytest.mark.parametrize("lag, mark", [((48, 47), 47), ((47, 48), 47), ((48, 30), 30), ((50, 50), 50)])
def test_the_consumer_stops_below_the_slowest_follower(lag, mark):
    """Fails if a consumer is given a record that a replica in sync does not have, or if the mark waits for anything else."""
    assert last_read(lag) == (50, mark, mark - 1)


def test_the_records_grow_and_the_line_stands():
    """Section 4: +20 and +0, then the jump; fails if acks=all wrote on while its first record waits."""
    looks = lab06.held(seconds=2, acks=1)
    before, held, released = looks["before"], looks["held"], looks["released"]
    assert (held.log_end - before.log_end, held.high_watermark - before.high_watermark, held.read - before.read) == (20, 0, 0)
    assert released.high_watermark == released.read == held.log_end
    patient = lab06.held(seconds=2, acks=-1)
    assert patient["held"].log_end - patient["before"].log_end == 1


@pytest.mark.parametrize("seconds, followers, grown, passed", [(1, (2, 3), 10, 0), (2, (3,), 20, 0), (2, (), 20, 20)])
def test_what_is_held_decides_what_can_be_read(seconds, followers, grown, passed):
    """Fails if the figures of section 4 do not come from the fault: shorter, one follower only, none."""
    looks = lab06.held(seconds=seconds, followers=followers)
    assert looks["held"].log_end - looks["before"].log_end == grown
    assert looks["held"].high_watermark - looks["before"].high_watermark == passed


def test_the_gap_grows_with_distance_and_with_the_rate():
    """Section 3: 3 %, and nearly always; fails if distance or rate made no difference."""
    (near, share), (far, far_share), (_, busy) = lab06.gap(), lab06.gap(latency=0.05), lab06.gap(rate=1000, seconds=0.5)
    assert round(100 * share) == 3 and far_share > 0.95 and busy > 0.95
    assert 0.002 < near < 0.004 and 0.1 < far < 0.2


def test_who_leads():
    """Section 5: even at first, 0/4/2 with seed 6 and 0/3/3 with seed 8, nothing back without an election."""
    six = lab06.six_partitions(seed=6)
    assert [tuple(row) for row in six.to_numpy()] == [(2, 2, 2), (0, 4, 2), (0, 4, 2), (2, 2, 2)]
    assert tuple(lab06.six_partitions(seed=8).loc["1 is dead"]) == (0, 3, 3)
    assert lab06.six_partitions(victim=2, elect=False).iloc[1][2] == 0


@pytest.mark.parametrize("check_every, leads", [(30, (2, 2, 2)), (300, (0, 4, 2))])
def test_the_controller_looks_for_itself(check_every, leads):
    """Fails if leadership came back by anything but the controller's regular look (300 s unless told otherwise)."""
    assert tuple(lab06.six_partitions(wait=40, elect=False, check_every=check_every).iloc[-1]) == leads


def test_a_placement_of_ones_own_is_obeyed():
    """Fails if the cluster placed otherwise: one heir gets all, or each gets one."""
    greedy = [[1, 2, 3], [2, 3, 1], [3, 1, 2]] * 2
    fair = [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 3, 2], [2, 1, 3], [3, 2, 1]]
    assert tuple(lab06.six_partitions(placement=greedy).loc["1 is dead"]) == (0, 4, 2)
    assert tuple(lab06.six_partitions(placement=fair).loc["1 is dead"]) == (0, 3, 3)


def test_the_draw_is_heads_or_tails():
    """Section 5: half of a thousand; fails if the rule of placement or the count of heirs changed."""
    assert lab06.drawn(1000) == {"3 / 3": 504, "2 / 4": 496}
    assert lab06.heirs([[1, 2, 3], [1, 3, 2], [2, 1, 3]], dead=1) == {2: 2, 3: 1}


def test_one_replica_in_sync_is_enough():
    """Section 6: 100 of 100 after two deaths, none after three; fails if the ISR were a majority vote."""
    table = lab06.one_by_one()
    assert list(table["readable"]) == ["100/100", "100/100", "100/100", "0/100"]
    assert list(table["one more is acknowledged"]) == [True, True, True, False]
    assert list(table["leader"]) == [1, 2, 3, "none"]


def test_what_else_decides_how_many_may_die():
    """Fails if the table did not come from its conditions: controllers that die too, a larger min.insync.replicas."""
    assert lab06.one_by_one(controllers=None, kills=2).loc[2, "readable"] == "0/100"
    strict = lab06.one_by_one(min_isr=2, kills=2)
    assert strict.loc[2, "readable"] == "100/100" and not strict.loc[2, "one more is acknowledged"]


def test_the_controllers_vote():
    """Section 6: data flows without a quorum, decisions do not."""
    assert lab06.frozen_quorum(1) == {"a record is acknowledged": True, "a topic is created": True}
    assert lab06.frozen_quorum(2) == {"a record is acknowledged": True, "a topic is created": False}


@pytest.mark.parametrize("seconds, leader", [(20, None), (2, 2)])
def test_one_failure_too_many(seconds, leader):
    """The small print: offline after one death if the others had left the ISR, and only then; lost is nothing."""
    behind = lab06.left_behind(seconds=seconds)
    assert behind["alive"] == [2, 3] and behind["leader"] == leader and behind["lost"] == 0
    assert behind["in sync"] == ([1] if leader is None else [1, 2, 3])


def test_a_follower_serves_who_stands_next_to_it():
    """Section 8: fails if the rack or the selector made no difference."""
    assert lab06.next_door()[3] == lab06.next_door(rack="c", selector=False)[3] == 0
    served = lab06.next_door(rack="c")
    assert served[1] == served[2] == 0 and served[3] >= 90
