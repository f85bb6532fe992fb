"""What stands between a stranger's code and its marks: limits, lines that are no verdicts, values that are only data."""
from __future__ import annotations

import json
import os
from collections import namedtuple
from enum import IntEnum
from pathlib import Path

import numpy
import pytest

from minikafka.lab import classroom, record
from minikafka.lab.marking import apart, plain
from minikafka.lab.marking.apart import Judged, Verdicts
from minikafka.lab.marking.bench import PR_GET_DUMPABLE, prctl

from .dishonest import BESIDE


def test_what_a_cell_reaches_for_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if an odd answer passes, if a variable of the teacher's is there, or memory or files have no limit."""
    monkeypatch.setenv("TEACHERS_TOKEN", "a secret of the teacher's")
    found = apart.judged({e: code for e, (code, *_) in BESIDE.items()})
    assert {e: (outcome, True) for e, (_, outcome, _) in BESIDE.items()} == {
        e: (found[e].outcome, why in found[e].why) for e, (*_, why) in BESIDE.items()}, found


@pytest.mark.parametrize("line, why", [
    (b'SECRET["PASS", "right", false]\n', None), (b'["PASS", "right", false]\n', "no verdict"), (b"SECRET{\n", "no verdict"),
    (b'SECRET["BEST", "right", false]\n', "no verdict"), (b"SECRET" + b"[" * 20_000 + b"\n", "no verdict"),
    (b"x" * 70_000, "64 KiB"), (b"", "ends the process")])
def test_a_line_that_is_no_verdict_is_a_fail(line: bytes, why: str | None) -> None:
    """Fails if such a line raises in the marking, if it passes, or if no reason is given."""
    ours, its = os.pipe()
    os.set_blocking(its, False)
    os.write(its, line)
    os.close(its)
    found = (verdicts := Verdicts(ours, b"SECRET", os.getsid(0))).next(5.0)
    os.close(ours)
    assert verdicts.ended == (why is not None)
    assert found == Judged("PASS", "right") if why is None else (found.outcome == "FAIL" and why in found.why)


def test_the_teachers_process_is_closed_while_code_runs() -> None:
    """Fails if the variables of the marking can be read in /proc meanwhile, or if it stays closed."""
    before = prctl(PR_GET_DUMPABLE)
    with apart.closed():
        assert prctl(PR_GET_DUMPABLE) == 0
    assert prctl(PR_GET_DUMPABLE) == before


def test_what_crosses_is_data() -> None:
    """Fails if a value changes on its way, or if text makes an object of another class than those that are plain."""
    for value in (None, True, 1 << 70, float("inf"), "é\ud800", b"\0", [1, (2, {3})], {(1, 2): [None]}, Judged("PASS", "")):
        again = plain.decoded(plain.encoded(value))
        assert again == value and type(again) is type(value)
    Pair = namedtuple("Pair", "a b")
    for lent, value in ((Pair(1, {2: Pair(3, 4)}), (1, {2: (3, 4)})), ((n for n in (1, 2)), [1, 2]), ({1: 2}.keys(), [1]),
                        (numpy.array([1, 2]), [1, 2]), ([numpy.int64(1)], [1]), (IntEnum("Few", "one").one, 1)):
        again = plain.decoded(plain.encoded(lent, lend=True))
        assert again == value and type(again) is type(value)
    for text in ('["made", ["os", "system"], ["dict", []]]', '["made", ["minikafka.lab.record", "Path"], ["dict", []]]',
                 '["other", 1]', "[", "[" * 100_000, '["dict", [1]]', "{}"):
        with pytest.raises(plain.Unplain):
            plain.decoded(text)
    with pytest.raises(plain.Unplain):
        plain.encoded(object())


@pytest.mark.parametrize("change", [{"exercises": {"6.2": {"tried": "many"}}}, {"labs": {"6": {"seconds": [1]}}},
                                    {"exercises": {"6.2": {"tried": float("nan")}}}])
def test_a_file_with_odd_numbers_is_no_hand_in(tmp_path: Path, change: dict[str, object]) -> None:
    """Fails if a number that cannot be added up stops the marking of a class."""
    (file := tmp_path / "a.json").write_text(json.dumps({**record.empty(), "kind": classroom.KIND, "name": "A", **change}))
    with pytest.raises(ValueError, match="is no hand-in"):
        classroom.read(file)
