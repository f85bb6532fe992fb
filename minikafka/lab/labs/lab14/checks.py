"""Checks of lab 14: one trip before the notary (14.2), your own pipeline (14.4), the table of what each setting is for (14.7), a
pipeline that fools the notary (14.8), the notary's missing question (14.9), alarms (14.11), a runbook (14.12), and prices
that are final (14.13)."""
from __future__ import annotations

import contextlib
import functools
import itertools
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from minikafka.lab import wants
from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab14 import late
from minikafka.lab.labs.lab14.alarms import AFTER, LIMIT, Alarms, Page, against_alarms, against_page, lines
from minikafka.lab.labs.lab14.liars import LIARS, Price, follows, sold, wrong_prices
from minikafka.lab.labs.lab14.nights import NIGHTS, against
from minikafka.lab.labs.lab14.notary import COUNTERS, Cell, Row, Sealed, notary, told
from minikafka.lab.labs.lab14.paper import cries, on_paper
from minikafka.lab.labs.lab14.pipeline import EFFECTIVELY_ONCE, Pipeline, Sink, prices_added_up, surge
from minikafka.lab.labs.lab14.rehearsal import rehearse
from minikafka.lab.labs.lab14.remedy import ENDED, UNREAD, no_such_value, question
from minikafka.lab.labs.lab14.schedule import for_ablation, schedule
from minikafka.lab.labs.lab14.watch import WATCHES
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.values import shown

# --- 14.2 ------------------------------------------------------------------------------------------------------------

hints("14.2",
      "Two questions, one after the other: was this trip owed to the sink at all? And if so, can it still come?",
      "A trip is owed if it was acknowledged or is in the log. If neither is so, nobody promised anything. If the log could "
      "not be read and there was no answer, you do not know whether it is owed. What is in the log can still come as long "
      "as the pipeline has not come to its end; what is not in the log cannot come any more.",
      "minikafka/lab/labs/lab14/notary.py: `Facts.must`, `Facts.may`, and the function `lost`")

Case = tuple[bool, bool | None, bool | None, bool]
VERDICTS = ("PASS", "FAIL", "UNKNOWN")
CASES: list[Case] = list(itertools.product((True, False), (True, False, None), (True, False, None), (True, False)))


def fate(acked: bool, in_log: bool | None, in_sink: bool | None, settled: bool) -> str:
    """Return the verdict on one trip."""
    if in_sink:
        return "PASS"
    if not acked and in_log is False:
        return "PASS"
    if in_sink is None or not acked and in_log is None:
        return "UNKNOWN"
    return "FAIL" if settled or in_log is False else "UNKNOWN"


def because(acked: bool, in_log: bool | None, in_sink: bool | None, settled: bool) -> str:
    """Return the reason for the verdict on one trip."""
    if in_sink:
        return "it is in the sink"
    if not acked and not in_log:
        return "nobody promised it" if in_log is False else "nobody could look whether it is in the log, so whether it was owed"
    owed = "it was acknowledged, so it is owed" if acked else "it is in the log, so it is owed"
    if in_sink is None:
        return f"{owed}, and nobody could look into the sink"
    if settled:
        return f"{owed}, and the pipeline has come to its end without it"
    return f"{owed}; " + ("it is not in the log, so it cannot come any more" if in_log is False
                          else "it can still come, for the pipeline has not come to the end of the log")


@checks("14.2", matters="The most expensive sentence after an incident is `nothing was lost` from somebody who has not "
                        "looked everywhere. A third answer costs nothing, and it names what to look at next.")
def one_trip(answer: Callable[..., str]) -> str:
    """Check with all 36 cases."""
    wrong = [(case, said) for case in CASES if (said := answer(*case)) != fate(*case)]
    if wrong:
        (acked, in_log, in_sink, settled), said = wrong[0]
        assert said in VERDICTS, f'one of "PASS", "FAIL" and "UNKNOWN" is wanted, you returned {shown(said)}'
        raise Wrong(f"{len(wrong)} of {len(CASES)} cases come out wrong. One of them: you say {said}, it is "
                    f"{fate(*wrong[0][0])}: {because(*wrong[0][0])}.",
                    [f"acknowledged: {acked}", f"in the log: {in_log}", f"in the sink: {in_sink}",
                     f"the pipeline had come to the end: {settled}"])
    return f"right in all {len(CASES)} cases, {sum(fate(*case) == 'UNKNOWN' for case in CASES)} of them UNKNOWN"


