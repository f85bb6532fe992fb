"""The archive of Spark's Java classes (I-CLASSES-1)."""

import os
import subprocess
from pathlib import Path

import pytest

from minikafka.lab.spark import home
from minikafka.machine import class_archive
from minikafka.machine.java import find_java


@pytest.mark.spark
@pytest.mark.skipif(not home.archive().exists(), reason="no archive of Spark's classes here (`make setup` makes one)")
def test_a_session_maps_the_archive(spark):
    """Fails if what `make setup` made does not fit the sessions that the labs start: another class path, other options."""
    with open(f"/proc/{spark.sparkContext._gateway.proc.pid}/maps") as maps:
        assert str(home.archive()) in maps.read()


@pytest.mark.spark
def test_shuffled_rows_are_their_owners(spark):
    """Fails if another user of this machine can read what a session writes down while it shuffles."""
    assert spark.range(1000).groupBy("id").count().count() == 1000
    (folder,) = map(Path, spark._jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager().localDirsString())
    assert any(folder.rglob("shuffle_*.data")) and folder.parent.stat().st_mode & 0o777 == 0o700


def test_other_files_have_another_archive(monkeypatch, tmp_path):
    """Fails if a second installation in the same place keeps the archive of the first, which Java does not take."""
    (tmp_path / "jars").mkdir()
    jar = tmp_path / "jars" / "spark.jar"
    monkeypatch.setattr(home, "spark_home", lambda: tmp_path)
    names = set()
    for seconds in (1_000_000_000, 1_000_000_000, 1_000_000_009):
        jar.touch()
        os.utime(jar, (seconds, seconds))
        names.add(home.archive())
    assert len(names) == 2 and {name.parent for name in names} == {tmp_path}


def test_an_archive_that_does_not_fit_is_no_news(tmp_path):
    """Fails if a damaged archive keeps Java from starting, or makes Java speak in a student's cell."""
    damaged = tmp_path / "classes.jsa"
    assert class_archive.options(damaged) == []
    damaged.write_bytes(b"no archive" * 1000)
    done = subprocess.run([find_java().executable, *class_archive.options(damaged), "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr
    assert "damaged" not in done.stdout and len(done.stdout.splitlines()) == 3
