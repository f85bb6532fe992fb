"""tools/labs.py: both notebooks of a lab come from its source and from nothing else."""
from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from tools import labs
from tools.notebooks import outputs
from tools.notebooks.build import Project, build, load, stale, student_notebook, text
from tools.notebooks.source import LabError, parse
from tools.notebooks.student import WIDTH, unsolved

SOURCE = '''---
title: Doubles
minutes: 5
---
Why does *two* matter?

## First
<!-- seeds: S1.4, S2.9 -->
It is even.

```text
# no heading
```

```python seeds=S1.5 id=double
def double(x):
    ### BEGIN SOLUTION "x" plus itself
    y = x + x
    return y
    ### END SOLUTION

check("42.1", double)
```
+++
<!-- seeds: S1.6 -->
## Second
More.

```python
# NBVAL_CHECK_OUTPUT
guess = 2 + 1  ### GUESS
print(predict("42.2", guess))
```
```python tags=solution-only
print("secret")
```
'''


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with one lab that was built."""
    here = Project(tmp_path)
    here.source.mkdir(parents=True)
    (here.source / "42-doubles.md").write_text(SOURCE)
    build(here.source / "42-doubles.md", here)
    return here


def source(project: Project) -> Path:
    return project.source / "42-doubles.md"


def solved(project: Project) -> nbformat.NotebookNode:
    return load(project.solutions / "42-doubles.ipynb")


def pretend_to_run(project: Project, words: str = "42\n") -> None:
    """Outputs in every cell, as if the solved notebook had been run."""
    notebook = solved(project)
    for cell in (c for c in notebook.cells if c.cell_type == "code"):
        cell.outputs, cell.execution_count = [nbformat.v4.new_output("stream", text=words)], 7
    notebook.metadata.minikafka["ran"] = outputs.code_hash(notebook.cells)
    (project.solutions / "42-doubles.ipynb").write_text(text(notebook))
    build(source(project), project)


def test_a_source_becomes_cells():
    """Fails if a heading, `+++` or a fence begins no cell, if a fence of text becomes code, or if seeds and tags are lost."""
    cells = parse(SOURCE, "42-doubles").cells
    told = [(c.cell_type[0], c.id, c.source.splitlines()[0], dict(c.metadata)) for c in cells]
    assert told == [
        ("m", "lab42-00", "# Lab 42 · Doubles", {}),
        ("m", "lab42-01", "Why does *two* matter?", {}),
        ("m", "lab42-02", "## First", {"seeds": ["S1.4", "S2.9"]}),
        ("c", "double", "def double(x):", {"seeds": ["S1.5"]}),
        ("m", "lab42-04", "## Second", {"seeds": ["S1.6"]}),
        ("c", "lab42-05", "# NBVAL_CHECK_OUTPUT", {}),
        ("c", "lab42-06", 'print("secret")', {"tags": ["solution-only"]}),
    ]
    assert "# no heading" in cells[2].source and "seeds" not in cells[2].source


@pytest.mark.parametrize("spoiled, complaint", [
    (SOURCE.replace("minutes: 5\n", ""), "minutes"),
    (SOURCE.replace("id=double", "name=double"), "only seeds="),
    (SOURCE.replace("tags=solution-only", "id=double"), "two cells"),
    (SOURCE.removesuffix("```\n"), "never closed"),
    (SOURCE.removeprefix("---\n"), "first lines"),
])
def test_a_source_that_is_not_understood_is_refused(spoiled, complaint):
    """Fails if a mistake in a source is passed over in silence."""
    with pytest.raises(LabError, match=complaint):
        parse(spoiled, "42-doubles")


def test_no_line_of_a_stub_is_longer_than_a_line_may_be():
    """Fails if a long hint, a long shape of a guess, or a file's hint stands in one line, or if a word of the hint is lost."""
    hint = "what comes once for the producer, what once for each order, and what ends a transaction?"
    cell = f"def settle():\n    ### BEGIN SOLUTION {hint}\n    return 1\n    ### END SOLUTION"
    told: list[str] = []
    exec(unsolved(cell) + "\n\nsettle()", {"todo": told.append})
    assert told == [hint]
    guess = 'guess = {"write": True, "read": True, "keep": True}  ### GUESS'
    assert unsolved(guess).splitlines() == ['# your guess: {"write": ?, "read": ?, "keep": ?}', "guess = ..."]
    file = unsolved(f"%%writefile mine.py\n### BEGIN SOLUTION {hint}\npass\n### END SOLUTION")
    assert max(len(line) for text in (unsolved(cell), unsolved(guess), file) for line in text.splitlines()) <= WIDTH


