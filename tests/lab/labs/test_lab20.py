"""Elective 20: its layouts are Kafka's, a wrong byte is found and shown, and an error is told at its line in the student's file.
What the stages refuse is in the gate."""
from __future__ import annotations

import struct

import pytest

from minikafka.lab.exercise import Outcome, Todo, Wrong, find, judge
from minikafka.lab.labs.lab20.layouts import APIS, layout, request
from minikafka.lab.labs.lab20.parts import STAGES, running, whole, write_down
from minikafka.lab.labs.lab20.side_by_side import difference
from minikafka.protocol.codec import REQUESTS, RESPONSES
from tools.notebooks.build import Project
from tools.notebooks.source import read
from tools.notebooks.student import FILE

CELLS = read(*Project().sources(["20"])).cells
SOLVED = {found[1]: cell.source[found.end():] + "\n" for cell in CELLS if (found := FILE.match(cell.source))}
FRAME = SOLVED["my_1_frame.py"]


def schema(fields, version):
    """The types of Kafka's schema in the words of the layouts."""
    found = []
    for field in (field for field in fields if field.for_version_q(version)):
        if field.is_array():
            item = field.array_of
            found.append(schema(item._fields, version) if item.is_struct() else [item.type_str])
        else:
            found.append({"bool": "int8", "records": "bytes"}.get(field.type_str, field.type_str))
    return found


def types(parts):
    return [types(kind) if isinstance(kind, list) else kind for _, kind in parts]


@pytest.mark.parametrize("api", APIS.values(), ids=APIS)
def test_a_layout_is_kafkas(api):
    """Fails if a layout that students write from lacks a field, or has one of another type."""
    assert types(layout(api.request)) == schema(REQUESTS[api.key]._struct._fields, api.version)
    assert types(layout(api.answer)) == schema(RESPONSES[api.key]._struct._fields, api.version)


def metadata(error=0, name=b"ships", port=1, rest=b""):
    broker = struct.pack(">i", 1) + b"\0\1h" + struct.pack(">ih", port, -1)
    return (struct.pack(">iii", 7, 0, 1) + broker + struct.pack(">hii", -1, 1, 1)
            + struct.pack(">hh", error, len(name)) + name + b"\0" + struct.pack(">i", 0) + rest)


@pytest.mark.parametrize("answer, told", [
    (metadata(port=9), None),
    (metadata(name=b"shops"), "says 'shops' in the field `topics[0].name`, Kafka's says 'ships'"),
    (metadata(error=3), "says 3 in the field `topics[0].error`, Kafka's says 0"),
    (metadata()[:-2], "ends before `how many topics[0].partitions`"),
    (metadata(rest=b"xy"), "goes on after its last field: 2 bytes after the end"),
    (b"", "ends before `correlation id`"),
])
def test_the_first_wrong_field_is_named(answer, told):
    """Fails if a difference is overlooked, if it is told of another field, or if a broker's own choice counts as one."""
    found = difference("Metadata", answer, metadata())
    assert (found is None) if told is None else told in found.sentence
    assert told is None or any(line.startswith("→") for line in found.table)


@pytest.fixture
def solved(tmp_path, monkeypatch):
    """A folder with the solved files of the broker."""
    monkeypatch.chdir(tmp_path)
    for name, text in SOLVED.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_an_error_is_told_at_its_line_in_the_students_file(solved):
    """Fails if a student has to look for line 143 in a program that nobody has written."""
    broken = SOLVED["my_2_metadata.py"].replace("    names, create", "    nonsense\n    names, create")
    line = 1 + broken.splitlines().index("    nonsense")
    verdict = judge(find("20.2"), "20.2", broken)
    assert verdict.outcome is Outcome.FAIL
    assert any(f"my_2_metadata.py, line {line}," in row for row in verdict.excerpt), verdict.excerpt
    assert any("NameError" in row for row in verdict.excerpt)


def test_a_controller_that_breaks_is_told_at_its_line(solved):
    """Fails if a controller that has ended is waited for, or if its error is not told at a line of its own file."""
    verdict = judge(find("20.10"), "20.10", "import sys\nnonsense\n")
    assert verdict.outcome is Outcome.FAIL and "your controller ended with exit code 1" in verdict.why
    assert any("my_9_controller.py, line 2," in row for row in verdict.excerpt), verdict.excerpt


def test_a_stage_needs_the_earlier_ones(solved):
    """Fails if a later stage is judged without an earlier one, or if it is not said which is missing."""
    (solved / "my_2_metadata.py").write_text("# Answer Metadata\n")
    with pytest.raises(Todo, match="my_2_metadata.py comes before this one. Answer Metadata"):
        whole("20.4", SOLVED["my_3_produce.py"])
    assert whole("20.1", FRAME).begins == {"my_1_frame.py": 1}


def test_a_broker_that_does_not_listen_is_told(solved):
    """Fails if the check waits for a program that has ended."""
    with pytest.raises(Wrong, match="exit code 1 before anybody"), running("20.1", FRAME.replace("import socket\n", "")):
        pass


def test_a_file_of_a_later_stage_is_no_part_of_the_one_that_runs_alone(solved):
    """Fails if `my_broker.py` wants the arguments of a cluster."""
    assert write_down().startswith("my_broker.py: ") and "json" not in (solved / "my_broker.py").read_text()


def test_every_stage_has_its_file():
    """Fails if a stage is renamed in the notebook only."""
    assert [*STAGES.values()] == [*SOLVED] and request("Metadata", 1, {"topics": None, "create": 0})[-5:] == b"\xff\xff\xff\xff\0"
