"""Acknowledged, readable, delivered, lost, duplicate, reordered: counted record by record, not place by place."""
from __future__ import annotations

from typing import Any

import pytest

from minikafka.cluster.watch import RecordNumbers
from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.frame import Ledger
from tests.lab.picture.script import TP, Script
from tests.lab.picture.stories import recorded


def test_no_client_reports() -> None:
    """Fails if the ledger of a cluster without watched clients says 0 (I-LEDGER-2)."""
    assert Script(records=5).frame().ledger == Ledger(None, None, None, None, None, None, None)


def test_the_disaster_of_lab_8() -> None:
    """Fails if the 30 records that an unclean election loses are not exactly the ones counted, or their places, taken by
    others now, make them count as there."""
    run = recorded("unclean")
    ledger = run.at(None, TP).ledger
    assert (ledger.acknowledged, ledger.readable, ledger.lost) == (120, 90, 30)
    ghosts = [ghost for lane in run.at(None, TP).chosen.lanes for ghost in lane.ghosts]          # type: ignore[union-attr]
    assert [(g.start, g.end, g.acked) for g in ghosts] == [(70, 100, 30)]
    election = next(mark.t for mark in run.marks if "leads" in mark.text)
    assert run.at(election - 0.01, TP).ledger.lost == 0, "while nobody else leads nothing is lost yet"
    assert run.at(election, TP).ledger.lost == 30


def test_readable_is_what_lies_below_the_high_watermark() -> None:
    """Fails if an acks=1 acknowledgement counts as readable before the followers have it."""
    s = Script(records=5).append(1, 5, 8).produce(range(8))
    assert (s.frame().ledger.acknowledged, s.frame().ledger.readable, s.frame().ledger.lost) == (8, 5, 0)


def test_retention_loses_nothing() -> None:
    """Fails if records that retention took are called lost (I-LEDGER-1)."""
    s = Script(records=50).produce(range(50)).say("log_start", 1, tp=TP, start=20)
    assert (s.frame().ledger.acknowledged, s.frame().ledger.readable, s.frame().ledger.lost) == (50, 30, 0)


def test_a_deleted_topic_is_no_loss() -> None:
    """Fails if deleting a topic turns what was in it into lost records."""
    s = Script(records=5).produce(range(5))
    for b in (1, 2, 3):
        s.say("removed", b, tp=TP)
    assert (s.frame(None).ledger.acknowledged, s.frame(None).ledger.lost) == (5, 0)


@pytest.mark.parametrize("dead", [None, 3])
def test_a_topic_made_anew_begins_anew(dead: int | None) -> None:
    """Fails if what was known of a deleted topic is held against its namesake: records that stand at lower offsets than
    others of their producer (reordered), or at offsets that the group has read (duplicate); also if a dead broker could
    not say that it has removed the old one.
    """
    read = {"client": "desk", "group": "tower", "tp": TP, "first": 0}
    s = Script(records=5).produce(range(5)).say("position", position=5, **read).after(1.0)
    if dead is not None:
        s.fault("kill", dead).decide(1, 0, [1, 2], 1).isr([1, 2], 0, 1)
    for b in {1, 2, 3} - {dead}:
        s.say("removed", b, tp=TP)
    s.after(1.0).decide(1, 0, [1, 2, 3], 0)
    for b in (1, 2, 3):
        s.say("recover", b, tp=TP, leo=0, start=0, epochs=[], truncated_bytes=0)
    s.lead(1, 0).write(3)
    for record in (6, 7, 8):
        s.say("sent", client="pilot", topic="flights", partition=0, record=record)
        s.say("acked", client="pilot", tp=TP, offset=record - 6, record=record)
    ledger = s.say("position", position=3, **read).frame().ledger
    assert (ledger.acknowledged, ledger.readable, ledger.delivered, ledger.lost) == (8, 3, 8, 0)
    assert (ledger.duplicate, ledger.reordered) == (0, 0)


def test_an_acknowledgement_belongs_to_the_record_written_meanwhile() -> None:
    """Fails if an offset that two epochs have written is taken for the wrong record."""
    s = Script(records=70).produce(range(70)).append(1, 70, 80).after(1.0).decide(2, 1, [2, 3], 1).lead(2, 1)
    s.isr([2, 3], 1, 2, 2).after(1.0).say("sent", client="pilot", topic="flights", partition=0, record=71).append(2, 70, 71, 1)
    s.say("hw", 2, tp=TP, hw=71).acknowledge(range(70, 71))
    assert (s.frame().ledger.readable, s.frame().ledger.lost) == (71, 0)


def test_handed_out_twice_to_one_group_and_once_to_another() -> None:
    """Fails if a redelivery is not a duplicate, or a second group's reading is one."""
    def read(first: int, end: int, group: str, client: str) -> dict[str, Any]:
        return {"client": client, "group": group, "member": None, "tp": TP, "first": first, "position": end}

    s = Script(records=20).say("position", **read(0, 10, "a", "one")).say("position", **read(8, 14, "a", "two"))
    s.say("position", **read(0, 14, "b", "three"))
    ledger = s.frame().ledger
    assert (ledger.delivered, ledger.duplicate) == (14, 2)
    assert [(f.who, f.kind, f.offset) for f in s.frame().chosen.fingers] == [                   # type: ignore[union-attr]
        ("one", "position", 10), ("three", "position", 14), ("two", "position", 14)]


