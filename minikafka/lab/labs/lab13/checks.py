"""Checks of lab 13: which rows come again (13.3), a sink that bears repetition (13.4), two services and their settings (13.7),
Spark's progress for a group (13.9)."""
from __future__ import annotations

import contextlib
import functools
import json
import random
import sqlite3
import tempfile
from collections.abc import Callable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from minikafka.lab import wants
from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab13.experiment import TABLE, Row
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.values import shown

Choice = tuple[int, bool]                           # hours of retention, failOnDataLoss
Ranges = dict[int, tuple[int, int]]
BEGINS_ANEW = " The checkpoint was deleted: the numbers begin at 0 again, for other rows."
META = '{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}'


# --- 13.3 ------------------------------------------------------------------------------------------------------------

hints("13.3", "Spark writes one file before a micro-batch and one after it. Which of the two is missing after a crash?",
      "Take the highest number in offsets/. If commits/ has it, nothing comes again. Otherwise the batch goes from the ends of "
      "the file before it to the ends in its own file.",
      "minikafka/lab/labs/lab13/books.py: batches; section 3 of this lab prints the files")


@checks("13.3", matters="After a crash the checkpoint says, before anything is started, which rows the sink will get again.",
        wants="a dictionary {partition: (first offset, end)}")
def replayed(answer: Callable[[Path], dict[int, Any]]) -> str:
    """Check with eighty seeded checkpoints: crashed or not, old files deleted, partitions that were added, rows in some
    of them only."""
    rng = random.Random(133)
    crashed = 0
    for case in range(80):
        history = _history(rng)
        done = len(history) - (case % 3 != 0)
        oldest = max(0, done - rng.choice((2, 5, 100)))
        right = _again(history, done)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / f"planned up to {len(history) - 1}, {f'done up to {done - 1}' if done else 'nothing done'}"
            _write(folder, history, done, oldest)
            said = answer(folder)
        if wrong := _misread(said, right, history, done):
            raise Wrong(f"you have {shown(said)}, Spark reads {shown(right)} again: {wrong}",
                        [f"offsets/{n}: {_line(ends)}" for n, ends in list(enumerate(history))[-2:]]
                        + [f"commits: up to {done - 1}" if done else "commits: none"])
        crashed += bool(right)
    return f"80 checkpoints, {crashed} of them after a crash: exactly the rows that come again"


def _misread(said: dict[int, Any], right: Ranges, history: list[dict[int, int]], done: int) -> str:
    """Return what is wrong with the ranges that a student read from a checkpoint, rows that are missing first; or ""."""
    newest = len(history) - 1
    if text := [p for p in said if isinstance(p, str)]:
        return f"a partition is a number, {text[0]!r} is text"
    if odd := [span for span in said.values() if not wants.fits(tuple, span) or len(tuple(span)) != 2]:
        return f"a pair (first offset, end) is wanted for each partition; you have {wants.kind(odd[0])}"
    if missing := sorted(right.keys() - said.keys()):
        return f"partition {missing[0]} is missing. The newest plan is offsets/{newest}, and it has no commit"
    if done == len(history) and said:
        return f"the newest plan is offsets/{newest}, and commits/{newest} says that it is done"
    if more := sorted(said.keys() - right.keys()):
        return f"partition {more[0]} has no row in offsets/{newest}"
    for p, (begin, end) in right.items():
        if said[p][0] != begin:
            return f"partition {p} begins at {begin}, " + (
                "where the plan before it ends" if p in _before(history) else "for it is in no plan before")
        if said[p][1] != end:
            return f"partition {p} ends at {end} (an end is exclusive: the first offset that is not read)"
    return ""


def _history(rng: random.Random) -> list[dict[int, int]]:
    ends: dict[int, int] = {}
    history = []
    for _ in range(rng.choice((1, 2, 3, 11, 12))):
        for partition in range(rng.choice((1, 2, 3)) if not ends else len(ends)):
            ends[partition] = ends.get(partition, 0) + rng.choice((0, 0, 1, 7))
        if len(history) == 2 and rng.random() < 0.3:
            ends[len(ends)] = 4
        history.append(dict(ends))
    return history


def _again(history: list[dict[int, int]], done: int) -> Ranges:
    if done == len(history):
        return {}
    before = _before(history)
    return {p: (before.get(p, 0), end) for p, end in history[-1].items() if end > before.get(p, 0)}