def test_a_solution_becomes_one_todo_with_its_hint():
    """I-NB-3: fails if a line of the solution stays, or if quotes in the hint end the text, or need backslashes needlessly."""
    cell = parse(SOURCE, "42-doubles").cells[3].source
    assert unsolved(cell) == 'def double(x):\n    todo(\'"x" plus itself\')\n\ncheck("42.1", double)'
    compile(unsolved(cell), "cell", "exec")


def test_a_guess_is_taken_out():
    """Fails if the solved notebook's guess reaches the students."""
    assert unsolved("guess = 2 + 1  ### GUESS\nshow(guess)") == "guess = ...  # your guess\nshow(guess)"


@pytest.mark.parametrize("guess, shape", [
    ("0.3", ""), ("-1", ""), ("True", ": True or False"), ('"FAIL"', ': "?"'), ("(0, 20)", ": (?, ?)"),
    ("[1, 2, 3]", ": [?, ?, ?]"), ('["write", "read"]', ': ["?", ...]'),
    ('{"queue": 100, "topic": 100}', ': {"queue": ?, "topic": ?}'), ('{"write", "read"}', ': {"?", ...}'),
    ("(True, True)", ": (?, ?)"),
])
def test_a_guess_that_is_no_number_shows_what_it_looks_like(guess, shape):
    """Fails if a student has to find out whether a list, a pair or a dictionary is wanted, or if the guess itself stays."""
    assert unsolved(f"guess = {guess}  ### GUESS") == f"guess = ...  # your guess{shape}"


@pytest.mark.parametrize("code, complaint", [
    ("### BEGIN SOLUTION a\nx = 1", "without END"),
    ("x = 1\n### END SOLUTION", "without BEGIN"),
    ("### BEGIN SOLUTION a\n### BEGIN SOLUTION b\n### END SOLUTION", "inside"),
    ("### BEGIN SOLUTION\nx = 1\n### END SOLUTION", "without a hint"),
    ("guess = {1: 2,\n   3: 4}  ### GUESS", "one line"),
])
def test_markers_that_would_leak_a_solution_are_refused(code, complaint):
    """I-NB-3: fails if a wrong marker is passed over in silence."""
    with pytest.raises(LabError, match=complaint):
        unsolved(code)


def test_a_marker_in_a_text_cell_is_refused():
    """I-NB-3: fails if text cells are copied without a look."""
    with pytest.raises(LabError, match="text cell"):
        student_notebook(parse(SOURCE.replace("It is even.", "### BEGIN SOLUTION x"), "42-doubles"))


def test_what_students_do_not_get(project):
    """Fails if outputs, solutions, test marks or cells for teachers are copied, or if seeds are not."""
    pretend_to_run(project)
    student = load(project.labs / "42-doubles.ipynb")
    everything = (project.labs / "42-doubles.ipynb").read_text()
    assert not any(c.get("outputs") for c in student.cells)
    assert not any(word in everything for word in ("secret", "NBVAL", "2 + 1", "y = x", "42\\n"))
    assert student.cells[2].metadata["seeds"] == ["S1.4", "S2.9"]


def test_both_notebooks_have_every_question(project):
    """Fails if progress() could not know which exercises and predictions a lab has."""
    for notebook in (solved(project), load(project.labs / "42-doubles.ipynb")):
        facts = notebook.metadata.minikafka
        assert (facts.title, facts.minutes, facts.exercises, facts.predictions) == ("Doubles", 5, ["42.1"], ["42.2"])


def test_building_twice_gives_the_same_bytes(project):
    """I-NB-1: fails if ids are made anew or anything depends on the time."""
    pretend_to_run(project)
    paths = (project.labs / "42-doubles.ipynb", project.solutions / "42-doubles.ipynb")
    before = [path.read_bytes() for path in paths]
    build(source(project), project)
    assert [path.read_bytes() for path in paths] == before


def test_outputs_are_kept_where_the_code_is_the_same(project):
    """Fails if a changed text costs the outputs, if a cell keeps what its older code put out, or if nobody says so."""
    pretend_to_run(project)
    assert stale(source(project), project) == []
    source(project).write_text(SOURCE.replace("More.", "More of it.").replace("y = x + x", "y = 2 * x"))
    build(source(project), project)
    kept = {c.id: bool(c.outputs) for c in solved(project).cells if c.cell_type == "code"}
    assert kept == {"double": False, "lab42-05": True, "lab42-06": True}
    assert ["older code" in problem for problem in stale(source(project), project)] == [True]


