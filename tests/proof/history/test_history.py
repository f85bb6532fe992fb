"""Recording, saving, pairing, and verdicts with three values."""

from __future__ import annotations

from pathlib import Path

import pytest

from minikafka.proof.history import History, check
from minikafka.proof.history.report import SHOWN
from minikafka.proof.history.story import HistoryTables

from .kit import Told


def test_what_is_saved_can_be_loaded(tmp_path: Path) -> None:
    """Fails if an event loses or changes a field in its file, or loading leads to a number given twice (I-HIST-2)."""
    history = Told().send("ä", 0, key="k").txn("p:1", "b@1").final("ä@0 b@1").history
    history.save(tmp_path / "history.jsonl")
    loaded = History.load(tmp_path / "history.jsonl")
    assert loaded == history != Told().history
    assert loaded.invoke("p", "send")["op"] not in {event.get("op") for event in history}
    assert len((tmp_path / "history.jsonl").read_text().splitlines()) == len(history)


def test_a_file_that_is_no_history_is_refused(tmp_path: Path) -> None:
    """Fails if a wrong file gives an empty, and so a clean, history."""
    (tmp_path / "x").write_text('{"f": "send", "process": "p", "type": "ok"}\nnot json\n')
    with pytest.raises(ValueError, match="x:2 is no event"):
        History.load(tmp_path / "x")


def test_a_clock_gives_the_time() -> None:
    """Without one, time counts events."""
    clock = iter([1.5, 2.5])
    timed, counted = History(lambda: next(clock)), History()
    assert [timed.record("p", "ok", "assign")["t"] for _ in range(2)] == [1.5, 2.5]
    assert [counted.record("p", "ok", "assign")["t"] for _ in range(2)] == [0, 1]


def test_ends_without_numbers_find_their_beginning() -> None:
    """Fails if an end without `op` goes to another process, value or transaction, or commits end in another order."""
    history = History()
    for value in ("a", "b"):
        history.record("p", "invoke", "send", topic="t", partition=0, value=value)
    history.record("q", "invoke", "send", topic="t", partition=0, value="a")
    history.record("p", "ok", "send", topic="t", partition=0, value="b", offset=0)
    history.record("p", "fail", "send", topic="t", partition=0, value="a")
    for offset in (1, 2):
        history.record("p", "invoke", "commit", group="g", offsets={"t-0": offset})
    history.record("p", "ok", "commit", group="g")
    ops = HistoryTables(history).ops
    assert [(op.process, op.outcome, op.get("offset")) for op in ops[:3]] == [
        ("p", "fail", None), ("p", "ok", 0), ("q", "info", None)]
    assert [(op.outcome, op.get("offsets")["t-0"]) for op in ops[3:]] == [("ok", 1), ("info", 2)]


def test_an_operation_without_an_end_ends_after_all_others() -> None:
    """Fails if a crashed client's operation counts as over, or as one that did not happen (I-TABLE-2)."""
    story = HistoryTables(Told().begin_send("a").send("b", 0).history)
    assert (story.ops[0].outcome, story.ops[0].end) == ("info", 3)


def test_records_that_no_read_reached_are_not_fine() -> None:
    """An acknowledged record that no reader came near: the verdict is None, and says why."""
    report = check(Told().send("a", 0).history)
    assert (report.valid, report.violated) == (None, [])
    assert "no read has reached" in report["lost-write"].reason


def test_values_sent_twice_are_not_judged_and_are_reported() -> None:
    """Fails if a client that repeats its values is told of duplicates, or that all is well."""
    report = check(Told().send("a", 0).send("a", 1).final("a@0 a@1").history)
    assert (report["duplicate"].valid, report.violated) == (None, [])
    assert "1 values were sent more than once" in report["duplicate"].reason


@pytest.mark.parametrize("fact", [("elect-unclean", {"topic": "t", "partition": 0}),
                                  ("may-lose", {"why": "power loss"})])
def test_an_excused_loss_is_unknown_not_fine(fact: tuple[str, dict]) -> None:
    """Fails if an excuse hides the loss, or does not excuse it."""
    report = check(Told().fact(fact[0], **fact[1]).send("a", 0).final("").history)
    assert (report["lost-write"].valid, report["lost-write"].count) == (None, 1)
    assert "1 excused" in report["lost-write"].reason


def test_where_the_source_lost_records_two_copies_may_be_of_two_records() -> None:
    """Fails if a record that came in a lost one's place is taken for it, or if any loss excuses any copy."""
    told = Told().txn("p:1", "a@0", sources=[7]).txn("p:2", "b@1", sources=[7]).final("a@0 b@1")
    assert check(told.fact("may-lose", topic="other", why="power loss").history)["repeated-copy"].valid is False
    assert check(told.fact("may-lose", topic="s", partition=0, why="power loss").history)["repeated-copy"].valid is None


