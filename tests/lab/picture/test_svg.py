"""The picture: well-formed, nothing overlaps, nothing is clipped, everything can be found, and it is cheap."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings

from minikafka.lab.picture.draw.cards import draw_brief
from minikafka.lab.picture.draw.dock import LAYOUTS, draw_layout
from minikafka.lab.picture.draw.head import draw_head
from minikafka.lab.picture.draw.paper import Label, Paper
from minikafka.lab.picture.draw.strip import HIGH
from minikafka.lab.picture.draw.svg import draw, to_svg
from minikafka.lab.picture.draw.theme import WIDTHS, fitting
from minikafka.lab.picture.frame import (
    EpochSpan,
    Frame,
    Ghost,
    Level,
    PartitionRow,
    ShownBroker,
    ShownFlow,
    ShownMember,
    ShownVoter,
)
from minikafka.lab.picture.sentences import words
from tests.lab.picture.frames import FRAMES, GROUP, lane, leader, partition, slow_follower, two_crowns, unclean_loss
from tests.lab.picture.invented import frames
from tests.lab.picture.script import TP, Script

SVG = "{http://www.w3.org/2000/svg}"
PAPERS = {  # size, and pixels of the place (None: as wide as it is meant to be)
    "page": ("page", None),
    "narrow": ("page", 860),
    "narrowest": ("page", 300),
    "projector": ("projector", None),
    "projector-narrow": ("projector", 1400),
    "dock": ("dock", 640, 500),
    "dock-high": ("dock", 720, 780),
}
many = settings(
    max_examples=50,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],  # a frame takes minutes to shrink
)


def tree(frame: Frame, **how: Any) -> ElementTree.Element:
    return ElementTree.fromstring(to_svg(frame, **how))


def parts(root: ElementTree.Element, part: str, **data: object) -> list[ElementTree.Element]:
    return [each for each in root.iter() if each.get("data-part") == part
            and all(each.get(f"data-{name}") == str(value) for name, value in data.items())]


def clashes(labels: list[Label]) -> list[tuple[str, str]]:
    """Pairs of labels whose boxes share more than a hair."""
    found = []
    ordered = sorted(labels, key=lambda label: label.top)
    for place, a in enumerate(ordered):
        for b in ordered[place + 1 :]:
            if b.top > a.bottom - 2.5:
                break
            if min(a.right, b.right) - max(a.left, b.left) > 1:
                found.append((a.text, b.text))
    return found


def outside(frame: Frame, size: str, pixels: float | None, lines: float | None = None) -> list[str]:
    paper, high = draw(frame, size, pixels, lines)
    return [label.text for label in paper.labels
            if label.left < 0 or label.right > paper.width or label.top < 0 or label.bottom > high]


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("name", sorted(FRAMES))
def test_no_label_covers_another_or_leaves_the_paper(name: str, paper: str) -> None:
    """Fails if any label is placed without asking for room: try a gap of -40 in packing.Rows."""
    frame = FRAMES[name]()
    assert clashes(draw(frame, *PAPERS[paper])[0].labels) == []
    assert outside(frame, *PAPERS[paper]) == []


@many
@given(frames)
def test_nor_on_any_frame_there_may_be(frame: Frame) -> None:
    """The same over frames that nobody would think of: fails if a long name or a large offset breaks a place."""
    for paper in PAPERS.values():
        assert clashes(draw(frame, *paper)[0].labels) == []
        assert outside(frame, *paper) == []


@settings(many, max_examples=10)
@given(frames)
@example(slow_follower())
@example(two_crowns())
def test_beside_a_text_the_richest_layout_that_fits_is_drawn(frame: Frame) -> None:
    """Fails if the height of a part, which is taken once, is another one in another layout, so that a poorer layout is drawn."""
    drawn = [draw_layout(frame, 640, layout) for layout in LAYOUTS]
    for lines in {high for _, high in drawn} | {drawn[-1][1] - 1}:
        best = next((paper for paper, high in drawn if high <= lines), drawn[-1][0])
        assert draw(frame, "dock", 640, lines)[0].parts == best.parts


SHAPE = re.compile(r'class="(?:fgood|flag)" transform="translate\((\S+) (\S+)\)"')


@many
@given(frames)
def test_no_finger_stands_on_a_label(frame: Frame) -> None:
    """Fails if the triangle of a reader that has gone stays on the label of another: a finger without room for its label, or
    with labels between it and the lanes, gets a row all the same."""
    for paper in PAPERS.values():
        drawn = draw(frame, *paper)[0]
        shapes = [Label("a finger", x - 6, y + 2, x + 6, y + 12) for x, y in
                  ((float(at[1]), float(at[2])) for part in drawn.parts for at in SHAPE.finditer(part))]
        assert [pair for pair in clashes([*drawn.labels, *shapes]) if pair != ("a finger", "a finger")] == []


EPOCH = re.compile(r'<rect x="(\S+)" y="(\S+)" width="(\S+)" height="7"')


@pytest.mark.parametrize("paper", PAPERS)
def test_no_epoch_stands_on_a_label(paper: str) -> None:
    """Fails if the bars of the epochs cover what the lowest lane says of its watermark: in a low place its row is lower."""
    behind = partition(leader(1, 51, 51), lane(2, 51, 51), lane(3, 40, 38, in_sync=False, process="killed"), isr=(1, 2))
    drawn = draw(replace(slow_follower(), chosen=behind), *PAPERS[paper])[0]
    bars = [Label("an epoch", x, y, x + wide, y + 7) for x, y, wide in
            (map(float, at.groups()) for part in drawn.parts for at in EPOCH.finditer(part))]
    assert bars and any(label.text.startswith("knows HW") for label in drawn.labels)
    assert [pair for pair in clashes([*drawn.labels, *bars]) if "an epoch" in pair] == []


def test_a_tile_has_room_for_the_name_of_a_topic() -> None:
    """Fails if the chosen partition of lab 0 is called "positio...-0" beside the text."""
    frame = slow_follower()
    rows = tuple(PartitionRow(f"positions-{i}", 1, 12, (1, 2, 3), (1, 2, 3), 9999, 9999, 0, Level.GOOD) for i in range(3))
    frame = replace(frame, rows=rows, chosen=replace(frame.chosen, topic="positions", index=0))
    labels = [label.text for label in draw(frame, "dock", 640, 900)[0].labels]
    assert {"positions-0", "positions-1", "positions-2"} <= {*labels} and labels.count("e12") == 3


@pytest.mark.parametrize("paper", PAPERS)
def test_the_labels_of_the_bracket_keep_their_distance(paper: str) -> None:
    """Fails if "in sync: 3" comes within six pixels of "min 1": on a projector they would read as one."""
    frame = replace(slow_follower(), chosen=replace(slow_follower().chosen, min_isr=1))
    labels = {label.text: label for label in draw(frame, *PAPERS[paper])[0].labels}
    assert labels["in sync: 3"].bottom + 6 <= labels["min 1"].top


def test_in_a_narrow_place_letters_keep_their_size_and_cells_go() -> None:
    """Fails if a narrow cell gets the whole picture, scaled down, or if what is left out is not in a folded box."""
    wide, narrow = tree(slow_follower()), tree(slow_follower(), pixels=860)
    assert narrow.get("viewBox", "").split()[2] == "860" and fitting("projector", 1500) == 875
    cells = [len(parts(parts(root, "lane", broker=1)[0], "cell")) for root in (wide, narrow)]
    assert cells[0] == 23 and 8 < cells[1] < 23
    first = parts(parts(narrow, "lane", broker=1)[0], "cell")[0]
    assert parts(parts(narrow, "lane", broker=1)[0], "folded", end=first.get("data-offset"))
    numbers = {text.text for text in narrow.iter(f"{SVG}text")}
    assert {"46", "50"} <= numbers


@many
@given(frames)
def test_every_picture_is_well_formed(frame: Frame) -> None:
    """Fails if a name reaches the markup unescaped, or a control character stays in (I-PAPER-1)."""
    root = tree(frame)
    assert root.tag == f"{SVG}svg" and root.get("role") == "img"
    assert root.get("aria-label") and root.find(f"{SVG}title") is not None


def test_markup_in_a_name_stays_text() -> None:
    """Fails if `escape` lets < through: a topic may be called <script>."""
    root = tree(FRAMES["hostile_names"]())
    assert [each for each in root.iter() if each.tag.endswith("script")] == []
    assert any("<script>" in (each.text or "") for each in root.iter(f"{SVG}text"))


def test_text_is_never_smaller_than_14() -> None:
    """Fails if a smaller size slips in anywhere: 14 px on a page of 1280, 24 px on a projector of 1920."""
    for name in FRAMES:
        sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', to_svg(FRAMES[name]()))]
        assert min(sizes) >= 14
    assert 14 * 1920 / WIDTHS["projector"] >= 24


def test_equal_frames_give_equal_pictures() -> None:
    """Fails if anything but the frame (a counter, a clock, an id) gets into the picture."""
    assert to_svg(slow_follower()) == to_svg(slow_follower())


def test_two_pictures_on_one_page_share_no_id() -> None:
    """Fails if the hatching's id is fixed: the second picture would take the first one's, and its colours."""
    pictures = [to_svg(slow_follower()), to_svg(unclean_loss()), to_svg(unclean_loss(), theme="dark")]
    ids = [set(re.findall(r'\bid="([^"]+)"', picture)) for picture in pictures]
    assert all(ids) and all(not a & b for a, b in combinations(ids, 2))
    for picture, own in zip(pictures, ids):
        assert set(re.findall(r"url\(#([^)]+)\)", picture)) <= own
        name = next(iter(sorted(own, key=len)))
        sheet = "".join(re.findall("<style>(.*)</style>", picture)).replace("@media (prefers-color-scheme:dark){", "")
        assert all(f"#{name}" in rule.split("{")[0] for rule in re.findall(r"[^{}]+\{[^{}]*\}", sheet))


def test_only_the_leader_wears_the_filled_crown() -> None:
    """Fails if the crown follows `believes_leader`: two may believe, one is."""
    root = tree(two_crowns())
    assert [(each.get("data-broker"), each.get("data-crown")) for each in parts(root, "crown")] == [
        ("1", "worn"), ("3", "hollow")]


def test_a_page_can_find_everything() -> None:
    """Fails if a data attribute that browser tests look for is renamed."""
    root = tree(unclean_loss())
    assert [each.get("data-isr") for each in parts(root, "isr")] == ["3 1 2"]
    assert [each.get("data-offset") for each in parts(root, "hw")] == ["90"]
    first = parts(root, "lane", broker=1)[0]
    assert len(parts(first, "cell", offset=70)) == 1
    assert [(each.get("data-offset"), each.get("data-end"), each.get("data-acked")) for each in parts(first, "ghost")] == [
        ("70", "100", "30")]
    assert parts(root, "entry", name="lost", value=30)


def test_a_follower_is_not_fed_by_clients() -> None:
    """Fails if a flow is drawn by its target alone: broker 2 leads other partitions, and clients write to those."""
    frame = slow_follower()
    flows = (ShownFlow(0, 2, "produce", 27.0, False), *(flow for flow in frame.flows if flow.target != 2))
    fed = [(each.get("data-source"), each.get("data-target")) for each in parts(tree(replace(frame, flows=flows)), "flow")]
    assert fed == [("0", "1"), ("1", "3")]


def test_moving_the_knob_moves_nothing_else() -> None:
    """Fails if the time line is as high as the labels that found room: the page would jump while one scrubs."""
    assert len({draw(replace(slow_follower(), t=float(t)), "page")[1] for t in range(39)}) == 1


def test_readable_cells_are_solid_and_others_dashed() -> None:
    """Fails if a cell's look ignores `readable`: 47 is the high watermark, so 46 is solid and 47 is not."""
    cells = parts(parts(tree(slow_follower()), "lane", broker=1)[0], "cell")
    looks = {int(each.get("data-offset", "")): (each.get("class") or "").split()[1] for each in cells}
    assert looks[46] == "c" and looks[47] == "w"
    assert {offset for offset, look in looks.items() if look == "c"} == set(range(28, 47))