def test_outputs_are_tidied(project):
    """I-NB-5: fails if widget views, pieces of a stream, counts of an author's session or the project's path are kept."""
    widget = nbformat.v4.new_output("display_data", {outputs.WIDGET: {"model_id": "1"}, "text/plain": "View()"})
    picture = nbformat.v4.new_output("display_data", {outputs.WIDGET: {"model_id": "1"}, "image/svg+xml": "<svg/>"})
    result = nbformat.v4.new_output("execute_result", {"text/plain": f"'{outputs.ROOT}/labs'"}, execution_count=17)
    pieces = [nbformat.v4.new_output("stream", text=piece) for piece in ("4", "2\n")]
    kept = outputs.tidy([*pieces, widget, picture, result], 3)
    assert [o.output_type for o in kept] == ["stream", "display_data", "execute_result"]
    assert kept[0].text == "42\n" and list(kept[1].data) == ["image/svg+xml"]
    assert kept[2].execution_count == 3 and kept[2].data["text/plain"] == "'labs'"


@pytest.mark.parametrize("words", ["/tmp/x1/log", "see\n/home/ada/notes", "File \"/opt/a.py\""])
def test_what_tells_about_a_machine_is_found(project, words):
    """I-NB-5: fails if a path of the author's machine gets into a committed notebook."""
    pretend_to_run(project, words)
    assert any("double" in problem for problem in stale(source(project), project))


def test_a_name_counts_only_where_it_is_somebodys(project):
    """I-NB-5: fails if the author's name gets through a run, or if a machine whose user is called kafka sees a stale lab."""
    pretend_to_run(project, "hello ada, kafka")
    assert stale(source(project), project) == []
    assert outputs.personal(solved(project).cells, ["ada"])[0] == "double: ada"


def test_addresses_are_no_paths(project):
    """Fails if a harmless output is refused."""
    pretend_to_run(project, "http://127.0.0.1/tmp/x node-1/data/home/x-0 and/or")
    assert stale(source(project), project) == []


def test_what_a_student_types_leaves_the_lab_fresh_but_a_changed_source_does_not(project):
    """I-NB-2: fails if freshness compares a student's cells instead of the source's hash."""
    pretend_to_run(project)
    student = project.labs / "42-doubles.ipynb"
    mine = load(student)
    mine.cells[3].source = "def double(x):\n    return 2 * x"
    student.write_text(text(mine))
    assert stale(source(project), project) == []
    source(project).write_text(SOURCE.replace("It is even.", "It is odd."))
    assert all("not what its source makes" in problem for problem in stale(source(project), project))
    student.unlink()
    assert "missing" in stale(source(project), project)[0]


def test_building_again_keeps_what_a_student_typed(project):
    """Fails if `make labs` throws a student's work away."""
    student = project.labs / "42-doubles.ipynb"
    mine = load(student)
    mine.cells[3].source = "def double(x):\n    return 2 * x"
    student.write_text(text(mine))
    build(source(project), project)
    build(source(project), project)
    kept = sorted((project.root / ".cache" / "labs").glob("*.ipynb"))
    assert [load(path).cells[3].source for path in kept] == [mine.cells[3].source]
    assert "todo(" in load(student).cells[3].source


def test_a_notebook_without_a_source_is_found(project, capsys):
    """Fails if a lab could be edited by hand because nothing makes it."""
    pretend_to_run(project)
    assert labs.main(["--check"], project) == 0
    (project.labs / "43-other.ipynb").write_text("{}")
    assert labs.main(["--check"], project) == 1
    assert "43-other" in capsys.readouterr().out


def test_a_lab_that_does_not_exist(project, capsys):
    """Fails if a mistyped number does nothing in silence."""
    assert labs.main(["7"], project) == 1
    assert "no source" in capsys.readouterr().err


def test_a_source_that_is_no_lab_has_one_notebook(project, capsys):
    """Fails if the playground gets a solved twin, if it is taken for a notebook without a source, or if nobody sees that it is
    not what its source makes."""
    pretend_to_run(project)
    beside = project.source / "playground.md"
    beside.write_text("---\ntitle: A playground\nminutes: 0\n---\n# Play\n\n```python id=play\n1 + 1\n```\n")
    assert labs.main([], project) == labs.main(["--check"], project) == 0
    assert load(project.labs / "playground.ipynb").cells[1].source == "1 + 1"
    assert not (project.solutions / "playground.ipynb").exists()
    beside.write_text(beside.read_text().replace("1 + 1", "1 + 2"))
    assert labs.main(["--check"], project) == 1
    assert "labs/playground.ipynb" in capsys.readouterr().out
