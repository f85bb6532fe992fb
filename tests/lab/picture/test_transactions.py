"""Transactions in the picture: which are open, what a marker decided, and that shapes and words say so."""
from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from minikafka.lab.labs.lab10 import exactly
from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.draw.text import to_text
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.picture.facts.transactions import KEPT, appended, cut, wrote
from minikafka.lab.picture.frame import ShownTransaction
from tests.lab.picture.frames import aborted


def told(*events):
    known = ()
    for base, more in events:
        known = appended(known, {"base": base, **more})
    return known


def test_a_transaction_is_open_until_its_marker():
    """Fails if a second batch began a second transaction, or if a plain record ended one."""
    assert told((3, {"txn": 7}), (5, {"txn": 7}), (6, {})) == (ShownTransaction(7, 3),)
    done = told((3, {"txn": 7}), (5, {"txn": 8}), (6, {"txn": 7, "marker": "commit"}), (7, {"txn": 8, "marker": "abort"}))
    assert done == (ShownTransaction(7, 3, 6, True), ShownTransaction(8, 5, 7, False))


def test_a_marker_without_a_beginning_decides_nothing():
    """Fails if a trace that begins in the middle invented a transaction."""
    assert told((3, {"txn": 7, "marker": "commit"})) == ()


@pytest.mark.parametrize("end, left", [
    (8, (ShownTransaction(7, 3, 6, True),)), (6, (ShownTransaction(7, 3),)), (4, (ShownTransaction(7, 3),)), (3, ())])
def test_what_is_cut_off_is_undone(end, left):
    """Fails if a new leader's log kept a decision, or a transaction, that only the old one had (I-TXNFACTS-2)."""
    assert cut((ShownTransaction(7, 3, 6, True),), end) == left
    assert told((3, {"txn": 7}), (6, {"txn": 7, "marker": "commit"}), (end, {})) == left


def test_open_ones_are_never_forgotten():
    """Fails if a busy partition forgot the one that holds its readers up."""
    events = [(0, {"txn": 1})]
    for number in range(1, 40):
        events += [(2 * number, {"txn": 2}), (2 * number + 1, {"txn": 2, "marker": "commit"})]
    known = told(*events)
    assert known[0] == ShownTransaction(1, 0) and len(known) == 1 + KEPT


def test_the_picture_shows_lso_open_transactions_and_markers():
    """Fails if a bracket, its stamp or the last stable offset is missing, or says something else than the log does."""
    with exactly.ExactlyOnceCluster() as room:
        room.write("pay", 6, commit=True)
        room.write("refund", 4, commit=False)
        room.write("slow", 3, commit=None)
        room.plain(5)
        frame = RecordedRun.of(room.cluster).at(tp="orders-0")
        markers = room.batches().query("what != 'data'")
    assert frame.chosen.last_stable == 12
    assert (frame.ledger.acknowledged, frame.ledger.readable, frame.ledger.committed) == (18, 18, 6)    # without 7-10 and 12-19
    assert "readable 18, at read_committed 6," in to_text(frame)
    found = [(each.start, each.marker, each.committed) for each in frame.chosen.transactions]
    assert found == [(0, 6, True), (7, 11, False), (12, None, False)]
    assert list(markers["first offset"]) == [6, 11]
    drawn = ET.fromstring(to_svg(frame)).iter()
    states = [(int(part.get("data-start")), part.get("data-state")) for part in drawn if part.get("data-part") == "transaction"]
    assert states == [(0, "commit"), (7, "abort"), (12, "open")]
    assert frame.sentence.text.startswith("An open transaction of producer") and "at 12" in frame.sentence.text
    said = to_text(frame)
    assert "aborted from 7, marker at 11" in said and "open from 12" in said and "last stable 12" in said


@pytest.mark.parametrize("end, left", [
    (8, [(3, 5, 7, True), (6, 7, 7, True)]), (7, [(3, 5, None, False), (6, 7, None, False)]),
    (4, [(3, 4, None, False)]), (3, [])])
def test_which_records_are_aborted(end, left):
    """Fails if another producer's record between them is, if a marker is, or if a decision that was cut off still holds."""
    known = ()
    for base, last, more in ((3, 4, {"txn": 7}), (5, 5, {"txn": 8}), (6, 6, {"txn": 7}), (7, 7, {"txn": 7, "marker": "abort"}),
                             (end, end, {})):
        known = wrote(known, {"base": base, "last": last, **more})
    assert [(each.start, each.end, each.marker, each.aborted) for each in known if each.producer == 7] == left


def test_aborted_records_are_pale_and_crossed_and_readers_differ():
    """Fails if an aborted record looks like the others, if one of another producer is crossed, or if the two isolation levels
    are not told apart; red without `aborted` in the cells, or with a bar of read_committed over them."""
    frame = aborted()
    void = {41, 42, 43, 44, 47, 48}
    assert all({cell.offset for cell in lane.cells if cell.aborted} == void for lane in frame.chosen.lanes)
    drawn = list(ET.fromstring(to_svg(frame)).iter())
    pale = {int(each.get("data-offset")) for each in drawn if "pale" in each.get("class", "").split()}
    crosses = [each.get("d").count("M") for each in drawn if each.get("data-part") == "aborted"]
    assert pale == void and sum(crosses) == 3 * len(void)
    for lane in (each for each in drawn if each.get("data-part") == "stretch"):  # numbers can be read: they are over the crosses
        parts = list(lane)
        marked = {int(each.text) for each in parts if each.get("class") == "halo n"}
        assert marked == void & {int(each.get("data-offset", -1)) for each in parts}
        places = [each.get("data-part") == "aborted" for each in parts]
        assert not marked or [each.get("class") for each in parts].index("halo n") > places.index(True)
    bars = {each.get("data-level"): (each.get("data-end"), len(each.findall("{*}rect"))) for each in drawn
            if each.get("data-part") == "reader"}
    assert bars == {"read_uncommitted": ("55", 1), "read_committed": ("51", 3)}
    said = to_text(frame)
    assert "read_uncommitted reads up to 55" in said and "read_committed reads up to 51, without 6 aborted records" in said
    assert "aborted 41-44, 47-48" in said


def test_without_transactions_nothing_is_drawn():
    """Fails if every picture got an empty row."""
    with exactly.ExactlyOnceCluster() as room:
        room.plain(3)
        frame = RecordedRun.of(room.cluster).at(tp="orders-0")
        assert "transactions" not in to_svg(frame) and "read_committed" not in to_svg(frame) + to_text(frame)
