"""Lab 10: every number that its prose states, and that each figure follows the fault that it is said to come from."""
from __future__ import annotations

import tempfile

import pytest

from minikafka.broker.server.live import LiveFs
from minikafka.lab.labs.lab10 import checks, exactly, outside
from minikafka.lab.labs.lab10 import experiment as lab10
from minikafka.lab.labs.lab10.exactly import COMMITTED, ExactlyOnceCluster
from minikafka.log.producers import ProducerStates


def test_an_error_and_the_record():
    """Section 2: fails if the answer was dropped before the broker had stored the record, or if the producer tried again."""
    run = lab10.without_retries()
    assert run.told == [("NETWORK_EXCEPTION", None)] and run.log == [(0, "trip 1")] and len(run.attempts) == 1
    assert lab10.without_retries(again=True).log == [(0, "trip 1"), (1, "trip 1")]


@pytest.mark.parametrize("idempotent, every, records", [(False, 10, 110), (True, 10, 100), (False, 25, 104)])
def test_every_lost_answer_is_a_twin(idempotent, every, records):
    """Sections 2 and 3: 110 and 100; fails if the twins did not come from the lost answers."""
    run = lab10.lost_answers(idempotent, every=every)
    assert len(run.log) == records and len(run.twins) == records - 100
    assert len(run.attempts) == 100 + 100 // every and len(run.told) == 100


def test_the_second_answer_names_the_old_offset():
    """Section 3: attempts 10 and 11 have the same numbers and the same offset; without numbers the next one."""
    numbered, plain = lab10.lost_answers(True, count=10).attempts[9:], lab10.lost_answers(False, count=10).attempts[9:]
    assert [(a.producer, a.epoch, a.sequence, a.offset) for a in numbered] == [(0, 0, 9, 9)] * 2
    assert [(a.producer, a.sequence, a.offset) for a in plain] == [(-1, -1, 9), (-1, -1, 10)]


def test_the_program_may_still_say_it_twice():
    """Section 3, misconception 24: two calls are two records."""
    run = lab10.sent_twice()
    assert run.log == [(0, "trip 1"), (1, "trip 1")] and [a.sequence for a in run.attempts] == [0, 1]


@pytest.mark.parametrize("idempotent, in_flight, broken", [(False, 5, 20), (False, 1, 0), (True, 5, 0)])
def test_order_needs_numbers_or_patience(idempotent, in_flight, broken):
    """Section 4: 20 of 20, and none; fails if the disorder came from anything but requests on the way."""
    run = lab10.flipped_bits(idempotent, in_flight=in_flight)
    assert sorted(run.values, key=int) == run.sent and not run.twins
    assert sum(run.values[n:n + 5] != run.sent[n:n + 5] for n in range(0, 100, 5)) == broken
    assert len(checks.late([("truck", int(value)) for value in run.values])) == broken


def test_what_the_idempotent_burst_was_told():
    """Section 4: one refused for its checksum, four for their order, then all five in order."""
    answers = [(a.sequence, a.answer) for a in lab10.flipped_bits(True, bursts=1).attempts]
    assert answers[0] == (1, "CORRUPT_MESSAGE") and [n for n, _ in answers] == [1, 2, 3, 4, 5] * 2
    assert {said for _, said in answers[1:5]} == {"OUT_OF_ORDER_SEQUENCE_NUMBER"}
    assert {said for _, said in answers[5:]} == {"NONE"}


def test_markers_have_offsets_and_readers_choose():
    """Sections 5 and 6: 22, 20 and 10; then nothing of thirty behind an open transaction; markers have a higher epoch."""
    with ExactlyOnceCluster() as room:
        room.write("first", 10, commit=False)
        room.write("second", 10)
        assert set(room.marks().values()) == {22} and len(room.read()) == 20 and len(room.read(COMMITTED)) == 10
        table = room.batches()
        marked = table[table["what"] != "data"]
        assert list(marked["first offset"]) == [10, 21] and list(marked["what"]) == ["marker: abort", "marker: commit"]
        assert list(marked["epoch"]) == [1, 1] and set(table[table["what"] == "data"]["epoch"]) == {0}
        room.write("lunch", 1, commit=None)
        room.plain(30)
        assert room.marks() == {"log end": 53, "high watermark": 53, "last stable": 22} and len(room.read(COMMITTED)) == 10
        room.producers["lunch"].commit()
        room.cluster.sleep(1)
        assert len(room.read(COMMITTED)) == 41


@pytest.mark.parametrize("seconds", [20.0, 8.0])
def test_the_coordinator_ends_what_nobody_ends(seconds):
    """Section 6: readers stand still until the time of the transaction is over; fails if it was the same for any time."""
    *held, freed = exactly.open_transaction(seconds)
    assert {row[1:] for row in held} == {(31, 0, 0)} and freed[1:] == (32, 32, 30)


@pytest.mark.parametrize("transactional, die, written, seen, twins", [
    (False, "never", 10, 10, 0), (False, "before the offsets", 20, 20, 10),
    (True, "never", 10, 10, 0), (True, "before the offsets", 20, 10, 0)])
def test_a_worker_dies_before_its_offsets(transactional, die, written, seen, twins):
    """Section 7: ten too many without transactions, none with; the log holds twenty in both."""
    end = exactly.copied(transactional, die)
    assert (end.written, len(end.seen), end.duplicates, end.committed) == (written, seen, twins, 10)


@pytest.mark.parametrize("crash, times", [
    ("before the database", 1), ("inside the database", 1), ("after the database", 2), ("never", 1)])
def test_the_border(crash, times):
    """Section 8: the table of the text."""
    assert outside.rows(outside.book_and_crash(outside.naive, crash)).count(4) == times


def test_the_bills():
    """Section 8: Bob pays 731 instead of 627; a memory of the process loses a booking when the database rolls back."""
    assert outside.bill(outside.book_and_crash(outside.naive)) == {"Ada": 418, "Bob": 731}
    assert outside.bill(outside.book_and_crash(outside.naive, "never")) == {"Ada": 418, "Bob": 627}


def test_the_stories_of_exercise_3_hold_every_answer():
    """Fails if the oracle never says one of the four answers: then a wrong solution could pass."""
    said = {answer for story in checks.stories() for answer in verdicts(story)}
    assert said == {"append", "duplicate", "out of order", "fenced"}


def verdicts(story):
    with tempfile.TemporaryDirectory() as folder:
        states, end = ProducerStates(LiveFs(), folder, "trips-0"), 0
        for batch in story:
            verdict, _ = checks.judge(states, end, batch)
            end += batch.count if verdict == "append" else 0
            yield verdict
