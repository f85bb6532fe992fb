"""The map "you are here" under each lab's title (tools/notebooks/here.py)."""
from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from tools.notebooks import here
from tools.notebooks.build import Project, build, load, orphans, stale
from tools.notebooks.source import LabError, parse, read

PROJECT = Project()
SOURCE = "---\ntitle: Doubles\nminutes: 5\nhere: producer, topic\n---\n# Lab 42 · Doubles\n\nWhy?\n"


def contrast(colour: str, paper: str) -> float:
    """The contrast of two colours, as WCAG 2.1 defines it."""
    def light(hexadecimal: str) -> float:
        parts = [int(hexadecimal[place:place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    dark, bright = sorted((light(colour), light(paper)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("path", PROJECT.sources([]), ids=lambda path: path.stem)
def test_every_lab_says_where_it_is(path):
    """Fails if a lab has no map, if it does not stand under the title in both notebooks, or names a file that is not there."""
    lab = read(path)
    assert lab.here
    for notebook in (PROJECT.student(lab), PROJECT.solved(lab)):
        title, blank, image = load(notebook).cells[0].source.splitlines()[:3]
        assert title.startswith(("# Lab ", "# Elective ")) and not blank and image == here.markdown(lab.here)
        assert (notebook.parent / re.search(r"\]\((.*)\)$", image)[1]).is_file()


@pytest.mark.parametrize("part", here.PARTS)
def test_every_part_is_dark_where_a_lab_is_about_it_and_pale_elsewhere(part):
    """Fails if a part cannot be told from the rest, if the drawing is no XML, is higher than a title may be, or names nothing."""
    other = here.drawing([next(name for name in here.PARTS if name != part)])
    mine = here.drawing([part])
    assert mine.count(here.DARK) > 1 and mine != other  # one of them: "You are here"
    root = ET.fromstring(mine)
    assert int(root.attrib["height"]) <= 120 and here.PARTS[part] in root[0].text


def test_the_map_can_be_read_on_white_and_on_black():
    """An image does not know the page's theme. Fails if a colour is lost on one of JupyterLab's two papers."""
    for paper in ("#ffffff", "#111111"):
        assert contrast(here.DARK, paper) >= 4 and contrast(here.PALE, paper) >= 3.5
    assert contrast("#ffffff", here.DARK) >= 4


def test_making_a_lab_makes_its_map_and_an_old_one_is_found(tmp_path):
    """Fails if a map is not written, is not made anew when its lab moves, or stays when no lab is there any more."""
    project = Project(tmp_path)
    project.source.mkdir(parents=True)
    source = project.source / "42-doubles.md"
    source.write_text(SOURCE)
    picture = project.map(build(source, project))
    assert picture.read_text() == here.drawing(["producer", "topic"]) and orphans(project) == []
    picture.write_text("<svg/>")
    assert any("pictures" in problem for problem in stale(source, project))
    source.write_text(SOURCE.replace("producer, topic", "spark"))
    build(source, project)
    assert orphans(project) == ["labs/pictures/here-producer-topic.svg is the map of no lab: delete it"]


def test_a_part_that_the_map_does_not_have_is_refused():
    """Fails if a mistyped part gives a map in which nothing is dark."""
    with pytest.raises(LabError, match="produzer is no part of the map; its parts are producer, topic"):
        parse(SOURCE.replace("producer, topic", "produzer"), "42-doubles")