def test_a_lane_out_of_sync_sinks_and_stays() -> None:
    """Fails if lanes out of sync are dropped, or drawn inside the bracket."""
    frame = replace(slow_follower(), chosen=partition(
        leader(1, 51), lane(2, 40, in_sync=False, behind_for=20.0), lane(3, 51), isr=(1, 3)))
    assert [each.get("data-broker") for each in parts(tree(frame), "lane")] == ["1", "3", "2"]


@pytest.mark.parametrize("mark", [4990, 4900, 3000])
def test_of_a_long_log_no_more_is_drawn_than_there_is_room_for(mark: int) -> None:
    """Fails if each of 5,000 records is an element, if the high watermark, here far behind, stands on no cell, or if what is left
    out is in no box."""
    whole = lane(1, 5000, mark, 0, folded=())
    root = tree(replace(slow_follower(), chosen=partition(whole, high_watermark=mark, fingers=(), epochs=())))
    cells = [int(each.get("data-offset", "")) for each in parts(root, "cell")]
    folded = [(int(each.get("data-offset", "")), int(each.get("data-end", ""))) for each in parts(root, "folded")]
    assert {mark - 1, mark, 4999} <= {*cells} and len(cells) < 30
    assert sorted([*cells, *(offset for each in folded for offset in range(*each))]) == [*range(5000)]


