"""The files of a class: hand-ins, downloaded records and notebooks, in one folder or in one for each student."""
from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from minikafka.__main__ import main
from minikafka.lab import classroom, record
from minikafka.lab.marking import files

from .test_marking import ASKED, RIGHT, hand_in

WRONG = "check('6.4', lambda brokers, partitions, copies: None)"
STUB = "def readable(n, state):\n    todo('what?')\n\ncheck('6.6', readable)"
SPLIT = ("def high_watermark(leo, isr):\n    return min([leo[b] for b in isr])", "check('6.2', high_watermark)")


def notebook(path: Path, *sources: str, says: str = "") -> None:
    """Write a notebook whose cells have these sources; the last one has put something out."""
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "source": "# check('6.7', 1)"}]
    cells += [{"cell_type": "code", "source": source.splitlines(True), "outputs": []} for source in sources]
    cells[-1]["outputs"] = [{"output_type": "execute_result", "data": {"text/plain": says}}]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"nbformat": 4, "cells": cells}))


def progress(path: Path, **code: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**record.empty(), "exercises": {
        f"6.{number[1:]}": {"tried": 5, "passed": True, "code": source} for number, source in code.items()}}))


def test_what_a_browser_downloads_is_marked(tmp_path: Path) -> None:
    """Fails if a download is not read, if a second one of the same name is taken for the first student's, if a notebook's answer
    is judged without the cells that it uses or a stub is an answer, if files of one student are not one row, or
    if the file with less work replaces an answer."""
    hand_in(tmp_path, "Ada", RIGHT, ("6.2",))
    (tmp_path / "Ada-1.json").rename(tmp_path / "minikafka-Ada.json")
    hand_in(tmp_path, "Ada", RIGHT, ("6.2", "6.4"))
    (tmp_path / "Ada-1.json").rename(tmp_path / "minikafka-Ada (1).json")
    progress(tmp_path / "progress.json", e2=RIGHT["6.2"])
    progress(tmp_path / "progress (1).json", e2=RIGHT["6.2"], e4=RIGHT["6.4"], e6=RIGHT["6.6"])
    notebook(tmp_path / "labs_06-replication.ipynb", *SPLIT, WRONG, STUB, says="? 6.6 UNKNOWN: not solved yet")
    notebook(tmp_path / "labs_06-replication (1).ipynb", *(RIGHT[e] for e in ASKED))
    progress(tmp_path / "Grace" / "progress.json", e2=RIGHT["6.2"])
    notebook(tmp_path / "Grace" / "labs_06-replication.ipynb", "check('6.2', lambda leo, isr: 0)", WRONG, RIGHT["6.6"])
    notebook(tmp_path / "Alan_17_assignsubmission_file_" / "06.ipynb", RIGHT["6.7"])
    notebook(tmp_path / "submitted" / "edsger" / "lab6" / "06.ipynb", RIGHT["6.2"], RIGHT["6.7"])
    (points := tmp_path / "points.txt").write_text("6.*  1\n")
    assert main(["class", str(tmp_path), "--rubric", str(points)]) == 0
    with (tmp_path / "marks.csv").open() as file:
        rows = {row["student"]: row["points"] for row in csv.DictReader(file)}
    assert rows == {"Ada": "2", "progress": "1", "progress (1)": "3", "labs_06-replication": "1", "labs_06-replication (1)": "4",
                    "Grace": "2", "Alan": "1", "edsger": "2"}


def test_what_a_notebook_answers(tmp_path: Path) -> None:
    """Fails if an answer that is a file has not the file's text, if a cell that has printed PASS claims none, if a stub or a text
    is an answer, or if the definitions of other cells are lost."""
    program = "%%writefile mine.py\nprint(1)\n"
    notebook(tmp_path / "a.ipynb", program, "check('1.9', 'mine.py')", STUB, *SPLIT, says="✔ 6.2 PASS: right")
    found = files.notebook(tmp_path / "a.ipynb").kept["exercises"]
    assert found == {"1.9": {"tried": 1, "passed": False, "code": program, "uses": ""},
                     "6.2": {"tried": 1, "passed": True, "code": SPLIT[1], "uses": SPLIT[0]}}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": 1}', '{"cells": [1]}', '{"cells": [{"cell_type": "code"}]}',
                                  json.dumps({"cells": [{"cell_type": "code", "source": "check('6.2', " + "(" * 9999}]}),
                                  json.dumps({"cells": [{"cell_type": "code", "source": "check('6.2', \ud800)"}]}), "[" * 99999])
def test_what_is_no_notebook_is_named(tmp_path: Path, text: str) -> None:
    """Fails if a file that is no notebook, or one without an answer, ends the command or is passed over in silence."""
    (tmp_path / "a.ipynb").write_text(text)
    hand_in(tmp_path, "Ada", RIGHT, ("6.2",))
    unread: list[str] = []
    assert [one.name for one in files.read_all(tmp_path, unread)] == ["Ada"]
    assert unread == ['a.ipynb is no notebook with answers: ask for the file that progress().hand_in("NAME") writes']


def test_a_record_is_a_hand_in_without_a_name(tmp_path: Path) -> None:
    """Fails if a student's own record is not read, or if one of another version is said to be no hand-in."""
    progress(tmp_path / "progress.json", e2=RIGHT["6.2"])
    assert classroom.read(tmp_path / "progress.json").name == "progress"
    (tmp_path / "progress.json").write_text(json.dumps({**record.empty(), "version": 0}))
    with pytest.raises(ValueError, match="is of another version"):
        classroom.read(tmp_path / "progress.json")
