"""Wrong answers to the exercises of lab 14, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import json
from collections import Counter

from minikafka.lab.labs.lab14.broken import pipelines
from minikafka.lab.labs.lab14.cost import MEASURED
from minikafka.lab.labs.lab14.late import after
from minikafka.lab.labs.lab14.notary import time_of, window_of
from minikafka.lab.labs.lab14.pipeline import AT_LEAST_ONCE, Pipeline, surge
from minikafka.lab.labs.lab14.release import before
from solutions.right.lab14 import (
    FINAL,
    KEEP,
    KEPT,
    PAGE,
    PRICES,
    RISES,
    and_then,
    bill,
    bills,
    both,
    catch_up,
    either,
    final,
    good,
    lost_trip,
    negated,
    of_the_last,
    pipeline,
    reads,
    release,
    restarts,
    rises,
    write,
)

# --- 14.2 -------------------------------------------------------------------------------------------------------------


def two_values(acked, in_log, in_sink, settled):
    return "FAIL" if acked and not in_sink else "PASS"


def log_will_do(acked, in_log, in_sink, settled):
    return "PASS" if in_sink or in_log else "UNKNOWN" if in_log is None or in_sink is None else "FAIL" if acked else "PASS"


def when_in_doubt(acked, in_log, in_sink, settled):
    return "PASS" if in_sink else "UNKNOWN"


def of(pipeline):
    return lambda: pipeline


def lost_wrong(owed=lambda a, log: either(a, log), sink=lambda s: s, settled=lambda s: s, words=("FAIL", "PASS", "UNKNOWN")):
    def says(acked, in_log, in_sink, over):
        lost = both(owed(acked, in_log), negated(sink(in_sink)), either(settled(over), negated(in_log)) or None)
        return dict(zip((True, False, None), words))[lost]
    return says


def lost_unless_there(acked, in_log, in_sink, settled):
    return "PASS" if in_sink else "FAIL"


def lost_by_truth(acked, in_log, in_sink, settled):
    return "PASS" if in_sink or not (acked or in_log) else "FAIL" if settled else "UNKNOWN"


def lost_owed_first(acked, in_log, in_sink, settled):
    if not acked and not in_log:
        return "UNKNOWN"
    return "PASS" if in_sink else "UNKNOWN" if in_sink is None or not settled else "FAIL"


def lost_too_careful(acked, in_log, in_sink, settled):
    if None in (acked, in_log, in_sink, settled):
        return "UNKNOWN"
    return lost_trip(acked, in_log, in_sink, settled)


def lost_waits_for_ever(acked, in_log, in_sink, settled):
    found = lost_trip(acked, in_log, in_sink, settled)
    return found if settled or found == "PASS" else "UNKNOWN"


def lost_waits_first(acked, in_log, in_sink, settled):
    return lost_trip(acked, in_log, in_sink, settled) if settled else "UNKNOWN"


# --- 14.4 -------------------------------------------------------------------------------------------------------------


def write_as_on_the_first_day(rows, batch, db):
    db.executemany("INSERT INTO trips VALUES (?, ?, ?, ?, ?, ?)", rows)
    db.execute(PRICES)


def write_prices_added(rows, batch, db):
    db.executemany(KEEP, rows)
    for row in rows:
        db.execute("INSERT INTO prices VALUES (?, ?, 1, 1) ON CONFLICT DO UPDATE SET trips = trips + 1, surge = surge(trips + 1)",
                   (row.zone, row.window))


def write_prices_of_this_batch(rows, batch, db):
    db.executemany(KEEP, rows)
    for (zone, window), n in Counter((row.zone, row.window) for row in rows).items():
        db.execute("REPLACE INTO prices VALUES (?, ?, ?, ?)", (zone, window, n, surge(n)))


def write_no_prices(rows, batch, db):
    db.executemany(KEEP, rows)


def write_no_trips(rows, batch, db):
    pass


def write_commits(rows, batch, db):
    db.executemany(KEEP, good(rows, db))
    db.commit()
    db.execute(PRICES)


def write_with_db(rows, batch, db):
    with db:
        write(rows, batch, db)


def write_skips_batches(rows, batch, db):
    db.execute("CREATE TABLE IF NOT EXISTS done (batch INTEGER PRIMARY KEY)")
    if not db.execute("SELECT 1 FROM done WHERE batch = ?", (batch,)).fetchone():
        db.execute("INSERT INTO done VALUES (?)", (batch,))
        db.executemany("INSERT INTO trips VALUES (?, ?, ?, ?, ?, ?)", rows)
        db.execute(PRICES)


def write_last_first(rows, batch, db):
    write(list(rows)[::-1], batch, db)


def write_other_zone(rows, batch, db):
    write([row._replace(zone="airport") for row in rows], batch, db)


def write_many_only(rows, batch, db):
    db.executemany(KEEP, rows)
    db.execute(PRICES + " HAVING count(*) > 3")


def write_sql_error(rows, batch, db):
    db.executemany("INSERT OR IGNORE INTO trip VALUES (?, ?, ?, ?, ?, ?)", rows)


def write_one_price(rows, batch, db):
    db.executemany(KEEP, rows)
    db.execute("INSERT OR REPLACE INTO prices SELECT zone, window, count(*), 1.0 FROM trips GROUP BY zone, window")


def write_price_of_one_less(rows, batch, db):
    db.executemany(KEEP, rows)
    db.execute(PRICES.replace("surge(count(*))", "surge(count(*) - 1)"))


def write_price_of_all(rows, batch, db):
    db.executemany(KEEP, rows)
    db.execute(PRICES.replace("surge(count(*))", "surge((SELECT count(*) FROM trips))"))


# --- 14.11 ------------------------------------------------------------------------------------------------------------


def without(name):
    return lambda looks: [each for each in of_the_last(looks) if each != name]


def instead(name, rule):
    """Sound alarms, but for the rule of one of them."""
    return lambda looks: [*without(name)(looks), *[name] * bool(rule(looks))]


def never_again_silent():
    rung = set()

    def alarms(looks):
        if len(looks) == 1:
            rung.clear()
        rung.update(of_the_last(looks))
        return rung
    return alarms


def write_dies(rows, batch, db):
    for row in rows:
        row.zone.lower()
    write(rows, batch, db)


def write_takes_all(rows, batch, db):
    db.executemany(KEEP, rows)
    db.execute(PRICES)


def write_skips_unread(rows, batch, db):
    write([row for row in rows if None not in row], batch, db)


def write_skips_the_batch(rows, batch, db):
    if not any(None in row for row in rows):
        write(rows, batch, db)


def write_buries_the_batch(rows, batch, db):
    if any(None in row for row in rows):
        db.executemany("INSERT OR IGNORE INTO dead VALUES (?, ?)", [row[-2:] for row in rows])
    else:
        write(rows, batch, db)


def write_looks_at_the_number(rows, batch, db):
    db.executemany("INSERT OR IGNORE INTO dead VALUES (?, ?)", [row[-2:] for row in rows if row.trip is None])
    write_takes_all([row for row in rows if row.trip is not None], batch, db)


def write_buries_twice(rows, batch, db):
    db.executemany("INSERT INTO dead VALUES (?, ?)", [row[-2:] for row in rows if None in row])
    write_skips_unread(rows, batch, db)


def write_prices_when_quiet(rows, batch, db):
    db.executemany(KEEP, good(rows, db))
    if len(rows) < 40:
        db.execute(PRICES)


def write_small_batches_only(rows, batch, db):
    assert len(rows) < 60, "too many rows at once"
    write(rows, batch, db)


# --- 14.13 ------------------------------------------------------------------------------------------------------------


def by_the_sink(closes, minutes=50, late="INSERT OR IGNORE INTO late VALUES (?)", keep=KEEP):
    """Late is what `closes` says of the rows and of the newest window in the sink."""
    def write(rows, batch, db):
        newest = db.execute("SELECT max(window) FROM trips").fetchone()[0] or ""
        found = closes(rows, newest, minutes)
        db.executemany(keep, rows)
        db.executemany(late, [(row.trip,) for row in found])
        db.execute(FINAL)
    return lambda: (minutes, write)


def closed(rows, newest, minutes):
    return [row for row in rows if after(row.window, 10 + minutes) <= newest]


def of_this_batch(rows, newest, minutes):
    return closed(rows, max([newest, *(row.window for row in rows)]), minutes)


def from_the_beginning(rows, newest, minutes):
    return [row for row in rows if after(row.window, minutes) <= newest]


def one_too_few(rows, newest, minutes):
    return [row for row in rows if after(row.window, 10 + minutes) < newest]


def in_a_variable():
    newest = [""]

    def write(rows, batch, db):
        there = {trip for trip, in db.execute("SELECT trip FROM trips")}
        new = [row for row in rows if row.trip not in there]
        db.executemany(KEEP, new)
        db.executemany("INSERT INTO late VALUES (?)", [(row.trip,) for row in closed(new, newest[0], 50)])
        newest[0] = max([newest[0], *(row.window for row in rows)])
        db.execute(FINAL)
    return 50, write


def drops_the_late():
    def write(rows, batch, db):
        final()[1](rows, batch, db)
        db.execute("DELETE FROM trips WHERE trip IN (SELECT trip FROM late)")
    return 50, write


# --- 14.15 ------------------------------------------------------------------------------------------------------------


def reads_as(zone=lambda trip, new: trip.get("zone") if new else trip.get("pickup"), new=lambda trip: "started" not in trip,
             time=lambda pickup: time_of(pickup / 1000)):
    """A `read` that is right, but for one thing."""
    def read(value):
        try:
            trip = json.loads(value)
        except ValueError:
            return None, None, None, None
        began = time(trip["pickup"]) if new(trip) else trip.get("started")
        return trip.get("trip"), trip.get("taxi"), zone(trip, new(trip)), window_of(began) if began else None
    return release(read)


def remembers_taxis():
    """What a taxi has once, it has for ever."""
    seen = set()

    def read(value):
        trip, taxi, zone, window = reads(value)
        if '"zone"' in value:
            seen.add(taxi)
        return (trip, taxi, zone, window) if ('"zone"' in value) == (taxi in seen) else (None,) * 4
    return "query", read


def reads_or_dies(value):
    trip = json.loads(value)
    return reads(json.dumps(trip))


def reads_strictly(value):
    """A class of the old release: no other field is allowed."""
    if '"seats"' in value:
        return None, None, None, None
    return reads(value)


def reads_with_a_default(value):
    return tuple(each if each is not None else other for each, other in zip(reads(value), (-1, "?", "?", "2025-06-02T00:00:00Z")))


def reads_no_old(value):
    return reads(value) if '"started"' not in value else (None, None, None, None)


# --- 14.19 ------------------------------------------------------------------------------------------------------------


def with_limit(size):
    """The right number of cores, and another limit."""
    return lambda night: (size(night), catch_up(night)[1])


def in_time(night, cores=1):
    return int((night.still - night.fixed) / night.row * cores)


def average(night):
    """Cores for what comes, and nothing for what is left."""
    for cores in range(1, 99):
        limit = min(night.memory, in_time(night, cores))
        if limit / (night.fixed + night.row * limit / cores) > night.rate:
            return limit, cores


WRONG = {
    "14.2": {
        "knows two answers only": (two_values, ""),
        "is content with the log": (log_will_do, ""),
        "never says FAIL": (when_in_doubt, ""),
        "only what was acknowledged": (lost_wrong(owed=lambda a, log: a), r"in the log"),
        "only what is in the log": (lost_wrong(owed=lambda a, log: log), r"acknowledged"),
        "not there is lost": (lost_unless_there, r"owed|promised|UNKNOWN|nobody"),
        "None is False": (lost_by_truth, r"None|nobody (could )?look|UNKNOWN"),
        "never settled": (lost_wrong(settled=lambda s: True), r"can still come"),
        "nothing owed is unknown": (lost_owed_first, r"owed|in the sink|PASS"),
        "unknown as soon as one is": (lost_too_careful, r"PASS|it is FAIL: it was acknowledged"),
        "waits, whatever it sees": (lost_waits_first, r"in the sink|PASS"),
        "turned round": (lost_wrong(words=("PASS", "FAIL", "UNKNOWN")), r"PASS|FAIL"),
        "True, False, None": (lost_wrong(words=(False, True, None)), r'"?PASS"?.*"?FAIL"?.*"?UNKNOWN"?|text|returned None'),
        "small letters": (lost_wrong(words=("fail", "pass", "unknown")), r"PASS|FAIL|UNKNOWN"),
        "waits for what is not in the log": (lost_waits_for_ever, r"cannot come any more"),
        "the sink unseen is empty": (lost_wrong(sink=bool), r"None|nobody|UNKNOWN"),
        "the sink unseen is full": (lost_wrong(sink=lambda s: s is not False), r"None|nobody|UNKNOWN"),
        "always PASS": (lambda *told: "PASS", r"lost|FAIL"),
    },
    "14.4": {
        **{name: (of(pipeline), "") for name, pipeline in pipelines().items()},
        "as on the first day": (pipeline(write_as_on_the_first_day, key=()), r"duplicate"),
        "the first pipeline": (lambda: AT_LEAST_ONCE, r"duplicate"),
        "chooses nothing": (lambda: Pipeline("mine", write), r"missing.*acks"),
        "chooses the key alone": (lambda: Pipeline("mine", write, key=("trip",)), r"missing.*acks"),
        "prices are added up": (pipeline(write_prices_added), r"Look at `write`"),
        "prices of this batch": (pipeline(write_prices_of_this_batch), r"totals"),
        "no prices": (pipeline(write_no_prices), r"totals|prices"),
        "nothing at all": (pipeline(write_no_trips), r"lost"),
        "the leader's answer is enough": (pipeline(acks="1"), r"Which replicas had a trip"),
        "no answer": (pipeline(acks="0", idempotence=False), r"acks|acknowledged"),
        "no idempotence": (pipeline(idempotence=False), r"sends again what got no answer"),
        "no idempotence, the place is the key": (pipeline(idempotence=False, key=("part", "off")), r"duplicate"),
        "begins at the end": (pipeline(checkpoint=False, starting="latest"), r"At which offset"),
        "begins at the end, with a checkpoint": (pipeline(starting="latest"), r"At which offset"),
        "begins nowhere": (pipeline(starting="beginning"), r"starting is .*beginning"),
        "a folder for a checkpoint": (pipeline(checkpoint="/tmp/checkpoint"), r"checkpoint is True or False"),
        "the key is a text": (pipeline(key="trip"), r"key is a tuple"),
        "the key is no column": (pipeline(key=("id",)), r"key is a tuple"),
        "a repeated row stops it": (pipeline(write_as_on_the_first_day), r"whose key is in the table already"),
        "the price is doubled": (pipeline(and_then("UPDATE prices SET surge = 2 * surge")), r"price|surge"),
        "one price for all": (pipeline(write_one_price), r"price|surge"),
        "the price of one trip less": (pipeline(write_price_of_one_less), r"price|surge"),
        "every window at the price of all trips": (pipeline(write_price_of_all), r"a price is not"),
        "a price below 1": (pipeline(and_then("UPDATE prices SET surge = 0.0 WHERE trips < 5")), r"price|surge"),
        "no price": (pipeline(and_then("UPDATE prices SET surge = NULL")), r"price|surge"),
        "the leader alone": (pipeline(min_insync=1), r"the last one burns.*lost"),
        "all three, always": (pipeline(min_insync=3), r"one broker away.*waited"),
        "no checkpoint": (pipeline(checkpoint=False), r"a slow sink.*waited"),
        "the place is the key": (pipeline(key=("part", "off")), r"the caller repeats.*duplicate"),
        "commits in the middle": (pipeline(write_commits), r"half a write.*stay"),
        "with db": (pipeline(write_with_db), r"half a write.*stay"),
        "four of three": (pipeline(min_insync=4), r"min_insync"),
        "skips a batch by its number, without a checkpoint": (pipeline(write_skips_batches, key=(), checkpoint=False),
                                                              r"lost|duplicate|number"),
        "the last row first": (pipeline(write_last_first), r"reordered"),
        "another zone": (pipeline(write_other_zone), r"phantom"),
        "small windows without a price": (pipeline(write_many_only), r"totals|price"),
        "a table that is not there": (pipeline(write_sql_error), r"no such table"),
        "the taxi is the key": (pipeline(key=("taxi",)), r"lost"),
        "not a pipeline": (lambda: write, r"Pipeline"),
        "a dictionary": (lambda: {"write": write, "acks": "all"}, r"Pipeline"),
        "nothing": (lambda: None, r"Pipeline|return"),
        "deletes the trips": (pipeline(and_then("DELETE FROM trips WHERE trip % 7 = 0")), r"lost"),
        "deletes a price": (pipeline(and_then("DELETE FROM prices WHERE trips = 1")), r"totals|price"),
        "an answer of another kind": (pipeline(acks=2), r"acks"),
        "dies of what it cannot read": (pipeline(write_dies), r"not to be read.*the query died.*NoneType"),
        "a row of nothing": (pipeline(write_takes_all), r"not to be read.*rows? of nothing in trips"),
        "what cannot be read vanishes": (pipeline(write_skips_unread), r"not to be read.*not among the dead.*None"),
        "good records of the batch are lost": (pipeline(write_skips_the_batch), r"not to be read.*[0-9]+ lost"),
        "good records among the dead": (pipeline(write_buries_the_batch), r"not to be read.*good records among the dead"),
        "looks at the trip's number alone": (pipeline(write_looks_at_the_number), r"not to be read.*not among the dead"),
        "the dead twice": (pipeline(write_buries_twice), r"not to be read.*the query died.*dead"),
        "prices when there is time": (pipeline(write_prices_when_quiet), r"totals"),
        "stands still at a large batch": (pipeline(write_small_batches_only), r"query died|waited"),
    },
    "14.7": {
        "believes that acks=1 makes duplicates": (rises(acks={"duplicate"}), ""),
        "believes that a lost checkpoint loses trips": (rises(checkpoint={"lost", "totals"}), ""),
        "fears min.insync.replicas=1 in a schedule that never uses it": (rises(min_insync={"lost", "totals"}), ""),
        "acks: only lost": (rises(acks={"lost"}), r"acks.*totals"),
        "acks: nothing": (rises(acks=set()), r"acks"),
        "idempotence: duplicates": (rises(idempotence={"duplicate"}), r"idempotence"),
        "min_insync: lost": (rises(min_insync={"lost"}), r"min_insync"),
        "checkpoint: duplicates": (rises(checkpoint={"duplicate"}), r"checkpoint"),
        "starting: nothing": (rises(starting=set()), r"starting"),
        "key: only duplicates": (rises(key={"duplicate"}), r"key.*totals"),
        "prices: nothing": (rises(prices=set()), r"prices"),
        "one is missing": (lambda: {k: v for k, v in RISES.items() if k != "checkpoint"}, r"checkpoint"),
        "one that there is not": (lambda: RISES | {"retries": {"lost"}}, r"retries"),
        "a counter that there is not": (rises(key={"duplicates", "totals"}), r"duplicates"),
        "a text for a set": (rises(prices="totals"), r"set|prices"),
        "True and False": (lambda: {setting: bool(found) for setting, found in RISES.items()}, r"set|counter"),
        "numbers": (lambda: {setting: len(found) for setting, found in RISES.items()}, r"set|counter"),
        "sets alone": (lambda: list(RISES.values()), r"dictionary"),
        "turned round": (lambda: {c: {s for s in RISES if c in RISES[s]} for c in ("lost", "duplicate", "reordered", "totals")},
                         r"acks|setting"),
        "nothing": (lambda: None, r"return|dictionary"),
        "all of them": (lambda: {s: {"lost", "duplicate", "reordered", "phantom", "totals"} for s in RISES}, r"acks|phantom"),
    },
    "14.8": {
        "tells the truth": (pipeline(), r"right"),
        "appends": (lambda: AT_LEAST_ONCE, r"duplicate|reordered|totals"),
        "loses the last trip": (lambda: pipelines()["forgets the last row of a batch"], r"lost|totals"),
        "counts one trip more": (pipeline(and_then("UPDATE prices SET trips = trips + 1")), r"totals"),
        "deletes a price": (pipeline(and_then("DELETE FROM prices WHERE trips = 1")), r"totals"),
        "deletes what is dear": (pipeline(and_then("DELETE FROM prices WHERE surge > 1")), r"a day with many trips"),
        "not a pipeline": (lambda: write, r"Pipeline"),
        "nothing": (lambda: None, r"Pipeline|return"),
    },
    "14.9": {
        "believes every price": (lambda trips, prices: [], r"do not find"),
        "accuses every price": (lambda trips, prices: [row[:2] for row in prices], r"a sound pipeline"),
        "wants 1.0": (lambda trips, prices: [row[:2] for row in prices if row.surge != 1.0], r"a sound pipeline"),
        "looks for None only": (lambda trips, prices: [row[:2] for row in prices if row.surge is None], r"do not find"),
        "is content with a little too much": (
            lambda trips, prices: [row[:2] for row in prices if row.surge is None or abs(row.surge - surge(row.trips)) > 0.5],
            r"do not find"),
        "zones alone": (lambda trips, prices: [row.zone for row in prices if row.surge != surge(row.trips)], r"pairs"),
        "a number": (lambda trips, prices: sum(row.surge != surge(row.trips) for row in prices), r"list of tuples|returned None"),
        "True or False": (lambda trips, prices: all(row.surge == surge(row.trips) for row in prices), r"list of tuples|returned None"),
        "nothing": (lambda trips, prices: None, r"list of tuples|returned None"),
    },
    "14.13": {
        "nothing is late": (by_the_sink(lambda *_: []), r"not among the late"),
        "changes a price that was paid": (lambda: final(prices=PRICES), r"came in time, and the price counts"),
        "drops what is late": (drops_the_late, r"not in trips; its driver"),
        "late at the second time": (by_the_sink(closed), r"second time.*among the late now"),
        "late by its own batch": (by_the_sink(of_this_batch), r"not closed before this batch"),
        "from the beginning of the window": (by_the_sink(from_the_beginning), r"not closed before this batch"),
        "closed a moment later": (by_the_sink(one_too_few), r"not among the late"),
        "late twice": (by_the_sink(closed, late="INSERT INTO late VALUES (?)"), r"second time"),
        "in a variable": (in_a_variable, r"not among the late"),
        "trips twice": (by_the_sink(closed, keep=KEEP.replace("OR IGNORE ", "")), r"second time: the database stopped `write`"),
        "waits for nobody": (lambda: final(0), r"24.5%"),
        "waits 20 minutes, as usual": (lambda: final(20), r"come too late; fewer than"),
        "waits for all": (lambda: final(120), r"10 minutes less"),
        "a quarter of an hour": (lambda: final(45), r"0, 10, 20"),
        "write alone": (lambda: write, r"pair"),
        "minutes alone": (lambda: 50, r"pair"),
        "nothing": (lambda: None, r"pair|return"),
    },
    "14.11": {
        "no alarm on the lag": (without("lag"), r"query stays away.*lag does not ring"),
        "no alarm on the ISR": (without("isr"), r"broker stays away.*isr does not ring"),
        "no alarm on freshness": (without("freshness"), r"nobody sends.*freshness does not ring"),
        "never rings": (lambda looks: [], r"broker stays away.*does not ring"),
        "always rings": (lambda looks: ["lag", "isr", "freshness"], r"ordinary night.*freshness rings"),
        "rings whenever one replica is away": (instead("isr", lambda looks: looks[-1].isr < 3), r"ordinary night.*isr rings"),
        "rings for any lag": (instead("lag", lambda looks: looks[-1].lag > 50), r"ordinary night.*lag rings"),
        "rings when prices are two seconds old": (instead("freshness", lambda looks: looks[-1].age > 2),
                                                  r"ordinary night.*freshness rings"),
        "waits for the last replica": (instead("isr", lambda looks: looks[-1].isr < 2), r"broker stays away.*isr does not ring"),
        "waits half a minute for the ISR": (lambda looks: of_the_last(looks, isr=20), r"isr rings .* seconds after"),
        "waits for a lag of 450": (instead("lag", lambda looks: looks[-1].lag > 450), r"lag rings .* seconds after"),
        "rings when the promise is nearly broken": (lambda looks: of_the_last(looks, age=22), r"freshness rings .* seconds after"),
        "one look at the lag": (instead("lag", lambda looks: looks[-1].lag > 180), r"too slow.*silent.*nothing is mended"),
        "rings while the lag rises": (instead("lag", lambda looks: looks[-1].lag > 140 and looks[-1].lag > looks[-2].lag),
                                      r"too slow.*silent.*nothing is mended"),
        "one look at the lag, for a burst": (instead("lag", lambda looks: looks[-1].lag > 88 or
                                                     len(looks) > 10 and min(look.lag for look in looks[-9:]) > 80),
                                             r"lag rings|silent"),
        "rings once": (lambda looks: [name for name in of_the_last(looks) if name not in of_the_last(looks[:-1] or looks)],
                       r"silent.*nothing is mended"),
        "never silent again": (never_again_silent(), r"still rings"),
        "other names": (lambda looks: [name.upper() for name in of_the_last(looks)], r"list of"),
        "True and False": (lambda looks: looks[-1].lag > 100, r"list"),
        "one text": (lambda looks: "lag" if looks[-1].lag > 100 else "", r"list"),
        "reads the looks as a dictionary": (lambda looks: ["lag"] if looks[-1]["lag"] > 100 else [], r""),
        "nothing": (lambda looks: None, r"return|list"),
    },
    "14.12": {
        "freshness first": (lambda: [PAGE[2], *PAGE[:2]], r"query stays away.*application"),
        "freshness before the brokers": (lambda: [PAGE[1], PAGE[2], PAGE[0]], r"leader is alone.*application"),
        "restarts the query whatever rings": ([(set(), "query")], r"broker stays away.*leads to the query"),
        "no line for the ISR": (PAGE[1:], r"broker stays away.*no line fits"),
        "no line for the lag": (lambda: [PAGE[0], PAGE[2]], r"query stays away.*application"),
        "no line for freshness": (PAGE[:2], r"nobody sends.*no line fits"),
        "old prices are the query's": ([*PAGE[:2], ({"freshness"}, "query")], r"nobody sends.*query"),
        "waits for two alarms": ([({"isr", "freshness"}, "brokers"), *PAGE[1:]], r"broker stays away.*no line fits"),
        "an empty page": ([], r"no line fits"),
        "a dictionary": (dict(isr="brokers", lag="query", freshness="application"), r"list"),
        "one name for a set": ([("isr", "brokers")], r"list"),
        "another place": ([({"isr"}, "Spark")], r"place"),
        "alarms alone": (["isr", "lag", "freshness"], r"pair"),
        "nothing": (lambda: None, r"return|list"),
    },
    "14.15": {
        "the application first": (release(first="application"), r"taxi by taxi.*good records? among the dead.*must understand"),
        "the old query": (release(before), r"taxi by taxi.*lost"),
        "the new release alone": (release(reads_no_old), r"taxi by taxi.*lost"),
        "pickup is the zone, if it is there": (reads_as(zone=lambda trip, new: str(trip.get("pickup") or trip.get("zone"))),
                                               r"taxi by taxi.*phantom"),
        "from the hundredth trip on": (reads_as(new=lambda trip: trip["trip"] >= 100), r"taxi by taxi.*the query died|phantom|lost"),
        "milliseconds are seconds": (reads_as(time=time_of), r"taxi by taxi.*the query died of ValueError"),
        "two hours later": (reads_as(time=lambda pickup: time_of(pickup / 1000 + 7200)), r"taxi by taxi.*phantom"),
        "a time for a window": (release(lambda value: (*reads(value)[:3], "2025-06-02T06:05:03Z")), r"phantom"),
        "no field may be new": (release(reads_strictly), r"taxi by taxi.*lost"),
        "a taxi goes forward only": (remembers_taxis, r"taken back.*lost"),
        "dies of a broken text": (release(reads_or_dies), r"broken in two ways.*JSONDecodeError"),
        "a default for what is missing": (release(reads_with_a_default), r"broken in two ways.*not among the dead"),
        "the time for a missing zone": (
            reads_as(zone=lambda trip, new: str(trip.get("zone", trip["pickup"])) if new else trip.get("pickup")),
            r"broken in two ways.*not among the dead"),
        "three columns": (release(lambda value: reads(value)[:3]), r"trip, taxi, zone, window"),
        "nothing is read": (release(lambda value: None), r"trip, taxi, zone, window"),
        "both first": (release(first="both"), r'"query" or "application"'),
        "read alone": (lambda: reads, r"pair"),
        "the order alone": (lambda: "query", r"pair"),
        "nothing": (lambda: None, r"pair|return"),
    },
    "14.17": {
        "keeps each checkpoint": (lambda version, stop: "keep", r"partitions: the state still has 2 partitions"),
        "keeps what Spark starts": (restarts(kept=("watermark", "renamed", "partitions", "filter", "dropoff", "window")),
                                    r"partitions: the state still has"),
        "keeps what is filtered": (restarts(kept=("watermark", "renamed", "filter")), r"filter: 10 wrong values"),
        "a zone is a zone": (restarts(kept=("watermark", "renamed", "dropoff")), r"dropoff: .* wrong values"),
        "keeps windows of another length": (restarts(kept=("watermark", "renamed", "window")), r"window: .* wrong values"),
        "keeps what Spark refuses": (restarts(kept=("watermark", "renamed", "taxi")), r"taxi: Spark does not start it: STATE"),
        "never keeps": (restarts(kept=()), r"watermark: .* wrong values"),
        "a new name, a new checkpoint": (restarts(kept=("watermark",)), r"renamed: .* wrong values"),
        "goes on where the old one stood": (restarts(first=lambda stop, since: stop.stood), r"partitions: .* wrong values"),
        "earliest": (restarts(first=lambda stop, since: stop.records[0][0]), r"partitions: prices stand still for 14 s"),
        "earliest, and writes all": (
            lambda version, stop: "keep" if version in KEPT else (0, 0), r"partitions: .* wrong values.*06:0"),
        "the first trip after the watermark": (
            restarts(first=lambda stop, since: min(off for off, began in stop.records if began > stop.watermark)),
            r"partitions: .* wrong values"),
        "from the watermark on": (restarts(begin=lambda mark, size: mark), r"wrong values"),
        "the next whole window": (restarts(begin=lambda mark, size: -(-mark // size) * size), r"wrong values"),
        "ten minutes, always": (restarts(long=()), r"window: .* wrong values"),
        "an offset alone": (lambda version, stop: "keep" if version in KEPT else stop.stood, r"pair.*partitions"),
        "earliest, in words": (lambda version, stop: "keep" if version in KEPT else "earliest", r"pair.*partitions"),
        "texts": (lambda version, stop: ("earliest", "all"), r"whole numbers"),
        "nothing": (lambda version, stop: None, r"pair|return"),
    },
    "14.19": {
        "no limit": (with_limit(lambda night: None), r"an hour away.*360,000 rows dies.*not too large"),
        "what the memory has": (with_limit(lambda night: night.memory), r"an hour away.*50,000 rows takes 201 s"),
        "forgets the memory": (lambda night: (in_time(night, catch_up(night)[1]), catch_up(night)[1]), r"a small machine.*dies"),
        "forgets what a batch costs": (with_limit(lambda night: min(night.memory, int(night.still / night.row))),
                                       r"an hour away.*takes 31 s"),
        "as many as come in a second": (with_limit(lambda night: int(night.rate)), r"an hour away.*still to be read.*not too small"),
        "a hundred, to be careful": (with_limit(lambda night: 100), r"an hour away.*not too small"),
        "always one core": (lambda night: (min(night.memory, in_time(night)), 1), r"a slow start.*still to be read.*so many cores"),
        "a limit for one core": (with_limit(lambda night: min(night.memory, in_time(night))), r"fresh in ten minutes|ten times"),
        "cores for what comes": (average, r"an hour away|a slow start|fresh in ten minutes"),
        "ten cores": (lambda night: (min(night.memory, in_time(night, 10)), 10), r"you pay for 10 cores, and 1 would be enough"),
        "one core more": (lambda night: (catch_up(night)[0], catch_up(night)[1] + 1), r"you pay for 2 cores, and 1"),
        "no core": (lambda night: (1000, 0), r"cores are a whole number"),
        "half a core": (lambda night: (1000, 0.5), r"cores are a whole number"),
        "no row": (lambda night: (0, 1), r"the limit is a whole number"),
        "the limit alone": (lambda night: 1000, r"pair"),
        "nothing": (lambda night: None, r"pair|return"),
    },
    "14.20": {
        "reads what comes, and no more": (bills(reserve=1), r"a thousand times.*too few"),
        "one copy": (bills(copies=1), r"today.*gib .*too few"),
        "one day": (bills(days=1), r"today.*gib .*too few"),
        "GB for GiB": (bills(unit=10 ** 9), r"today.*gib .*more than"),
        "MiB": (bills(unit=1024 ** 2), r"today.*gib .*more than"),
        "rounds": (bills(up=round), r"today.*too few"),
        "one core more": (bills(up=lambda number: int(number) + 2), r"today.*more than"),
        "two cores are one": (bills(cores=1), r"a thousand times.*too few"),
        "partitions for the producer alone": (bills(least=lambda cores, partitions: partitions), r"a thousand times.*too few"),
        "partitions for the cores alone": (bills(least=lambda cores, partitions: cores), r"too few"),
        "no core": (lambda measured, rate: {name: n for name, n in bill(measured, rate).items() if name != "cores"}, r"no 'cores'"),
        "a list": (lambda measured, rate: list(bill(measured, rate).values()), r"dictionary"),
        "texts": (lambda measured, rate: {name: str(n) for name, n in bill(measured, rate).items()}, r"number"),
        "one machine": (lambda measured, rate: bill(MEASURED, rate), r"too few|more than"),
        "nothing": (lambda measured, rate: None, r"dictionary|return"),
    },
}
