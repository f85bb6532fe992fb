"""The labs as a course: fresh, complete, in one voice, and with everything that the lectures name."""
from __future__ import annotations

import ast
import re
import statistics
import subprocess
from collections import defaultdict
from difflib import SequenceMatcher
from pathlib import Path

import nbformat
import pytest

from minikafka.lab import beliefs, forms, hints
from tools import coverage, labs
from tools.notebooks.build import CALLED, ROOT, Project, called, exercises, load, student_notebook, text, typed
from tools.notebooks.source import read
from tools.notebooks.student import BEGIN, FILE, WIDTH

PROJECT = Project()
SOURCES = {path.stem: read(path) for path in PROJECT.sources([])}
SEEDS = {row[0]: row[1] for row in (line.split("\t") for line in (Path(__file__).parent / "seeds.tsv").read_text().splitlines())
         if len(row) == 3}
every_lab = pytest.mark.parametrize("lab", SOURCES.values(), ids=SOURCES)
LIST = (ROOT / "labs" / "README.md").read_text()
ELECTIVE = 20  # from here on a lab is an elective; in this one a cell may hold a file of a program
MANY = re.compile(r"(?<![\w.,])(?<!and )1 (answers|batches|bills|brokers|bytes|commits|copies|errors|lines|members|messages|"
                  r"offsets|orders|partitions|records|replicas|rows|seconds|segments|times|trips|trucks|windows)\b")
LARGEST = 3_000_000  # bytes of a solved notebook, pictures included


def code(lab):
    return [cell for cell in lab.cells if cell.cell_type == "code"]


def prose(lab):
    """A lab's text cells without headings, tables, fences, HTML and the words of pictures."""
    for cell in lab.cells:
        if cell.cell_type == "markdown":
            plain = re.sub(r"(?s)^(```|~~~).*?^\1\s*$|!\[[^]]*\]\([^)]*\)", "", cell.source, flags=re.MULTILINE)
            yield re.sub(r"<[^>]+>", " ", "\n".join(x for x in plain.splitlines() if not x.startswith(("#", "|"))))


def row(lab):
    """A lab's line in the list of labs."""
    return next(line for line in LIST.splitlines() if f"({lab.name}.ipynb)" in line)


def tagged(lab):
    return {seed for cell in lab.cells for seed in cell.metadata.get("seeds", [])}


def test_the_labs_are_fresh(capsys):
    """Fails if a source was edited and `make labs` not run, if outputs come from older code or tell about a machine, or if a
    notebook has no source.
    """
    assert labs.main(["--check"]) == 0, capsys.readouterr().out


def test_the_labs_that_are_promised_are_there():
    """Fails if a source is moved or renamed, and with it every test that goes over the labs."""
    assert {lab.number for lab in SOURCES.values()} == {*range(15), 20, 21, 22, 23}


def test_the_table_of_seeds_is_whole():
    """Fails if an item of the lectures is dropped from the table, or given to a lab that does not exist (lab 13
    only comes back to items of others).
    """
    counts: dict[str, int] = defaultdict(int)
    for seed in SEEDS:
        counts[seed.split(".")[0]] += 1
    assert dict(counts) == {"S0": 28, "S1": 22, "S2": 19, "S3": 24}
    assert {n for numbers in SEEDS.values() for n in numbers.split(",")} == {"-", *(str(n) for n in (*range(15), 22) if n != 13)}


@every_lab
def test_every_item_of_the_lectures_is_tagged(lab):
    """Fails if a cell that covers an item loses its tag, or if a tag is mistyped."""
    wanted = {seed for seed, numbers in SEEDS.items() if str(lab.number) in numbers.split(",")}
    assert sorted(wanted - tagged(lab)) == [], "not tagged in any cell"
    assert sorted(tagged(lab) - set(SEEDS)) == [], "no such item"


@every_lab
def test_every_misconception_of_a_lab_is_refuted(lab):
    """Fails if no cell of a lab refutes a misconception, or tests a claim, that beliefs.tsv gives to it (`misconceptions=16`
    or `claims=S2.10` after the fence of a code cell), or if a number is mistyped.
    """
    refuted = {found.belief for found in beliefs.refutations(student_notebook(lab).cells)}
    assert sorted({b.id for b in beliefs.table() if lab.number in b.labs} - refuted) == [], "refuted in no cell"
    assert sorted(refuted - {b.id for b in beliefs.table()}) == [], "not in minikafka/lab/beliefs.tsv"


