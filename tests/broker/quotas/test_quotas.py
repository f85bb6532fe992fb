"""The arithmetic of quotas (broker/quotas/throttling.py): Kafka's, without a clock."""

from __future__ import annotations

import pytest

from minikafka.broker.quotas.throttling import FEW, Bucket, ClientQuotas, Rate, Window
from minikafka.protocol.errors import Err, KafkaError

TEN = Window(11, 1)         # Kafka's defaults: ten whole seconds and the one that is growing
MINE = (("client-id", "c"),)


def quotas(**limits: float) -> ClientQuotas:
    made = ClientQuotas(TEN, TEN)
    made.update({MINE: limits})
    return made


def test_a_first_use_is_counted_over_ten_seconds():
    """Fails if the window begins short: 20,000 bytes at once are 2,000 a second over ten seconds, not an endless rate."""
    rate = Rate(TEN, 0.0)
    rate.add(20_000, 5.0)
    assert rate.wait_ms(2000, 5.0) == 0
    assert rate.wait_ms(1000, 5.0) == 10_000, "twice too fast: as long again"
    assert rate.wait_ms(1999, 5.0) == 5


def test_the_window_grows_by_the_piece_that_is_not_whole():
    """Fails if the time since a use counts as it passes: whole pieces are among the ten anyway, used or not."""
    rate = Rate(TEN, 0.0)
    rate.add(50_000, 100.0)
    assert [rate.wait_ms(4000, 100 + s) for s in (0, 0.5, 1, 2.5, 10, 10.9)] == [2500, 2000, 2500, 2000, 2500, 1600]


def test_use_is_forgotten_after_the_window():
    """Fails if old pieces are kept, or thrown away too early: they stay while their last use is less than 11 s old."""
    rate = Rate(TEN, 0.0)
    rate.add(30_000, 100.0)
    rate.add(30_000, 100.9)
    assert rate.wait_ms(1000, 111.8) > 0 and not rate.idle(111.8)
    assert rate.idle(111.9) and rate.wait_ms(1000, 111.9) == 0


def test_a_steady_rate_at_the_limit_is_never_throttled():
    """Fails if the pieces of the window are summed or spanned wrongly; a tenth more is throttled."""
    even, more = Rate(TEN, 0.0), Rate(TEN, 0.0)
    waits = []
    for tick in range(1, 400):
        now = tick / 10
        even.add(100, now)
        more.add(110, now)
        waits.append(more.wait_ms(1000, now))
        assert even.wait_ms(1000, now) <= 200, "the use of this moment has no time of its own yet"
    assert not any(waits[:80]) and min(waits[120:]) > 500


def test_what_is_taken_back_does_not_count():
    """Fails if a fetch that was answered empty makes the next one wait longer."""
    q = quotas(consumer_byte_rate=100.0)
    waits = [q.fetched("c", 5000, 50.0 + tick / 1000) for tick in range(5)]
    assert waits[0] == 40_000 and waits == sorted(waits, reverse=True)
    assert q.fetched("c", 1000, 50.0) == 0, "there was room for so much all the time"


def test_a_fetch_that_alone_is_too_large_is_cut():
    q = quotas(consumer_byte_rate=100.0)
    assert (q.most_fetched("c"), q.most_fetched("d")) == (1000, None)
    assert quotas(consumer_byte_rate=2.0**63).most_fetched("c") == 2**31 - 1


def test_without_a_limit_nothing_is_remembered():
    """Fails if a client without a quota is counted, or waits; so does a limit that is no number."""
    q = quotas(producer_byte_rate=float("nan"))
    assert q.produced("d", 10**9, 0.0) == q.fetched("c", 10**9, 0.0) == 0
    assert q.produced("c", 10**9, 0.0) == 0
    q.charge("c", True, 0.0)(10**9)


