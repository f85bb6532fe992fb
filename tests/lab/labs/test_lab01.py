"""Lab 1: its traces, its facts, its drawings, and that the push broker loses nothing. Strict cells compare the figures."""
from __future__ import annotations

import random
import re
from functools import cache

import pytest

from minikafka.lab.exercise import find, judge
from minikafka.lab.labs.lab01 import experiment as lab01
from minikafka.lab.labs.lab01 import traces as lab01_traces
from minikafka.lab.labs.lab01.checks import _fault
from minikafka.lab.labs.lab01.drawing import curves, side_by_side
from minikafka.lab.labs.lab01.live import Service, call_all
from minikafka.lab.labs.lab01.push import Publisher, PushBroker, QueueWorker
from minikafka.lab.labs.stage import simulated


@cache
def flooded() -> lab01.Flood:
    return lab01.flood(prefetch=10, looks=(10, 13, 20), dies_at=12.05, to_the_end=True)


def test_the_drawn_traces_are_of_all_kinds():
    """Fails if a wrong answer to exercise 1.8 could pass because a kind of trace never comes."""
    kinds = [(bool(c["missing"]), bool(c["copies too many"])) for c in map(lab01_traces.counts, lab01_traces.random_traces())]
    assert {kinds.count(kind) for kind in set(kinds)} == {5} and len(set(kinds)) == 4


@pytest.mark.parametrize("name, right", [("RideCancelled", True), ("RideCanceled", True), ("RideCancel", False),
                                         ("Ridecancelled", True), ("CancelledRide", False), ("RideCancelRequested", False),
                                         ("ride_cancelled", True), ("RideStarted", False), ("RideNotCancelled", False)])
def test_what_is_a_fact(name, right):
    """Fails if exercise 1.4 refuses a spelling of a fact, or takes a wish for one."""
    assert (_fault("cancelRide", name) is None) == right


@pytest.mark.parametrize("seed", range(4))
def test_the_push_broker_keeps_its_promises(seed):
    """I-PUSH-1, I-PUSH-2: workers come, die and come again. Fails if a confirmed message is in no place or in two, if a
    worker holds more than its prefetch, or if a message is never worked on.
    """
    rng = random.Random(seed)
    with simulated(seed) as cluster:
        broker = cluster.run(PushBroker(cluster.world).serve())
        publisher = cluster.run(Publisher(cluster.world).connect())
        queue, workers, published = broker.queue("jobs"), [], 0
        for step in range(40):
            if not workers or rng.random() < 0.2:
                name, prefetch = f"worker-{step}", rng.choice([1, 3, 10])
                workers.append(cluster.run(QueueWorker(cluster.world, name, "jobs", takes=0.01, prefetch=prefetch).start()))
            elif rng.random() < 0.3:
                rng.choice(workers).kill()
                workers = [worker for worker in workers if worker.alive]
            for _ in range(rng.randrange(6)):
                cluster.run(publisher.publish("jobs", str(published)))
                published += 1
            cluster.sleep(rng.random() * 0.05)
            bodies = [body for body, _ in queue.ready] + [b for c in queue.consumers for b in c.in_flight.values()]
            assert len(bodies) == len(set(bodies)) and len(bodies) + queue.acknowledged == published
            assert all(len(c.in_flight) <= c.prefetch for c in queue.consumers)
        last = cluster.run(QueueWorker(cluster.world, "last", "jobs", takes=0.001).start())
        cluster.wait(lambda: queue.acknowledged == published, 60)
        last.kill()


def test_the_drawing_has_every_number():
    """Fails if a number of a moment is not written, if letters are small, or if colours come from a page."""
    drawing = side_by_side(flooded(), 13, 20)
    for moment in (flooded().moments[13], flooded().moments[20]):
        for number in (moment.ready, moment.in_flight, moment.acknowledged, moment.committed, moment.lag, moment.queued):
            assert re.search(rf"\b{number}\b", drawing.svg), number
            assert re.search(rf"\b{number}\b", drawing.text) or number == moment.queued
    assert min(map(float, re.findall(r'font-size="([\d.]+)"', drawing.svg))) >= 14
    assert "var(" not in drawing.svg and drawing.svg.count("consumer: dead") == 2


def test_the_curves_are_the_run():
    """Section 6: queue and lag fill and drain, the log stays. Fails if a line shows other numbers, or is left out."""
    chart = curves(flooded())
    assert repr(chart) == "queue: messages kept at most 901, at last 0; topic: records kept at most 1000, at last 1000; " \
        "topic: lag of the reader at most 904, at last 0"
    assert [list(line.y)[-1] for line in chart.data] == [0, 1000, 0]


def test_without_a_prefetch_nobody_can_help():
    """Section 3: fails if a helper gets what lies in the other worker's hands, or if a prefetch does not share what is left."""
    hoarded, shared = lab01.sale(0, ..., 5, orders=60, rate=30.0, helper_at=2.0)
    assert (hoarded.helped, round(hoarded.seconds)) == (0, 6) and 15 <= shared.helped <= 25 and shared.seconds < 4.5
    with pytest.raises(ValueError, match="a prefetch is a number of messages, such as 10, or 0 for no limit; you gave 'ten'"):
        lab01.sale("ten")


@pytest.mark.parametrize("name, value", [("got", 7), ("flood", {}), ("waits", {"queue": [1.0]})])
def test_a_name_that_was_reused_is_told_with_its_cell(name, value):
    """Section 7: fails if the table of a student who has used `got` for something else ends in Python's own error."""
    names = {"got": {"queue": {}, "topic": {}}, "flood": flooded(), "waits": {"queue": [], "topic": []}} | {name: value}
    with pytest.raises(ValueError, match=rf"`{name}` is no longer what `lab01\.\w+` returned.*Run the cell with `{name} = "):
        lab01.own_table(**names)


def test_the_loop_of_the_lab_is_a_right_answer():
    """Exercise 1.5: fails if the loop that reads until the student's own passes leaves records out or does not commit."""
    assert judge(find("1.5"), "1.5", lab01.pulled)


def test_services_on_sockets():
    """Section 9: fails if a service that hangs is not waited for, or if one that works is."""
    services = {name: Service(takes=0.01) for name in ("billing", "stock", "mail")}
    try:
        call_all(services, order=0)
        services["stock"].hang()
        assert call_all(services, order=1, timeout=0.3) >= 0.3
        assert {name: service.done for name, service in services.items()} == {"billing": [0, 1], "stock": [0], "mail": [0, 1]}
    finally:
        for service in services.values():
            service.close()
