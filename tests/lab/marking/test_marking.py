"""Marks: a class of thirty, ten of them dishonest, is judged again by the checks of lab 6."""
from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.__main__ import main
from minikafka.lab import classroom, record, uses
from minikafka.lab.marking import apart, cell, marks, remarks, rubric
from minikafka.lab.marking.rubric import EACH_ONE_POINT
from minikafka.lab.report import found
from tools.notebooks.build import Project, exercises
from tools.notebooks.source import read

from .dishonest import KINDS

RIGHT = {number: each.source for number, each in exercises(read(Project().sources(["06"])[0]).cells)}
ASKED = ("6.2", "6.4", "6.6", "6.7")
ODD = {e: RIGHT[e].replace("    ### END", "    assert True, 'a line that nobody else has'\n    ### END") for e in ASKED[:3]}


def hand_in(folder: Path, name: str, code: dict[str, str], passed: tuple[str, ...] = ASKED, minutes: float = 80, tried: int = 1):
    """Write the file of one student, who says to have passed these exercises."""
    entries = {e: {"tried": tried, "passed": True, **({"code": code[e]} if e in code else {})} for e in passed}
    whole = {**record.empty(), "kind": classroom.KIND, "name": name, "exercises": entries,
             "labs": {"6": {"seconds": minutes * 60}}}
    (folder / f"{name}-{tried}.json").write_text(json.dumps(whole))


def renamed(code: str) -> str:
    return re.sub(r"\b(n|leo|left|placed|state)\b", r"\1_of_mine", "# my own work\n" + code)


@pytest.fixture(scope="module")
def thirty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty students who did what they say, in their own layout; and ten who did not."""
    folder = tmp_path_factory.mktemp("class")
    for number in range(20):
        hand_in(folder, f"student {number:02}", {e: RIGHT[e] + f"\n# {number}" for e in ASKED})
    hand_in(folder, "no code", {})
    hand_in(folder, "wrong code", {"6.2": "def mine(leo, isr):\n    return max(leo.values())\n\ncheck('6.2', mine)"}, ("6.2",))
    hand_in(folder, "first of two", RIGHT | ODD)
    hand_in(folder, "second of two", {e: renamed(code) for e, code in (RIGHT | ODD).items()})
    for kind, (cell_, *_) in KINDS.items():
        hand_in(folder, kind, {**RIGHT, "6.2": cell_}, tried=2)
    hand_in(folder, "Exits  early", {})
    return folder


@pytest.mark.proof
def test_a_class_is_marked(thirty: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a pass is taken from a file, if what one student's code does changes another mark, if
    what is dishonest is not named, or if anybody honest is."""
    monkeypatch.setattr(apart, "DISK", 8 << 20)
    (points := thirty / "points.txt").write_text("6.*  1\n")
    assert main(["class", str(thirty), "--rubric", str(points)]) == 0
    printed = capsys.readouterr().out
    with (thirty / "marks.csv").open() as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert len(rows) == 30 and "marks" in printed and "marks" in (thirty / "class.html").read_text()
    honest = {name: row for name, row in rows.items() if name.startswith("student")}
    assert {(row["points"], row["lab 6"], row["look at"]) for row in honest.values()} == {("4", "4", "")}
    look = {name: (row["points"], row["look at"]) for name, row in rows.items() if name not in honest}
    assert look["no code"] == ("0", "passed, and there is no code: 6.2, 6.4, 6.6, 6.7")
    assert look["wrong code"][0] == "0" and look["wrong code"][1].startswith("6.2 passed, and here it is FAIL: ")
    assert look["first of two"] == ("4", "the same code as second of two: 6.2, 6.4, 6.6")
    assert look["second of two"] == ("4", "the same code as first of two: 6.2, 6.4, 6.6")
    assert {kind: look[kind] for kind, (_, *says) in KINDS.items()
            if look[kind][0] != "3" or not all(each in look[kind][1] for each in says)} == {}
    page = (record.ROOT / "docs" / "teaching" / "MARKING.md").read_text()
    shown = page[page.index("    student "):].partition("\n\n")[0].splitlines()
    assert [line for line in shown if line.strip() not in printed] == [] and len(shown) == 8
    assert look["exits early"][1].endswith("; 2 files; each answer is that of the file with most work")