def test_new_records_at_old_offsets_are_no_duplicates() -> None:
    """Fails if a group that reads what an unclean election wrote at offsets it had read is said to read duplicates."""
    s = Script(records=90).say("position", client="one", group="a", tp=TP, first=0, position=90)
    s.decide(2, 1, [2], 1).say("truncate", 2, tp=TP, to=70, records=20).lead(2, 1).append(2, 70, 90, 1).say("hw", 2, tp=TP, hw=90)
    s.say("position", client="one", group="a", tp=TP, first=70, position=90)
    assert (s.frame().ledger.delivered, s.frame().ledger.duplicate) == (110, 0)


def test_reordered() -> None:
    """Fails if a record that overtook an earlier one of its producer is not counted."""
    s = Script(records=2)
    for record in (1, 2):
        s.say("sent", client="pilot", topic="flights", partition=0, record=record)
    s.say("acked", client="pilot", tp=TP, offset=0, record=2).say("acked", client="pilot", tp=TP, offset=1, record=1)
    assert s.frame().ledger.reordered == 1
    assert Script(records=9).produce(range(9)).frame().ledger.reordered == 0


def test_two_clients_that_share_a_name_reorder_nothing() -> None:
    """Fails if the records of a second client under a watched client's name are held against those of the first: after it, or
    between its records. Each of them keeps its own order."""
    s, numbers = Script(records=90), RecordNumbers()
    first, second = numbers.of("pilot"), numbers.of("pilot")
    sent = [next(first) for _ in range(30)] + [next(each) for _ in range(10) for each in (first, second)]
    for offset, record in enumerate(sent):
        s.say("sent", client="pilot", topic="flights", partition=0, record=record)
        s.say("acked", client="pilot", tp=TP, offset=offset, record=record)
    assert (s.frame().ledger.acknowledged, s.frame().ledger.reordered) == (50, 0)
    for offset, record in ((51, next(second)), (50, next(second))):
        s.say("sent", client="pilot", topic="flights", partition=0, record=record)
        s.say("acked", client="pilot", tp=TP, offset=offset, record=record)
    assert s.frame().ledger.reordered == 1


def test_unknown_is_neither_failed_nor_waiting() -> None:
    """Fails if a time-out counts as a failure, a certain refusal as unknown, or the sum does not fit (I-WATCHED-1)."""
    s = Script(records=3).produce(range(3))
    for record, certain in ((10, True), (11, False), (12, None)):
        s.say("sent", client="pilot", topic="flights", partition=0, record=record)
        if certain is not None:
            s.say("failed", client="pilot", topic="flights", error="E", record=record, certain=certain)
    s.after(2.5)
    producer = s.frame().producers[0]
    assert (producer.sent, producer.acked, producer.failed, producer.unknown, producer.waiting) == (6, 3, 1, 1, 1)
    assert round(producer.oldest_wait or 0, 1) == 2.5 and producer.last_error == "E"
    assert s.frame().ledger.unknown == 1


def test_an_answer_that_overtakes_its_question() -> None:
    """Fails if an acknowledgement that another thread told first is counted as one more record."""
    s = Script(records=1).acknowledge(range(1)).say("sent", client="pilot", topic="flights", partition=0, record=1)
    assert (s.frame().producers[0].sent, s.frame().producers[0].waiting) == (1, 0)


def test_traces_that_number_nothing() -> None:
    """Fails if older traces, whose answers carry no number, are not paired in order."""
    s = Script(records=2)
    for _ in range(3):
        s.say("sent", client="pilot", topic="flights", partition=0)
    s.say("acked", client="pilot", tp=TP, offset=0)
    for error in ("NotEnoughReplicasError()", ):
        s.say("failed", client="pilot", topic="flights", error=error)
    s.say("failed", client="pilot", topic="flights", error="KafkaTimeoutError()")
    producer = s.frame().producers[0]
    assert (producer.sent, producer.acked, producer.failed, producer.unknown, producer.waiting) == (3, 1, 1, 1, 0)


def test_markers_are_no_records() -> None:
    """Fails if the offsets of transaction markers, or of what compaction took, count as delivered."""
    s = Script(records=20).say("position", client="one", group="a", tp=TP, first=0, position=10, records=8)
    assert s.frame().ledger.delivered == 8


def test_a_later_epoch_begins_below_and_overtakes_nothing() -> None:
    """Fails if a record sent later, at an offset that a truncation freed, is said to have overtaken an earlier one; or if
    traces that do not tell epochs are not compared."""
    s = Script(records=70).produce(range(70)).append(1, 70, 80).produce(range(70, 80)).after(1.0)
    s.decide(2, 1, [2], 1).lead(2, 1).after(1.0).say("sent", client="pilot", topic="flights", partition=0, record=99)
    s.append(2, 70, 71, 1).say("acked", client="pilot", tp=TP, offset=70, record=99)
    assert s.frame().ledger.reordered == 0
    polled = Script()
    polled.events = []
    for record, offset in ((1, 7), (2, 6)):
        polled.say("sent", client="p", topic="flights", partition=0, record=record)
        polled.say("acked", client="p", tp=TP, offset=offset, record=record)
    assert polled.frame().ledger.reordered == 1


def test_where_one_producer_has_room_it_is_the_one_that_sent_last() -> None:
    """Fails if, beside the text or on a projector, a producer that is long done hides the one at work."""
    s = Script(records=1)
    for client in ("b", "a", "c", "b"):
        s.after(1.0).say("sent", client=client, topic="flights", partition=0, record=1)
        s.say("acked", client=client, tp=TP, record=1, offset=0)
        for size in ("dock", "projector"):
            assert f"Producer {client}<" in to_svg(s.frame(), size=size)