# --- 14.4 ------------------------------------------------------------------------------------------------------------

HIDDEN = (4, 27, 51, 88, 103, 142, 157, 210, 233, 298)
PAPER = range(100)

hints("14.4",
      "Spark will give you the same batch twice: same number, same rows. And a producer may have written the same trip "
      "twice. Which column of a row is the same in both cases?",
      "Make the second time harmless. A unique key with `INSERT OR IGNORE` lets a row in once. A price that is counted from "
      "the rows of the sink is right however often it is counted; a price to which something is added is not. Each "
      "setting before the log has a night of its own: what does its refusal say? A row with None in it is no trip.",
      "minikafka/lab/labs/lab14/pipeline.py: what `write` gets; sqlite3.Connection.executemany")


@checks("14.4", seconds=180,
        matters="Nobody can promise exactly once through a database that Kafka does not know. What a team can "
                "promise is that a second time changes nothing, and that somebody looks.")
def own_pipeline(answer: Callable[[], Pipeline] | Pipeline) -> str:
    """Check with a hundred seeds on paper, then the prices, then in six nights and under ten hidden schedules on simulated
    brokers."""
    pipeline = given(answer)
    if found := judged_on_paper(pipeline, PAPER):
        seed, report = found
        asked = question(pipeline, lambda other: notary(on_paper(other, seed)).valid is True)
        raise Wrong(f"on paper, with seed {seed}, the notary does not let it pass. {asked}", complaint(report),
                    f"notary(on_paper(my_pipeline(), seed={seed}))")
    if wrong := mispriced(pipeline):
        raise Wrong(wrong)
    for n, night in enumerate(NIGHTS):
        if said := against(pipeline, night):
            asked = ENDED if "stay" in said else UNREAD if night.schedule.spoiled else \
                question(pipeline, lambda other, night=night: not against(other, night))
            raise Wrong(f"it falls in the night {night.name!r}: {said}. {asked}", str(night).splitlines()[1:],
                        f"see(my_pipeline(), NIGHTS[{n}])")
    for seed in HIDDEN:
        report = notary(rehearse(pipeline, schedule(seed)))
        if report.valid is not True:
            raise Wrong(f"the hidden schedule {seed} breaks it", [*map(str, schedule(seed).faults), *complaint(report)],
                        f"see(my_pipeline(), schedule(seed={seed}))")
    return (f"{len(PAPER)} seeds on paper, {len(NIGHTS)} nights, and the hidden schedules {', '.join(map(str, HIDDEN))}: nothing "
            "lost, nothing twice")


def given(answer: Callable[[], Pipeline] | Pipeline) -> Pipeline:
    """Return the pipeline of an answer, if all its settings have values that there are."""
    pipeline = answer() if callable(answer) else answer
    assert isinstance(pipeline, Pipeline), f"a Pipeline is wanted, you returned {shown(pipeline)}"
    assert not (said := no_such_value(pipeline)), said
    return pipeline


def judged_on_paper(pipeline: Pipeline, seeds: Iterable[int]) -> tuple[int, Sealed] | None:
    """Return the first seed at which a pipeline does not pass, and the report; None if there is none."""
    try:
        return cries(pipeline, seeds)
    except sqlite3.IntegrityError as error:
        raise Wrong(f"the database stopped `write`: {error}. A row came whose key is in the table already. Spark does a batch "
                    "again after its death: what should `write` do with such a row?") from error


