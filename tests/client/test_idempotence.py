"""The numbers of an idempotent producer, as a small machine: what may be sent, what may be tried again, when the epoch
rises."""

from __future__ import annotations

import pytest

from minikafka.client.producer.batches import ProducerBatch
from minikafka.client.producer.idempotence import MAX_EPOCH, Idempotence
from minikafka.log.producers import ProducerIdAndEpoch
from minikafka.protocol.errors import Err

TP = ("t", 0)


class Entries(list):
    """A number of records; only the number matters."""

    def __init__(self, count: int) -> None:
        super().__init__([None] * count)


def sent(numbers: Idempotence, count: int = 1) -> ProducerBatch:
    batch = ProducerBatch(TP, 0.0, Entries(count))
    assert numbers.may_send(batch)
    numbers.sending(batch)
    return batch


@pytest.fixture
def numbers() -> Idempotence:
    numbers = Idempotence()
    numbers.begin(ProducerIdAndEpoch(7, 0))
    return numbers


def told(batch: ProducerBatch) -> tuple[int, int]:
    assert batch.identity is not None
    return batch.identity.epoch, batch.sequence


def test_sequences_count_records(numbers: Idempotence) -> None:
    """Fails if a batch of several records takes one number only: the next would be refused (I-IDEMPOTENCE-1)."""
    assert [told(sent(numbers, count)) for count in (3, 1, 2)] == [(0, 0), (0, 3), (0, 4)]


def test_nothing_is_sent_before_there_is_an_id() -> None:
    """Fails if a batch could go without an identity, which it cannot be given later."""
    assert not Idempotence().may_send(ProducerBatch(TP, 0.0, Entries(1)))


def test_of_those_tried_again_the_oldest_goes_first_and_alone(numbers: Idempotence) -> None:
    """Fails if a younger batch may overtake one that waits for another try (I-IDEMPOTENCE-2)."""
    first, second = sent(numbers), sent(numbers)
    assert numbers.may_send(first) and not numbers.may_send(second)
    numbers.acknowledged(first, first.identity)
    assert numbers.may_send(second)


def test_out_of_order_behind_a_failed_one_is_tried_again_with_its_number(numbers: Idempotence) -> None:
    """Fails if the second of two is renumbered because the first, refused for a while, is missing before it."""
    first, second = sent(numbers), sent(numbers)
    assert numbers.may_retry(Err.NOT_ENOUGH_REPLICAS, first, -1)
    assert numbers.may_retry(Err.OUT_OF_ORDER_SEQUENCE_NUMBER, second, -1)
    numbers.raise_epoch()
    assert (told(first), told(second)) == ((0, 0), (0, 1))


def test_a_gap_where_none_should_be_raises_the_epoch(numbers: Idempotence) -> None:
    """Fails if a producer whose acknowledged records the leader has lost goes on with its numbers for ever in vain."""
    numbers.acknowledged(first := sent(numbers), first.identity)
    second, third = sent(numbers), sent(numbers)
    assert numbers.may_retry(Err.OUT_OF_ORDER_SEQUENCE_NUMBER, second, -1)
    numbers.raise_epoch()
    assert (told(second), told(third)) == ((1, 0), (1, 1))


def test_given_up_with_an_open_outcome_its_numbers_are_not_used_again(numbers: Idempotence) -> None:
    """Fails if the next batch gets the numbers of one that may still arrive: it would pass for a duplicate and be lost."""
    lost = sent(numbers)
    numbers.given_up(lost, refused=False)
    waiting = ProducerBatch(TP, 0.0, Entries(1))
    assert not numbers.may_send(waiting)
    assert numbers.resolve()
    numbers.raise_epoch()
    assert numbers.may_send(waiting)
    numbers.sending(waiting)
    assert told(waiting) == (1, 0)


def test_a_later_acknowledgement_proves_that_the_lost_one_is_there(numbers: Idempotence) -> None:
    """Fails if the epoch rises though a younger batch was appended behind the one given up."""
    lost, younger = sent(numbers), sent(numbers)
    numbers.given_up(lost, refused=False)
    numbers.acknowledged(younger, younger.identity)
    assert not numbers.resolve()
    numbers.raise_epoch()
    assert told(sent(numbers)) == (0, 2)


def test_acknowledged_under_its_old_number_the_rest_begins_at_0_after_all(numbers: Idempotence) -> None:
    """Fails if a batch that was renumbered while under way, and taken under its old number, leaves a hole at 0."""
    first, second = sent(numbers), sent(numbers)
    under = first.identity
    numbers.to_renumber[TP] = None
    numbers.raise_epoch()
    numbers.acknowledged(first, under)
    numbers.raise_epoch()
    assert told(second) == (2, 0)


def test_an_exhausted_epoch_asks_for_a_new_id(numbers: Idempotence) -> None:
    """Fails if the epoch overflows its 16 bits."""
    numbers.begin(ProducerIdAndEpoch(7, MAX_EPOCH))
    numbers.given_up(sent(numbers), refused=True)
    numbers.raise_epoch()
    assert numbers.identity is None


def test_what_may_have_arrived_is_not_written_again_under_a_new_epoch(numbers: Idempotence) -> None:
    """Fails if a batch whose answer was lost is renumbered when a restarted leader, which remembers the last batch only,
    misses something before it: it may well have the batch, which would then be there twice."""
    numbers.acknowledged(first := sent(numbers), first.identity)
    second = sent(numbers)
    second.unsure = True
    assert not numbers.may_retry(Err.OUT_OF_ORDER_SEQUENCE_NUMBER, second, -1)
    numbers.given_up(second, refused=False)
    assert numbers.resolve()
    numbers.raise_epoch()
    assert told(sent(numbers)) == (1, 0)
