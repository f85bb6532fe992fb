"""A student's server under JupyterHub: the folder, the variables, and what is said where JupyterHub is not installed."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.lab import hub
from minikafka.lab.record import ROOT
from minikafka.machine import java


def test_a_folder_has_the_notebooks_and_keeps_what_was_typed(tmp_path: Path) -> None:
    """Fails if a notebook is missing, if others can read the folder, or if what a student typed is written over (I-HUB-1)."""
    root = hub.prepare(tmp_path)
    assert root == tmp_path / "minikafka" and root.stat().st_mode & 0o777 == 0o700
    for part in ("labs", "solutions"):
        assert {path.name for path in (root / part).iterdir()} == {path.name for path in (ROOT / part).glob("*.ipynb")}
    mine, gone = root / "labs" / "00-first-cluster.ipynb", root / "labs" / "01-from-calls-to-a-log.ipynb"
    mine.write_text("mine")
    gone.unlink()
    hub.prepare(tmp_path)
    assert mine.read_text() == "mine" and gone.exists()


def test_only_what_is_there_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if the progress is not the student's own, if the hub's first page is passed over, or if a cache that the installation
    does not have is named: jars would be looked for there."""
    monkeypatch.delenv("JUPYTERHUB_DEFAULT_URL", raising=False)
    project, root = tmp_path / "project", hub.prepare(tmp_path)
    alone = hub.environment(root, project)
    assert alone["MINIKAFKA_PROGRESS"] == str(root / ".cache" / "progress.json") and "MINIKAFKA_CACHE" not in alone
    assert alone["JUPYTERHUB_DEFAULT_URL"] == "/lab/tree/labs/00-first-cluster.ipynb"
    cache = project / ".cache" / "minikafka"
    cache.mkdir(parents=True)
    monkeypatch.setenv("JUPYTERHUB_DEFAULT_URL", "/lab/tree/labs/03.ipynb")
    shared = hub.environment(root, project)
    assert shared["MINIKAFKA_CACHE"] == str(cache) and shared["JUPYTERHUB_DEFAULT_URL"] == "/lab/tree/labs/03.ipynb"


def test_without_jupyterhub_it_names_what_to_install(tmp_path: Path) -> None:
    """Fails if a hub's log shows a traceback instead of the remedy. (The environment of the tests has no JupyterHub.)"""
    done = subprocess.run([sys.executable, "-m", "minikafka.lab.hub"], capture_output=True, text=True, cwd=ROOT,
                          env={"HOME": str(tmp_path), "PATH": ""}, check=False)
    assert done.returncode == 1 and done.stderr.strip() == (
        f"JupyterHub is not in this environment: {sys.executable} -m pip install jupyterhub")
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_is_shared_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if each session of Spark writes into the cache: a student's may not."""
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path))
    made = java._for_spark(Path("/usr/bin/java")) / "bin" / "java"
    before = made.stat()
    assert java._for_spark(Path("/usr/bin/java")) / "bin" / "java" == made
    assert (made.stat().st_ino, made.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    made.write_text("of another version")
    java._for_spark(Path("/usr/bin/java"))
    assert "/usr/bin/java" in made.read_text()
