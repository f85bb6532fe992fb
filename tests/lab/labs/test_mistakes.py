"""What a student does wrong with check, hint, predict and reveal: each kind of mistake gets one sentence with the remedy."""
from __future__ import annotations

import errno
import functools
import json
import sys
import threading
import time
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from minikafka import lab
from minikafka.lab import check, exercise, guard, hint, names, predict, record, reveal, trial
from minikafka.lab.exercise import checks
from minikafka.lab.trial import ALWAYS, MISSED, NONE, NOTHING, OURS
from minikafka.lab.verdict import Outcome


@pytest.fixture(autouse=True)
def doubling(monkeypatch):
    """Checks of a lab that does not exist: a function that doubles, one that sorts, and two functions at once."""
    monkeypatch.setattr(exercise, "CHECKS", {})
    monkeypatch.setattr(exercise, "SECONDS", {})
    monkeypatch.setattr(guard, "LIMIT", 1.5)

    @checks("99.1")
    def _(answer: Callable[[int], int]) -> str:
        assert (said := answer(4)) == 8, f"you said {said}, it is 8"
        return "right"

    @checks("99.2")
    def _(answer: Callable[[list[int], str], list[int]]) -> str:
        assert list(answer([2, 1], "")) == [1, 2], "not sorted"
        return "right"

    @checks("99.3")
    def _(functions: tuple[Callable[[int], int], Callable[[int], int]]) -> str:
        return f"{functions[0](1) + functions[1](1)}"

    @checks("99.4")
    def _(answer: Callable[[int], dict[int, tuple[int, int]]]) -> str:
        assert {int(key): tuple(pair) for key, pair in answer(1).items()} == {1: (0, 4)}
        return "right"

    @checks("99.5")
    def _(answer: Callable[[int], list[Any]]) -> str:
        return f"{answer(1)[0] + 1}"


def endless(n):
    while True:
        n += 1


def stubborn(n):
    while True:
        try:
            time.sleep(60)
        except Exception:
            pass


def swallows_all(n):
    while True:
        try:
            n += 1
        except:  # noqa: E722
            n = 0


def swallows_all_twice(n):
    while True:
        try:
            try:
                n += 1
            finally:
                continue  # noqa: B012
        except:  # noqa: E722
            continue


def none_at_all(n):
    2 * n


@pytest.mark.parametrize("function, line", [(endless, "in endless"), (stubborn, "in stubborn"), (swallows_all, "in swallows_all"),
                                            (swallows_all_twice, "in swallows_all_twice")])
def test_a_loop_without_an_end_is_stopped_and_the_next_check_works(function, line):
    """I-LAB-6. Fails if check hangs, if `except Exception` or a bare `except` swallows the stop, or if the line is not told."""
    verdict = check("99.1", function)
    assert verdict.outcome is Outcome.FAIL and "stopped after 1.5 seconds" in verdict.why and line in verdict.excerpt[0]
    assert check("99.1", lambda n: 2 * n)


def test_the_limit_ends_with_the_check():
    """Fails if a cell that comes after a check is interrupted."""
    assert check("99.1", lambda n: 2 * n)
    begin = time.monotonic()
    while time.monotonic() < begin + 2 * guard.LIMIT:
        time.sleep(0.01)


def test_a_check_may_take_the_time_that_it_asks_for():
    """Fails if a right answer that takes long is stopped (lab 14 runs whole pipelines, on a busy machine for half a minute)."""
    @checks("99.4", seconds=30)
    def _(answer: Callable[[int], int]) -> str:
        return str(answer(4))

    def slow(n):
        begin = time.monotonic()
        while time.monotonic() < begin + 2 * guard.LIMIT:
            time.sleep(0.01)
        return n
    assert check("99.4", slow) and not check("99.1", slow)


def test_in_another_thread_a_check_works_without_a_limit():
    """Fails if signals are asked for where Python forbids them."""
    found = []
    thread = threading.Thread(target=lambda: found.append(check("99.1", lambda n: 2 * n)))
    thread.start()
    thread.join()
    assert found and found[0]


