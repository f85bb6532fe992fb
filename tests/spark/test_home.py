"""The archive of Spark's Java classes (I-SPARK-17)."""

import subprocess

import pytest

from minikafka.java import find_java
from minikafka.spark import home


@pytest.mark.spark
@pytest.mark.skipif(not home.archive().exists(), reason="no archive of Spark's classes here (`make setup` makes one)")
def test_a_session_maps_the_archive(spark):
    """Fails if what `make setup` made does not fit the sessions that the labs start: another class path, other options."""
    with open(f"/proc/{spark.sparkContext._gateway.proc.pid}/maps") as maps:
        assert str(home.archive()) in maps.read()


def test_an_archive_that_does_not_fit_is_no_news(monkeypatch, tmp_path):
    """Fails if a damaged archive keeps Java from starting, or makes Java speak in a student's cell."""
    damaged = tmp_path / "classes.jsa"
    monkeypatch.setattr(home, "archive", lambda: damaged)
    assert home.with_archive() == ""
    damaged.write_bytes(b"no archive" * 1000)
    done = subprocess.run([find_java().executable, *home.with_archive().split(), "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr
    assert "damaged" not in done.stdout and len(done.stdout.splitlines()) == 3
