"""The demos: every one shows what it must, and would be caught if it did not; the page for the projector."""
from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import chain, product
from xml.etree import ElementTree

import pytest

from minikafka.lab.demos import MustSee, Scene, d12, demo, names
from minikafka.lab.demos.board import BOXES, draw, to_svg
from minikafka.lab.demos.command import main
from minikafka.lab.demos.d1 import must_see, story
from minikafka.lab.demos.page import Theatre, server
from minikafka.lab.demos.restart import sealed
from minikafka.lab.demos.runner import check, record
from minikafka.lab.picture.facts.run import RecordedRun
from tests.lab.picture.test_svg import parts
from tools.notebooks.build import ROOT

recorded = cache(record)


@pytest.mark.parametrize("name", names())
def test_a_demo_shows_what_the_class_must_see(name):
    """Fails if a line of the "must see" column no longer holds, on the simulator and with no screen."""
    said: list[str] = []
    assert check(demo(name), said.append, recorded), "\n".join(said)
    assert "reset to the snapshot in" in said[-1]


def quiet(stage):
    cluster = stage.cluster()
    stage.moment("ask", "nothing happens")
    cluster.sleep(1)


@pytest.mark.parametrize("scene, complaint", [
    (Scene("says nothing", quiet, lambda run, facts: []), "says nothing that must be seen"),
    (Scene("false", quiet, lambda run, facts: [MustSee(True, "so far so good"), MustSee(False, "two crowns")]), "two crowns"),
    (Scene("raises", lambda stage: 1 / 0, lambda run, facts: [MustSee(True, "never")]), "ZeroDivisionError"),
    (Scene("unnamed", lambda stage: stage.cluster().sleep(1), lambda run, facts: [MustSee(True, "never")]), "no moment"),
])
def test_a_check_can_fail(scene, complaint):
    """I-STAGE-5: fails if a false line, a broken story or an empty column passes."""
    said: list[str] = []
    assert not check(replace(demo("D1"), scenes=(scene,)), said.append)
    assert any("NO" in line and complaint in line for line in said)


def test_d1_sees_the_time_that_nobody_leads():
    """Fails if D1's figures are not those of the run: with twice the session timeout the silence is twice as long."""
    usual, longer = (record(Scene("", partial(story, session_ms=ms), must_see)) for ms in (3000, 6000))
    assert all(line.held for line in usual.check())
    silence = next(line for line in longer.check() if "no acknowledgement" in line.text)
    assert not silence.held and longer.facts.silence("positions-0")[1] > usual.facts.silence("positions-0")[1] + 2


@pytest.mark.parametrize("spoil, complaint", [
    (lambda event: event["k"] != "batch_done" or event["batch"] != 2, "each plan has its commit"),
    (lambda event: event["k"] != "query" or event["running"], "Spark is dead"),
    (lambda event: event["k"] != "written" or event["batch"] != 2, "rows for 6 trips"),
])
def test_d12_sees_what_is_missing_from_its_tape(monkeypatch, tmp_path, spoil, complaint):
    """I-STAGE-2: fails if D12 says its lines without looking at the recording."""
    for kind in ("append", "keyed"):
        tape = RecordedRun.open(d12.RECORDINGS / f"d12-{kind}.mk")
        RecordedRun(filter(spoil, tape.events), engine=tape.engine).save(tmp_path / f"d12-{kind}.mk")
    monkeypatch.setattr(d12, "RECORDINGS", tmp_path)
    said: list[str] = []
    assert not check(demo("D12"), said.append)
    assert sum("NO" in line and complaint in line for line in said) == 2


def test_the_notary_of_d12_judges_the_evidence():
    """Fails if the figures on D12's page come from anything but the evidence: a row taken away is a trip lost."""
    events = RecordedRun.open(d12.RECORDINGS / "d12-keyed.mk").events
    assert set(sealed(events).cries.values()) == {0}
    short = [event | {"rows": event["rows"][1:]} if event["k"] == "evidence" else event for event in events]
    assert sealed(short)["lost"].count == 1


