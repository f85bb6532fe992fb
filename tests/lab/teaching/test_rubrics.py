"""The points of exercises: each line is about exercises that exist, and the marking reads the file."""
from __future__ import annotations

import importlib
import re
from fnmatch import fnmatchcase

from minikafka.lab.marking import rubric
from tools.notebooks.build import ROOT
from tools.teach.minutes import labs

FOLDER = ROOT / "docs" / "teaching"


def test_each_line_is_about_exercises_that_exist():
    """Fails if points.txt or the rubrics name an exercise that is gone, or if an exercise of the course has no points."""
    exercises = {one for number in labs() for one in importlib.import_module(f"solutions.right.lab{number:02d}").RIGHT}
    lines = rubric.read(FOLDER / "points.txt")
    assert [line.pattern for line in lines if not any(fnmatchcase(one, line.pattern) for one in exercises)] == []
    assert [one for one in exercises if not rubric.points(lines, one) and int(one.split(".")[0]) < 20] == []
    named = re.findall(r"\b(\d+\.\d+)\b", (FOLDER / "RUBRICS.md").read_text())
    assert named and {*named} <= exercises
