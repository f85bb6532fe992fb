"""Lab 14: the notary on trial, and the parts of the pipeline one by one. Strict cells compare the figures."""
from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest

from minikafka import Cluster
from minikafka.lab.datasets import taxi_trips
from minikafka.lab.labs.lab14 import checks
from minikafka.lab.labs.lab14.alarms import rung
from minikafka.lab.labs.lab14.faults import Spark, TripProgram, strike
from minikafka.lab.labs.lab14.liars import LIARS, sold, wrong_prices
from minikafka.lab.labs.lab14.microbatch import Checkpoint
from minikafka.lab.labs.lab14.nights import commits_inside, judged
from minikafka.lab.labs.lab14.notary import COUNTERS, Facts, Row, Run, notary, row_of
from minikafka.lab.labs.lab14.paper import cries, on_paper
from minikafka.lab.labs.lab14.pipeline import (
    AT_LEAST_ONCE,
    COUNT_AGAIN,
    EFFECTIVELY_ONCE,
    KEEP_FIRST,
    Sink,
    prices_added_up,
)
from minikafka.lab.labs.lab14.rehearsal import rehearse
from minikafka.lab.labs.lab14.remedy import ASK, MORE, WRITE, question
from minikafka.lab.labs.lab14.schedule import KINDS, Fault, Schedule, newer, schedule, spoil
from minikafka.lab.labs.lab14.watch import WATCHES, seen
from minikafka.proof.history import History

VALUE = '{"trip":%d,"taxi":"taxi-%d","pickup":"airport","started":"2025-06-02T07:25:00Z"}'


# --- the notary ------------------------------------------------------------------------------------------------------

def small_run(acked=(0, 1, 2), unknown=(), in_log=None, rows=None, totals=None, whole=True, **more):
    """A run of a few trips of taxi-1; by default everything is where it should be."""
    history, log = History(), list(acked if in_log is None else in_log)
    for trip in sorted({*acked, *unknown}):
        op = history.invoke("p", "send", topic="trips", partition=0, value=VALUE % (trip, 1), acks=-1)
        if trip in acked:
            history.ok(op, offset=log.index(trip) if trip in log else 90 + trip)
        else:
            history.info(op)
    op = history.invoke("f", "final", topic="trips", partition=0, isolation="read_uncommitted")
    end = history.ok if whole else history.info
    end(op, start=0, records=[["trips", 0, off, VALUE % (trip, 1)] for off, trip in enumerate(log)])
    rows = tuple(row_of(VALUE % (trip, 1), 0, off) for off, trip in enumerate(log)) if rows is None else rows
    totals = {("airport", "2025-06-02T07:20:00Z"): len(set(log))} if totals is None else totals
    return Run(tuple(history), rows, totals, **more)


def verdicts(run):
    return {v.name: v.valid for v in notary(run)}


def row(trip, **changed):
    return Row(trip, "taxi-1", "airport", "2025-06-02T07:20:00Z", 0, trip)._replace(**changed)


def test_a_sound_run_passes():
    """Fails if the notary cannot be satisfied at all."""
    assert verdicts(small_run()) == dict.fromkeys(COUNTERS, True)


@pytest.mark.parametrize("counter, count, run", [
    ("lost", 1, small_run(rows=(row(0), row(1)))),
    ("lost", 1, small_run(in_log=(0, 2))),
    ("lost", 1, small_run(acked=(0, 1), unknown=(2,), in_log=(0, 1, 2), rows=(row(0), row(1)))),
    ("lost", 1, small_run(in_log=(0, 2), settled=False)),
    ("lost", 1, small_run(in_log=(0, 2), whole=False)),
    ("duplicate", 2, small_run(rows=(row(0), row(1), row(2), row(2), row(0)))),
    ("duplicate", 1, small_run(rows=(row(0), row(1), row(2), row(2)), settled=False)),
    ("reordered", 2, small_run(rows=(row(2), row(0), row(1)))),
    ("phantom", 1, small_run(rows=(row(0), row(1), row(2), row(7)))),
    ("phantom", 1, small_run(rows=(row(0), row(1, zone="park"), row(2)))),
    ("phantom", 1, small_run(rows=(row(0), row(1, taxi="taxi-2"), row(2)))),
    ("totals", 1, small_run(totals={("airport", "2025-06-02T07:20:00Z"): 2})),
    ("totals", 1, small_run(totals={("airport", "2025-06-02T07:20:00Z"): 4}, settled=False)),
    ("totals", 2, small_run(totals={("airport", "2025-06-02T07:10:00Z"): 3})),
], ids=lambda value: value if isinstance(value, str) else None)
def test_what_is_wrong_is_counted(counter, count, run):
    """Fails if a counter is blind, counts otherwise, or is silenced by what nobody knows."""
    found = notary(run)[counter]
    assert (found.valid, found.count) == (False, count) and found.evidence