def test_a_tape_tells_nothing_of_the_machine():
    """I-TAPE-1: fails if a path, an address or a date comes into a committed recording."""
    for path in d12.RECORDINGS.glob("*.mk"):
        for event in RecordedRun.open(path).events:
            text = json.dumps({k: v for k, v in event.items() if k != "history"})
            assert event["w"] == 0 and not re.search(r"/(tmp|home|root|work|Users)|\d+\.\d+\.\d+\.\d+|localhost", text), text
        assert path.stat().st_size < 20_000


def test_a_recording_is_the_same_in_every_class():
    """I-STAGE-1: fails if chance or this machine's clock gets into a story."""
    one, two = (record(demo("D1").scenes[0]) for _ in range(2))
    assert one.facts.events == two.facts.events and one.moments == two.moments


def test_the_first_moment_is_the_snapshot():
    """I-STAGE-3: fails if a story may begin with anything but "ask", or name a moment twice."""
    def late(stage):
        stage.cluster()
        stage.moment("freeze", "")

    def twice(stage):
        stage.cluster()
        stage.moment("ask", "")
        stage.moment("ask", "")

    for wrong in (late, twice):
        with pytest.raises(ValueError):
            record(Scene("", wrong, must_see))


def test_a_vote_has_one_right_answer_and_two_wrong_ones():
    """Fails if a demo could be built whose vote teaches nothing."""
    one = demo("D1")
    with pytest.raises(ValueError):
        replace(one, answers=one.answers[:2])
    for name in names():
        assert demo(name).notes and demo(name).question.endswith("?")


def test_each_demo_has_its_exercise():
    """Fails if the card at a demo's end names an exercise that no lab has."""
    sources = {path.name[:2]: path.read_text() for path in (ROOT / "solutions" / "source").glob("*.md")}
    named = [demo(name).exercise[0] for name in names()]
    assert all(f'check("{number}"' in sources[number.partition(".")[0].zfill(2)] for number in named), named