def test_the_beliefs_are_all_there():
    """Fails if a line is dropped, given to a lab that does not exist, or if the page of coverage is not what the cells say."""
    table = beliefs.table()
    assert [b.id for b in table if not b.is_claim] == [str(n) for n in range(1, 29)]
    assert sum(b.is_claim for b in table) == 16
    assert {b.id.rstrip("abc") for b in table if b.is_claim} <= set(SEEDS)
    assert {number for b in table for number in b.labs} <= set(range(15))
    assert coverage.PAGE.read_text() == coverage.page(), "run `python tools/coverage.py`"


@every_lab
def test_the_students_copy_keeps_the_tags(lab):
    """Fails if only the solved notebook says what a cell covers."""
    student = {seed for cell in student_notebook(lab).cells for seed in cell.metadata.get("seeds", [])}
    shown = {seed for cell in lab.cells if "solution-only" not in cell.metadata.get("tags", [])
             for seed in cell.metadata.get("seeds", [])}
    assert student == shown == tagged(lab)


def sentences(lab):
    """Sentences of eight words and more, as their words."""
    for paragraph in prose(lab):
        for sentence in re.split(r"(?<=[.!?:;])\s+|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s", paragraph):
            words = re.findall(r"[\w.']+", sentence.lower())
            if len(words) >= 8:
                yield " ".join(words)


def test_no_sentence_stands_in_two_labs():
    """Fails if labs are filled with stock phrases: a sentence of eight words or more belongs to one lab."""
    labs_of = defaultdict(set)
    for lab in SOURCES.values():
        for sentence in sentences(lab):
            labs_of[sentence].add(lab.name)
    assert {sentence: sorted(names) for sentence, names in labs_of.items() if len(names) > 1} == {}


@every_lab
def test_a_lab_has_its_parts(lab):
    """Fails if a lab has no exercise, prediction, question with criteria, box on the real thing, summary, way on or list of
    words within reach, or asks for a guess that it never answers.
    """
    told = called(lab)
    everything = "\n".join(cell.source for cell in lab.cells)
    assert told["exercises"] and told["predictions"]
    revealed = set(re.findall(r"\breveal\(\s*[\"'](\d+\.\d+)", everything))
    assert sorted(set(told["predictions"]) ^ revealed) == []
    assert all(number.split(".")[0] == str(lab.number) for number in told["exercises"] + told["predictions"])
    assert "<details>" in everything and "real thing" in everything.lower()
    assert re.search(r"^## \d+ · What you have seen$", everything, re.MULTILINE) and "\n**Next:** " in everything
    assert "](../labs/WORDS.md)" in everything and (ROOT / "labs" / "WORDS.md").exists()
    assert everything.count("<details>") == everything.count("</details>")


@every_lab
def test_a_lab_leads_to_the_next_one(lab):
    """Fails if the first lab that a "Next" names is not the one that follows in the table of labs/README.md: whoever goes on
    from lab to lab leaves none out.
    """
    way_on = re.search(r"^\*\*Next:\*\* (.*?)(?=\n\n|\Z)", "\n".join(cell.source for cell in lab.cells), re.MULTILINE | re.DOTALL)
    first = re.search(r"\]\((\d\d)-[a-z0-9-]+\.ipynb\)", way_on[1])
    last = not list((ROOT / "labs").glob(f"{lab.number + 1:02d}-*.ipynb"))  # an elective leads nowhere
    assert (first is None) if last else (int(first[1]) == lab.number + 1)


@every_lab
def test_a_lab_has_its_folder(lab):
    """Fails if the checks or the page of a lab lie somewhere else than in minikafka/lab/labs/labNN/, or its right and wrong
    answers somewhere else than in solutions/ (students do not get that folder).
    """
    folder = ROOT / "minikafka" / "lab" / "labs" / f"lab{lab.number:02d}"
    assert {"__init__.py", "checks.py"} <= {path.name for path in folder.iterdir()}
    assert all((ROOT / "solutions" / kind / f"{folder.name}.py").exists() for kind in ("right", "wrong"))


