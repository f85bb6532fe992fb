"""A view without a browser: its thread, its stops, what it can be asked."""
from __future__ import annotations

import asyncio
import re
import threading
from asyncio import events
from collections import Counter
from dataclasses import replace

import pytest

from minikafka import Cluster
from minikafka.lab import background
from minikafka.lab.demos.restart import RECORDINGS
from minikafka.lab.picture.draw.group import to_text
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.record import ROOT
from minikafka.lab.view import View, living, painter, registry, show
from minikafka.lab.view import view as view_module
from minikafka.lab.view.orders import ORDERS
from minikafka.lab.view.view import _controllers
from tests.lab.picture.frames import calm, election
from tests.lab.view.conftest import disaster, until


def until_shown(view: View, condition):
    """Wait as a page does, which answers frames: a painter without an answer gives up."""
    return until(lambda: view._from_page({"do": "ack"}) or condition())


def threads() -> list[str]:
    """The names of the jobs of views that go on, with a thread or without."""
    jobs = threading.enumerate() if background.LOOP is None else list(background.planned)
    return [job.name for job in jobs if job.name.startswith("view-")]


def page(view: View) -> View:
    """A view as it is in a page: with its widget, which has no page at its other end."""
    view._make_widget()
    registry.enter(view)
    view._from_page({"do": "hello"})
    return view


def test_outside_a_notebook_a_view_only_answers(sim):
    """Fails if `cluster.view()` in a script prints, starts a thread, or does not work."""
    view = sim.view()
    disaster(sim)
    assert threads() == [] and living() == []
    first, now = view.at(3.0), view.frame
    assert now.chosen.isr is not None and len(now.chosen.isr) == 3 and first.t == 3.0
    assert 'data-part="crown"' in view.svg() and view.snapshot().text
    assert view.snapshot()._repr_mimebundle_().keys() == {"text/html", "text/plain"}


def test_frames_come_as_virtual_time_goes_on_and_any_moment_can_be_seen_again(sim):
    """Fails if the painter does not follow a simulated run, or if going back shows another leader than there was."""
    view = page(sim.view())
    disaster(sim)
    end = view.run.end
    until_shown(view, lambda: view._widget.state.get("end", 0) >= end)
    crowns = [(m[0], m[3]) for m in view._widget.marks if m[1] == "election"]
    dies = next(m[0] for m in view._widget.marks if m[1] == "fault")
    before, after = view.at(dies - 0.01).chosen.leader, view.at().chosen.leader
    assert before != after and crowns
    view._from_page({"do": "go", "t": dies - 0.01, "n": 1})
    until_shown(view, lambda: view._widget.state.get("granted") == 1)
    assert view._widget.state.get("mode") == "still"
    assert f'data-part="crown" data-broker="{before}"' in view._widget.svg
    assert f'data-part="crown" data-broker="{after}"' not in view._widget.svg.split('data-part="partition"')[1]


def test_one_cluster_has_one_thread(sim):
    """I-REGISTRY-1: fails if a second view of the same cluster leaves the thread of the first."""
    first, second = page(sim.view()), page(sim.view())
    until(lambda: second._painter.running)
    assert living() == [second] and not first._painter.running
    assert threads().count("view-painter") == 1


def test_the_same_cell_has_one_thread_whatever_its_cluster(recorded):
    """I-REGISTRY-1: fails if Run All twice, with a new cluster each time, leaves two threads, or if one cell cannot show two
    runs.
    """
    views = []
    for execution in (1, 1, 2):
        view = View(RecordedRun.open(recorded))
        view.cell, view.execution = "the-cell", execution
        views.append(page(view))
        assert living() == (views if execution == 1 else [view])
    assert not views[0]._painter.running and not views[1]._painter.running


def test_a_closed_cluster_ends_the_thread_and_the_run_can_still_be_scrubbed(sim, monkeypatch):
    """Fails if a thread outlives its cluster, or if the slider is dead after it."""
    monkeypatch.setattr(painter, "LINGER", 0.1)
    view = page(sim.view())
    disaster(sim)
    sim.close()
    until(lambda: threads() == ["view-rest"])
    assert view._widget.state.get("open") is False and living() == [view]
    view._from_page({"do": "go", "t": 2.0, "n": 7})
    until(lambda: view._widget.state.get("granted") == 7)
    assert view._widget.state.get("t") == 2.0


def test_a_view_that_nobody_touches_after_the_end_becomes_a_still_picture(sim, monkeypatch):
    """Fails if a notebook left open after its cluster's end is saved with a widget in it."""
    monkeypatch.setattr(view_module, "REST", 0.2)
    view = page(sim.view())
    sim.close()
    until(lambda: view._widget is None)
    until(lambda: threads() == [])
    assert living() == []


def test_a_page_that_no_longer_answers_gets_no_frames_until_it_does(sim, monkeypatch):
    """Fails if a thread goes on drawing for a closed tab, or if a page that comes back stays dark."""
    monkeypatch.setattr(painter, "PAGE_GONE", 0.3)
    view = page(sim.view())
    until(lambda: view._painter.running)
    until(lambda: not view._painter.running)
    assert not view.run.live or living() == [view]
    monkeypatch.setattr(painter, "PAGE_GONE", 30.0)
    view._from_page({"do": "hello"})
    until(lambda: view._painter.running)


