"""How files of tests are given to workers (tests/schedule.py), and what `make quick` leaves out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import conftest
from tests.schedule import OWN_SPARK, SPARK, file_of, following, units, write_durations

LONG, SHORT, BOTH = "tests/a/test_long.py", "tests/a/test_short.py", "tests/wire/test_both.py"
TESTS = [f"{SHORT}::test_1", f"{BOTH}::test_x[minikafka]", f"{BOTH}::test_x[apache]", f"{LONG}::test_1",
         "tests/lab/spark/test_s.py::test_s", "tests/lab/spark/test_t.py::test_t"]
SECONDS = {LONG: 100.0, BOTH: 5.0, f"{BOTH}@apache": 9.0}


def test_one_worker_takes_all_that_starts_spark_and_the_longest_files_come_first() -> None:
    """Fails if a run starts a second Spark session, ends with one worker in a long file, the others idle, or lets brokers that
    tests share rest while others run."""
    made = units(TESTS, SECONDS)
    assert list(made) == [SPARK, LONG, SHORT, f"{BOTH}@apache", BOTH]
    assert made[f"{BOTH}@apache"] == [f"{BOTH}::test_x[apache]"]
    assert made[SPARK] == ["tests/lab/spark/test_s.py::test_s", "tests/lab/spark/test_t.py::test_t"]
    assert sorted(sum(made.values(), [])) == sorted(TESTS)


def test_a_worker_that_waits_takes_what_waits_first() -> None:
    """Fails if all workers wait for brokers together at the end, or if the worker that waits takes none of the other units."""
    place = {LONG: 0, SHORT: 1, BOTH: 2}
    assert (following(place, place), following(place, place, {BOTH})) == (LONG, BOTH)
    assert following([SHORT, LONG], place, {BOTH}) == LONG


def test_a_file_whose_spark_is_a_process_of_its_own_goes_to_any_worker() -> None:
    """Fails if the worker with the Spark session takes what any other could, and ends last; or if such a file is renamed, or
    takes that session."""
    assert list(units([f"{file}::t" for file in OWN_SPARK], {})) == [*OWN_SPARK]
    for file in OWN_SPARK:
        assert not re.search(r"def \w+\([^)]*\b(spark|both)\b", (Path(__file__).parents[1] / file).read_text()), file


def test_a_run_on_apache_alone_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if one worker of `make judge` does all of it, or all but the notebooks."""
    monkeypatch.setenv("MINIKAFKA_ENGINE", "apache")
    assert len(units([f"{SHORT}::t[apache]", f"{LONG}::t[apache]", "solutions/00-a.ipynb::Cell 0"], SECONDS)) == 3


def test_the_labs_of_the_gate_are_shared() -> None:
    """Fails if one worker judges the answers to all labs, one after the other, and the others wait for it."""
    gate = [f"tests/lab/labs/test_gate.py::test_every_exercise_tells_right_from_wrong[{lab}]" for lab in ("00", "01")]
    assert list(units([*gate, f"{SHORT}::t"], {gate[1]: 9.0})) == [gate[1], gate[0], SHORT]


def test_the_half_on_apache_is_found_by_its_name() -> None:
    """Fails if a parameter's name hides it, or a word of a parameter is taken for it."""
    assert file_of("tests/t.py::test[0-apache]") == file_of("tests/t.py::test[apache-0]") == "tests/t.py@apache"
    assert file_of("tests/t.py::test_apache[0]") == file_of("tests/t.py::test[minikafka]") == "tests/t.py"


def test_a_shorter_run_leaves_what_others_took(tmp_path: Path) -> None:
    """Fails if `make judge` forgets what `make test` measured, if an old time wins, or if a file that is gone stays."""
    path = tmp_path / "durations.tsv"
    path.write_text("9\ttests/test_laws.py\n7\ttests/test_pages.py@apache\n6\ttests/test_laws.py::t\n5\ttests/test_gone.py\n")
    took = [pytest.TestReport(f"tests/test_pages.py::t{n}[apache]", ("", 0, ""), {}, "passed", None, "call", duration=2.0)
            for n in range(2)]
    write_durations(took, path)
    assert path.read_text() == "9\ttests/test_laws.py\n6\ttests/test_laws.py::t\n4\ttests/test_pages.py@apache\n"


def test_what_quick_leaves_out_is_there() -> None:
    """Fails if a folder or a file is renamed, so that `make quick` takes minutes."""
    assert [path for path in conftest.NOT_QUICK if not Path(path).exists()] == []
