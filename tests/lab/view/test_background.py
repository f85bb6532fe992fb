"""Jobs beside the cells (lab/background.py), in threads and in turns of an event loop."""
from __future__ import annotations

import asyncio
import time
from asyncio import events
from types import SimpleNamespace

import pytest
from greenlet import getcurrent, greenlet

from minikafka import Cluster
from minikafka.lab import background
from minikafka.lab.background import Background, within
from minikafka.sim.guest.threads import Threads
from minikafka.sim.world.loop import ProcessLoop, Timeline
from tests.lab.view.conftest import until


@pytest.mark.usefixtures("beside")
def test_a_job_takes_steps_until_it_has_nothing_to_do_and_begins_again_when_it_is_woken():
    """Fails if a step is left out, or if a job that has ended cannot begin again."""
    taken, pauses = [], [0.0, 0.01, None, 0.0, None]
    job = Background("job", lambda: taken.append(1) or pauses[len(taken) - 1])
    job.wake()
    until(lambda: not job.running)
    assert len(taken) == 3
    job.wake()
    until(lambda: not job.running)
    assert len(taken) == 5


@pytest.mark.usefixtures("beside")
def test_a_job_that_is_woken_during_a_step_takes_one_more():
    """I-BESIDE-2: fails if the pause that a step returns counts for more than a call of `wake` during that step."""
    taken = []

    def step() -> float | None:
        taken.append(1)
        if len(taken) == 3:
            return None
        job.wake()
        return 600.0

    job = Background("job", step)
    job.wake()
    until(lambda: not job.running)
    assert len(taken) == 3


@pytest.mark.usefixtures("beside")
def test_a_job_can_be_put_off_and_a_stopped_one_takes_no_step():
    """Fails if a touch of the picture does not postpone its rest, or if something goes on after `stop`."""
    taken: list[float] = []
    job = Background("job", lambda: taken.append(time.monotonic()))
    began = time.monotonic()
    for _ in range(3):
        job.wake(0.05)
    job.wake(0.1)
    until(lambda: taken)
    assert taken[0] >= began + 0.099
    job.wake(0.02)
    job.stop()
    job.wake()
    assert not job.running
    rest = Background("rest", lambda: rest.stop())
    rest.wake()
    until(lambda: not rest.running)
    assert len(taken) == 1


def test_two_steps_of_a_job_never_overlap(sim: Cluster):
    """I-BESIDE-1: fails if a step that drives a world is taken a second time in between."""
    under_way, most = [], []

    def step() -> None:
        under_way.append(1)
        most.append(len(under_way))
        if len(most) < 4:
            job.wake()
        with sim.turn:
            sim.sleep(10)
        under_way.pop()

    job = Background("job", step)
    job.wake()
    until(lambda: not job.running)
    assert most == [1] * 4


@pytest.mark.parametrize("beside", ["turns"], indirect=True)
def test_no_cell_begins_during_a_step(beside):
    """I-BESIDE-4: fails if a cell begins while a step that drives a world has been put aside: both would go on as one."""
    said = []

    def step() -> None:
        said.append("the step begins")
        getcurrent().parent.switch()
        said.append("the step ends")

    aside = greenlet(Background("job", step)._take)
    background.without_threads(background.LOOP, aside.switch)
    aside.switch()
    background.cell_begins()
    said.append("the cell begins")
    background.cell_ends()
    assert said == ["the step begins", "the step ends", "the cell begins"]


@pytest.mark.parametrize("beside", ["turns"], indirect=True)
def test_no_step_is_taken_in_the_place_of_a_guests_thread(beside):
    """I-BESIDE-3: fails if a turn of the loop takes one while a thread of a world is about to go on: a button would drive the
    world from inside a member, which ends by that, and the page would stand still for good."""
    taken, before = [], []

    def live() -> None:
        events._set_running_loop(None)
        background.LOOP.run_until_complete(asyncio.sleep(0.01))  # as the page's does until a thread has begun
        before.append(list(taken))

    Background("job", lambda: taken.append(1)).wake()
    threads = Threads()
    threads.loop = ProcessLoop(Timeline(1), "guest")
    threads.start(SimpleNamespace(live=live))
    threads.loop.timeline.run_until(lambda: before)
    assert before == [[]]
    until(lambda: taken)


@pytest.mark.parametrize("beside", ["turns"], indirect=True)
def test_what_comes_in_a_turn_that_a_cell_gives_is_done_right_after_it(beside):
    """I-BESIDE-5: fails if a button's order waits for the look after the next one."""
    taken = []
    job = Background("job", lambda: taken.append(background._cell_is_aside))
    background.without_threads(background.LOOP, job.wake)
    until(lambda: time.monotonic() > background._last_turn + background.TURN)
    for _ in range(background.PULSE):
        background.pulse()
    assert taken == [False]


@pytest.mark.parametrize(("owner", "name", "value"), [(background, "_cell_is_aside", True), (Threads, "running", 1)])
@pytest.mark.parametrize("beside", ["turns"], indirect=True)
def test_what_may_not_be_done_in_a_turn_is_not_asked_for_over_and_over(beside, monkeypatch, owner, name, value):
    """I-BESIDE-3, I-BESIDE-5: fails if a step is taken while a cell or a guest is aside, or if a job asks over and over."""
    taken, asked, turn, loop = list[int](), list[int](), Background._turn, background.LOOP
    monkeypatch.setattr(owner, name, value)
    monkeypatch.setattr(Background, "_turn", lambda self, loop: (asked.append(1), turn(self, loop)))
    began = loop.time()
    Background("job", lambda: taken.append(1)).wake()
    loop.run_until_complete(asyncio.sleep(2 * background.TURN))
    assert taken == [] and 1 <= len(asked) <= 2 + (loop.time() - began) / background.TURN
    monkeypatch.setattr(owner, name, type(value)())
    until(lambda: taken)


@pytest.mark.usefixtures("beside")
def test_an_end_that_takes_long_is_waited_for_no_longer_than_that():
    """Fails if a client that cannot say farewell holds up the next run of its cell, or if a short farewell is not waited for."""
    done: list[int] = []
    within(10.0, "end", lambda: done.append(1))
    assert done == [1]
