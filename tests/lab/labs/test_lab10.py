"""Lab 10: the stories of its third exercise, and the clients that die. Strict cells compare the figures."""
from __future__ import annotations

import inspect
import tempfile

import kafka
import pytest

from minikafka.broker.server.live import LiveFs
from minikafka.lab.labs.lab10 import checks, clients, exactly
from minikafka.log.producers import ProducerStates


def test_the_stories_of_exercise_3_hold_every_answer():
    """Fails if the oracle never says one of the four answers: then a wrong solution could pass."""
    said = {answer for story in checks.stories() for answer in verdicts(story)}
    assert said == {"append", "duplicate", "out of order", "fenced"}


def verdicts(story):
    with tempfile.TemporaryDirectory() as folder:
        states, end = ProducerStates(LiveFs(), folder, "orders-0"), 0
        for batch in story:
            verdict, _ = checks.judge(states, end, batch)
            end += batch.count if verdict == "append" else 0
            yield verdict


@pytest.mark.parametrize("twin, real", [(clients.SimulatedProducer, kafka.KafkaProducer),
                                        (clients.SimulatedConsumer, kafka.KafkaConsumer)])
def test_the_simulated_clients_have_kafka_pythons_names(twin, real):
    """Fails if a method or an argument of a simulated client has another name than kafka-python's, so that a student's function
    would run in one world only. `kill` is ours: kafka-python has none."""
    for name, method in inspect.getmembers(twin, inspect.isfunction):
        if not name.startswith("_") and name != "kill":
            theirs = inspect.signature(getattr(real, name)).parameters
            ours = inspect.signature(method).parameters
            several = any(each.kind is each.VAR_KEYWORD for each in theirs.values())
            assert set(ours) <= set(theirs) or several, (name, sorted(set(ours) - set(theirs)))


def test_a_process_that_died_sends_nothing_more():
    """Fails if a client's close, or a call after the death, ended the transaction that was open."""
    with exactly.ExactlyOnceCluster() as room:
        process = clients.simulated(room.cluster, "commit_transaction")
        producer = process.KafkaProducer(transactional_id="shop")
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("orders", b"an order").get(timeout=10)
        for call in (producer.commit_transaction, producer.abort_transaction, producer.close):
            with pytest.raises(clients.ProcessDied):
                call()
        process.close()
        room.cluster.sleep(5)
        assert room.lines() == ["offset 0  an order"] and room.marks()["last stable"] == 0


def test_the_size_of_a_transaction_is_a_choice_between_three_promises():
    """Fails if a run keeps a promise that its settings must break: then a wrong decision would pass (10.9)."""
    quick, slow = exactly.printed(12, exactly.ALL_OF_IT), exactly.printed(60, exactly.COMMITTED)
    assert quick.twice == 12 and quick.late < checks.LATE and slow.twice == 0 and slow.late > checks.LATE
