"""tools/labs.py: the students' notebooks come from the solved ones and from nothing else."""
from __future__ import annotations

import importlib.util
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("labs_tool", ROOT / "tools" / "labs.py")
labs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(labs)

SOLVED = '''def double(x):
    ### BEGIN SOLUTION "x" plus itself
    y = x + x
    return y
    ### END SOLUTION'''


def notebook(*cells):
    return nbformat.v4.new_notebook(cells=list(cells))


def code(source, cell_id="c1", tags=(), outputs=()):
    return nbformat.v4.new_code_cell(source, id=cell_id, metadata={"tags": list(tags)} if tags else {}, outputs=list(outputs))


def test_a_solution_becomes_one_todo_with_its_hint():
    """I-NB-3: fails if a line of the solution stays, or if the hint's quotes are not escaped."""
    assert labs.unsolved(SOLVED) == 'def double(x):\n    todo("\\"x\\" plus itself")'
    compile(labs.unsolved(SOLVED), "cell", "exec")


def test_a_guess_is_taken_out():
    """Fails if the solved notebook's guess reaches the students."""
    assert labs.unsolved("guess = 2 + 1  ### GUESS\nshow(guess)") == "guess = ...  # your guess\nshow(guess)"


@pytest.mark.parametrize("source, complaint", [
    ("### BEGIN SOLUTION a\nx = 1", "without END"),
    ("x = 1\n### END SOLUTION", "without BEGIN"),
    ("### BEGIN SOLUTION a\n### BEGIN SOLUTION b\n### END SOLUTION", "inside"),
    ("### BEGIN SOLUTION\nx = 1\n### END SOLUTION", "without a hint"),
])
def test_markers_that_would_leak_a_solution_are_refused(source, complaint):
    """I-NB-3: fails if a wrong marker is passed over in silence."""
    with pytest.raises(labs.LabError, match=complaint):
        labs.unsolved(source)


def test_a_marker_in_a_text_cell_is_refused():
    """I-NB-3: fails if text cells are copied without a look."""
    with pytest.raises(labs.LabError, match="text cell"):
        labs.derive(notebook(nbformat.v4.new_markdown_cell("### BEGIN SOLUTION x", id="m")), "x.ipynb")


def test_what_students_do_not_get():
    """Fails if outputs, test marks or cells for teachers are copied."""
    out = nbformat.v4.new_output("stream", text="42\n")
    student = labs.derive(notebook(code("# NBVAL_CHECK_OUTPUT\nprint(42)", "a", outputs=[out]),
                                   code("secret()", "b", tags=["solution-only"])), "x.ipynb")
    assert [(c.id, c.source, c.outputs) for c in student.cells] == [("a", "print(42)", [])]


def test_deriving_twice_gives_the_same_bytes():
    """I-NB-1: fails if ids are made anew or anything of the run is kept."""
    solved = notebook(code(SOLVED))
    again = notebook(code(SOLVED, outputs=[nbformat.v4.new_output("stream", text="other\n")]))
    assert labs.text(labs.derive(solved, "x.ipynb")) == labs.text(labs.derive(again, "x.ipynb"))


def test_what_a_student_types_leaves_the_lab_fresh_but_a_changed_source_does_not(tmp_path, monkeypatch):
    """I-NB-2: fails if freshness compares cells or outputs instead of the source's hash."""
    for name in ("SOLUTIONS", "LABS"):
        monkeypatch.setattr(labs, name, tmp_path / name)
    source = tmp_path / "SOLUTIONS" / "00-x.ipynb"
    source.parent.mkdir()
    source.write_text(labs.text(labs.tidy(notebook(code(SOLVED)))))
    assert "missing" in labs.stale(source)
    labs.write(source)
    student = tmp_path / "LABS" / "00-x.ipynb"
    mine = labs.read(student)
    mine.cells[0].source = "def double(x):\n    return 2 * x"
    student.write_text(labs.text(mine))
    assert labs.stale(source) is None
    source.write_text(labs.text(labs.tidy(notebook(code(SOLVED.replace("x + x", "2 * x"))))))
    assert "older" in labs.stale(source)


def test_every_compared_cell_has_an_output_to_compare_with():
    """nbval passes over a cell that was never run: fails if a marked cell has neither a count nor outputs."""
    for path in sorted(labs.SOLUTIONS.glob("*.ipynb")):
        marked = [c for c in labs.read(path).cells if c.cell_type == "code" and "NBVAL_CHECK_OUTPUT" in c.source]
        assert marked, f"{path.name} compares nothing"
        assert [c.id for c in marked if c.execution_count is None or not c.outputs] == []


def test_counts_do_not_depend_on_the_order_in_which_an_author_ran_the_cells():
    """Fails if running cells again in JupyterLab changes the tidied notebook."""
    cells = [code("1", "a"), code("2", "b"), code("3", "c")]
    cells[0].execution_count, cells[2].execution_count = 17, 4
    assert [c.execution_count for c in labs.tidy(notebook(*cells)).cells] == [1, None, 3]


def test_the_labs_of_this_project_are_fresh(capsys):
    """Fails if a solved notebook was edited and `make labs` not run, or a lab has no source."""
    assert labs.main(["--check"]) == 0, capsys.readouterr().out