def test_a_limit_inside_another_one_leaves_the_outer_one_as_it_was():
    """Fails if a check takes away the limit of whoever runs it (the gate)."""
    with pytest.raises(guard.TooLong), guard.limited(0.2):
        assert check("99.1", lambda n: 2 * n)
        endless(0)


@pytest.mark.parametrize("function, told", [
    (lambda n: (lambda f: f(f))(lambda f: f(f)), "calls itself without an end"),
    (lambda n: sys.exit(n), "ends the program"),
    (lambda n: bytearray(1 << 62), "more memory than there is"),
    (none_at_all, "is there a `return`?"),
    (lambda n: "8", "returned '8', of type str; a number is wanted"),
    (lambda n: [8], "of type list; a number is wanted"),
    (lambda: 8, "gets 1 argument; its parameters are: none"),
    (lambda n, m: 8, "gets 1 argument; its parameters are: n, m"),
    (8, "without brackets behind it; you gave 8, of type int"),
    (None, "you gave nothing (None)"),
])
def test_wrong_results_of_a_function_are_described_in_words(function, told):
    """Fails if a kind of mistake passes, stops the notebook, or ends in Python's own words."""
    verdict = check("99.1", function)
    assert verdict.outcome is Outcome.FAIL and told in verdict.why


def in_a_loop(n):
    for each in range(n - 4):
        return each


def in_an_if(n):
    if n > 100:
        return 2 * n


def none_with_a_bare_one(n):
    if n:
        return


def sorts(n):
    return [n].sort()


class Doubler:
    def __call__(self, n):
        if n > 100:
            return 2 * n

    def method(self, n):
        for each in range(n - 4):
            return each


@pytest.mark.parametrize("function, told", [
    (none_at_all, NOTHING), (none_with_a_bare_one, NOTHING), (in_a_loop, MISSED), (in_an_if, MISSED), (Doubler(), MISSED),
    (Doubler().method, MISSED), (functools.partial(in_an_if), MISSED), (functools.partial(lambda m, n: None, 1), NONE),
    (sorts, ALWAYS), (lambda n: [n].sort(), NONE), (lambda n: n if n > 100 else None, NONE),
    (functools.lru_cache(in_an_if), MISSED)])
def test_a_missing_return_is_explained_from_the_code(function, told):
    """I-TRIAL-2. Fails if somebody whose `return` stands in a loop or an if is asked whether there is one, if a missing one is
    not asked for, or if the arguments are not shown."""
    verdict = check("99.1", function)
    assert verdict.outcome is Outcome.FAIL and verdict.why == f"your function {told}"
    assert verdict.excerpt[-1].startswith("called with ") and verdict.excerpt[-1].endswith("n=4")


def asks_a_library(n):
    return json.loads("{" * n)


@pytest.mark.parametrize("function, told, line", [
    (asks_a_library, "your code raised JSONDecodeError: ", "in asks_a_library, line"),
    (lambda n: n / (n - 4), "ZeroDivisionError", "your lambda"), (functools.partial(asks_a_library), "JSON", "asks_a_library"),
    (functools.partial(lambda m, n: m[n], []), "IndexError", "your lambda"), (max, "'int' object is not iterable", None),
    (Doubler().__getattribute__, "attribute name must be string", None),
    (lambda n: (_ for _ in ()).throw(AssertionError("mine")), "your code raised AssertionError: mine", "lambda"),
])
def test_an_error_is_shown_with_the_arguments_wherever_it_was_raised(function, told, line):
    """Fails if the arguments are shown of some kinds of functions only, or if an assertion of the student's is taken for the
    verdict of the check."""
    verdict = check("99.1", function)
    assert verdict.outcome is Outcome.FAIL and told in verdict.why and verdict.excerpt[-1].endswith("4")
    assert line is None or line in verdict.excerpt[0]