@pytest.mark.parametrize("fact, excuses", [
    ({"producer": "mine", "anomalies": ["aborted-read"]}, True),
    ({"producer": "another", "anomalies": ["aborted-read"]}, False),
    ({"producer": "mine", "anomalies": ["torn-txn"]}, False),
    ({"group": "g", "anomalies": ["aborted-read"]}, True),
    ({"group": "another", "anomalies": ["aborted-read"]}, False)])
def test_what_a_coordinator_forgot_excuses_those_of_whom_it_was(fact: dict, excuses: bool) -> None:
    """Fails if a loss in an internal topic excuses producers, groups or anomalies that it had nothing to do with."""
    told = Told().fact("may-lose", why="power loss", **fact)
    told.history.ok(told.history.invoke("p", "begin", txn="p/1", producer="mine"))
    told.send("a", 0, txn="p/1")
    told.history.ok(told.history.invoke("p", "commit", txn="p/1", group="g", offsets={"s-0": 1}))
    told.history.ok(told.history.invoke("p", "end", txn="p/1", producer="mine", commit=False))
    report = check(told.send("b", 1).final("a@0 b@1").history)
    assert report["aborted-read"].valid is (None if excuses else False)


def test_an_excuse_of_one_partition_excuses_no_other() -> None:
    """Fails if an unclean election anywhere excuses losses everywhere."""
    told = Told().fact("elect-unclean", topic="t", partition=1).send("a", 0).final("")
    assert told.violated == ["lost-write"]


def test_a_verdict_counts_all_and_shows_a_few() -> None:
    """Fails if the count stops with the evidence, or the report of a disaster fills the screen."""
    told = Told()
    for n in range(20):
        told.send(str(n), n)
    report = check(told.final("").history)
    verdict = report["lost-write"]
    assert (verdict.count, len(verdict.evidence)) == (20, SHOWN)
    assert all(len(line) <= 160 for line in str(report).splitlines() if "ok " not in line[:4])
    assert report.json()["verdicts"][0]["count"] == 20
    assert verdict.evidence[0].events[0]["value"] == "0"


def test_a_doubt_does_not_take_back_what_was_found() -> None:
    """Fails if values sent twice hide the loss of another one."""
    report = check(Told().send("a", 0).send("a", 1).send("b", 2).final("a@0 a@1").history)
    assert report["lost-write"].valid is False


def test_records_between_those_of_a_transaction_are_counted() -> None:
    """Fails if a hole is overlooked, or what stands side by side (or nobody knows where) counts as one."""
    told = Told().send("a", 0, txn="p:1").send("?", txn="p:1").send("b", 1, txn="p:1")
    told.send("c", 0, partition=1, txn="p:1").send("d", 2, partition=1, txn="p:1").end("p:1")
    verdict = check(told.history)["int-send-skip"]
    assert (verdict.valid, verdict.count, verdict.reason[:7]) == (True, 1, "allowed")


EVIDENCE = {
    "lost-write": (Told().send("a", 0).final(""),
                   "p sent 'a' to t-0 (acked at 0, t=1.000): not there, read by reader (final) t=3.000"),
    "lost-write, once read": (
        Told().send("a", 0, acks=1).poll("c", "a@0").send("b", 1).poll("d", "b@1").final("", outcome="info")
        .final("b@1"),
        "p sent 'a' to t-0 (acked at 0, acks=1, t=1.000): not there, read by reader (final) t=11.000; c t=3.000 had read it"),
    "lost-write, read past": (Told().send("a", 1).poll("c", "x@0 y@2"),
                              "p sent 'a' to t-0 (acked at 1, t=1.000): not there, c t=3.000 read past it"),
    "poll-skip": (Told().send("a", 0).send("b", 1).send("c", 2).poll("x", "a@0").poll("x", "c@2").final("a@0 b@1 c@2"),
                  "x t=9.000 went from t-0@0 to 2; at 1 reader (final) t=11.000 read 'b'"),
    "torn-txn": (Told().txn("p:1", "a@0", "b@1:0", outcome="info").final("a@0").final("", partition=1),
                 "p:1 (unknown): 1 of 2 records are there; p sent 'a' to t-0 (acked at 0, t=3.000) is, "
                 "p sent 'b' to t-1 (acked at 0, t=5.000) is not"),
}


@pytest.mark.parametrize("case", EVIDENCE)
def test_evidence_in_words(case: str) -> None:
    """Who did what, where and when: fails if a reader of the report is sent to the wrong record, client or moment."""
    told, words = EVIDENCE[case]
    assert [e.text for e in check(told.history)[case.partition(",")[0]].evidence] == [words]


def test_a_report_in_words() -> None:
    """What is not plainly fine line by line, the rest by name; counts that are zero are left out."""
    lines = str(check(Told().fact("may-lose", why="power loss").send("a", 0).final("").history)).splitlines()
    assert lines[0] == "1 sent, 1 acked"
    assert lines[1] == "unknown   lost-write: 1 (1 excused: power loss)"
    assert lines[2].startswith("ok        unseen, aborted-read,") and len(lines) == 3
