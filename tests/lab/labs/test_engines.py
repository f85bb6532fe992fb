"""docker/README.md's tables of the labs on two engines (tools/engines.py): which cells are counted, and what differs."""
from __future__ import annotations

import re

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from tools.engines import HEAD, PAGE, page, shown, tables
from tools.notebooks.build import Project, load
from tools.notebooks.hands_on import difference, hands_on, hands_on_part
from tools.notebooks.parts import unsolved_part
from tools.notebooks.source import read


def test_what_comes_from_the_live_cluster_is_hands_on():
    """Fails if a cell of the simulated world is counted, if a function or a loop over the cluster is not, or if a name
    that is bound anew stays what it was."""
    cells = [new_code_cell(source, id=f"c{n}") for n, source in enumerate([
        "import os\nENGINE = os.environ.get('MINIKAFKA_ENGINE', 'minikafka')",
        "cluster = Cluster(engine='sim')",
        "cluster.leader('t')",
        "cluster = Cluster(brokers=3, engine=ENGINE)",
        "def leader(topic):\n    return cluster.leader(topic)",
        "print(leader('t'))",
        "for broker in cluster.ids:\n    print(broker)",
        "%time\nprint(broker)",
        "cluster = Cluster(engine='sim')",
        "cluster.leader('t')",
    ])]
    assert [cell.id for cell in hands_on([new_markdown_cell("cluster"), *cells])] == ["c3", "c4", "c5", "c6", "c7"]


@pytest.mark.parametrize("ours, theirs, told", [
    (["a 1"], ["a 1"], None),
    (["  12 ms; engine minikafka"], ["9.5 ms; engine apache"], ("", "")),
    (["a", "leader 1"], ["a", "leader none"], ("leader 1", "leader none")),
    (["nights A, B and 3 random ones: 0 lost"], ["nights A, B and 1 random one: 0 lost"], ("", "")),
    (["nights A, B, and no time was left for random ones: 0 lost"], ["nights A, B and 2 random ones: 0 lost"], ("", "")),
    (["a"], ["a", "more"], ("", "more")),
    (["a", "more"], ["a"], ("more", "")),
])
def test_the_first_line_with_other_words_is_shown(ours, theirs, told):
    """Fails if figures, or the random nights of `inside`, count as words, or if a line that one engine lacks is not seen."""
    assert difference(ours, theirs) == told


def test_rows_are_made_anew_one_by_one():
    """Fails if a lab's new row drops those of others, or if a line of an output ends a row too early."""
    row = f"| [9](x) | id | {' | '.join(shown('a|b', 'a c'))} |"
    text = page("# Docker\n", {"10": "| [10](x) | 1 |", "9": "| [9](x) | 2 |"}, {"9": [row]})
    assert text.index("[9](x) | 2") < text.index("[10]") < text.index("a\\|b")
    assert page(text, *tables(text)) == text


def test_the_word_that_differs_is_in_sight():
    """Fails if a long line is cut before it, or if a figure that differs counts as that word."""
    ours, theirs = shown(f"7 {'same ' * 40}LEADER rest", f"8 {'same ' * 40}nobody rest")
    assert "LEADER" in ours and "nobody" in theirs and len(ours) < 70
    assert shown("", "a `b`") == ["(nothing)", "`a 'b'`"]


def test_the_page_is_about_the_labs_that_are_there():
    """Fails if a lab has no row, if its hands-on cells are more or fewer now, or if a cell that is shown is gone."""
    rows, differing = tables(PAGE.read_text())
    assert HEAD in PAGE.read_text()
    project = Project()
    labs = {str(lab.number): lab for lab in map(read, project.sources([]))}
    assert rows.keys() == labs.keys()
    for number, lab in labs.items():
        ids = [cell.id for cell in hands_on(load(project.solved(lab)).cells)]
        assert rows[number].split(" | ")[1] == str(len(ids)), f"python tools/engines.py {number}"
        assert {re.split(r" \| ", row)[1] for row in differing.get(number, ())} <= set(ids)


def test_the_judge_runs_what_hands_on_cells_need():
    """Fails if a cell is left out that binds what a hands-on cell loads, or if the simulated world runs for nothing."""
    cells = [new_code_cell(source, id=f"c{n}") for n, source in enumerate([
        "from os import environ\nimport os.path",
        "ENGINE = environ['MINIKAFKA_ENGINE']",
        "predict('9.1', 5)",
        "world = Cluster(engine='sim')\ntopic = world.topics()",
        "world.kill(1)",
        "name = 'flights'",
        "def make(cluster):\n    return cluster.topic(name)",
        "cluster = Cluster(engine=ENGINE)",
        "make(cluster)",
    ])]
    assert [cell.id for cell in hands_on_part(cells)] == ["c0", "c1", "c2", "c5", "c6", "c7", "c8"]


def test_cells_of_a_students_notebook_that_the_solved_one_lacks_are_run():
    """Fails if a gap, what goes on from it or what these need is left out, if the live cluster lacks a part of its story, or if
    what the solved notebook says, too, runs again."""
    solved = {
        "tools": "from minikafka import Cluster\nENGINE = 'minikafka'",
        "seen": "world = Cluster(engine='sim')\nworld.show()",
        "guess": "guess = 2\npredict('9.1', guess)",
        "given": "records = [1, 2]",
        "answer": "def count(it):\n    ### BEGIN SOLUTION size\n    return len(it)\n    ### END SOLUTION\ncheck('9.2', count)",
        "other": "print(records)",
        "shown": "total = count(records)",
        "more": "print(total)",
        "bound-anew": "total = 3",
        "no-more": "print(total)",
        "live": "cluster = Cluster(engine=ENGINE)",
        "topic": "cluster.create('t')",
        "asked": "print(cluster.ends('t'), count(records))",
        "closed": "cluster.close()",
    }
    student = solved | {"guess": "guess = ...\npredict('9.1', guess)",
                        "answer": "def count(it):\n    todo('size')\ncheck('9.2', count)"}
    labs = [[new_markdown_cell("# Lab"), *(new_code_cell(text, id=id) for id, text in lab.items())] for lab in (student, solved)]
    wanted = ["tools", "guess", "given", "answer", "shown", "more", "live", "topic", "asked"]
    assert [cell.id for cell in unsolved_part(*labs)] == wanted