def test_what_was_deleted_is_hatched_as_far_as_somebody_stands_in_it() -> None:
    """Fails if a group that committed 12 in a log that starts at 48 stands beside nothing (demo D11), or if a log of which
    nobody needs the beginning shows what it has deleted."""
    s = Script(records=72)
    for broker in (1, 2, 3):
        s.say("log_start", broker, tp=TP, start=48)
    assert parts(tree(s.frame()), "deleted") == []
    found = parts(tree(s.say("commit", 1, group="report", tp=TP, offset=12).frame()), "deleted")
    assert [(each.get("data-offset"), each.get("data-end")) for each in found] == [("12", "48")] * 3


@pytest.mark.parametrize("paper", [paper for paper in PAPERS if paper != "dock"])  # 500 lines: the lanes fill them
def test_a_dead_member_is_crossed_out_wherever_there_is_room_for_groups(paper: str) -> None:
    """Fails if a picture with a group has no chip for each of its members, or if death is told by a colour alone."""
    group = replace(GROUP, processes=(ShownMember("B", "killed", 2.0),))
    size, pixels, lines = (*PAPERS[paper], None)[:3]
    root = tree(replace(slow_follower(), groups=(group,)), size=size, pixels=pixels, lines=lines)
    members = {each.get("data-name"): each.get("data-process") for each in parts(root, "member")}
    assert members == {"A": "running", "B": "killed"}
    (dead,) = parts(root, "member", name="B")
    assert "struck" in {each.get("class") for each in dead} and "killed" in {each.text for each in dead.iter(f"{SVG}text")}