@pytest.mark.parametrize("unknown, run", [
    (set(COUNTERS), small_run(settled=False)),
    (set(COUNTERS), small_run(whole=False)),
    (set(COUNTERS), small_run(missed=("kill Spark",))),
    (set(COUNTERS), small_run(acked=(), unknown=(0, 1), in_log=(0, 1))),
    ({"lost", "duplicate", "reordered", "phantom"}, replace(small_run(), rows=None)),
    ({"totals"}, replace(small_run(), totals=None)),
    ({"reordered"}, small_run(ordered=False)),
    (set(COUNTERS), small_run(rows=(row(0), row(1)), settled=False)),
    (set(), small_run(acked=(0, 1), unknown=(2,), in_log=(0, 1))),
], ids=lambda value: None)
def test_what_cannot_be_known_is_unknown(unknown, run):
    """Fails if the notary says PASS without having seen everything, FAIL without evidence, or UNKNOWN without a reason
    (I-NOTARY-1 to I-NOTARY-3)."""
    report = notary(run)
    assert {v.name for v in report if v.valid is None} == unknown
    assert all(v.reason for v in report if v.valid is None) and report.violated == []


def test_the_exercise_and_the_notary_agree():
    """Fails if the right answer of 14.2 is not what the notary says of a run with that one trip."""
    for acked, in_log, in_sink, settled in checks.CASES:
        run = small_run(acked=(0, 1) if acked else (0,), unknown=() if acked else (1,), in_log=(0, 1) if in_log else (0,),
                        rows=None if in_sink is None else (row(0), row(1)) if in_sink else (row(0),),
                        whole=in_log is not None, settled=settled)
        said = notary(replace(run, rows=None) if in_sink is None else run)["lost"].valid
        wanted = {"PASS": True, "FAIL": False, "UNKNOWN": None}[checks.fate(acked, in_log, in_sink, settled)]
        assert said is wanted or (wanted is True and said is None), (acked, in_log, in_sink, settled)


@pytest.mark.soak
def test_a_hundred_schedules_on_simulated_brokers():
    """A hundred seeded schedules of faults. Fails if the notary accuses a sound pipeline, or misses one whose sink appends."""
    for seed in range(100):
        assert notary(rehearse(EFFECTIVELY_ONCE, schedule(seed))).valid is True, seed
        assert "duplicate" in notary(rehearse(AT_LEAST_ONCE, schedule(seed))).violated, seed


def test_the_paper_can_do_what_it_is_for():
    """Fails if, on paper, Spark never repeats a batch, answers are never lost, or no fate stays unknown."""
    runs = [on_paper(AT_LEAST_ONCE, seed) for seed in range(5)]
    assert sum(notary(run)["duplicate"].count for run in runs) > 50
    assert all(any(event["type"] == "info" for event in run.history) for run in runs)


def test_every_liar_is_believed_and_asks_for_another_price():
    """Fails if the notary finds a liar, if a liar tells the truth, or if the sound pipeline is a liar too."""
    assert [name for name, liar in LIARS.items() if cries(liar, range(5))] == []
    assert [name for name, liar in LIARS.items() if not any(wrong_prices(*tables) for tables in sold(liar))] == []
    assert not any(wrong_prices(*tables) for tables in sold(EFFECTIVELY_ONCE))


@pytest.mark.parametrize("setting", ["acks", "idempotence", "starting", "key"])
def test_what_is_asked_is_the_setting_that_is_wrong(setting):
    """Fails if a verdict of 14.4 asks of another setting than the one whose sound value mends the pipeline."""
    pipeline = EFFECTIVELY_ONCE.but(**checks.REMOVED[setting])
    seed, _ = cries(pipeline, range(20))
    assert question(pipeline, lambda other: notary(on_paper(other, seed)).valid is True) == ASK[setting]


def test_what_no_one_change_mends_is_said_so():
    """Fails if one setting is named of a pipeline in which two things are wrong, or of one whose `write` is wrong."""
    for pipeline, asked in ((AT_LEAST_ONCE, MORE), (EFFECTIVELY_ONCE.but(write=prices_added_up), WRITE)):
        seed, _ = cries(pipeline, range(20))
        assert question(pipeline, lambda other, seed=seed: notary(on_paper(other, seed)).valid is True) == asked


# --- what the text states --------------------------------------------------------------------------------------------


