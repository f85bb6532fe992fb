"""Lab 14: the picture of the whole line of a run."""
from __future__ import annotations

import random
import re
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from minikafka.lab.labs.lab14.diary import Diary
from minikafka.lab.labs.lab14.line.draw import LEFT, LETTER, RIGHT, ROW, ROWS, SMALL, LinePicture
from minikafka.lab.labs.lab14.line.facts import RunLine
from minikafka.lab.labs.lab14.line.findings import findings
from minikafka.lab.labs.lab14.line.frames import ON_LINE, at
from minikafka.lab.labs.lab14.line.grow import so_far
from minikafka.lab.labs.lab14.line.page import NightPage
from minikafka.lab.labs.lab14.line.player import LinePlayer
from minikafka.lab.labs.lab14.line.rings import looks, rings
from minikafka.lab.labs.lab14.nights import CHOICES, NIGHTS, TripNight
from minikafka.lab.labs.lab14.notary import Run
from minikafka.lab.labs.lab14.pipeline import EFFECTIVELY_ONCE
from minikafka.lab.labs.lab14.rehearsal import rehearse
from minikafka.lab.labs.lab14.schedule import Fault, Schedule
from minikafka.lab.labs.lab14.watch import WatchedNight, seen

STANDS = TripNight("stands still", Schedule(32, 120, (Fault(1.0, "kill a follower", 0, 4.0),)), limit=3.0)
NIGHT = {night.name: night for night in (*NIGHTS, STANDS)}
SOUND, AGAIN, HALF, UNREAD, STOOD = "sound", 'key=("part", "off")', "a commit inside", "each row is a trip", "min_insync=3"
CASES = {SOUND: ("the producer dies", {}), AGAIN: ("the producer dies", CHOICES[AGAIN]), HALF: ("half a write", CHOICES[HALF]),
         UNREAD: ("not to be read", CHOICES[UNREAD]), STOOD: (STANDS.name, CHOICES[STOOD])}


@pytest.fixture(scope="module")
def runs():
    """Five small nights: one that passes, and four that fall, each for a reason of its own."""
    return {name: rehearse(EFFECTIVELY_ONCE.but(**change), NIGHT[night].schedule) for name, (night, change) in CASES.items()}


def found_in(runs, name):
    return findings(RunLine(runs[name]), NIGHT[CASES[name][0]].limit)


def test_the_line_ends_where_the_run_ended(runs):
    """Fails if the curves lead to other numbers than the evidence has."""
    for run in runs.values():
        line = RunLine(run)
        in_log = len(line.facts.log)
        assert (line.at(line.log_end, line.end), line.at(line.readable, line.end)) == (in_log, in_log)
        assert line.done_until(line.end) == in_log
        assert line.rows.last == len(run.rows)


@pytest.mark.parametrize("name, kinds", [
    (SOUND, set()), (AGAIN, {"duplicate", "totals"}), (HALF, {"half write"}), (STOOD, {"old price"}),
    (UNREAD, {"unreadable", "phantom", "duplicate", "totals"})])
def test_each_pipeline_falls_for_its_reason(runs, name, kinds):
    """Fails if a night's finding has no mark, or a sound pipeline has one."""
    assert {each.name for each in found_in(runs, name)} == kinds


def test_a_finding_leads_to_the_write_that_brought_the_row(runs):
    """Fails if a duplicate's moment is another than that of a write of its offset."""
    line = RunLine(runs[AGAIN])
    twice = [each for each in found_in(runs, AGAIN) if each.name == "duplicate"]
    for each in twice:
        off, part = map(int, re.search(r"wrote offset (\d+) of partition (\d)", each.text).groups())
        wrote = [batch.written for batch in line.batches if part in batch.read
                 and batch.read[part][0] <= off < batch.read[part][1]]
        assert each.t in wrote and f"another record: {part}/" in each.text