ROWS = [Row(n, f"taxi-{n % 4}", "airport" if n % 3 else "park", "2025-06-02T07:20:00Z", n % 3, n // 3) for n in range(45)]


def mispriced(pipeline: Pipeline) -> str:
    """Return what is wrong with the prices after each of some batches, one of them twice; "" if they are right."""
    with contextlib.closing(Sink(pipeline)) as sink:
        for batch, since, upto in ((0, 0, 4), (1, 4, 18), (1, 4, 18), (2, 18, 45)):
            sink.take(ROWS[since:upto], batch)
            there = Counter(row.zone for row in ROWS[:upto])
            for zone, trips, price in sink.db.execute("SELECT zone, trips, surge FROM prices"):
                if not follows(price, there[zone]):
                    return f"the totals are right, but a price is not: {zone}, {counted(trips, 'trip')}, surge {price}; " \
                           f"it is {surge(there[zone])}"
    return ""


def complaint(report: Sealed) -> list[str]:
    """Return what the notary has against a run, in a few lines."""
    return [line for verdict in report if verdict.valid is not True for line in told(verdict)[:2]][:6]


# --- 14.7 ------------------------------------------------------------------------------------------------------------

REMOVED: dict[str, dict[str, Any]] = {
    "acks": {"acks": "1", "idempotence": False},      # idempotence cannot be had without acks=all
    "idempotence": {"idempotence": False},
    "min_insync": {"min_insync": 1},
    "checkpoint": {"checkpoint": False},
    "starting": {"checkpoint": False, "starting": "latest"},
    "key": {"key": ()},
    "prices": {"write": prices_added_up},
}

hints("14.7",
      "Ask of each setting: which fault of this schedule does it answer? And does another setting answer the same fault?",
      "The key in the sink and the prices that are counted again make a repeated batch harmless, wherever it begins. So a "
      "checkpoint saves work here, not rows, as long as a new query begins at `earliest`. A setting whose fault is not in "
      "the schedule shows nothing when it is taken away: that is not a proof that it is useless.",
      "minikafka/lab/labs/lab14/checks.py, REMOVED: what exactly is taken away; minikafka/lab/labs/lab14/schedule.py, "
      "`for_ablation`")


@functools.cache
def ablated(setting: str) -> Sealed:
    """Return the report on the sound pipeline without one setting."""
    return notary(rehearse(EFFECTIVELY_ONCE.but(**REMOVED[setting]), for_ablation()))


def rises(setting: str) -> set[str]:
    """Return the counters that are above 0 without a setting."""
    return {verdict.name for verdict in ablated(setting) if verdict.valid is False}


@checks("14.7", seconds=180,
        matters="Settings that nobody can explain are copied for years, and removed in the week before the fault "
                "that they are for. This table is the explanation, and it can be run.")
def ablation_table(answer: Callable[[], Mapping[str, set[str]]]) -> str:
    """Run the pipeline without each setting and compare the answer with what rises."""
    table = answer() if callable(answer) else answer
    assert isinstance(table, Mapping), f"a dictionary from the setting to a set of counters is wanted, you have {shown(table)}"
    missing = [setting for setting in REMOVED if setting not in table]
    assert not missing, f"the table has no line for {', '.join(missing)}"
    strange = [setting for setting in table if setting not in REMOVED]
    assert not strange, f"{shown(strange[0])} is none of the seven settings"
    other = [setting for setting in REMOVED if not wants.fits(set, table[setting]) and table[setting] != {}]
    assert not other, f"a set of counters is wanted, such as {{'lost'}}; for {other[0]} you have {shown(table[other[0]])}"
    odd = sorted({name for setting in REMOVED for name in table[setting]} - set(COUNTERS))
    assert not odd, f"{odd[0]!r} is no counter; there are {', '.join(COUNTERS)}"
    for setting in REMOVED:
        if set(table[setting]) != rises(setting):
            found = ", ".join(sorted(rises(setting))) or "nothing"
            raise Wrong(f"without {setting}, you expect above 0: {', '.join(sorted(table[setting])) or 'nothing'}; "
                        f"measured: {found}",
                        complaint(ablated(setting)),
                        f"notary(rehearse(EFFECTIVELY_ONCE.but(**REMOVED[{setting!r}]), for_ablation()))")
    return "right for all seven; two of them show nothing under this schedule"


# --- 14.8, 14.9: the adversary ---------------------------------------------------------------------------------------

TRIED = range(20)
BUSY = {"seed": 0, "trips": 600, "taxis": 40}   # windows with more than ten trips, where prices rise

hints("14.8",
      "The notary counts trips: in the sink, in the log, in each window. What else does a passenger see?",
      "The table of prices has four columns, and the notary reads three of them. `write` may do what a sound one does, and one "
      "statement more.",
      "minikafka/lab/labs/lab14/notary.py: what `Run` has of the prices; `Sink.totals` in pipeline.py")


@checks("14.8", matters="Every audit has a question that nobody has thought of. Whoever looks for it as an adversary finds it "
                        "before an accident does.")
def fooled(answer: Callable[[], Pipeline] | Pipeline) -> str:
    """Check that the notary passes it on paper, and that passengers pay a wrong price."""
    pipeline = given(answer)
    if found := judged_on_paper(pipeline, TRIED):
        seed, report = found
        raise Wrong(f"the notary is not fooled: on paper, with seed {seed}, it does not say PASS", complaint(report),
                    f"notary(on_paper(my_liar(), seed={seed}))")
    report = notary(on_paper(pipeline, **BUSY))
    if report.valid is not True:
        raise Wrong("the notary is not fooled: on a day with many trips in a window, it does not say PASS", complaint(report),
                    f"notary(on_paper(my_liar(), {', '.join(f'{name}={value}' for name, value in BUSY.items())}))")
    for trips, prices in sold(pipeline):
        for cell in wrong_prices(trips, prices):
            return (f"PASS for all {len(TRIED)} seeds, and passengers pay another price: "
                    + ", ".join(compared(cell, trips, prices)))
    raise Wrong("the notary says PASS, and it is right: every price follows from its trips. Which column does it not read?")


def compared(cell: Cell, trips: Sequence[Row], prices: Sequence[Price]) -> list[str]:
    """Return what a ride in a window costs, and what it should cost."""
    count, row = sum((row.zone, row.window) == cell for row in trips), [row for row in prices if row[:2] == cell]
    return [f"{counted(count, 'trip')} in {shown(cell)}, so the price is {surge(count)}",
            f"the table has {row[0].surge if row else 'no such row'}"]


hints("14.9",
      "Forget the pipeline, its settings, and what it says of itself. From the rows of `trips` alone: what must a ride cost?",
      "Count the trips of each zone and window, call `surge` with the count, and compare. A price may be None.",
      "minikafka/lab/labs/lab14/pipeline.py, `surge`; collections.Counter")


@checks("14.9", matters="An invariant between two tables needs no witness and no log: anybody may ask it, at any moment, of the "
                        "system that runs.")
def missing_question(answer: Callable[..., list[Cell]]) -> str:
    """Ask the student's question of a sound pipeline and of all liars, after each micro-batch."""
    asked = 0
    for name, pipeline in {"a sound pipeline": EFFECTIVELY_ONCE, **LIARS}.items():
        for trips, prices in sold(pipeline):
            said, asked, wrong = answer(list(trips), list(prices)), asked + 1, wrong_prices(trips, prices)
            for cell in said:
                assert wants.fits(list, cell) and len(cell) == 2, f"the list has pairs (zone, window); you have {shown(cell)}"
            for cell in sorted({tuple(cell) for cell in said}.symmetric_difference(wrong), key=str):
                raise Wrong(f"{name}: {'you do not find' if cell in wrong else 'you accuse'} {shown(cell)}",
                            compared(cell, trips, prices))
    return f"asked {asked} times: every wrong price of {len(LIARS)} liars, and none of the sound pipeline"


# --- 14.11, 14.12: who gets up at night ------------------------------------------------------------------------------

hints("14.11",
      "Look at a night as a whole: `seen(WATCHES[0])`. How high is each figure where nobody needs to get up? And how high is it "
      "twenty seconds after a fault?",
      "One look is not enough: the ISR is small for some seconds whenever a broker is replaced, and the lag of a slow sink falls "
      "with each batch that ends. Let an alarm ring if *all* of the last looks are bad, as `for: 10s` does in Prometheus.",
      "minikafka/lab/labs/lab14/alarms.py: `falsely` and `missed`")


@checks("14.11", seconds=120,
        matters="Whoever gets up three times for nothing does not get up the fourth time. And an alarm on lag alone sleeps "
                "through a night in which nothing is sent: there the lag is 0.")
def ringing(answer: Alarms) -> str:
    """Check in an ordinary night and in five others what rings, from when to when."""
    for n, night in enumerate(WATCHES):
        if found := against_alarms(answer, night):
            why, around = found
            raise Wrong(f"in the night {night.name!r}, {why}", [*str(night).splitlines()[1:], *map(str, around)],
                        f"rung(alarms, WATCHES[{n}])")
    return (f"{len(WATCHES)} nights: each fault rings within {LIMIT} seconds, without a break, and is silent {AFTER} seconds "
            "after its end; nobody gets up for nothing")


hints("14.12",
      "In which of the six nights does more than one alarm ring? Which of them is the cause?",
      "Prices are old in nearly every night, so `freshness` says least about the place. A line stands above all lines that "
      "would fit as well and lead elsewhere.",
      "minikafka/lab/labs/lab14/alarms.py: `against_page`")


@checks("14.12", seconds=120, matters="A page of three lines is read at night. One of thirty pages is not.",
        wants="a list of pairs (alarms, place)")
def followed(answer: Callable[[], Page] | Page) -> str:
    """Follow the page in each night, as soon as the alarms ring."""
    page = lines(answer() if callable(answer) else answer)
    for night in WATCHES[1:]:
        if said := against_page(page, night):
            raise Wrong(f"in the night {night.name!r}, {said}. What must be mended is elsewhere: {night.place}",
                        str(night).splitlines()[1:])
    return f"followed in {len(WATCHES) - 1} nights, it leads to the cause in each of them"


# --- 14.13: late trips -----------------------------------------------------------------------------------------------

FEW = 0.01                                      # of the trips may come too late

hints("14.13",
      "Which trips has the sink seen before this batch? And which are they if the batch comes for the second time?",
      "Ask the sink first: which trips are there, and what is the newest window? Then look only at rows that are new. If the "
      "batch comes again, none is new, and nothing happens. A variable does not survive a restart; a table does.",
      "minikafka/lab/labs/lab14/late.py: `late`, `after`, `share`")


@checks("14.13", matters="A price that changes after it was paid is a letter from a lawyer. A trip that is dropped because it is "
                         "late is one from a driver.", wants="a pair (minutes, write)")
def final_prices(answer: Callable[[], tuple[int, Any]]) -> str:
    """Check the delay by the share of late trips, and the rule on a day in which batches come twice and the query restarts."""
    told = answer()
    assert isinstance(told, (tuple, list)) and len(told) == 2, f"a pair (minutes, write) is wanted, you returned {shown(told)}"
    minutes = wants.whole(told[0])
    assert minutes is not None and minutes >= 0 and minutes % 10 == 0, \
        f"the minutes are 0, 10, 20 and so on, as windows are; you have {shown(told[0])}"
    assert callable(told[1]), f"`write` is a function; you have {shown(told[1])}"
    if (few := late.share(minutes)) >= FEW:
        raise Wrong(f"with a delay of {minutes} minutes {few:.1%} of the trips come too late; fewer than {FEW:.0%} are wanted")
    if minutes and (less := late.share(minutes - 10)) < FEW:
        raise Wrong(f"with 10 minutes less {less:.1%} of the trips come too late, and prices are final sooner")
    if wrong := late.against(lambda: (minutes, answer()[1])):
        raise Wrong(wrong)
    return f"{len(late.late(minutes))} of {late.TRIPS:,} trips come too late: all are in trips, and no price has changed for them"