def test_what_is_unlikely_is_named(tmp_path: Path) -> None:
    """Fails if a lab that is passed in a minute is nothing to look at, or if a whole hour is."""
    labs = [lab for lab in found(record.ROOT / "labs") if lab.number == 6]
    for name, minutes in {"fast": 1.0, "slow": 80.0}.items():
        hand_in(tmp_path, name, RIGHT, labs[0].exercises, minutes)
    fast, slow = (classroom.read(tmp_path / f"{name}-1.json") for name in ("fast", "slow"))
    assert list(remarks.of_minutes(fast, labs)) == [f"all of lab 6 in 1 of {labs[0].minutes} minutes"]
    assert list(remarks.of_minutes(slow, labs)) == []


CELLS = {  # by exercise: its cell, and the verdict
    "6.2": ("import nothing", "UNKNOWN", "does not run alone, ModuleNotFoundError"),
    "6.4": ("x = 1", "UNKNOWN", "its cell never calls check()"),
    "6.6": ("def f(", "UNKNOWN", "SyntaxError"),
    "6.7": ("raise SystemExit", "UNKNOWN", "SystemExit"),
    "6.8": ("check('6.8', bytearray(1 << 40))", "UNKNOWN", "MemoryError"),
    "6.99": (RIGHT["6.2"], "UNKNOWN", "6.99"),
    "4.6": ("import os\nos._exit(0)", "FAIL", "ends the process"),
    "3.2": ("print('PASS')\ncheck('3.2', lambda *_: 0)", "FAIL", ""),
}


def test_whatever_a_cell_does_has_an_outcome() -> None:
    """Fails if a cell that does not run alone is called wrong, or if it ends the marking of the next one."""
    found = apart.judged({e: code for e, (code, _, _) in CELLS.items()} | {"6.1": RIGHT["6.2"], "2.2": RIGHT["6.4"]})
    assert {e: (outcome, why in found[e].why) for e, (_, outcome, why) in CELLS.items()} == {
        e: (found[e].outcome, True) for e in CELLS}, found
    assert list(found) == [*CELLS, "6.1", "2.2"]


def test_a_program_goes_on_from_the_same_students_earlier_ones() -> None:
    """Fails if a stage of elective 20 is judged without the files that come before it, or with another student's."""
    stages = {number: each.source for number, each in exercises(read(Project().sources(["20"])[0]).cells)}
    assert apart.judged({e: stages[e] for e in ("20.1", "20.2")})["20.2"]
    assert not apart.judged({"20.2": stages["20.2"]})["20.2"]


def test_a_rubric_gives_the_points(tmp_path: Path) -> None:
    """Fails if the first line that fits does not count, or a line that is none is not named."""
    (file := tmp_path / "rubric").write_text("# of lab 6\n6.2  3\n6.*  0.5\n")
    assert [rubric.points(rubric.read(file), e) for e in ("6.2", "6.20", "7.1")] == [3, 0.5, 0]
    assert rubric.points(EACH_ONE_POINT, "7.1") == 1
    for wrong in ("6.2", "6.2 three", "6.2 -1", "6.2 1 2"):
        file.write_text(f"\n{wrong}\n")
        with pytest.raises(ValueError, match="line 2"):
            rubric.read(file)


def test_a_file_for_a_spreadsheet_runs_nothing() -> None:
    """Fails if a name that a spreadsheet would compute is written as it is."""
    table = marks.Table(("student",), (("=1+1",), ("Ada, Countess",)))
    assert marks.as_csv(table) == "student\n'=1+1\n\"Ada, Countess\"\n"


def test_code_is_alike_but_for_names_and_layout() -> None:
    """Fails if renaming or a line that does nothing hides a copy, or if code with another step counts as one."""
    assert remarks.alike("def f(a):\n    return min(a)") == remarks.alike("def g(x):  # mine\n    return min( x )")
    idle = "def g(x: list) -> int:\n    'Mine.'\n    pass\n    return min(x)"
    assert remarks.alike("def f(a):\n    return min(a)") == remarks.alike(idle)
    assert remarks.alike("def f(a):\n    return min(a)") != remarks.alike("def f(a):\n    return max(a)")


def test_a_reach_is_named() -> None:
    """Fails if the brokers' own rule, or a name that is hidden in quotes, is no remark, or if the labs' helpers are one."""
    broker = "from minikafka.client.consumer.assignors import assign_range as mine"
    code = {"4.6": broker, "6.2": "vars()['__builtins__']",
            "6.4": "from minikafka import Cluster\nimport minikafka.lab.labs.lab06", "6.6": "from shutil import rmtree"}
    assert list(remarks.of_reaches(code)) == ["4.6 uses minikafka.client.consumer.assignors", "6.2 uses __builtins__, vars",
                                              "6.6 uses shutil"]