def test_of_two_functions_the_failing_one_is_shown_with_its_arguments():
    """Fails if the arguments are lost where several functions are wanted."""
    assert check("99.3", (lambda n: 2 * n, lambda n: n / 0)).excerpt[-1] == "called with n=1"


def test_arguments_are_shown_as_they_were_at_the_call():
    """Fails if a function that empties its list is told that it was given an empty one."""
    def empties(values, how):
        while True:
            values.pop()
    assert check("99.2", empties).excerpt[-1] == "called with values=[2, 1], how=''"


@pytest.mark.parametrize("exercise, answer, told", [
    ("99.2", lambda values, how: 3, "of type int; a list of numbers is wanted"),
    ("99.2", lambda values, how: "12", "of type str; a list of numbers is wanted"),
    ("99.3", endless, "2 answers are wanted, in brackets"),
    ("99.3", (endless, 5), "without brackets behind it; you gave 5"),
    ("99.3", (lambda n: 1, lambda n: "x"), "of type str; a number is wanted"),
])
def test_the_shape_of_an_answer_is_shown(exercise, answer, told):
    """Fails if it is only said that something differs."""
    assert told in check(exercise, answer).why


@pytest.mark.parametrize("said", ["{1: 4}", "{'orders': (0, 4)}"])
def test_an_error_of_the_check_is_not_called_the_students(said):
    """Fails if a student looks for an error in a function that has none: what it returned is of another form."""
    def typed(text):
        return eval(compile(f"lambda n: {text}", "a cell", "eval"))
    why = check("99.4", typed(said)).why
    assert "your code raised" not in why and "a dictionary from numbers to tuples is wanted" in why
    assert "your code raised KeyError" in check("99.4", typed("{}[n]")).why


class Stub:
    """A client of a lab's own: it refuses a text, and stumbles over a list."""

    def poll(self, wait):
        if isinstance(wait, str):
            raise TypeError("poll() takes milliseconds; your code gives it a text")
        return wait + 1


@pytest.mark.parametrize("argument, told", [("'5'", "poll() takes milliseconds; your code gives it a text"),
                                            ("[5]", "a call in this line gets something that it cannot use: look at its "
                                                    "arguments")])
def test_a_client_of_ours_says_what_it_takes(argument, told, monkeypatch):
    """Fails if a student reads a TypeError that the code of a lab's client has raised."""
    monkeypatch.setattr(trial, "OURS", str(Path(__file__).parent))
    verdict = check("99.1", eval(compile(f"lambda n: stub.poll({argument})", "a cell", "eval"), {"stub": Stub()}))
    assert verdict.why == told and "called with n=4" in verdict.excerpt[-1]


def test_a_list_is_not_said_to_be_wanted_where_there_is_one():
    """Fails if the reason for a refusal is false: the check stumbled over something in the list."""
    verdict = check("99.5", eval(compile("lambda n: [None]", "a cell", "eval")))
    assert verdict.why.endswith("returned [None], of type list; something in it has another form than the exercise asks for")


@pytest.mark.parametrize("answer", [lambda values, how: (1, 2), lambda values, how: {1: 0, 2: 0}.keys(),
                                    lambda *values: [1, 2], lambda values, how="", more=0: [1, 2]])
def test_what_a_check_can_judge_is_left_to_it(answer):
    """Fails if a right answer of a related type, or with more parameters that need no value, is refused."""
    assert check("99.2", answer)


def test_thousands_of_lines_do_not_fill_the_notebook(capsys):
    """Fails if all is shown, if nothing is shown, or if nobody says that something is missing."""
    def chatty(n):
        for line in range(5_000):
            print("line", line)
        return 2 * n
    assert check("99.1", chatty)
    shown = capsys.readouterr().out
    assert shown.startswith("line 0\n") and len(shown) < 5000 and "more lines, not shown" in shown


