"""Sheets with figures of each student's own."""
from __future__ import annotations

import csv
import io

from tools.teach import own
from tools.teach.exam import LETTERS, questions
from tools.teaching import main

LAB = range(6, 7)


def test_each_name_has_figures_of_its_own():
    """Fails if two students have the same sheet, or one student another sheet because of capitals or a comma."""
    ada, alan = (questions(own.own("2027", name, LAB)) for name in ("Ada Lovelace", "Alan Turing"))
    assert len(ada) == len(alan) >= 2 and all(mine != other for mine, other in zip(ada, alan))
    assert questions(own.own("2027", "LOVELACE,  ada", LAB)) == ada != questions(own.own("2028", "Ada Lovelace", LAB))


def test_the_key_is_that_of_the_sheets(tmp_path):
    """Fails if a letter of the key is another than the sheet's, a sheet names its seed, or a name is markup."""
    names = ["Ada Lovelace", "<b>Alan", "=1+1"]
    (tmp_path / "names.txt").write_text("\n".join(names) + "\n\n")
    assert main(["--to", str(tmp_path), "own", "--seed", "2027", "--names", str(tmp_path / "names.txt"), "--labs", "6"]) == 0
    head, *rows = csv.reader(io.StringIO((tmp_path / "own-2027-labs-6-key.csv").read_text()))
    assert head[:2] == ["student", "6.own1"] and [row[0] for row in rows] == ["Ada Lovelace", "<b>Alan", "'=1+1"]
    assert rows[1][1:] == [LETTERS[one.right] for one in own.own("2027", "<b>Alan", LAB)]
    page, keys = ((tmp_path / f"own-2027-labs-6{what}.html").read_text() for what in ("", "-key"))
    assert page.count("class=sheet") == 3 and "<b>" not in page + keys and "Seed" in keys and "2027" not in page
