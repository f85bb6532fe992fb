"""Wrong answers to the exercises of lab 14, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

from collections import Counter

from minikafka.lab.labs.lab14.broken import pipelines
from minikafka.lab.labs.lab14.late import after
from minikafka.lab.labs.lab14.pipeline import AT_LEAST_ONCE, Pipeline, surge
from solutions.right.lab14 import (
    FINAL,
    KEEP,
    PAGE,
    PRICES,
    RISES,
    and_then,
    both,
    either,
    final,
    good,
    lost_trip,
    negated,
    of_the_last,
    pipeline,
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
        "the place is the key": (pipeline(key=("part", "off")), r"the producer dies.*duplicate"),
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
}
