"""python -m minikafka.lab: which notebook, which settings."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from minikafka.lab import __main__ as launcher


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "labs").mkdir()
    for name in ("00-first.ipynb", "07-acks.ipynb"):
        (tmp_path / "labs" / name).write_text("{}")
    return tmp_path


@pytest.mark.parametrize("number, name", [("00", "00-first"), ("0", "00-first"), ("7", "07-acks")])
def test_a_lab_by_its_number(project, number, name):
    """Fails if LAB=7 does not open the lab whose file begins with 07."""
    options = launcher.arguments(number, ["--no-browser"], project)
    assert f"--LabApp.default_url=/lab/tree/labs/{name}.ipynb" in options and options[-1] == "--no-browser"


def test_a_lab_that_does_not_exist(project):
    """Fails if JupyterLab were started on an address that is not there."""
    with pytest.raises(FileNotFoundError, match="no lab 42"):
        launcher.arguments("42", [], project)


def test_the_users_settings_are_copied_and_win(project, monkeypatch):
    """I-LAUNCH-1, I-LAUNCH-2: fails if the user's folder is written, if a size of the user's is replaced, or if a later start
    undoes what was changed in the labs' settings.
    """
    home = project / "home"
    theirs = home / launcher.THEMES
    theirs.parent.mkdir(parents=True)
    theirs.write_text('{"theme": "JupyterLab Dark", /* mine */ "overrides": {"code-font-size": "11px"}}')
    before = theirs.read_text()
    monkeypatch.setenv("JUPYTERLAB_SETTINGS_DIR", str(home))
    ours = launcher.settings(project) / launcher.THEMES
    kept = json.loads(ours.read_text())
    assert kept["theme"] == "JupyterLab Dark"
    assert kept["overrides"]["code-font-size"] == "11px" and kept["overrides"]["content-font-size1"] == "17px"
    assert theirs.read_text() == before
    ours.write_text("{}")
    launcher.settings(project)
    assert ours.read_text() == "{}"