def test_a_stopped_view_has_no_thread_and_no_widget(sim):
    """I-VIEW-1: fails if `stop` leaves something that runs; and a second `stop` is none."""
    view = page(sim.view())
    until(lambda: view._painter.running)
    view.stop()
    view.stop()
    assert threads() == [] and view._widget is None and living() == []
    assert view.at().brokers  # what happened can still be asked


def test_an_error_in_drawing_is_shown_and_the_thread_goes_on(sim):
    """I-PAINTER-3: fails if one bad frame ends the picture."""
    view = page(sim.view())
    until(lambda: view._widget.svg)
    right, view._film.svg = view._film.svg, lambda *_: 1 / 0
    view._from_page({"do": "look"})
    until(lambda: "ZeroDivisionError" in view._widget.said.get("text", ""))
    view._film.svg = right
    view._from_page({"do": "go", "t": 0.5, "n": 3})
    until(lambda: view._widget.state.get("granted") == 3)
    assert view._painter.running


def test_an_order_of_the_page_reaches_the_cluster(sim):
    """I-VIEW-3: fails if Kill in the control bar kills nobody, or the page is not told."""
    view = page(sim.view())
    view._from_page({"do": "order", "name": "kill", "args": [2]})
    until(lambda: sim.alive == [1, 3])
    until(lambda: dict(view._widget.state.get("brokers", [])).get(2) == "killed")
    until(lambda: view._widget.said.get("text") == "kill broker 2: done")
    view._from_page({"do": "order", "name": "kill", "args": ["seven"]})
    until(lambda: view._widget.said.get("level") == "bad")


def test_a_recorded_run_opens_without_a_cluster(sim, tmp_path):
    """Fails if a saved run has another picture than the view that saved it, or if it offers orders."""
    disaster(sim)
    view = sim.view()
    sim.close()
    again = show(RecordedRun.open(view.save(tmp_path / "run.mk")))
    assert again.at(5.0).chosen == view.at(5.0).chosen and again.at(5.0).ledger == view.at(5.0).ledger
    assert page(again)._widget.fixed["engine"] is None


def test_the_picture_stays_alive_beside_a_restart(sim, monkeypatch):
    """Fails if an order under way stops the frames."""
    view, seen = page(sim.view()), []
    until(lambda: view._widget.svg)

    def slow(cluster: Cluster) -> None:
        cluster.wait(lambda: view._widget.state.get("granted") == 9, timeout=1e6)
        seen.append(view._widget.state["busy"])

    monkeypatch.setitem(ORDERS, "mend", slow)
    view._from_page({"do": "order", "name": "mend", "args": []})
    view._from_page({"do": "go", "t": 0.2, "n": 9})
    until(lambda: seen == [[["mend"]]] and not view._orders.busy)


def test_the_picture_and_its_orders_go_on_while_a_cell_drives_the_world(sim):
    """Fails if a cell that lets time pass stops the frames, or if Kill and Restart wait for its end."""
    view = page(sim.view())
    for order, process in (("kill", "killed"), ("restart", "running")):
        sim.at(sim.now() + 1, lambda order=order: view._from_page({"do": "order", "name": order, "args": [2]}))
        sim.wait(lambda order=order: view._widget.said.get("text") == f"{order} broker 2: done", timeout=1e6)
        sim.wait(lambda process=process: dict(view._widget.state["brokers"])[2] == process, timeout=1e6)
        assert sim.wait(lambda end=view.run.end: view._widget.state["end"] > end, timeout=1e6)


@pytest.mark.parametrize("beside", ["turns"], indirect=True)
def test_what_a_page_sends_while_a_cell_drives_the_world_is_done_before_the_cell_goes_on(sim):
    """I-BESIDE-3: fails if Restart waits for the end of the cell, or drives the world while the cell's own step is open."""
    loop = background.LOOP

    def give_a_turn() -> None:
        steps = sim.world.loop.timeline.steps
        events._set_running_loop(None)
        loop.run_until_complete(asyncio.sleep(0.002))
        assert sim.world.loop.timeline.steps == steps

    background.without_threads(loop, give_a_turn)
    view, before = page(sim.view()), sim.pid(2)
    loop.call_later(0.1, view._from_page, {"do": "order", "name": "restart", "args": [2]})
    sim.wait(lambda: view._widget.said.get("text") == "restart broker 2: done", timeout=1e5)
    assert sim.pid(2) != before


@pytest.mark.parametrize("size", ["page", "projector"])
@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_themes_and_sizes_reach_the_picture_and_the_page(recorded, theme, size):
    """Fails if an option of `view()` is lost on its way."""
    view = page(View(RecordedRun.open(recorded), theme=theme, size=size))
    assert view._widget.fixed["theme"] == theme and view._widget.fixed["size"] == size
    assert view.svg(1.0) != View(RecordedRun.open(recorded), theme="light", size="page").svg(1.0) or (
        theme, size) == ("light", "page")


