"""Lab 8: every number that its prose states, and that each figure follows the fault that it is said to come from."""
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
from minikafka.proof.weakened import without


def stopped_at(second: float, limit_ms: int = 10_000) -> tuple[float, float, float, int]:
    """(when D left, how long acks=all waited, how long after D was stopped, how far the high watermark jumped)."""
    with LagCluster(replica_lag_time_max_ms=limit_ms).until(second) as room:
        room.cluster.hold_follower(D)
        probe = room.ask_for_all()
        room.until(second + 1.6 * limit_ms / 1000)
        (left, isr, why), = room.isr_changes()
        assert isr == (C, A) and why == "D fell behind" and probe.error is None
        return left, probe.waited, left - second, room.at(left + 0.1).high_watermark - room.at(left - 0.1).high_watermark


def test_a_stuck_follower_leaves_at_the_next_look():
    """Section 2: second 33, 13 s of waiting, a jump of over 130 records; fails if the leader looked at another time."""
    left, waited, after, jump = stopped_at(20)
    assert 33 <= left < 33.1 and round(waited, 1) == 13.0 and 130 < jump < 140 and 10 < after < 15


@pytest.mark.parametrize("second, left", [
    (18.5, 33), *(pytest.param(*row, marks=pytest.mark.soak) for row in ((16.5, 28), (22.0, 33), (24.0, 38)))])
def test_when_it_is_stopped_decides_when_it_leaves(second, left):
    """Fails if the figure of section 2 does not come from the moment of the fault, in steps of half the limit."""
    assert int(stopped_at(second)[0]) == left


def test_the_limit_decides_when_it_leaves():
    """Fails if a limit of 4 s left it as long as one of 10 s."""
    assert 4.0 <= stopped_at(20, limit_ms=4000)[2] <= 6.0


def test_ten_to_fifteen_seconds_in_the_rhythm_of_the_leader():
    """Section 2: 14, 13, 12, 11 s; fails if the leader threw out at once when the limit is over."""
    assert [after for _, _, after in lab08.stuck_again_and_again()] == [14.0, 13.0, 12.0, 11.0]


def test_out_slowly_and_in_at_once():
    """Section 2: back within a tenth of a second, by its first fetch; fails if it had to wait for the next look."""
    with LagCluster().until(20) as room:
        room.cluster.hold_follower(D)
        room.until(36)
        room.cluster.heal()
        room.until(38)
        back, isr, why = room.isr_changes()[-1]
    assert D in isr and back - 36 < 0.1 and why == "D caught up"


def test_who_has_everything_is_in_sync_however_silent():
    """Section 2: a minute without a fetch, in sync; out with the first record, which waits 3 s."""
    with LagCluster().until(20) as room:
        room.writer.stop()
        room.cluster.hold_follower(D)
        room.until(80)
        assert room.isr_changes() == [] and round(room.notes[-1].watch[D]) == 60
        first = room.ask_for_all()
        room.until(90)
        assert round(first.waited, 1) == 3.0 and D not in room.notes[-1].isr


@pytest.mark.parametrize("records, stays", [(2, False), (5, True), (20, True)])
def test_a_slow_follower_leaves_although_it_fetches(records, stays):
    """Section 3: 2 records twice a second are too few of 10, 5 are enough; fails if fetching alone kept it in."""
    with LagCluster(own={D: records_a_fetch(records)}).until(20) as room:
        pace = FetchPace(room, D, every=0.5)
        room.until(36)
        assert (D in room.notes[-1].isr) is stays
        if not stays:
            out = room.isr_changes()[0][0]
            assert int(out) == 33 and sum(t < out for t in pace.sent) == 26 and 70 < room.at(out - 0.1).behind(D) < 90