def test_a_few_printed_lines_are_shown_as_they_are(capsys):
    """Fails if looking for a mistake with print no longer works."""
    assert check("99.1", lambda n: print("n is", n) or 2 * n)
    assert capsys.readouterr().out == "n is 4\n"


@pytest.mark.parametrize("number, told", [
    ("1.1", "1.1 is a guess: it is not marked, and has no hints"),
    ("6.22", "lab 6 has no exercise 6.22; it has"), ("66.1", "there is no lab 66"), ("6,2", "'6,2' is no number"),
    ("", "is no number"), (6.2, 'in quotes: "6.2"'), (endless, 'comes first, in quotes: "6.2"')])
@pytest.mark.parametrize("ask", [lambda number: check(number, endless), hint])
def test_a_mistyped_number_is_refused_with_the_existing_numbers(ask, number, told):
    """Fails if a mistyped number ends in an exception from inside."""
    verdict = ask(number)
    assert verdict.outcome is Outcome.UNKNOWN and told in verdict.why


def test_a_check_without_an_answer_names_its_place():
    """Fails if `check("99.1")` ends in a TypeError."""
    assert "behind the number" in check("99.1").why


@pytest.mark.parametrize("number", [6.1, "6,1", None])
def test_a_prediction_that_is_no_number_is_refused(number):
    """Fails if it ends in an exception, or is kept where nobody looks for it."""
    assert "in quotes" in predict(number, 3).text and "in quotes" in reveal(number, 3).text


def test_on_a_full_disk_the_notebook_goes_on_and_names_the_remedy(monkeypatch, tmp_path, capsys):
    """I-STUDENT-3. Fails if the cell raises, if nothing is said, or if the progress of before is lost."""
    monkeypatch.setenv("MINIKAFKA_PROGRESS", str(tmp_path / "progress.json"))
    predict("99.1", 3)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")
    with monkeypatch.context() as disk:
        disk.setattr(record, "write_atomic", full)
        assert predict("99.2", 4).word == "kept" and check("99.1", lambda n: 2 * n)
    assert "No space left on device; delete what you do not need" in capsys.readouterr().out
    assert list(record.read()["predictions"]) == ["99.1"]


def test_a_cell_that_is_run_twice_or_before_its_question_shows_the_kept_guess():
    """Fails if cells out of order raise, or if the second run gives another note than the first."""
    assert reveal("99.7", 3).text == "measured 3"
    assert predict("99.7", 3) == predict("99.7", 3)
    assert reveal("99.7", 3) == reveal("99.7", 3) and reveal("99.7", 3).word == "as you said"


CELLS = [("the beginning", "import os\nfrom minikafka import Cluster as Brokers"), ("2 · A topic", "%time\ncluster = Brokers(3)"),
         ("3 · Loops", "for broker in cluster.ids:\n    total = [n for n in range(9)]\ndef leader(topic):\n    inner = 1")]


@pytest.mark.parametrize("name, line, section", [
    ("cluster", "cluster = Brokers(3)", "2 · A topic"), ("os", "import os", "the beginning"),
    ("Brokers", "from minikafka import Cluster as Brokers", "the beginning"),
    ("broker", "for broker in cluster.ids:", "3 · Loops"), ("total", "for broker in cluster.ids:", "3 · Loops"),
    ("leader", "def leader(topic):", "3 · Loops")])
def test_a_missing_name_is_shown_with_the_cell_that_makes_it(name, line, section):
    """Fails if a student has to guess which cell did not run."""
    sentence = names.told(name, CELLS)
    assert f"`{name}` is made by the line `{line}` of the section “{section}”" in sentence and "Run All Above" in sentence


@pytest.mark.parametrize("name", ["clutser", "n", "inner", "topic"])
def test_a_name_that_no_cell_makes_is_left_to_python(name):
    """Fails if a mistyped name, or one that lives inside a function, gets a remedy that does not help."""
    assert names.told(name, CELLS) == names.tool(name) == ""