def test_the_readme_lists_every_demo():
    """Fails if a demo is added, or renamed, and nobody reads of it."""
    rows = re.findall(r"^\| (D\d+) \|", (ROOT / "labs" / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(names())


def test_the_command(capsys):
    """Fails if `demos D1 --check` does not check, or if an unknown name is passed over."""
    assert main(["d1", "--check"]) == 0
    assert "1 of 1 demos show what they must" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["D99", "--check"])


# --- the page -----------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """D1 on a page."""
    with server(Theatre([demo("D1")])) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        assert made.server_address[0] == "127.0.0.1"
        yield f"http://127.0.0.1:{made.server_address[1]}"
        made.shutdown()
        thread.join()


def get(url: str, host: str | None = None) -> str:
    request = urllib.request.Request(url, headers={"Host": host} if host else {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def test_the_page_plays_a_scene(address):
    """Fails if the page lacks what its script asks for, or if the picture does not follow the time."""
    assert "<script>" in get(address) and "http" not in get(address).replace("http-equiv", "")
    (found,) = json.loads(get(f"{address}/demos.json"))
    assert found["name"] == "D1" and sum(answer["right"] for answer in found["answers"]) == 1
    scene = json.loads(get(f"{address}/scene.json?demo=D1&scene=0"))
    times = [moment["t"] for moment in scene["moments"]]
    assert times == sorted(times) and (scene["begin"], scene["end"]) == (times[0], times[-1])
    pictures = {t: get(f"{address}/frame.svg?demo=D1&scene=0&t={t}&theme=dark") for t in (scene["begin"], scene["end"])}
    assert len({*pictures.values()}) == 2
    for picture in pictures.values():
        assert ElementTree.fromstring(picture).tag.endswith("svg")
    forth = json.loads(get(f"{address}/step.json?demo=D1&scene=0&t={scene['begin']}&by=1"))["t"]
    back = json.loads(get(f"{address}/step.json?demo=D1&scene=0&t={scene['begin']}&by=-1"))["t"]
    assert forth > scene["begin"] == back


SHAPE, TALL = 2.33, 1.6  # of the picture's place on a page of 1280x720, and of 1024x768


@pytest.mark.parametrize("name", names())
def test_the_last_row_can_read_it(name):
    """Fails if a letter of a board is smaller than 24 pixels at 1280x720, if a board is higher than its place, if a label is cut
    off or leaves the paper, or if the board grows and shrinks in the course of a scene.
    """
    theatre = Theatre([demo(name)], recorded)
    for scene, shape in product(range(len(demo(name).scenes)), (SHAPE, TALL)):
        found, wide = theatre.recording(name, scene), theatre.width(name, scene, shape)
        assert 14 * 1232 / wide >= 24
        for moment in found.moments:
            paper, high = draw(found.run.at(moment.t), demo(name).counters, wide)
            assert high <= 1.03 * wide / shape, f"{moment.name}: {high:.0f} units"
            assert all("…" not in label.text and 0 <= label.left and label.right <= wide for label in paper.labels), paper.labels


def test_the_board_has_no_clock_of_its_own(address):
    """Fails if the page and its picture show two clocks, or two time lines."""
    picture = get(f"{address}/frame.svg?demo=D1&scene=0&t=5&shape={SHAPE}")
    assert "timeline" not in picture and not re.search(r">[\d.]+ s<", picture.partition("counters")[0])


def test_a_board_draws_each_record_once():
    """I-BOARD-1: fails if a record is lost, or drawn twice, where a lane is folded, or if there are too many for a hall."""
    theatre = Theatre([demo("D3")], recorded)
    found = theatre.recording("D3", 0)
    for moment in found.moments:
        frame = found.run.at(moment.t)
        root = ElementTree.fromstring(to_svg(frame, ()))
        for lane in frame.chosen.lanes:
            (drawn,) = parts(root, "lane", broker=lane.broker)
            cells = [int(each.get("data-offset")) for each in parts(drawn, "cell")]
            folded = [range(int(each.get("data-offset")), int(each.get("data-end"))) for each in parts(drawn, "folded")]
            assert sorted([*cells, *chain(*folded)]) == [*range(lane.start or 0, lane.end)] and len(cells) <= BOXES


@pytest.mark.parametrize("scene, twice, unpaid", [(0, 24, 0), (1, 4, 0), (2, 0, 6)])
def test_each_ride_shows_who_charged_it(scene, twice, unpaid):
    """I-BOARD-1: fails if a coin of D7 is not drawn on its ride, or if a ride that nobody pays looks like one to come."""
    found = Theatre([demo("D7")], recorded).recording("D7", scene)
    root = ElementTree.fromstring(to_svg(found.run.at(found.end), demo("D7").counters))
    assert [len(parts(root, "ride", **{mark: value})) for mark, value in (("coins", 2), ("skipped", "true"))] == [twice, unpaid]
    assert len(parts(root, "ride")) == 50


def test_twins_are_framed_in_each_lane():
    """I-BOARD-1: fails if D9's twins look like any others, if a lane does not say that it has ten, or if a frame stands where
    idempotence left one record."""
    theatre = Theatre([demo("D9")], recorded)
    scenes = [theatre.recording("D9", scene) for scene in (0, 1)]
    drawn = [to_svg(found.run.at(found.end), demo("D9").counters) for found in scenes]
    assert [len(parts(ElementTree.fromstring(each), "twins")) for each in drawn] == [3, 0]
    assert [each.count(">+10<") for each in drawn] == [3, 0]


def test_the_partition_of_a_dead_member_stands_still():
    """I-BOARD-1: fails if a class of D8 does not see that nobody reads a partition, or reads it where the member lives."""
    found = Theatre([demo("D8")], recorded).recording("D8", 0)
    boards = {moment.name: to_svg(found.run.at(moment.t), demo("D8").counters) for moment in found.moments}
    assert [name for name, board in boards.items() if "stands still" in board] == ["killed"]


def test_what_nobody_will_read_is_marked():
    """I-BOARD-1: fails if D11 does not show what its reader has skipped, or shows it where the reader stopped instead."""
    theatre = Theatre([demo("D11")], recorded)
    found = [theatre.recording("D11", scene) for scene in range(3)]
    roots = [ElementTree.fromstring(to_svg(each.run.at(each.end), demo("D11").counters)) for each in found]
    bars = [[(bar.get("data-start"), bar.get("data-end")) for bar in parts(root, "unread")] for root in roots]
    assert bars == [[("12", "48")], [("12", "72")], []]


def test_the_controllers_of_d10_stand_above_the_brokers():
    """I-BOARD-1: fails if a class does not see which controller is active, and that nobody is without a majority."""
    found = Theatre([demo("D10")], recorded).recording("D10", 0)
    roots = [ElementTree.fromstring(to_svg(found.run.at(moment.t), demo("D10").counters)) for moment in found.moments]
    rows = [parts(root, "deciders")[0] for root in roots]
    assert [row.get("data-alive") for row in rows] == ["3", "2", "1", "1", "2"]
    assert [len(parts(row, "controller-crown")) for row in rows] == [1, 1, 0, 0, 1]


def test_two_clusters_stand_side_by_side():
    """I-BOARD-1: fails if D13 shows one cluster twice, a half lacks a lane or a loss, or if letters are below 24 pixels."""
    theatre = Theatre([demo("D13")], recorded)
    for scene, copies in enumerate((3, 6, 0)):         # of the three lost records: on broker 1; on 1 and 3
        found, wide = theatre.recording("D13", scene), theatre.width("D13", scene, SHAPE)
        halves = parts(ElementTree.fromstring(to_svg(found.run.at(found.end), (), wide=wide)), "half")
        assert [half.get("data-rule") for half in halves] == [found.scene.title, "Kafka: all in sync"]
        assert all(len(parts(half, "lane")) == 3 for half in halves) and 14 * 1232 / wide >= 24
        gone = [sum(int(ghost.get("data-acked")) for ghost in parts(half, "ghost")) for half in halves]
        assert gone == [copies, 0]


def test_d13_sees_that_no_rule_is_weakened():
    """I-STAGE-2: fails if D13 says its lines of a cluster that has Kafka's own rule on both sides."""
    scene, said = demo("D13").scenes[1], []
    assert not check(replace(demo("D13"), scenes=(replace(scene, story=scene.beside[1]),)), said.append)
    assert sum("NO" in line for line in said) == 3 and any("left: 0 of" in line for line in said), said


def test_each_address_of_d14_has_its_own_verdict():
    """I-BOARD-1: fails if D14 shows a broker at an address where nobody answers, or a verdict before the client has called."""
    found = Theatre([demo("D14")], recorded).recording("D14", 0)
    doors = {moment.name: [(each.get("data-opened"), each.get("data-refused"), len(parts(each, "level")))
                           for each in parts(ElementTree.fromstring(to_svg(found.run.at(moment.t), ())), "door")]
             for moment in found.moments}
    assert doors["ask"] == [("0", "0", 0), ("0", "0", 0)] and doors["freeze"] == [("1", "0", 0), ("0", "0", 0)]
    assert doors["again"] == [("1", "0", 0), ("0", "3", 1)]


def test_d14_sees_an_address_that_leads_to_the_broker():
    """I-STAGE-2: fails if D14 says its lines of a broker whose advertised address is right."""
    wrong, right = demo("D14").scenes
    said: list[str] = []
    assert not check(replace(demo("D14"), scenes=(replace(right, must_see=wrong.must_see),)), said.append)
    assert sum("NO" in line for line in said) == 4


@pytest.mark.parametrize("name", names())
def test_no_class_waits_for_a_minute(name):
    """Fails if the page plays longer than half a minute without stopping, at the pace at which a scene begins."""
    for scene in demo(name).scenes:
        stops = [moment.t for moment in recorded(scene).moments if moment.stop]
        assert max(b - a for a, b in zip(stops, stops[1:])) / scene.pace < 30


@pytest.mark.parametrize("path", ["/nothing", "/scene.json?demo=D99", "/frame.svg?demo=D1&scene=0&t=x",
                                  "/frame.svg?demo=D1&scene=0&t=1&theme=pink", "/scene.json?demo=D1&scene=7",
                                  "/frame.svg?demo=D1&scene=0&t=1&shape=wide"])
def test_what_is_not_there_is_a_404(address, path):
    """Fails if a wrong question ends a request without an answer."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(address + path)
    assert refused.value.code == 404


def test_another_name_for_this_machine_is_refused(address):
    """I-STAGE-6: fails if a page of elsewhere could read the demos by giving its own name this address."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(address + "/demos.json", host="evil.example")
    assert refused.value.code == 403