def test_schedules_differ_and_the_hidden_ones_have_every_fault():
    """Fails if seeds are ignored, or if ten hidden schedules leave a kind of fault out."""
    assert schedule(1) == schedule(1) != schedule(2)
    assert {fault.what for seed in checks.HIDDEN for fault in schedule(seed).faults} == set(KINDS)
    assert len(set(checks.HIDDEN)) == 10


# --- the parts -------------------------------------------------------------------------------------------------------

def test_a_batch_that_is_not_done_is_planned_again():
    """Fails if a restart skips the unfinished batch, or widens its range to what has come since (I-MICRO-1, I-MICRO-2)."""
    query = Checkpoint({0: 0, 1: 5})
    first = query.plan({0: 3, 1: 5})
    assert first == (0, {0: 0, 1: 5}, {0: 3, 1: 5})
    assert query.plan({0: 9, 1: 9}) == first and query.reached == {0: 0, 1: 5}
    query.done(first)
    assert query.plan({0: 3, 1: 5}) is None and query.reached == {0: 3, 1: 5}
    assert query.plan({0: 9, 1: 9}) == (1, {0: 3, 1: 5}, {0: 9, 1: 9})


def test_a_write_is_whole_or_not_at_all():
    """Fails if half a batch stays when `write` raises (I-SINK-1)."""
    def half(rows, batch, db):
        db.execute("INSERT INTO trips VALUES (1, 't', 'z', 'w', 0, 0)")
        raise RuntimeError("in the middle")
    sink = Sink(EFFECTIVELY_ONCE.but(write=half))
    with pytest.raises(RuntimeError, match="in the middle"):
        sink.take([], 0)
    assert sink.rows() == ()


def test_a_write_that_dies_leaves_what_it_has_committed():
    """Fails if a night sees no commit inside a write, or accuses a write without one."""
    row_, inside = row(1), EFFECTIVELY_ONCE.but(write=commits_inside)
    assert [Sink(pipeline).die_inside([row_], 0) for pipeline in (EFFECTIVELY_ONCE, inside)] == [0, 1]


def test_a_night_lets_nothing_pass_that_it_cannot_judge():
    """Fails if a limit is not looked at, or if a run that the notary does not know comes through."""
    late = replace(small_run(), waited=9.0)
    assert judged(late, 10.0) == "" and judged(late, 8.0) == "waited 9 s"
    assert judged(replace(late, settled=False), 10.0) == "UNKNOWN"
    assert judged(small_run(rows=(row(0), row(1)), stayed=2), 8.0) == "1 lost, 2 rows stay"


def test_a_night_judges_each_price():
    """Fails if a night believes a price that is not that of the acknowledged trips, or accuses one that is."""
    run, window = small_run(), "2025-06-02T07:20:00Z"
    assert judged(replace(run, prices={("airport", window): 1.0}), 8.0) == ""
    assert judged(replace(run, prices={("airport", window): 1.1}), 8.0) == "1 wrong price"


def unreadable(rows=None, **more):
    """A run of two trips, and two records behind them that no trip can be read from, one of which names a trip."""
    history, values = History(), [VALUE % (0, 1), VALUE % (1, 1), '{"trip":0,"taxi":"ta', '{"trip":1,"taxi":"taxi-1"}']
    for off, value in enumerate(values):
        op = history.invoke("p", "send", topic="trips", partition=0, value=value, acks=-1)
        history.ok(op, offset=off)
    op = history.invoke("f", "final", topic="trips", partition=0, isolation="read_uncommitted")
    history.ok(op, start=0, records=[["trips", 0, off, value] for off, value in enumerate(values)])
    return Run(tuple(history), rows or (row(0), row(1)), {("airport", "2025-06-02T07:20:00Z"): 2}, **more)


@pytest.mark.parametrize("said, run", [
    ("", unreadable(dead=((0, 2), (0, 3)))),
    ("1 unreadable record not among the dead", unreadable(dead=((0, 2),))),
    ("1 good record among the dead", unreadable(dead=((0, 1), (0, 2), (0, 3)))),
    ("1 row of nothing in trips, 1 phantom",
     unreadable((row(0), row(1), row_of('{"trip":0,"taxi":"ta', 0, 2)), dead=((0, 2), (0, 3)))),
    ("the query died of KeyError: None, and again at each start", unreadable(died="KeyError: None")),
])
def test_what_cannot_be_read_belongs_among_the_dead_alone(said, run):
    """Fails if a night lets an unreadable record vanish or stand among the trips, if it takes a good one for dead, or if the
    notary counts as a trip what is none."""
    assert judged(run, 8.0) == said