@pytest.mark.parametrize(("lag", "full"), [(1, 0.1), (20, 1), (500, 1)])
def test_a_small_lag_is_a_short_bar(lag: int, full: float) -> None:
    """Fails if the longest lag of a group fills its bar however short it is: one record behind looked like a standstill."""
    one = replace(GROUP, progress=tuple(replace(each, lag=lag) for each in GROUP.progress[:1]))
    bars = [[float(each.get("width", 0)) for each in bar.iter(f"{SVG}rect")]
            for bar in parts(tree(replace(slow_follower(), groups=(one,))), "lag")]
    assert bars and all(abs(length / room - full) < 0.05 for room, length in bars)


def test_only_what_is_lost_is_red_in_the_ledger() -> None:
    """Fails if another entry of the ledger takes the colour of loss, or a loss of none does."""

    def red(frame: Frame) -> list[str | None]:
        return [each.get("data-name") for each in parts(tree(frame), "entry")
                if any("bad" in (t.get("class") or "") for t in each)]

    assert red(unclean_loss()) == ["lost"] and red(slow_follower()) == []


def test_ghosts_that_were_acknowledged_are_drawn_otherwise_than_others() -> None:
    """Fails if a lost promise looks like an ordinary truncation."""

    def looks(acked: int) -> set[str]:
        shown = replace(
            slow_follower(), chosen=partition(leader(1, 51), lane(2, 51, ghosts=(Ghost(36, 38, 3, acked, 1.0),)))
        )
        return {word for each in parts(tree(shown), "ghost")[0] for word in (each.get("class") or "").split() if "ghost" in word}

    assert looks(0) == {"ghost"} and looks(2) == {"lostghost"}


def test_a_picture_is_not_too_big_for_ten_a_second() -> None:
    """Fails if drawing grows out of hand, counted in bytes and elements, which no slow machine changes."""
    for name in ("calm", "slow_follower", "unclean_loss"):
        picture = to_svg(FRAMES[name]())
        assert len(picture) < 55_000 and picture.count("<") < 900