def test_a_lost_trip_says_who_had_it(runs):
    """Fails if a trip that is not in the sink has no moment, or its story names no place."""
    run = runs[SOUND]
    victim = run.rows[40]
    lost = [each for each in findings(RunLine(replace(run, rows=run.rows[:40] + run.rows[41:]))) if each.name == "lost"]
    assert len(lost) == 1
    assert lost[0].t == RunLine(run).promised[victim.trip].t
    assert f"partition {victim.part}" in lost[0].text and "Its write left it out" in lost[0].text


def test_an_old_price_names_the_trip_that_waited(runs):
    """Fails if another trip than the oldest one is named, or the wait has another length than the notary's night measured."""
    found, = found_in(runs, STOOD)
    trip, waited = re.search(r"trip (\d+) .* after ([\d.]+) s; 3 s is the limit", found.text).groups()
    line = RunLine(runs[STOOD])
    assert float(waited) == round(line.counted[int(trip)] - line.sent[int(trip)], 1) > 3
    assert abs(line.sent[int(trip)] + 3 - found.t) < 0.11


def test_a_frame_knows_nothing_of_what_comes_later(runs):
    """Fails if a word at a moment depends on a later event."""
    run = runs[STOOD]
    whole = RunLine(run)
    for t in (0.4, 1.7, 3.3, 5.1, 6.6):
        now = whole.began + t
        until = replace(run, events=tuple(event for event in run.events if event["t"] <= now),
                        history=tuple(event for event in run.history if event["t"] <= now))
        told, known = at(RunLine(until), t), at(whole, t)
        assert told.sentence == known.sentence
        assert {**told.values, "wait": ""} == {**known.values, "wait": ""}


def test_labels_stand_apart_and_can_be_read(runs):
    """Fails if two words of the drawing cover each other, or letters are too small for a class."""
    for name, run in runs.items():
        found = found_in(runs, name)
        picture = LinePicture(RunLine(run), found, 8.0, [(1.0, 2.5, "isr"), (1.2, 5.0, "freshness")])
        svg = picture.draw(at(picture.line, picture.end), "FAIL", "lost 0")
        sizes = {float(size) for size in re.findall(r'<text[^>]*font-size="([\d.]+)"', svg)}
        assert sizes <= {LETTER, SMALL}
        labels = [label for label in picture.sheet.labels if label.text]
        for number, one in enumerate(labels):
            for other in labels[number + 1:]:
                apart = one.right <= other.left or other.right <= one.left or one.bottom <= other.top or other.bottom <= one.top
                assert apart, (one, other)


def some_faults(seed):
    """A run without a broker: up to twenty faults of all kinds, short and near each other, and Spark dies in some of them."""
    rng, t, events = random.Random(seed), 0.0, [{"t": 0.0, "k": "starts"}]
    for _ in range(rng.randrange(1, 20)):
        t += rng.uniform(0.1, 2.0)
        events.append({"t": t, "k": "begins", "what": rng.choice(list(ON_LINE))})
        if dies := rng.random() < 0.3:
            events.append({"t": t + 0.05, "k": "query", "running": False, "why": ""})
        t += rng.uniform(0.1, 3.0)
        events.append({"t": t, "k": "ends"})
        events += [{"t": t + 0.05, "k": "query", "running": True, "why": ""}] * dies
    return RunLine(Run((), None, None, events=tuple(events)))


@pytest.mark.parametrize("seed", range(30))
def test_words_of_faults_stand_apart_and_inside_the_clock(seed):
    """Fails if two words of bars are near each other, a word leaves the clock, or a bar has no word in a picture of few rows."""
    picture = LinePicture(some_faults(seed))
    picture.draw(at(picture.line, picture.end), "", "")
    said = {text for _, _, text in picture.faulty()}
    words = [label for label in picture.sheet.labels if label.text in said]
    assert words and all(LEFT <= word.left and word.right <= RIGHT for word in words)
    for number, one in enumerate(words):
        for other in words[number + 1:]:
            apart = other.left - one.right >= 12 or one.left - other.right >= 12
            assert apart or one.bottom <= other.top or other.bottom <= one.top, (one, other)
    if max(word.top for word in words) < ROW * (ROWS - 1):
        assert len(words) == len(picture.faulty())


