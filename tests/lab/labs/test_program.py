"""The student's own file as a process (minikafka/lab/program.py). The programs here only read and print."""
from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from minikafka.cluster import NotReady
from minikafka.lab import program as module
from minikafka.lab.exercise import Outcome, Todo, Unknown, Wrong, judge
from minikafka.lab.labs.stage import simulated
from minikafka.lab.program import Program, Together, cluster_of_its_own, ended, no_controller, said, source, until
from tools.notebooks.build import exercises
from tools.notebooks.parts import dependents, unsolved_part
from tools.notebooks.source import parse
from tools.notebooks.student import unsolved, unsolved_cells

ECHO = "import sys\nfor line in sys.stdin:\n    print(line.strip())\n"
LAB = '''---
title: Files
minutes: 5
---
```python id=write
%%writefile my_echo.py
### BEGIN SOLUTION Print each line of standard input as soon as it has come, and end when the input is at its end.
import sys
for line in sys.stdin:
    print(line.strip())
### END SOLUTION
```
```python id=other
line = 3
```
```python id=judge
check("42.1", "my_echo.py")
```
'''


@pytest.fixture
def short(monkeypatch):
    """Little patience: these programs have nothing to wait for. A busy machine may need seconds to start a Python."""
    monkeypatch.setattr(module, "QUIET", 3.0)


def test_a_program_gets_lines_and_arguments_and_ends(tmp_path, monkeypatch):
    """Fails if arguments or lines are lost, if letters beyond ASCII are, or if a line is seen before it is whole."""
    text = ECHO + "print(sys.argv[1:], end='')\nprint('ü', file=sys.stderr)\nprint()\nprint('half', end='')"
    with Program(text, "a b", "ü") as program:
        program.give(["one", "Straße"])
        assert until(lambda: len(program.printed) == 2, program)
        assert program.printed == ["one", "Straße"] and program.code is None
        program.give_no_more()
        ended(program)
        assert program.printed[2:] == ["['a b', 'ü']"] and program.errors == ["ü"] and program.code == 0