@every_lab
def test_no_question_is_answered_beforehand(lab):
    """Fails if a lab's first cell, or its row in the list of labs, tells a figure that the reader is asked to predict
    (figures of one digit are not looked for: they stand everywhere).
    """
    told = [output.get("data", {}).get("text/plain", "") for cell in load(PROJECT.solved(lab)).cells
            if cell.cell_type == "code" and "reveal(" in cell.source for output in cell.outputs]
    answers = {number for text in told for number in re.findall(r"(?:measured|as you said:) (\d\d+)\b", text)}
    beforehand = set(re.findall(r"\d+", lab.cells[0].source + row(lab)))
    assert any(told) and sorted(answers & beforehand) == []


@every_lab
def test_a_guess_has_a_form(lab):
    """Fails if a source's own guess is refused; if words, None or a list of another length are kept, of which nothing can be said
    after the measurement; or if the sentence does not show the form.
    """
    guesses = [found for cell in code(lab) for found in re.findall(r'= (.*?) +### GUESS\n.*predict\("(.*?)"', cell.source)]
    assert guesses
    for guess, question in guesses:
        form = forms.of(question)
        forms.fitted(form, ast.literal_eval(guess))
        for odd in ("less than 5", None, [5] * 9):
            with pytest.raises(forms.Misshapen, match="cannot be compared.* guess = ") as refused:
                forms.fitted(form, odd)
            assert forms.example(form) in str(refused.value) and len(str(refused.value)) < 300, question


@every_lab
def test_a_guess_and_its_answer_are_shown(lab):
    """Fails if what `predict`, `reveal`, `check` or `inside` returns is not a cell's last value: then nobody sees it."""
    shown = ("predict", "reveal", "check", "inside")
    trees = [ast.parse(cell.source) for cell in code(lab) if not cell.source.startswith("%%")]
    unseen = [ast.unparse(part) for tree in trees for part in ast.walk(tree) if isinstance(part, ast.Expr)
              and isinstance(part.value, ast.Call) and ast.unparse(part.value.func) in shown and part is not tree.body[-1]]
    assert trees and unseen == []


@every_lab
def test_a_cell_prints_whole_lines(lab):
    """Fails if a cell prints a line in two parts: the page of a browser says between them what it waits for."""
    trees = [ast.parse(cell.source) for cell in code(lab) if not cell.source.startswith("%%")]
    ends = [ast.unparse(part) for tree in trees for part in ast.walk(tree) if isinstance(part, ast.Call)
            and ast.unparse(part.func) == "print" for word in part.keywords if word.arg == "end"
            and not ast.literal_eval(word.value).endswith("\n")]
    assert trees and ends == []


@every_lab
def test_cells_are_small(lab):
    """Fails if a lab grows beyond what fits an hour, or if its cells become programs."""
    sizes = [len(cell.source.splitlines()) for cell in code(lab) if not (lab.number >= ELECTIVE and FILE.match(cell.source))]
    assert 15 <= len(sizes) <= 55 and len(lab.cells) <= 110
    assert statistics.median(sizes) <= 7 and max(sizes) <= 32, sorted(sizes)  # lines of WIDTH letters


@every_lab
def test_a_line_of_code_fits_beside_the_picture(lab):
    """Fails if a line that a student reads in a code cell, a stub's or a guess's among them, is longer than WIDTH: JupyterLab
    breaks it in the middle of a word where a picture is docked.
    """
    assert [(cell.id, line) for cell in student_notebook(lab).cells if cell.cell_type == "code"
            for line in cell.source.splitlines() if len(line) > WIDTH] == []


@every_lab
def test_every_exercise_stands_in_a_cell_of_its_own(lab):
    """Fails if a solution belongs to no check, or to two."""
    solved = [cell.id for cell in code(lab) if any(BEGIN.match(line) for line in cell.source.splitlines())]
    asked = [*exercises(lab.cells)]
    assert sorted(cell.id for _, cell in asked) == sorted(solved)
    assert len({number for number, _ in asked}) == len(asked)


@every_lab
def test_no_solution_stands_in_the_next_cell(lab):
    """Fails if a student's copy shows most of a line of a solution in another cell, as what "comes after" an exercise may."""
    copy = [re.sub(r"\s", "", cell.source) for cell in student_notebook(lab).cells if cell.cell_type == "code"]
    for line in solutions(lab):
        for shown in copy:
            same = SequenceMatcher(None, line, shown, autojunk=False).find_longest_match()
            assert same.size < max(20, 0.6 * len(line)), (line, shown[same.b:same.b + same.size])


