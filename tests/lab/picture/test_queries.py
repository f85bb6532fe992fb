"""Spark queries, records under way and producers' acks on the picture."""
from __future__ import annotations

import re

from minikafka.lab.picture.draw import tasks
from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.draw.text import to_text
from minikafka.lab.picture.frame import ShownBatch, ShownFlow, ShownRecord, ShownTask
from tests.lab.picture.script import TP, Script


def planned(script: Script, number: int, end: int, watermark: int = 0) -> Script:
    return script.say("batch", client="prices", batch=number, ends={TP: end, "other-0": 7}, watermark=watermark)


def test_a_batch_begins_where_the_one_before_it_ended() -> None:
    """I-QUERY-1. Fails if a beginning is guessed, if a batch that reads nothing here is drawn, or if `done` is the plan."""
    script = Script(records=30)
    for number, end in enumerate((10, 20, 20, 30)):
        planned(script, number, end, watermark=3_600_000)
        if number < 3:
            script.say("batch_done", client="prices", batch=number)
    query, = script.frame().chosen.queries
    assert query.batches == (ShownBatch(0, None, 10, True), ShownBatch(1, 10, 20, True), ShownBatch(3, 20, 30, False))
    assert (query.planned, query.done) == (3, 2)
    text = to_text(script.frame())
    assert "Spark prices: batch 3 runs, 2 done; watermark 01:00:00; batch 0: up to 9, done" in text
    drawn = re.findall(r'data-part="batch"[^>]*', to_svg(script.frame()))
    assert len(drawn) == 3 and 'data-done="false"' in drawn[-1]


def test_a_task_for_each_partition_that_has_something_new() -> None:
    """Fails if a task is drawn for a partition that is silent, if an offset is read by two tasks of different batches, or if what
    a restart runs again looks done."""
    script = Script(records=30)
    for number, ends in enumerate(({TP: 5, "other-10": 2, "other-2": 0}, {TP: 5, "other-10": 4, "other-2": 1},
                                   {TP: 9, "other-10": 4, "other-2": 1})):
        script.say("batch", client="prices", batch=number, ends=ends, watermark=0)
        if number < 2:
            script.say("batch_done", client="prices", batch=number)
    query, = script.frame().chosen.queries
    assert query.tasks == (
        ShownTask(0, TP, None, 5, True), ShownTask(0, "other-10", None, 2, True),
        ShownTask(1, "other-2", 0, 1, True), ShownTask(1, "other-10", 2, 4, True), ShownTask(2, TP, 5, 9, False))
    svg, text = tasks.picture(script.frame(), ["prices"])
    assert text.splitlines()[0] == "Spark prices: batch 2 runs, 1 done"
    assert text.splitlines()[-1] == f"batch 2: a task reads {TP} 5-8, planned" and len(text.splitlines()) == 6
    assert svg.count("stroke-dasharray") == 1 and ">9-29</text>" in svg      # the log's end, not planned yet
    assert re.findall(r">(other-\d+)</text>", svg) == ["other-2", "other-10"]
    script.say("batch", client="elsewhere", batch=0, ends={"other-2": 1}, watermark=0)
    assert re.findall(r'data-part="query"[^>]*data-name="([^"]*)', to_svg(script.frame())) == ["prices"]  # those that read it
    assert tasks.picture(script.frame(), ["another"])[1] == "no watched query has planned a micro-batch yet"


def test_what_a_sink_was_given_and_what_it_has() -> None:
    """Fails if a row written again is lost or counted once, another partition's rows are shown, or a step back keeps them."""
    script = Script(records=30)
    planned(script, 0, 2).say("query", client="prices", running=True)
    script.say("written", client="prices", tp=TP, batch=0, rows=[[0, 1], [1, 1]])
    script.say("written", client="prices", tp="other-0", batch=0, rows=[[0, 5]])
    before = script.t
    script.say("written", client="prices", tp=TP, batch=0, rows=[[1, 2]]).say("query", client="prices", running=False)
    script.say("verdict", client="prices", counts={"lost": 0, "duplicate": 1})
    query, = script.frame().chosen.queries
    assert query.sink == (ShownRecord(0, 1, 1), ShownRecord(1, 2, 2)) and query.running is False
    assert query.verdict == (("lost", 0), ("duplicate", 1))
    earlier, = script.run.at(before - script.events[0]["t"], TP).chosen.queries
    assert earlier.sink == (ShownRecord(0, 1, 1), ShownRecord(1, 1, 1)) and earlier.running and earlier.verdict == ()


def test_only_the_last_batches_are_kept() -> None:
    """Fails if a query that runs for days fills the memory, or if the first one kept is given a false beginning."""
    script = Script(records=200)
    for number in range(100):
        planned(script, number, 2 * number + 2)
    query, = script.frame().chosen.queries
    assert [batch.number for batch in query.batches] == list(range(92, 100)) and query.batches[0].start is None


def test_what_a_follower_lacks_is_under_way() -> None:
    """Fails if the dots on the arrow are not the records that the leader has and the follower has not."""
    script = Script()
    script.append(1, 0, 5)
    script.append(2, 0, 3)
    script.append(3, 0, 5)
    flows = {(flow.source, flow.target): flow for flow in script.frame().flows}
    assert (flows[1, 2].under_way, flows[1, 3].under_way) == (2, 0)
    assert "from 1" in to_svg(script.frame()) and "2 under way" in to_text(script.frame())


def test_what_nobody_answered_is_under_way_to_the_leader() -> None:
    """Fails if a producer's open sends are not shown on their way, or if its acks are not told."""
    script = Script()
    for record in (1, 2, 3):
        script.say("sent", client="trips", topic="flights", partition=0, record=record, acks=-1)
    script.say("acked", client="trips", tp=TP, offset=0, record=1)
    frame = script.frame()
    assert ShownFlow(0, 1, "produce", 0.0, False, 2) in frame.flows
    assert frame.producers[0].acks == -1 and "acks=all" in to_text(frame) and "acks=all" in to_svg(frame)


def test_a_query_that_reads_something_else_only() -> None:
    """Fails if a plan without this partition stops the picture, or draws a bracket."""
    script = Script(records=5)
    script.say("batch", client="prices", batch=0, ends={"other-0": 7}, watermark=0)
    planned(script, 1, 5)
    query, = script.frame().chosen.queries
    assert query.batches == (ShownBatch(1, None, 5, False),)