@pytest.mark.parametrize("text, told, last", [
    ("1 / 0", "exit code 1", "ZeroDivisionError: division by zero"),
    ("import sys; sys.exit(3)", "exit code 3", ""),
    ("import os; os.kill(os.getpid(), 9)", "signal 9", ""),
    ("while True: pass", "still running 3 s after its last line", ""),
    ("import time\ntry:\n    time.sleep(99)\nexcept BaseException:\n    pass", "still running", ""),
    ("import nothing_of_this_name", "exit code 1", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
])
def test_an_end_that_is_none_is_told_with_its_last_words(short, text, told, last):
    """Fails if a program that fails or never ends is taken for a good one, or if its error is not shown."""
    with Program(text + "\n") as program, pytest.raises(Wrong, match=told) as wrong:
        program.give_no_more()
        ended(program)
    assert [*wrong.value.excerpt[-1:]] == [last] * bool(last)


def test_a_program_that_prints_without_an_end_is_stopped(monkeypatch):
    """I-PROG-2. Fails if each line is taken for a sign that all is well."""
    monkeypatch.setattr(module, "MUCH", 10_000)
    with Program("while True: print('again')\n") as program:
        assert not until(lambda: program.code is not None, program)


@pytest.mark.parametrize("text, error, told", [
    ("# Send each line\n#  to the topic.\n\n", Todo, "^Send each line to the topic.$"),
    ("\n", Todo, "is empty"),
    ("for line in x\n    pass\n", Wrong, "my_echo.py, line 1, is no Python: expected ':'"),
    ("%%writefile my_echo.py\nx = 1\n", Wrong, "line 1, is no Python"),
    ("x = '\0'\n", Wrong, "is no Python"),
])
def test_a_file_that_is_no_program_is_told_by_its_line(tmp_path, monkeypatch, text, error, told):
    """Fails if a mistake in the file is an error of the check, or if a file with a comment alone counts as a try."""
    monkeypatch.chdir(tmp_path)
    Path("my_echo.py").write_text(text)
    with pytest.raises(error, match=told):
        source("my_echo.py")


def test_a_file_that_cannot_be_read_says_which_cell_to_run(tmp_path, monkeypatch):
    """Fails if one who ran the check first, or has bytes in the file, is not told what to do."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unknown, match="no file my_echo.py beside .* Run the cell that begins with %%writefile my_echo"):
        source("my_echo.py")
    for make in (lambda path: path.write_bytes(b"\xff\xfe"), lambda path: (path.unlink(), path.mkdir())):
        make(Path("my_echo.py"))
        with pytest.raises(Wrong, match="cannot be read"):
            source("my_echo.py")


def test_a_path_with_blanks_and_umlauts(tmp_path, monkeypatch):
    """Fails on a machine whose folders have names as people give them."""
    folder = tmp_path / "Übung 1 (neu)"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.chdir(folder)
    Path("my_echo.py").write_text(ECHO)
    with Program(source("my_echo.py"), name="my_echo.py") as program:
        program.give(["one"])
        program.give_no_more()
        ended(program)
        assert program.printed == ["one"] and list(folder.glob("minikafka-*"))
    assert sorted(path.name for path in folder.iterdir()) == ["my_echo.py"]


STAYS = "import subprocess, sys, time\nchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(999)'])\n" \
        "print(child.pid)\ntime.sleep(999)\n"


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("error", [KeyboardInterrupt, Wrong, SystemExit])
def test_nothing_outlives_the_block(error):
    """I-PROG-1. Fails if Ctrl-C or a verdict leaves the program, a process that it has started, or its folder behind."""
    with pytest.raises(error), Program(STAYS) as program:
        until(lambda: program.printed, program)
        raise error("stop")
    child = int(program._lines[0])
    assert program.code == -signal.SIGKILL and not program._folder.exists()
    deadline = time.monotonic() + 60
    while alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_kernel_that_is_killed_takes_the_program_with_it():
    """I-PROG-1. Fails if the program goes on when the notebook's kernel was killed or restarted."""
    parent = subprocess.Popen([sys.executable, "-c", "from minikafka.lab.program import Program, until\nimport time\n"
                               "program = Program('import os, time\\nprint(os.getpid())\\ntime.sleep(999)\\n')\n"
                               "until(lambda: program.printed, program)\nprint(program.printed[0], program._folder, flush=True)\n"
                               "time.sleep(999)"], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid, folder = parent.stdout.readline().split()
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 60
    while alive(int(pid)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with Program(ECHO) as program:  # whoever starts next removes the folder
        program.give_no_more()
        ended(program)
    assert not Path(folder).exists()


def test_a_line_that_nobody_asked_for_is_told():
    """Fails if a program that prints anything is taken at its word."""
    said(["a", "b"], ["a", "b", "c"])
    with pytest.raises(Wrong, match="printed 'd'"):
        said(["a", "d"], ["a", "b", "c"])


def test_trouble_of_the_checks_own_cluster_is_no_fault_of_the_students(monkeypatch):
    """Fails if a busy machine makes a right program wrong."""
    class Busy:
        def __init__(self, **_: object) -> None:
            raise NotReady("no leader in 60 s")
    monkeypatch.setattr(module, "Cluster", Busy)

    def ask(answer: str) -> str:
        with cluster_of_its_own():
            return answer
    verdict = judge(ask, "42.1", "x = 1\n")
    assert verdict.outcome is Outcome.UNKNOWN and "own cluster did not work (no leader in 60 s)" in verdict.why


def test_the_broker_that_dies_does_not_decide():
    """Fails if a check kills the active controller, though it wants a leader to die and another to be elected at once."""
    with simulated(6) as cluster:
        active = cluster.controller()
        assert active is not None and no_controller(cluster, [active, *cluster.ids]) != active


def test_what_was_run_beforehand_is_not_run_again():
    """Fails if the gate runs a program twice, or if what is no program stops the others."""
    runs: list[list[str]] = []

    def run(texts):
        runs.append([*texts])
        return [text.upper() for text in texts]
    together = Together(run)
    together.beforehand(["a = 1\n", "# only a comment\n", "a = \n", "b = 1\n"])
    assert [together("a = 1\n"), together("b = 1\n"), together("c = 1\n")] == ["A = 1\n", "B = 1\n", "C = 1\n"]
    assert runs == [["a = 1\n", "b = 1\n"], ["c = 1\n"]]
    with pytest.raises(Todo):
        together("# only a comment\n")


def test_a_student_gets_a_file_with_one_comment():
    """Fails if a solution reaches the students, or if their file is no file of comments."""
    cell = parse(LAB, "42-files").cells[1]
    assert unsolved(cell.source) == (
        "%%writefile my_echo.py\n# Print each line of standard input as soon as it has come,\n"
        "# and end when the input is at its end.")


def test_an_exercise_of_two_cells_is_one_exercise():
    """Fails if progress() or the gate does not know it, or if `make test` leaves its check out of the students' notebook."""
    cells = parse(LAB, "42-files").cells
    assert [(number, cell.id) for number, cell in exercises(cells)] == [("42.1", "write")]
    assert [cell.id for cell in dependents(cells, beginning={"write"})] == ["write", "judge"]
    assert [cell.id for cell in unsolved_part(unsolved_cells(cells), cells)] == ["write", "judge"]