def solutions(lab):
    """The lines of all solutions, without spaces and `return`; what a program imports is no solution."""
    for cell in code(lab):
        for part in re.findall(r"(?s)### BEGIN SOLUTION[^\n]*\n(.*?)### END SOLUTION", cell.source):
            yield from (re.sub(r"^return|\s", "", line.strip()) for line in part.splitlines()
                        if not re.match(r"import |from ", line))


@every_lab
def test_no_solution_stands_in_a_file_of_the_lab(lab):
    """Fails if a file that the lab's notebook may import has a function of the name that the student is to write; a check of that
    name is no solution."""
    asked_for = {name for cell in code(lab) if "### BEGIN SOLUTION" in cell.source
                 for name in re.findall(r"(?m)^def (\w+)", cell.source)}
    files = [path for path in (ROOT / "minikafka/lab/labs" / f"lab{lab.number:02}").rglob("*.py")
             if path.name != "checks.py"]
    assert {(path.name, name) for path in files for name in re.findall(r"(?m)^def (\w+)", path.read_text())
            if name in asked_for} == set()


@every_lab
def test_the_last_hint_names_the_section_to_read(lab):
    """Fails if a file that a hint names is moved, or if the last hint names no file, section or function of a library."""
    for exercise in called(lab)["exercises"]:
        hints.load(exercise)
        pointer = hints.HINTS[exercise][2]
        paths = re.findall(r"\b(?:minikafka|tests|labs|tools|solutions)/[\w./-]*\w", pointer)
        assert [path for path in paths if not (ROOT / path).exists()] == [], exercise
        assert paths or re.search(r"\bsection \d|\b\w+\.\w+\.\w+", pointer), exercise


@every_lab
def test_the_solved_notebook_was_run_to_its_end(lab):
    """nbval passes over a cell that was never run. Fails if a cell has no count, if nothing is compared, if an error, a
    message on stderr or a widget's state was kept, or if pictures make the file too large for a repository's page.
    """
    solved = load(PROJECT.solved(lab))
    cells = [cell for cell in solved.cells if cell.cell_type == "code"]
    assert [cell.id for cell in cells if cell.execution_count is None] == []
    compared = [cell for cell in cells if "NBVAL_CHECK_OUTPUT" in cell.source]
    assert compared and [cell.id for cell in compared if not cell.outputs] == []
    bad = [cell.id for cell in cells for o in cell.outputs if o.output_type == "error" or o.get("name") == "stderr"]
    assert bad == [] and "widgets" not in solved.metadata
    assert len(text(solved)) < LARGEST


@every_lab
def test_one_thing_is_not_called_many(lab):
    """Fails if a cell of the solved notebook says "1 records"."""
    shown = [(cell.id, part) for cell in load(PROJECT.solved(lab)).cells if cell.cell_type == "code" for o in cell.outputs
             for part in (o.get("text", ""), *map(str, o.get("data", {}).values()))]
    assert shown and [(cell, found[0]) for cell, part in shown for found in MANY.finditer(part)] == []


@every_lab
def test_its_numbers_count_up(lab):
    """Fails if a student meets 4.6 before 4.5, or looks for a 4.10 that is gone."""
    asked = [number for cell in lab.cells if cell.cell_type == "code"
             for call, number in CALLED.findall(cell.source) if call in ("predict", "check")]
    numbers = [int(number.split(".")[1]) for number in dict.fromkeys(asked)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) and numbers[0] <= 1


@every_lab
def test_labs_readme_lists_it(lab):
    """Fails if a lab is missing from the list, or its title or minutes are not those of its source."""
    assert lab.title in row(lab) and f"| {lab.minutes} |" in row(lab)


@every_lab
def test_what_git_keeps_for_students_is_unsolved(lab):
    """A student may type into the working copy (I-NB-2). Fails if a typed notebook, or one edited by hand, is committed."""
    kept = subprocess.run(["git", "show", f"HEAD:labs/{lab.name}.ipynb"], cwd=ROOT, capture_output=True, text=True)
    if kept.returncode:
        pytest.skip(f"not in a git checkout: {kept.stderr.strip()}")
    notebook = nbformat.reads(kept.stdout, as_version=4)
    assert notebook.metadata["minikafka"]["typed"] == typed(notebook.cells)
    assert [cell.id for cell in notebook.cells if cell.get("outputs")] == []
