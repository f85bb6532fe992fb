"""Lab 8: that each figure follows its fault; strict cells compare the figures themselves."""
from __future__ import annotations

import pytest

from minikafka.broker.config.effective import BrokerConfig
from minikafka.lab.demos import d5
from minikafka.lab.demos.demo import Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.labs.lab08 import checks
from minikafka.lab.labs.lab08 import experiment as lab08
from minikafka.lab.labs.lab08 import unclean as lab08_unclean
from minikafka.lab.labs.lab08.chart import twins
from minikafka.lab.labs.lab08.experiment import TOPIC, A, C, D, FetchPace, LagCluster, records_a_fetch
from minikafka.lab.labs.lab08.traces import cases, members, tell
from minikafka.lab.labs.lab08.unclean import alone, disaster, marks, one_try
from minikafka.lab.picture.facts.run import RecordedRun


def stopped_at(second: float, limit_ms: int = 10_000) -> float:
    """Return the second at which D leaves the ISR after it was stopped at this one."""
    with LagCluster(replica_lag_time_max_ms=limit_ms).until(second) as room:
        room.cluster.hold_follower(D)
        room.until(second + 1.6 * limit_ms / 1000)
        (left, isr, why), = room.isr_changes()
        assert isr == (C, A) and why == "D fell behind"
        return left


@pytest.mark.parametrize("second, left", [
    (18.5, 33), *(pytest.param(*row, marks=pytest.mark.soak) for row in ((16.5, 28), (22.0, 33), (24.0, 38)))])
def test_when_it_is_stopped_decides_when_it_leaves(second, left):
    """Fails if the figure of section 2 does not come from the moment of the fault, in steps of half the limit."""
    assert int(stopped_at(second)) == left


def test_the_limit_decides_when_it_leaves():
    """Fails if a limit of 4 s left it as long as one of 10 s."""
    assert 24.0 <= stopped_at(20, limit_ms=4000) <= 26.0


@pytest.mark.parametrize("records", [5, 20])
def test_a_follower_that_keeps_up_stays(records):
    """Section 3: 5 records twice a second are enough of 10; fails if a follower left for anything but its pace."""
    with LagCluster(own={D: records_a_fetch(records)}).until(20) as room:
        FetchPace(room, D, every=0.5)
        room.until(36)
        assert D in room.notes[-1].isr


def test_the_twins():
    """Section 4: fails if the chart leaves a twin out, or if the second twin makes acks=all wait for the first one's limit."""
    first, second = LagCluster(own={D: records_a_fetch(5)}).until(20), LagCluster().until(20)
    FetchPace(first, D, every=0.5, first=3.5)
    FetchPace(second, D, every=3.0)
    for twin in (first, second):
        twin.until(45)
    chart = twins({"first twin": first, "second twin": second}, D, since=20)
    assert [line.name for line in chart.data] == ["first twin", "first twin", "second twin", "second twin"]
    assert "second twin: at most 30" in repr(chart)
    probe = second.ask_for_all()
    second.until(55)
    assert 3 < probe.waited < 6.1  # the first of the questions
    for twin in (first, second):
        twin.close()


def test_how_lazy_a_follower_may_be():
    """Section 4: fails if one fetch a limit were enough."""
    with lab08.lazy(9) as room:
        assert D not in room.notes[-1].isr and abs(max(n.watch[D] for n in room.notes) - 18) < 0.3


def test_the_default_that_the_lab_names():
    """Fails if the session of a broker in Kafka 4.3 is not the one that the text names."""
    assert BrokerConfig()["broker.session.timeout.ms"] == 9000


def test_one_in_sync_is_enough_where_one_is_wanted():
    """Section 6: fails if the refusal did not come from min.insync.replicas."""
    with alone(min_insync=1) as cluster:
        assert one_try(cluster, "a payment")[0] == "NONE"
        assert marks(cluster).startswith("log end 51, high watermark 51")


def test_accepted_and_not_readable():
    """Section 6: acks=1 is stored at 50 and stays out of sight until A is back."""
    with alone() as cluster:
        assert one_try(cluster, "a log line", acks=1) == ("NONE", 50)
        assert marks(cluster) == "log end 51, high watermark 50, a reader gets 50 records"
        cluster.restart(A)
        cluster.wait(lambda: len(cluster.isr(TOPIC)) == 2)
        cluster.sleep(1)
        assert marks(cluster) == "log end 51, high watermark 51, a reader gets 51 records"


def test_what_the_producer_hears_of_a_leader_that_is_alone():
    """Section 7: fails if more than the first record waits in vain, or if A and D are not eligible to lead (KIP-966)."""
    end = disaster(2, False)
    assert end.answers == {"REQUEST_TIMED_OUT": 1, "NOT_ENOUGH_REPLICAS": 29} and end.eligible == (A, D)
    end.cluster.close()


def test_what_is_lost_is_what_only_the_dead_leader_had():
    """Section 7: fails if the figure does not follow the number of records sent to C alone."""
    records = 7
    end = disaster(1, True, alone=records, later=20)
    found = checks.broken(end.acknowledged, end.readable)
    assert [offset for offset, _, _ in found] == list(range(70, 70 + records)) and len(end.seen) == 70 + records
    assert sum(instead is not None for *_, instead in found) == min(records, 20) and len(end.readable) == 90
    assert RecordedRun.of(end.cluster).at(None, lab08.TP).ledger.lost == records
    told = list(lab08_unclean.story(end))
    assert any(f"C throws away its records 70 to {69 + records}" in line for line in told) and f"lost {records}" in told[-1]
    end.cluster.close()


def test_the_forty_logs_hold_every_kind_and_both_answers():
    """Fails if the fetch logs of 8.1 grew one-sided: then a constant answer would nearly pass."""
    found = cases()
    assert len(found) == 40 and len({case.kind for case in found}) == 6
    assert 10 < sum("D" in members(case) for case in found) < 35 and all("A" in members(case) for case in found)
    assert tell(found[0]).splitlines()[-1] == "ISR: A, C"


@pytest.mark.parametrize("min_insync, strict", [(2, "NOT_ENOUGH_REPLICAS"), (1, "NONE")])
def test_d5_refuses_because_of_the_setting(min_insync, strict):
    """Fails if demo D5 shows its refusal without min.insync.replicas=2, or not with it."""
    stage = Stage()
    events = stage.play(d5.Scene("", lambda stage: d5.story(stage, min_insync), d5.must_see))
    facts = SceneFacts(events, stage.moments, stage.facts)
    assert facts["strict"] == strict
    assert all(seen.held for seen in d5.must_see(RecordedRun(events), facts)) is (min_insync == 2)


@pytest.mark.parametrize("wrong, told", [
    (lambda acknowledged, readable: set(acknowledged) - set(readable), "each entry is"),
    (lambda acknowledged, readable: [(o, v, None) for o, v in acknowledged if (o, v) not in readable], "it is lost, and what"),
    (lambda acknowledged, readable: [(o, v, None) for o, v in acknowledged], "it is not lost")])
def test_an_entry_of_another_shape_is_not_called_unlost(wrong, told):
    """Fails if a student who names a lost record, but not what stands there now, is told that it is not lost."""
    with pytest.raises(AssertionError, match=told):
        checks.losses(wrong)
