"""The traffic of a playground: what is sent when, and that every record is counted once."""
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minikafka.lab.play.traffic import CATCH_UP, MOST_WAITING, NO_KEY, Settings, Traffic

STEPS = st.lists(st.tuples(st.floats(0, 3), st.sampled_from([0, 1, 10, 500]), st.integers(0, 3), st.integers(0, 900)),
                 max_size=30)


@given(STEPS)
def test_every_record_is_counted_once_and_no_stall_ends_in_a_burst(steps):
    """Fails if an answer is counted twice or not at all, if more than MOST_WAITING records wait, or if more records are due
    than the rate allows."""
    traffic, now = Traffic(Settings(rate=10)), 0.0
    traffic.due(now)
    for passed, rate, kind, answers in steps:
        traffic.change(now, rate=rate)
        now += passed
        assert len(traffic.due(now)) <= rate * (min(passed, CATCH_UP) + 1e-6) + 1
        assert traffic.due(now) == [], "twice at the same moment"
        for _ in range(min(answers, traffic.waiting)):
            (traffic.acknowledged, traffic.unanswered, lambda: traffic.failed("NOT_ENOUGH_REPLICAS"), lambda: None)[kind]()
        assert traffic.sent == traffic.acked + traffic.no_answer + traffic.gave_up + traffic.waiting
        assert 0 <= traffic.waiting <= MOST_WAITING


def test_rate_keys_and_error_follow_the_settings():
    """Fails if a rate is not kept, if "off" sends, if the number of keys is wrong, or if the last error is forgotten."""
    traffic = Traffic(Settings(rate=100, keys=3))
    records = [record for tick in range(101) for record in traffic.due(tick / 50)]
    assert 200 <= len(records) <= 201
    assert {record.key for record in records} == {"taxi-0", "taxi-1", "taxi-2"}
    assert len({record.value for record in records}) == len(records)
    traffic.change(2.0, rate=0)
    assert traffic.due(60.0) == []
    traffic.change(60.0, rate=1, keys=NO_KEY)
    assert [record.key for record in traffic.due(60.0)] == [None]
    traffic.failed("NOT_ENOUGH_REPLICAS")
    assert traffic.last_error == "NOT_ENOUGH_REPLICAS"


def test_only_settings_of_the_producer_need_another_producer():
    """Fails if a slider of the group or of the rate makes the producer anew, or acks does not."""
    settings = Settings()
    assert Settings(rate=500, keys=1, members=6, protocol="consumer", work=0).producer == settings.producer
    assert Settings(acks="1").producer != settings.producer != Settings(idempotence=False).producer