def test_a_trip_has_come_when_a_price_counts_it():
    """Fails if a pipeline whose rows come in time and whose prices stand still counts as fresh."""
    def late_prices(rows, batch, db):
        db.executemany(KEEP_FIRST, rows)
        if batch:
            db.execute(COUNT_AGAIN)
    sink = Sink(EFFECTIVELY_ONCE.but(write=late_prices))
    sink.take([row(0)], 0)
    assert sink.counted() == []
    sink.take([row(1)], 1)
    assert sink.counted() == [0, 1]


def test_prices_are_looked_at_in_more_than_one_zone():
    """Fails if 14.4 lets a pipeline pass that prices each window by the trips of all windows."""
    def by_all(rows, batch, db):
        db.executemany(KEEP_FIRST, rows)
        db.execute(COUNT_AGAIN.replace("surge(count(*))", "surge((SELECT count(*) FROM trips))"))
    assert "a price is not" in checks.mispriced(EFFECTIVELY_ONCE.but(write=by_all))
    assert checks.mispriced(EFFECTIVELY_ONCE) == ""


def test_a_leader_that_was_cut_off_does_not_say_where_the_log_ends():
    """The last trips are acknowledged a moment before the cut is healed. Fails if the model of Spark counts as at rest because
    the old leader's log has nothing new: then a sound pipeline is accused of eleven lost trips.
    """
    plan = Schedule(31, 60, (Fault(0.5, "cut off the leader", 0, 6.0),))
    assert notary(rehearse(EFFECTIVELY_ONCE, plan)).valid is True


def test_a_death_that_does_not_come_is_taken_back():
    """Fails if a query that has nothing more to write is waited for because it was told to die after its next write."""
    with Cluster(brokers=1, engine="sim", seed=1) as cluster:
        spark, fault = Spark(), Fault(1.0, "kill Spark after a write", lasts=2.0)
        assert strike(cluster, spark, TripProgram(), fault, "trips") == [str(fault)] and not spark.dying


def test_a_producer_that_died_sends_again_what_it_had_not_noted():
    """Fails if a trip is never sent, if one that was noted is sent again, or if the brokers know the new producer as the old."""
    run = rehearse(EFFECTIVELY_ONCE, Schedule(34, 100, (Fault(2.7, "kill the producer", 0, 1.0),)))
    trips = Counter(row.trip for _, row in Facts(run).log)
    again = sorted(trip for trip, records in trips.items() if records == 2)
    first = min(trips)
    assert sorted(trips) == [*range(first, first + 100)]
    assert again == [*range(first + 40, first + 54)] and max(trips.values()) == 2


# --- what changes while it runs --------------------------------------------------------------------------------------

def test_the_notary_reads_what_both_releases_write():
    """Fails if a trip of the new release is another trip to the notary, or if it reads a trip from a spoiled record."""
    for number, trip in enumerate(islice(taxi_trips(seed=3), 50)):
        old, new = trip.encode(), newer(trip)
        assert row_of(old.decode(), 0, 0) == row_of(new.decode(), 0, 0) and None not in row_of(old.decode(), 0, 0)
        assert all(None in row_of(spoil(value, number).decode(), 0, 0) for value in (old, new))


def test_a_release_reaches_one_taxi_after_another_and_is_taken_back():
    """Fails if all taxis change at one moment, if one changes twice, or if `back` takes the release from all of them."""
    plan = Schedule(1, 200, (), release=2.0, back=6.0)
    is_new: dict[str, str] = {}
    for number, trip in enumerate(islice(taxi_trips(seed=2), 200)):
        is_new[trip.taxi] = is_new.get(trip.taxi, "") + ("n" if b'"seats"' in plan.record(number, trip) else "o")
    runs = {"".join(a for a, b in zip(word, f" {word}") if a != b) for word in is_new.values()}
    assert runs == {"o", "on", "ono"}


# --- who watches -----------------------------------------------------------------------------------------------------

def test_what_one_sees_of_a_night_is_what_happened():
    """Fails if the lag counts trips that were not sent, if the age stands still while nothing comes, or if a look is missing."""
    night = next(night for night in WATCHES if night.name == "nobody sends")
    looks = seen(night)
    assert [look.second for look in looks] == list(range(1, 48)) and {look.isr for look in looks} == {3}
    silent = looks[int(night.since) + 1:int(night.until)]
    assert {look.lag for look in silent} == {0} and silent[-1].age == pytest.approx(silent[0].age + len(silent) - 1, abs=0.2)
    assert looks[-1].age < 3


def test_an_alarm_sees_no_later_look():
    """Fails if a rule gets looks from the future, or too few of the past."""
    assert [each.seen.second for each in rung(lambda looks: ["lag"] * (looks[-1].second == len(looks)), WATCHES[4])
            if "lag" in each.names] == list(range(1, 48))