def test_a_broker_that_does_not_fit_beside_the_others_stands_below_them() -> None:
    """Fails if what a broker does is cut short while there is a line below: the room is reckoned without its ring."""
    frame = replace(slow_follower(), brokers=tuple(ShownBroker(number, "running", number, False) for number in range(1, 8)))
    for pixels in range(640, 1280, 2):
        paper = Paper(pixels)
        draw_head(paper, frame, 12)
        assert {f"running · leads {number}" for number in range(1, 8)} <= {label.text for label in paper.labels}, pixels


def test_in_a_full_strip_trouble_stays_first_and_then_the_topic_that_is_looked_at() -> None:
    """Fails if a partition in trouble, or one of the chosen topic, gave way to others that come before it by name, or if a
    partition without a tile is only counted."""
    frame = slow_follower()
    assert frame.chosen is not None
    row = PartitionRow("", 1, 0, (1,), (1,), 5, 5, None, Level.GOOD)
    others = [replace(row, name=f"a-{number}", level=Level.GOOD) for number in range(40)]
    own = [replace(row, name=f"{frame.chosen.topic}-{number}", level=Level.GOOD) for number in range(6)]
    rows = (*others, *own, replace(row, name="z-0", level=Level.BAD))
    drawn = parts(tree(replace(frame, rows=rows)), "row")
    shown = [each.get("data-partition") for each in drawn if each[0].get("height") == f"{HIGH}"]
    assert shown[-7:] == [each.name for each in rows[-7:]]
    assert 7 < len(shown) < len(rows) and set(shown[:-7]) <= {each.name for each in others}
    assert sorted(each.get("data-partition", "") for each in drawn) == sorted(each.name for each in rows)
    on_a_projector = parts(tree(replace(frame, rows=rows), size="projector"), "row")  # one row, and the lanes are in sight
    tiles = [each for each in on_a_projector if each[0].get("height") == f"{HIGH}"]
    assert len({each[0].get("y") for each in tiles}) == 1 and tiles[-1].get("data-partition") == "z-0"


def test_a_follower_past_the_limit_has_a_time_that_makes_sense() -> None:
    """Fails if a time is called a part of a shorter one ("91.9 of 10 s")."""
    late = lambda **how: words.stopwatch(lane(3, 40, **how))[0]  # noqa: E731
    assert late(behind_for=7.2) == "7.2 of 10 s" and late(behind_for=11.9) == "11.9 s, limit 10 s"
    assert late(behind_for=91.9, in_sync=False) == "91.9 s"


def test_the_leader_of_the_metadata_log_is_a_controller() -> None:
    """Fails if the legend of an epoch of the controllers' log names a broker."""
    frame = slow_follower()
    assert frame.chosen is not None
    span = EpochSpan(6, 16, 18, 103)
    assert words.epoch(span, replace(frame.chosen, topic=words.METADATA, epoch=6)) == (
        "epoch 6 · leader is 103", "epoch 6 · 103", "epoch 6")
    assert words.epoch(span, frame.chosen)[1] == "epoch 6 · broker 103"


def test_a_controller_has_its_place_and_each_of_its_words_is_whole() -> None:
    """Fails if beside the text one of four controllers is only counted, or a vote is cut inside its words."""
    frame = slow_follower()
    for many in (1, 4):
        each = tuple(ShownVoter(n, "running", "leader" if n == 101 else "follower", 1, 101, 26) for n in range(101, 101 + many))
        quorum = replace(frame.quorum, each=each, epoch=1, active=101, high_watermark=26)
        paper = Paper(fitting("dock", 460))
        draw_brief(paper, replace(frame, quorum=quorum, groups=()), 0)
        said = [label.text for label in paper.labels]
        assert said.count("voted for 101") == many and {str(voter.id) for voter in each} <= {*said}, said
        assert not [text for text in said if "…" in text or text.startswith("+")]


def test_a_group_without_a_line_is_counted_beside_the_text() -> None:
    """Fails if the third of three groups is left out beside the text, and nothing says so."""
    frame = slow_follower()
    paper = Paper(fitting("dock", 460))
    draw_brief(paper, replace(frame, groups=tuple(replace(GROUP, name=name) for name in ("billing", "mail", "stock"))), 0)
    assert "1 more group: stock" in [label.text for label in paper.labels]