def _before(history: list[dict[int, int]]) -> dict[int, int]:
    """Return the ends of the plan before the newest."""
    return history[-2] if len(history) > 1 else {}


def _line(ends: dict[int, int]) -> str:
    return json.dumps({"orders": {str(p): end for p, end in ends.items()}})


def _write(folder: Path, history: list[dict[int, int]], done: int, oldest: int) -> None:
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True)
    for number, ends in list(enumerate(history))[max(0, oldest - 1):]:
        (folder / "offsets" / str(number)).write_text(f"v1\n{META}\n{_line(ends)}")
        (folder / "offsets" / f".{number}.crc").write_bytes(b"crc\0")
        if number < done:
            (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')


# --- 13.4 ------------------------------------------------------------------------------------------------------------

hints("13.4", "What does a row carry that is the same whenever and however often Spark hands it over?",
      "Its place: partition and offset. Let the table refuse a second row of the same place, or replace the first.",
      "minikafka/lab/labs/lab13/experiment.py: append; INSERT OR REPLACE and CREATE UNIQUE INDEX are SQLite's: "
      "sqlite3.Connection.executemany")


@checks("13.4", matters="At-least-once with a sink that bears repetition gives each row once, and needs no transaction "
        "over two systems.")
def idempotent(answer: Callable[[sqlite3.Connection, list[Row], int], None]) -> str:
    """Check with sixty seeded runs: a batch again, batches cut otherwise after the checkpoint was deleted, equal orders."""
    rng = random.Random(135)
    for case in range(60):
        log = sorted((p, o, rng.choice(("tea", "tea", "coffee"))) for p in range(2) for o in range(rng.randrange(3, 9)))
        runs = _runs(rng, log, case % 3)
        told: list[str] = []
        keyless = ""
        with contextlib.closing(sqlite3.connect(":memory:")) as db:
            db.execute(TABLE)
            for number, rows in runs:
                statements = _statements(db, functools.partial(answer, db, list(rows), number))
                ended = _ends(statements)
                told += [f"batch {number}: {rows}", *ended]
                if ended[:1] == ["ROLLBACK"]:
                    raise Wrong("your function rolls back what it wrote; its caller ends the transaction", told)
                db.commit()
            found = sorted(db.execute("SELECT part, pos, value FROM orders").fetchall(), key=str)
            if any(" OR " in text.upper().partition(" INTO ")[0] for text in statements) and not _has_key(db):
                keyless = ". OR REPLACE and OR IGNORE look for the same key, and the table has none"
        if wrong := _differs(found, log):
            why = _because(answer, runs, {*log}) if {*log} - {*found} else BEGINS_ANEW if case % 3 else ""
            raise Wrong(f"{len(log)} orders in the log, {counted(len(found), 'row')} in the table: {wrong}{keyless}.{why}",
                        told[:5])
        if "COMMIT" in told:
            raise Wrong("the table is the log, but your function commits. Its caller ends the transaction: what is committed "
                        "inside is not undone if the caller fails", told[:5])
    return "60 runs with repeated batches, deleted checkpoints and equal orders: the table is the log"


def _because(answer: Callable[[sqlite3.Connection, list[Row], int], None], runs: list[tuple[int, list[Row]]],
             log: set[Row]) -> str:
    """Return why rows are lost, as two trials show: a second new table, and the same runs with a number for each; or ""."""
    def table(runs: list[tuple[int, list[Row]]]) -> set[Row]:
        with contextlib.closing(sqlite3.connect(":memory:")) as db:
            db.execute(TABLE)
            for number, rows in runs:
                answer(db, list(rows), number)
            return {*db.execute("SELECT part, pos, value FROM orders")}

    unseen = [(10**6, [(0, 10**6, "tea")])]
    if table(unseen) and not table(unseen):
        return (" What your function wrote, it keeps in a variable: a new table gets nothing. A restarted job has lost its "
                "variables. Look into the table.")
    return BEGINS_ANEW if log <= table([(10**7 + n, rows) for n, (_, rows) in enumerate(runs)]) else ""


def _has_key(db: sqlite3.Connection) -> bool:
    return any(unique for _, _, unique, *_ in db.execute("PRAGMA index_list(orders)"))


def _statements(db: sqlite3.Connection, write: Callable[[], None]) -> list[str]:
    """Return what was executed while `write` ran."""
    seen: list[str] = []
    db.set_trace_callback(seen.append)
    write()
    try:
        db.set_trace_callback(None)
    except sqlite3.ProgrammingError:
        raise Wrong("your function closed the connection; its caller ends the transaction, and needs it") from None
    return seen


def _ends(statements: list[str]) -> list[str]:
    """Return those that ended a transaction: COMMIT, ROLLBACK."""
    ends = {"COMMIT": "COMMIT", "END": "COMMIT", "ROLLBACK": "ROLLBACK"}
    return [ends[words[0]] for words in (text.upper().rstrip("; ").split() for text in statements)
            if words and words[0] in ends and "TO" not in words]


def _differs(found: list[Row], log: list[Row]) -> str:
    """Return how the table differs from the log, orders that are lost first; "" if it does not."""
    lost, strange = sorted(set(log) - set(found)), [row for row in found if row not in log]
    if strange:
        return f"the log has no order {strange[0]}; the columns are part, pos, value"
    if lost:
        by_value = " (two orders of the same value are two orders)" if len(found) == len({value for *_, value in log}) else ""
        by_place = " (each partition has its own offsets)" if len(found) == len({pos for _, pos, _ in log}) else ""
        return f"{len(lost)} missing, such as {lost[0]}{by_value or by_place}"
    twice = [row for row in log if found.count(row) > 1]
    return f"{len(twice)} are there more than once, such as {twice[0]}" if twice else ""


def _runs(rng: random.Random, log: list[Row], kind: int) -> list[tuple[int, list[Row]]]:
    """Return micro-batches as a sink sees them. kind 0: one is repeated; 1: the checkpoint is lost, all again; 2: both."""
    first = _cut(rng, log)
    again = rng.randrange(len(first))
    runs = first[:again + 1] + first[again:] if kind != 1 else list(first)
    return runs + _cut(rng, log) if kind else runs


def _cut(rng: random.Random, log: list[Row]) -> list[tuple[int, list[Row]]]:
    owner = sorted(rng.randrange(3) for _ in log)
    parts = [[row for row, part in zip(log, owner) if part == n] for n in range(3)]
    return list(enumerate(part for part in parts if part))


# --- 13.7 ------------------------------------------------------------------------------------------------------------

hints("13.7", "Which of the two settings keeps an order? What does the other one change, once an order is gone?",
      "The retention alone keeps orders: the bill's must be as long as the weekend. failOnDataLoss says what the job does when "
      "orders are gone: it stops (True), or it goes on without them (False). Each service demands one of the two.",
      "minikafka/lab/labs/lab13/outage.py, `suffered`: both outages; section 7 of the lab")


@checks("13.7", matters="How long may this job be off, and who must know when it was off for longer? Ask it before the first "
                        "weekend: the retention is set long before it is needed.",
        wants="a dictionary from \"bill\" and \"board\" to (hours, failOnDataLoss)")
def two_services(answer: Callable[[], dict[str, Choice]] | dict[str, Choice]) -> str:
    """Let each service suffer two outages under its settings, and compare with what it demands."""
    from minikafka.lab.labs.lab13.outage import DEMANDS, ROOM, complaint
    said = answer() if callable(answer) else answer
    assert isinstance(said, Mapping) and {*said} == {*DEMANDS}, \
        f"a dictionary is wanted, from 'bill' and 'board' to (hours, failOnDataLoss); you gave {shown(said)}"
    chosen = {service: _choice(service, said[service]) for service in DEMANDS}
    hours = [retention for retention, _ in chosen.values()]
    if sum(hours) > ROOM:
        raise Wrong(f"the disk has room for {ROOM} hours together, and you keep {hours[0]} + {hours[1]} = {sum(hours)}")
    for service, choice in chosen.items():
        if told := complaint(service, *choice):
            raise Wrong(f"{service}, with {choice[0]} hours and failOnDataLoss={choice[1]}: {told}")
    return "after both outages each service has what it demands"


def _choice(service: str, given: Any) -> tuple[int, bool]:
    """Return the retention in hours and failOnDataLoss, which may be a text, as Spark takes it."""
    form = f"{service}: (hours, True or False) is wanted, with whole hours from 1 to 168; you gave {shown(given)}"
    assert isinstance(given, (tuple, list)) and len(given) == 2, form
    hours, loud = given
    loud = {"true": True, "false": False}.get(str(loud).lower(), loud)
    assert isinstance(hours, Real) and not isinstance(hours, bool) and 1 <= hours <= 168 and hours == int(hours), form
    assert loud in (True, False), form
    return int(hours), bool(loud)


# --- 13.9 ------------------------------------------------------------------------------------------------------------

hints("13.9", "A group's commit names the record that is read next. Which offset of a progress report is that?",
      "endOffset is exclusive, as a commit is: take it as it is. Each source has its own; without new rows there still is one.",
      "minikafka/lab/spark/options.py: offsets_to_json, the form of these offsets; section 10 prints a report")


@checks("13.9", matters="With it, every tool that shows the lag of groups shows that of Spark too.")
def positions(answer: Callable[[dict[str, Any], str], dict[int, int]]) -> str:
    """Check with sixty seeded reports: one topic or two, one source or two, a source that has read nothing yet, more in the
    log than was read."""
    rng = random.Random(1311)
    for case in range(60):
        report = _report(rng, case)
        said = answer(report, "orders")
        right = _side(report, "endOffset")
        if said != right:
            raise Wrong(f"you have {shown(said)}, a consumer of `orders` would have committed {shown(right)}: "
                        + _miscounted(said, report), [json.dumps(source) for source in report["sources"]])
    return "60 reports: what a consumer would have committed"


def _side(report: dict[str, Any], side: str, topic: str = "orders") -> dict[int, int]:
    """Return the offsets of one side of a report."""
    return {int(p): offset for source in report["sources"] for p, offset in (source[side] or {}).get(topic, {}).items()}


def _miscounted(said: dict[int, int], report: dict[str, Any]) -> str:
    """Return why these are not the positions of a report, a partition that is missing first."""
    right, begun, latest = (_side(report, side) for side in ("endOffset", "startOffset", "latestOffset"))
    if text := [each for each in (*said, *said.values()) if isinstance(each, str)]:
        return f"partitions and offsets are numbers, {text[0]!r} is text"
    if "orders" in said or "payments" in said:
        return "a partition is wanted, and its offset, without the topic"
    if missing := sorted(right.keys() - said.keys()):
        owners = (n for n, source in enumerate(report["sources"]) if str(missing[0]) in source["endOffset"].get("orders", ()))
        return f"partition {missing[0]} is missing; it is in sources[{next(owners)}], with offset {right[missing[0]]}"
    if more := sorted(said.keys() - right.keys()):
        return f"partition {more[0]} is none of the topic's; another topic has its own partitions"
    p = next(p for p in right if said[p] != right[p])
    if said[p] in _side(report, "endOffset", "payments").values():
        return f"{said[p]} is an offset of another topic"
    if said[p] == begun[p]:
        return f"partition {p}: {said[p]} is its startOffset, where the micro-batch began; its rows are done by now"
    if said[p] == latest[p]:
        return f"partition {p}: {said[p]} is its latestOffset; Spark has not read so far"
    return f"partition {p}: its endOffset is {right[p]}, and that is exclusive already: the next record to read, as a commit is"


def _report(rng: random.Random, case: int) -> dict[str, Any]:
    """Return a report. Rows of each kind: one source; two topics in it; another source before; one that has read nothing yet;
    partitions of the topic in two sources; another source behind, and a partition without a record."""
    if case % 6 == 3:
        return {"batchId": 0, "sources": [dict.fromkeys(("startOffset", "endOffset", "latestOffset"))]}
    kind, parts = case % 6, range(rng.randrange(1, 4))
    start = {str(p): rng.randrange(1, 50) for p in parts}
    end = {p: offset + rng.choice((0, 3, 9)) for p, offset in start.items()}
    latest = {p: offset + rng.choice((0, 4)) for p, offset in end.items()}
    sides = {"startOffset": start, "endOffset": end, "latestOffset": latest}
    payments = {"payments": {"0": rng.randrange(60, 90)}}
    if kind == 5:
        for ends in sides.values():
            ends["3"] = 0
    source = {side: {"orders": ends, **(payments if kind == 1 else {})} for side, ends in sides.items()}
    second = {side: {"orders": {"4": n}} for n, side in enumerate(sides, 20)}
    other = dict.fromkeys(sides, payments)
    return {"batchId": case, "sources": {2: [other, source], 4: [source, second], 5: [source, other]}.get(kind, [source])}