@pytest.mark.parametrize("wanted, outcome", [
    (Callable[[int], None], Outcome.PASS), (typing.Callable[[int], None], Outcome.PASS), (Callable[[int], Any], Outcome.PASS),
    (Callable[[int], int | None], Outcome.PASS), (Callable, Outcome.PASS), (Any, Outcome.PASS),
    (Callable[[int], int], Outcome.FAIL), (typing.Callable[[int], str], Outcome.FAIL)])
def test_a_function_that_is_to_return_nothing_may(wanted, outcome):
    """Fails if None is refused where the annotation admits it, in either spelling of Callable, or passes where it does not."""
    def asks(answer):
        return f"returned {answer(4)}"
    asks.__annotations__["answer"] = wanted
    checks("99.5")(asks)
    assert check("99.5", lambda n: None).outcome is outcome


@pytest.mark.parametrize("file, told", [
    ("/home/student/helper.py", "your code raised ZeroDivisionError"), (f"{OURS}_mine.py", "your code raised ZeroDivisionError"),
    (f"{OURS}/lab/shapes.py", "a list of numbers is wanted"), (json.__file__, "a list of numbers is wanted")])
def test_an_error_in_a_file_that_a_cell_imports_is_the_students(file, told):
    """Fails if an error that comes after the call, in a file of the student's, is told as a wrong type, or one of ours or of a
    library as the student's. `minikafka_mine.py` beside our folder is not ours."""
    space = {}
    exec(compile("def lazily(n):\n    yield n / 0", file, "exec"), space)
    exec(compile("def answer(values, how):\n    return lazily(1)", "a cell", "exec"), space)
    assert told in check("99.2", space["answer"]).why


def test_of_two_functions_the_one_that_returned_nothing_is_named():
    """Fails if the student has to guess which of the two lacks its `return`."""
    def double(n):
        return 2 * n

    def forgets(n):
        2 * n
    assert "forgets returned nothing" in check("99.3", (double, forgets)).why


def test_a_tool_of_the_labs_that_no_cell_has_fetched_is_shown_with_its_import():
    """Fails if `progress()`, of which the page of the labs speaks, ends in Python's own words where no cell imports it."""
    assert names.tool("progress").endswith("from minikafka.lab import progress")


def test_after_a_restart_a_cell_names_the_cells_that_come_first(tmp_path, monkeypatch):
    """A kernel as `make lab` starts it, in which nothing has run. Fails if the sentence needs an import first, if the cell
    counts as good, if a name of ours stays in the notebook, if a mistyped name gets a sentence, too, or if a Spark that was too
    slow gets none."""
    notebook = tmp_path / "07-lab.ipynb"
    cells = [new_markdown_cell("## 1 · Start"), new_code_cell("cluster = 3"), new_markdown_cell("## 2 · Look"),
             new_code_cell("print(cluster)"), new_code_cell("print(clutser)"), new_code_cell("print(sorted(vars()))"),
             new_code_cell(f"raise RuntimeError('org.apache.spark.SparkException: {names.SLOW}.')")]
    nbformat.write(new_notebook(cells=cells), notebook)
    monkeypatch.setenv("JPY_SESSION_NAME", str(notebook))
    monkeypatch.setenv("PYTHONSTARTUP", str(Path(lab.__file__).parent / "startup.py"))
    ran = new_notebook(cells=cells[3:])
    NotebookClient(ran, kernel_name="python3", allow_errors=True).execute()
    told, mistyped, variables, slow = (cell.outputs for cell in ran.cells)
    assert [output.output_type for output in told] == ["error", "stream"] and told[0].ename == "NameError"
    assert told[1].text == names.told("cluster", [("1 · Start", "cluster = 3")]) + "\n"
    assert [output.output_type for output in mistyped] == ["error"]
    assert "minikafka" not in variables[0].text and "ImportError" not in variables[0].text
    assert slow[1].text == names.TOO_SLOW + "\n"