def test_a_name_is_one_short_line(tmp_path: Path) -> None:
    """Fails if a name of a file that was made by hand spoils the table of the class."""
    hand_in(tmp_path, "ada", RIGHT)
    whole = json.loads((tmp_path / "ada-1.json").read_text())
    for name, shown in {"nul \0 name\nnew line": "nul name new line", "n" * 9999: "n" * 100, "\t": "x"}.items():
        (tmp_path / "x.json").write_text(json.dumps({**whole, "name": name}))
        assert classroom.read(tmp_path / "x.json").name == shown


def test_a_cell_is_judged_with_what_it_uses() -> None:
    """Fails if an answer whose function stands in another cell is not judged, or if that cell's function is not needed."""
    question, function = "check('6.2', high_watermark)", RIGHT["6.2"].partition("\nmine = ")[0]
    entry = {"code": question, "uses": uses.uses(question, ["from minikafka.lab import check", function])}
    found = apart.judged({"6.2": cell.whole(entry), "6.4": entry["code"].replace("6.2", "6.4")})
    assert found["6.2"] and found["6.4"].outcome == "UNKNOWN"


def test_what_is_for_jupyter_is_left_out() -> None:
    """Fails if a magic makes a right answer one that does not run, or hides a copy; or if a file loses its first line."""
    timed = cell.whole({"code": "%%time\n" + RIGHT["6.2"] + "\nif True:\n    !ls"})
    assert timed is not None and apart.judged({"6.2": timed})["6.2"]
    assert cell.whole({"code": "x = 7 \\\n% 5"}) == "x = 7 \\\n% 5"
    assert remarks.alike(timed) == remarks.alike(RIGHT["6.2"] + "\nif True:\n    pass")
    assert cell.whole({"code": "%%writefile a.py\nx"}) == "%%writefile a.py\nx"


def test_the_definitions_that_a_cell_uses() -> None:
    """Fails if a definition that another one needs is left out, an older one counts, or a call is made again."""
    earlier = ["def f(): return 1", "def g(x): return f() + K", "K = 2\nc = start()\n%time\ndef other(): pass",
               "def f(): return 3", "import math as m"]
    assert uses.uses("def h(g2): return g(g2) + m.pi\ncheck('6.2', h, c)", earlier) == (
        "def g(x):\n    return f() + K\nK = 2\ndef f():\n    return 3\nimport math as m")
    assert uses.uses("def f(): return 1\ncheck('6.2', f)", earlier) == "" == uses.uses("def (", earlier)


def test_the_cell_is_kept_with_its_verdict(tmp_path: Path) -> None:
    """Fails if the code of a pass is not handed in, if a later wrong try replaces it, or if of a file not its text is kept."""
    helped = ("from minikafka.lab import check\ncluster = print('a call')\nFEW = 1", "def least(leo, isr):\n    return FEW",
              "check('6.4', lambda leo, isr: least(leo, isr))")
    cells = (*helped, RIGHT["6.2"], "check('6.2', lambda leo, isr: 0)",
             "%%writefile mine.py\nprint(1)", "check('1.9', 'mine.py')")
    code = ("from IPython.core.interactiveshell import InteractiveShell as Shell\nfrom minikafka.lab import check, progress\n"
            "shell = Shell.instance(user_ns={'check': check})\n"
            f"for cell in {cells!r}: shell.run_cell(cell, store_history=True)\nprint(progress().hand_in('Ada'))")
    environment = {**os.environ, "MINIKAFKA_PROGRESS": str(tmp_path / "progress"), "IPYTHONDIR": str(tmp_path / "ipython"),
                   "PYTHONPATH": str(record.ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          timeout=300)
    assert "their code" in done.stdout, done
    entries = json.loads((tmp_path / "minikafka-Ada.json").read_text())["exercises"]
    assert entries["6.2"] == {"tried": 2, "passed": True, "code": RIGHT["6.2"], "uses": ""}
    assert entries["6.4"]["uses"] == f"FEW = 1\n{helped[1]}"
    assert entries["1.9"] == {"tried": 1, "passed": False, "code": "%%writefile mine.py\nprint(1)\n", "uses": ""}