def test_controllers_that_are_no_brokers_reach_the_control_bar():
    """Fails if a controller of its own has no buttons, or if a broker that votes has them twice."""
    assert _controllers(election()) == [[101, "killed"], [102, "running"], [103, "running"]]
    assert _controllers(calm()) == []


def test_live_brokers_in_a_view():
    """Fails if a live cluster's trace does not reach the picture, or a killed broker blanks it (I-VIEW-2)."""
    with Cluster(brokers=1, preset="class") as cluster:
        view = page(cluster.view())
        until(lambda: dict(view._widget.state.get("brokers", [])).get(1) == "running")
        view._from_page({"do": "order", "name": "kill", "args": [1]})
        until(lambda: dict(view._widget.state.get("brokers", []))[1] == "killed")
        assert view.svg().startswith("<svg")
        view._from_page({"do": "order", "name": "restart", "args": [1]})
        until(lambda: dict(view._widget.state.get("brokers", []))[1] == "running", 60)
    until(lambda: not view._widget.state.get("open"))


def test_the_page_finds_the_time_line_in_the_picture(recorded):
    """Fails if the picture's time line no longer has the form by which view.js lays the slider on it."""
    svg = View(RecordedRun.open(recorded)).svg(2.0)
    assert re.search(r'data-part="timeline"[^>]*><path d="M[\d.]+ ([\d.]+)L[\d.]+ \1" class="thick"', svg)


def test_charts_are_of_the_same_run(recorded):
    """Fails if the charts of a view show nothing, or another run's time."""
    view = View(RecordedRun.open(recorded), tp="flights-0")
    times = [t for trace in view.charts().data for t in trace.x if t is not None]
    assert times and 0 <= min(times) and max(times) <= view.run.end + 1


def test_groups_are_those_of_the_moment_at_which_the_viewer_stands():
    """Fails if the groups of a view are another moment's, or another group's than the one that was asked for."""
    view = View(RecordedRun.open(ROOT / "labs" / "pictures" / "readme.mk"))
    told = []
    for moment in (1.0, view.run.end):
        view._painter.cursor = replace(view._painter.cursor, t=moment)
        told.append(view.groups("billing").text)
        assert told[-1] == to_text(view.run.at(moment)) and told[-1].startswith("group billing: ")
    assert told[0] != told[1] and view.groups("nobody").text == "no group has joined or committed yet"


def test_the_tasks_of_spark_are_those_of_the_moment():
    """Fails if what a killed Spark has planned is drawn as done, or if another moment's tasks are drawn."""
    view = View(RecordedRun.open(RECORDINGS / "d12-append.mk"), tp="trips-append-0")
    planned = next(event["t"] for event in view.run.events if event["k"] == "batch" and event["batch"] == 1)
    view._painter.cursor = replace(view._painter.cursor, t=planned - view.run.events[0]["t"] + 0.01)
    assert view.spark().text.splitlines()[0].endswith("batch 1 runs, 0 done")
    assert view.spark().text.splitlines()[-1] == "batch 1: a task reads trips-append-0 2-4, planned"
    view._painter.cursor = replace(view._painter.cursor, t=None)
    assert [line.rpartition(", ")[2] for line in view.spark().text.splitlines()[1:]] == ["done"] * 3


def test_the_picture_is_drawn_for_the_width_of_its_place(sim):
    """Fails if a narrow cell gets the picture of a wide one, scaled down, or if the narrowest of two places is not thought of."""
    view = page(sim.view("flights-0"))
    wide = lambda: "".join(re.findall(r'viewBox="0 0 (\d+)', view._widget.svg))  # noqa: E731
    for place, on, pixels, drawn in (("a", True, 900, "900"), ("b", True, 700, "700"), ("b", None, None, "900"),
                                     ("a", True, 1900, "1280"), ("a", False, 300, "640")):
        view._from_page({"do": "visible", "view": place, "on": on, "wide": pixels})
        until(lambda drawn=drawn: wide() == drawn)
    assert 'viewBox="0 0 1280 ' in view.svg(), "a picture that is not in the page is as wide as it is meant to be"


def test_a_picture_shown_twice_is_drawn_for_the_one_that_is_seen(sim):
    """Fails if scrolling one of two views of a picture out of sight slows the other down."""
    view = page(sim.view())
    for name, on, seen in (("a", True, True), ("b", True, True), ("a", False, True), ("b", None, False), ("a", True, True)):
        view._from_page({"do": "visible", "view": name, "on": on})
        assert view._painter.seen is seen


def test_no_name_is_declared_twice_in_the_page_s_module():
    """Fails if two of the files that make one module declare the same name: then no picture is shown anywhere."""
    files = [ROOT / "minikafka/lab/view" / name for name in ("motion.js", "dock.js", "view.js")]
    lines = [line for file in files for line in file.read_text().splitlines()]
    declared = [name for line in lines if re.match("const |let |function |class ", line)
                for name in re.findall(r"(?:^(?:const|let|function|class)|,) ([A-Za-z_]+)(?= = |\()", line)]
    assert len(declared) > 40
    assert [name for name, times in Counter(declared).items() if times > 1] == []