def test_a_producer_that_dies_is_on_the_clock(runs):
    """Fails if the picture has no bar for the producer, or trips are sent while it is dead."""
    line = RunLine(runs[SOUND])
    (since, until, text), = LinePicture(line).faulty()
    assert (text, round(until - since, 1)) == ("kill producer", 1.0)
    assert at(line, since + 0.5).sentence.startswith("the producer is dead")
    assert at(line, since + 0.1).values["sent"] == at(line, until - 0.1).values["sent"]


def test_the_player_has_a_moment_for_each_finding(runs):
    """Fails if a finding cannot be reached, or the drawing is no XML."""
    player = LinePlayer(runs[AGAIN], 8.0)
    assert ElementTree.fromstring(player.svg).tag.endswith("svg")
    moments = player.moments()
    assert moments == sorted(moments) and all(any(abs(t - found.t) < 0.011 for t in moments) for found in player.found)
    assert player.verdict == "FAIL" and "duplicate 14" in repr(player)
    assert "</script>" not in player.data()


def test_the_screens_show_what_the_watchers_see():
    """Fails if an alarm would ring in the picture of a night, and not in the check of 14.11, or the other way round."""
    plan = Schedule(47, 120, (Fault(1.0, "kill Spark after a write", 0, 2.0), Fault(2.5, "kill a follower", 0, 3.0)))
    watched, drawn = seen(WatchedNight("small", plan)), looks(RunLine(rehearse(EFFECTIVELY_ONCE, plan)))
    assert len(watched) > 5
    for theirs, ours in zip(watched, drawn):
        assert (theirs.second, theirs.isr) == (ours.second, ours.isr)
        assert abs(theirs.lag - ours.lag) <= 2 and abs(theirs.age - ours.age) < 0.25


def test_alarms_get_the_looks_until_now(runs):
    """Fails if an alarm sees a later look, or its bar has other seconds than those in which it rang."""
    line, lengths = RunLine(runs[STOOD]), []

    def alarms(until):
        lengths.append(len(until))
        return ["isr"] if until[-1].isr < 3 else []
    found = rings(line, alarms)
    shown = looks(line)
    assert lengths == list(range(1, len(shown) + 1))
    rang = [look.second for look in shown if look.isr < 3]
    assert rang and all(any(since <= second <= until for since, until, _ in found) for second in rang)


def test_a_run_that_goes_on_is_drawn_as_far_as_it_is(runs):
    """Fails if the growing picture needs the end of a run, or shows less than the trace has told."""
    run, half = runs[STOOD], 3.0
    line = RunLine(run)
    diary = Diary(lambda: line.began + half)
    diary.events = [event for event in run.events if "b" not in event and event["t"] <= line.began + half]
    writer = SimpleNamespace(topic="trips", schedule=STANDS.schedule,
                             history=[event for event in run.history if event["t"] <= line.began + half])
    svg, said = so_far(diary, [event for event in run.events if "b" in event and event["t"] <= line.began + half], writer)
    assert said.endswith(at(line, half).sentence)
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert f">{at(line, half).values['log']}</text>" in svg


def test_the_page_has_name_verdict_choices_and_film(runs, tmp_path, monkeypatch):
    """Fails if a page needs something from elsewhere, runs a name as markup, or is written without a name."""
    monkeypatch.setenv("PATH", str(tmp_path))          # a machine without a browser
    night = NightPage(EFFECTIVELY_ONCE.but(min_insync=3), runs[STOOD], limit=STANDS.limit)
    assert night.save("", tmp_path).startswith("not written: give a name")
    assert night.save("Ada <b>", tmp_path) == "written: night-Ada-b.html; a browser prints it as a PDF"
    page = (tmp_path / "night-Ada-b.html").read_text()
    assert "Ada &lt;b&gt;&#x27;s pipeline did not survive" in page and "<b>" not in page
    assert "<tr><th>min_insync</th><td>3</td></tr>" in page and "data-plays" in page and "kill 1" in page
    assert set(re.findall(r'(?:https?|file):[^"\s]*', page)) == {"http://www.w3.org/2000/svg"}
