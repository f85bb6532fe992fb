"""The signs of a picture: each has a sentence, they come lab by lab, and a covered ledger tells nothing."""
from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.draw.text import to_text
from minikafka.lab.picture.draw.theme import WIDTHS
from minikafka.lab.picture.frame import Ledger
from minikafka.lab.picture.signs import LEGEND, SIGNS, look
from tests.lab.picture.frames import FRAMES

FRAME = {"picture", "partition", "log", "ruler", "transactions", "head"}  # what holds signs
LATEST = max(sign.lab for sign in SIGNS)
ABORTED = next(sign.lab for sign in SIGNS if sign.part == "aborted")
EVERY = [(name, size) for name in sorted(FRAMES) for size in sorted(WIDTHS)]


def parts(picture: str) -> dict[str, str]:
    """The signs of a picture: data-part (of a finger its kind) and the sign that holds it."""
    found: dict[str, str] = {}

    def walk(node: ElementTree.Element, inside: str) -> None:
        part = node.get("data-kind", "") if node.get("data-part") == "finger" else node.get("data-part", "")
        part = part if part != "entry" else f"entry {node.get('data-name')}"
        if part:
            found[part] = inside
        for child in node:
            walk(child, part or inside)
    walk(ElementTree.fromstring(picture), "")
    return found


@pytest.mark.parametrize("name, size", EVERY)
def test_each_part_of_a_picture_has_a_legend(name: str, size: str) -> None:
    """Fails if something is drawn that no sentence explains: add a row to SIGNS."""
    found = parts(to_svg(FRAMES[name](), size=size))
    silent = {part for part, inside in found.items() if part not in LEGEND and inside not in LEGEND}
    assert silent - FRAME == set()


def test_a_legend_is_one_short_sentence() -> None:
    """Fails if a sign has two rows, or if its sentence is two or cannot be read at one look."""
    assert len(LEGEND) == len(SIGNS)
    assert [sign.part for sign in SIGNS if not re.fullmatch(r"[A-Z](?:[^.]|\.(?=\w)){20,105}\.", sign.legend)] == []


@pytest.mark.parametrize("lab", range(LATEST + 2))
def test_signs_come_lab_by_lab_and_none_goes(lab: int) -> None:
    """Fails if a lab's picture has a sign that a later lab explains, or lacks one that it or an earlier lab explains."""
    late = {sign.part for sign in SIGNS if sign.lab > lab}
    for name, size in EVERY:
        frame = FRAMES[name]()
        whole, seen = parts(to_svg(frame, size=size)), parts(to_svg(look(frame, lab), size=size))
        assert late & {*seen} == set(), (name, size)
        if size == "page":                     # in a low place what goes makes room for more
            expected = {part for part, inside in whole.items() if part not in late and inside not in late}
            assert expected - FRAME <= {*seen, "row"}, (name, size)
        assert lab >= ABORTED or "abort" not in to_text(look(frame, lab)), name
        assert lab < LATEST or look(frame, lab) == frame


def test_a_covered_ledger_tells_no_number() -> None:
    """Fails if the answer stands in the picture or in its text while it is asked for."""
    for name in sorted(FRAMES):
        covered = look(FRAMES[name](), covered='reveal("0.1", ...)')
        for size in WIDTHS:
            found = parts(to_svg(covered, size=size))
            assert "cover" in found and not any(part.startswith(("ledger", "entry")) for part in found)
        assert covered.ledger == Ledger(*[None] * 7) and "Ledger: What became of the records is covered" in to_text(covered)