def test_the_twins():
    """Section 4: equally late, opposite verdicts; fails if count or age of records decided."""
    first, second = LagCluster(own={D: records_a_fetch(5)}).until(20), LagCluster().until(20)
    FetchPace(first, D, every=0.5, first=3.5)
    FetchPace(second, D, every=3.0)
    for twin in (first, second):
        twin.until(45)
    behind = {name: [n.behind(D) for n in twin.notes if n.t > 24] for name, twin in {"first": first, "second": second}.items()}
    assert 30 <= min(behind["first"]) and max(behind["first"]) <= 35 and max(behind["second"]) == 30
    assert [(int(t), isr) for t, isr, _ in first.isr_changes()] == [(33, (C, A))] and second.isr_changes() == []
    assert 24 < first.notes[-1].watch[D] and 6 < max(n.watch[D] for n in second.notes) < 7
    chart = twins({"first twin": first, "second twin": second}, D, since=20)
    assert [line.name for line in chart.data] == ["first twin", "first twin", "second twin", "second twin"]
    assert "second twin: at most 30" in repr(chart)
    probe = second.ask_for_all()
    second.until(55)
    assert 3 < probe.waited < 6.1  # the first of the questions
    for twin in (first, second):
        twin.close()


@pytest.mark.parametrize("every, stays", [(4, True), (5, True), (6, False), (9, False)])
def test_how_lazy_a_follower_may_be(every, stays):
    """Section 4: half the limit; fails if one fetch a limit were enough."""
    with lab08.lazy(every) as room:
        assert (D in room.notes[-1].isr) is stays
        assert abs(max(n.watch[D] for n in room.notes) - 2 * every) < 0.3


def test_two_twins_of_one_leader_flap():
    """Section 4: A is out at each look and in half a second later; fails if joining asked for the stopwatch too."""
    with lab08.both_twins(until=46) as room:
        changes = room.isr_changes()
    assert [int(t) for t, _, _ in changes] == [33, 33, 38, 38, 43, 43]
    assert [A in isr for _, isr, _ in changes] == [False, True] * 3 and all(D in isr for _, isr, _ in changes)


def test_the_defaults_that_the_lab_names():
    """Fails if a default of Kafka 4.3 is not the one that the text names."""
    defaults = BrokerConfig()
    named = ("replica.lag.time.max.ms", "min.insync.replicas", "unclean.leader.election.enable", "broker.session.timeout.ms")
    assert [defaults[name] for name in named] == [30000, 1, False, 9000]


@pytest.mark.parametrize("min_insync, answer, accepted", [(2, "NOT_ENOUGH_REPLICAS", 0), (1, "NONE", 1)])
def test_refused_before_a_byte_is_written(min_insync, answer, accepted):
    """Section 6: fails if the refusal did not come from min.insync.replicas, or touched the log."""
    with alone(min_insync=min_insync) as cluster:
        assert one_try(cluster, "a payment")[0] == answer
        assert marks(cluster).startswith(f"log end {50 + accepted}, high watermark {50 + accepted}")


def test_accepted_and_not_readable():
    """Section 6: acks=1 is stored at 50 and stays out of sight until A is back."""
    with alone() as cluster:
        assert one_try(cluster, "a log line", acks=1) == ("NONE", 50)
        assert marks(cluster) == "log end 51, high watermark 50, a reader gets 50 records"
        cluster.restart(A)
        cluster.wait(lambda: len(cluster.isr(TOPIC)) == 2)
        cluster.sleep(1)
        assert marks(cluster) == "log end 51, high watermark 51, a reader gets 51 records"


TABLE = {(1, False): (30, None, 0), (1, True): (30, A, 30), (2, False): (0, A, 0), (2, True): (0, A, 0)}


@pytest.mark.parametrize("cell", TABLE)
def test_the_table_of_two_settings(cell):
    """Section 7: fails if a cell comes out differently, with eligible leaders (Kafka 4.x) or without (before)."""
    end = disaster(*cell)
    assert (end.accepted, end.successor, len(end.lost)) == TABLE[cell]
    if cell[0] == 2:
        assert end.answers == {"REQUEST_TIMED_OUT": 1, "NOT_ENOUGH_REPLICAS": 29} and end.eligible == (A, D)
    end.cluster.close()
    with without("without_eligible_leaders"):
        old = disaster(*cell)
    assert (old.accepted, old.successor, len(old.lost)) == (TABLE[cell] if cell != (2, False) else (0, None, 0))
    old.cluster.close()


@pytest.mark.parametrize("records", [30, 7])
def test_what_is_lost_is_what_only_the_dead_leader_had(records):
    """Section 7: 30 lost, 20 of them replaced; fails if the figure does not follow the number of records sent to C alone."""
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
