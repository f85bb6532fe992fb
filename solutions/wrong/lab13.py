"""Wrong answers to the exercises of lab 13, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

from minikafka.lab.labs.lab13.books import numbered
from solutions.right.lab13 import CHOICE, INDEX, ends_of, positions, replayed, save

# --- 13.3 -------------------------------------------------------------------------------------------------------------


def replayed_wrong(before=lambda old, p: old.get(p, 0), end=lambda n: n, keep=lambda a, b: a < b, name=int, done=True, pair=tuple,
                   start=lambda n: n):
    """The recipe; each argument is one thing in it that one may get wrong."""
    def replays(checkpoint):
        plans = numbered(checkpoint / "offsets")
        if not plans or done and max(plans) in numbered(checkpoint / "commits"):
            return {}
        newest = max(plans)
        old = ends_of(plans[newest - 1]) if newest - 1 in plans else {}
        return {name(p): pair((start(before(old, p)), end(last))) for p, last in ends_of(plans[newest]).items()
                if keep(before(old, p), last)}
    return replays


def replayed_by_name(checkpoint):
    names = sorted(file.name for file in (checkpoint / "offsets").glob("[0-9]*"))
    if not names or (checkpoint / "commits" / names[-1]).exists():
        return {}
    before = ends_of(checkpoint / "offsets" / names[-2]) if len(names) > 1 else {}
    return {p: (before.get(p, 0), e) for p, e in ends_of(checkpoint / "offsets" / names[-1]).items() if e > before.get(p, 0)}


def replayed_the_last_done(checkpoint):
    plans, done = numbered(checkpoint / "offsets"), numbered(checkpoint / "commits")
    if not done:
        return {}
    before = ends_of(plans[max(done) - 1]) if max(done) - 1 in plans else {}
    return {p: (before.get(p, 0), end) for p, end in ends_of(plans[max(done)]).items() if end > before.get(p, 0)}


def replayed_not_the_first(checkpoint):
    plans, done = numbered(checkpoint / "offsets"), numbered(checkpoint / "commits")
    if not plans or max(plans) in done:
        return {}
    before = ends_of(plans[max(plans) - 1])
    return {p: (before.get(p, 0), end) for p, end in ends_of(plans[max(plans)]).items() if end > before.get(p, 0)}


def replayed_partition_0(checkpoint):
    return {p: span for p, span in replayed(checkpoint).items() if p == 0}


def replayed_known_partitions(checkpoint):
    plans, done = numbered(checkpoint / "offsets"), numbered(checkpoint / "commits")
    if not plans or max(plans) in done:
        return {}
    newest = max(plans)
    ends = ends_of(plans[newest])
    if newest - 1 not in plans:
        return {p: (0, end) for p, end in ends.items() if end}
    return {p: (first, ends[p]) for p, first in ends_of(plans[newest - 1]).items() if first < ends[p]}


# --- 13.4 -------------------------------------------------------------------------------------------------------------


def appends(db, rows, batch):
    db.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)


def empties_it_for_batch_0(db, rows, batch):
    if batch == 0:
        db.execute("DELETE FROM orders")
    appends(db, rows, batch)


def save_as_on_the_first_day(db, rows, batch):
    db.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)


def save_commits(db, rows, batch):
    save(db, rows, batch)
    db.commit()


def save_with_db(db, rows, batch):
    with db:
        save(db, rows, batch)


def save_by_script(db, rows, batch):
    db.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
    db.executescript("DELETE FROM orders WHERE rowid NOT IN (SELECT min(rowid) FROM orders GROUP BY part, pos)")


def save_and_close(db, rows, batch):
    save(db, rows, batch)
    db.close()


def save_begins(db, rows, batch):
    save(db, rows, batch)
    db.execute("COMMIT")


def save_rolls_back(db, rows, batch):
    save(db, rows, batch)
    db.rollback()


def save_by_value(db, rows, batch):
    db.execute("CREATE UNIQUE INDEX IF NOT EXISTS place ON orders (value)")
    db.executemany("INSERT OR REPLACE INTO orders VALUES (?, ?, ?)", rows)


def save_by_all_but_partition(db, rows, batch):
    db.execute("CREATE UNIQUE INDEX IF NOT EXISTS place ON orders (pos)")
    db.executemany("INSERT OR REPLACE INTO orders VALUES (?, ?, ?)", rows)


def save_by_partition(db, rows, batch):
    db.execute("CREATE UNIQUE INDEX IF NOT EXISTS place ON orders (part)")
    db.executemany("INSERT OR REPLACE INTO orders VALUES (?, ?, ?)", rows)


def save_by_batch(db, rows, batch):
    db.execute("CREATE TABLE IF NOT EXISTS done (batch INTEGER PRIMARY KEY)")
    if db.execute("SELECT 1 FROM done WHERE batch = ?", (batch,)).fetchone():
        return
    db.execute("INSERT INTO done VALUES (?)", (batch,))
    db.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)


def save_remembers():
    """Return a save that knows by a variable what it wrote."""
    seen = set()

    def save(db, rows, batch):
        appends(db, [row for row in rows if row[:2] not in seen], batch)
        seen.update(row[:2] for row in rows)
    return save


def save_index_each_time(db, rows, batch):
    db.execute("CREATE UNIQUE INDEX place ON orders (part, pos)")
    db.executemany("INSERT OR REPLACE INTO orders VALUES (?, ?, ?)", rows)


def save_only_this(db, rows, batch):
    db.execute("DELETE FROM orders")
    db.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)


def save_an_index_that_is_not_unique(db, rows, batch):
    db.execute("CREATE INDEX IF NOT EXISTS place ON orders (part, pos)")
    db.executemany("INSERT OR REPLACE INTO orders VALUES (?, ?, ?)", rows)


def save_columns_mixed(db, rows, batch):
    db.execute(INDEX)
    db.executemany("INSERT OR REPLACE INTO orders (pos, part, value) VALUES (?, ?, ?)", rows)


def save_strict(db, rows, batch):
    db.execute(INDEX)
    db.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)


def save_newer_only(db, rows, batch):
    (last,) = db.execute("SELECT coalesce(max(pos), -1) FROM orders").fetchone()
    db.executemany("INSERT INTO orders VALUES (?, ?, ?)", [row for row in rows if row[1] > last])


def save_the_first(db, rows, batch):
    db.execute(INDEX)
    for row in rows:
        db.execute("INSERT OR REPLACE INTO orders VALUES (?, ?, ?)", row)
        return


# --- 13.9 ------------------------------------------------------------------------------------------------------------------


def positions_wrong(side="endOffset", move=lambda n: n, name=int, sources=lambda s: s, any_topic=False):
    """The recipe; each argument is one thing in it that one may get wrong."""
    def told(report, topic):
        found = {}
        for source in sources(report["sources"]):
            for each, ends in (source[side] or {}).items():
                if any_topic or each == topic:
                    found.update({name(p): move(offset) for p, offset in (ends or {}).items() if offset is not None})
        return found
    return told


def positions_of_known(report, topic):
    return {int(p): offset for source in report["sources"] for p, offset in source["endOffset"][topic].items()
            if offset is not None}


def positions_zero_is_none(report, topic):
    return {p: offset for p, offset in positions(report, topic).items() if offset}


def positions_returned_early(report, topic):
    for source in report["sources"]:
        if topic in (source["endOffset"] or {}):
            return {int(p): offset for p, offset in source["endOffset"][topic].items() if offset is not None}
    return {}


WRONG = {
    "13.3": {
        "from the beginning": (replayed_wrong(before=lambda old, p: 0), r"plan before|begins? where"),
        "does not ask whether it is done": (replayed_wrong(done=False), r"done|commit"),
        "ranges without a row": (replayed_wrong(keep=lambda a, b: True), r"no row|nothing new|empty"),
        "sorts names": (replayed_by_name, r"10.*9|by number|newest"),
        "partition as text": (replayed_wrong(name=str), r"number|text|type str"),
        "the last offset, not the end": (replayed_wrong(end=lambda n: n - 1), r"end|exclusive"),
        "one too late": (replayed_wrong(start=lambda n: n + 1), r"begins?|first"),
        "how many": (lambda checkpoint: {p: b - a for p, (a, b) in replayed(checkpoint).items()}, r"pair|\(first"),
        "the ends only": (lambda checkpoint: {p: b for p, (_, b) in replayed(checkpoint).items()}, r"pair|\(first"),
        "the last that is done": (replayed_the_last_done, r"done|comes again|plan"),
        "no first plan": (replayed_not_the_first, r"KeyError.*-1"),
        "partition 0 only": (replayed_partition_0, r"partition [1-9]"),
        "a new partition is forgotten": (replayed_known_partitions, r"partition [1-9]"),
        "a list": (lambda checkpoint: [(p, a, b) for p, (a, b) in replayed(checkpoint).items()], r"dictionary"),
        "None for nothing": (lambda checkpoint: replayed(checkpoint) or None, r"None.*\{\}|\{\}.*None|returned None|dictionary"),
        "always nothing": (lambda checkpoint: {}, r"comes? again|not done|no commit"),
    },
    "13.4": {
        "begins anew with batch 0 only": (empties_it_for_batch_0, ""),
        "on the first day": (save_as_on_the_first_day, r"twice|more than once|repetition"),
        "a commit inside": (save_commits, r"commit|ends the transaction"),
        "with db": (save_with_db, r"commit|ends the transaction"),
        "executescript": (save_by_script, r"commit|ends the transaction"),
        "COMMIT": (save_begins, r"commit|ends the transaction|caller"),
        "closes": (save_and_close, r"clos"),
        "rolls back": (save_rolls_back, r"roll|transaction|caller"),
        "what the order says": (save_by_value, r"tea|same value|what it says|customers"),
        "the offset only": (save_by_all_but_partition, r"partition"),
        "the partition only": (save_by_partition, r"offset|place|missing"),
        "the number of the micro-batch": (save_by_batch, r"number"),
        "a variable": (save_remembers(), r"keeps in a variable"),
        "the index each time": (save_index_each_time, r"already exists"),
        "only this micro-batch": (save_only_this, r"gone|missing|before"),
        "an index that is not unique": (save_an_index_that_is_not_unique, r"twice|more than once|repetition"),
        "columns mixed": (save_columns_mixed, r"column|part|place"),
        "an error for what is there": (save_strict, r"UNIQUE constraint failed"),
        "newer than all partitions": (save_newer_only, r"missing|partition"),
        "the first row": (save_the_first, r"missing|1 of|row"),
    },
    "13.7": {
        "the defaults, for both": ({"bill": (48, True), "board": (48, True)}, r"bill.*the weekend 12 of 60 .*no error brings"),
        "an error keeps the orders": ({**CHOICE, "bill": (24, True)}, r"bill.*weekend 36 of 60"),
        "the bill goes on": ({**CHOICE, "bill": (72, False)}, r"bill.*holidays 36 of 108 .*nobody knows"),
        "the board is loud": (lambda: {**CHOICE, "board": (24, True)}, r"board.*weekend the board stood still for 8 of 8 hours"),
        "the other way round": ({"bill": (24, False), "board": (72, True)}, r"bill.*weekend 36 of 60"),
        "everything for both": ({"bill": (72, True), "board": (72, False)}, r"room for 96 .*72 \+ 72 = 144"),
        "the holidays, too": ({"bill": (108, True), "board": (6, False)}, r"108 \+ 6 = 114"),
        "an hour short": ({**CHOICE, "bill": (59, True)}, r"weekend 1 of 60"),
        "nothing for the board": (lambda: {**CHOICE, "board": (3, False)}, r"shows 4 of the last 6"),
        "milliseconds": ({**CHOICE, "board": (86_400_000, False)}, r"whole hours from 1 to 168"),
        "one service": ({"bill": (72, True)}, r"'bill' and 'board'"),
        "hours alone": ({"bill": 72, "board": 24}, r"hours, True or False"),
    },
    "13.9": {
        "the start": (positions_wrong(side="startOffset"), r"endOffset|startOffset|where .* began"),
        "the log's end": (positions_wrong(side="latestOffset"), r"latestOffset|endOffset|not read"),
        "one more": (positions_wrong(move=lambda n: n + 1), r"exclusive|one (more|too)|next"),
        "the last offset": (positions_wrong(move=lambda n: n - 1), r"exclusive|one (less|too)|next"),
        "texts": (positions_wrong(name=str), r"number|text|type str"),
        "the first source": (positions_wrong(sources=lambda s: s[:1]), r"source"),
        "the last source": (positions_wrong(sources=lambda s: s[-1:]), r"source"),
        "all topics": (positions_wrong(any_topic=True), r"topic"),
        "every source has the topic": (positions_of_known, r"KeyError|TypeError|topic"),
        "0 is no offset": (positions_zero_is_none, r"\b0\b"),
        "the first source with the topic": (positions_returned_early, r"source"),
        "pairs": (lambda report, topic: list(positions(report, topic).items()), r"dictionary"),
        "with the topic": (lambda report, topic: {topic: positions(report, topic)}, r"partition|number"),
        "offsets as text": (lambda report, topic: {p: str(n) for p, n in positions(report, topic).items()}, r"is text"),
    },
}