@pytest.mark.parametrize("client", ["c", "", None])
def test_the_most_specific_limit_counts(client):
    """Fails if the order is another (I-QUOTA-2): each limit in turn is taken away, and the next one must count."""
    named = {"c": [(("client-id", "c"), ("user", "ANONYMOUS")), (("client-id", None), ("user", "ANONYMOUS")),
                   (("user", "ANONYMOUS"),), (("client-id", "c"), ("user", None)), (("client-id", None), ("user", None)),
                   (("user", None),), (("client-id", "c"),), (("client-id", None),)]}
    order = named.get(client, [(("user", "ANONYMOUS"),), (("user", None),)])
    everybody = {entity: {"producer_byte_rate": 1e9} for entity in named["c"]} | {(("ip", None),): {"producer_byte_rate": 1.0}}
    for entity in order:
        q = ClientQuotas(TEN, TEN)
        q.update({**everybody, entity: {"producer_byte_rate": 100.0}})
        assert q.produced(client, 2000, 0.0) == 10_000, entity
        del everybody[entity]
    q.update(everybody)
    assert q.produced(client, 10**7, 100.0) == 0, "nothing is left that is this client's"


def test_who_shares_a_limit_shares_what_is_used_of_it():
    """Fails if the clients of one user have a limit each, or two clients with a default one share it."""
    q = ClientQuotas(TEN, TEN)
    q.update({(("user", None),): {"producer_byte_rate": 100.0}})
    assert q.produced("a", 1000, 0.0) == 0 and q.produced("b", 1000, 0.0) == 10_000
    q.update({(("client-id", None),): {"producer_byte_rate": 100.0}})
    assert q.produced("a", 1000, 0.0) == q.produced("b", 1000, 0.0) == 0


def test_another_limit_counts_at_once_for_what_was_used_before():
    q = quotas(producer_byte_rate=1000.0)
    assert q.produced("c", 10_000, 0.0) == 0
    q.update({MINE: {"producer_byte_rate": 500.0}})
    assert q.produced("c", 0, 0.0) == 10_000


def test_a_bucket_is_full_at_first_and_fills_at_the_rate():
    """Fails if it begins empty, holds more than the window, or pays debts at another rate."""
    bucket = Bucket(TEN, 0.0)
    bucket.take(31, 1.0, 0.0)
    assert bucket.wait_ms(1.0, 0.0) == 20_000
    assert bucket.wait_ms(1.0, 15.5) == 4500 and bucket.wait_ms(1.0, 20.0) == 0
    bucket.take(11, 1.0, 10_000.0)
    assert bucket.wait_ms(1.0, 10_000.0) == 0 and not bucket.idle(10_010.9) and bucket.idle(10_011.0)


def test_strict_requests_are_refused_in_debt_and_only_then():
    """Fails if the first change is refused for its size, or a refused one costs anything."""
    q = quotas(controller_mutation_rate=1.0)
    charge = q.charge("c", True, 0.0)
    charge(30)
    for _ in range(3):
        with pytest.raises(KafkaError) as refused:
            charge(5)
        assert (refused.value.code, charge.wait_ms) == (Err.THROTTLING_QUOTA_EXCEEDED, 19_000)
    late = q.charge("c", True, 19.0)
    late(1)
    assert late.wait_ms == 0


def test_old_versions_are_never_refused_but_wait():
    q = quotas(controller_mutation_rate=1.0)
    charge = q.charge("c", False, 0.0)
    charge(11)
    assert charge.wait_ms == 0
    charge(5)
    charge(5)
    assert charge.wait_ms == 10_000


def test_memory_follows_those_who_used_something_of_late():
    """Fails if every client that ever was is remembered (I-QUOTA-3), or one with a debt is let off."""
    q = ClientQuotas(TEN, TEN)
    q.update({(("client-id", None),): {"producer_byte_rate": 10.0, "controller_mutation_rate": 1.0}})
    q.produced("debtor", 10_000, 990.0)
    q.charge("debtor", False, 990.0)(500)
    for number in range(20 * FEW):
        q.produced(f"c{number}", 1, float(number))
        q.charge(f"c{number}", True, float(number))(1)
    assert len(q._produced._meters) <= 2 * FEW and len(q._changes._meters) <= 2 * FEW
    q = ClientQuotas(TEN, TEN)
    q.update({(("client-id", None),): {"producer_byte_rate": 10.0, "controller_mutation_rate": 1.0}})
    q.charge("debtor", False, 0.0)(5000)
    for number in range(3 * FEW):
        q.charge(f"c{number}", True, 100.0)(1)
    assert q.charge("debtor", True, 100.0) and pytest.raises(KafkaError, q.charge("debtor", True, 100.0), 1)
