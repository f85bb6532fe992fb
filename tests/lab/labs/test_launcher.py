"""python -m minikafka.lab: which notebook, which settings."""
from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minikafka.lab import __main__ as launcher


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "labs").mkdir()
    for name in ("00-first.ipynb", "07-acks-Copy1.ipynb", "07-acks.ipynb", "playground.ipynb"):  # as JupyterLab names a copy
        (tmp_path / "labs" / name).write_text("{}")
    return tmp_path


def test_one_ctrl_c_ends_it(tmp_path, monkeypatch):
    """I-LAUNCH-3: fails if Ctrl-C asks a question first, or if a worker thread that waits for work keeps the process for ever;
    or if kernels do not get the file that they run first, or if the address drowns in what JupyterLab tells of itself."""
    monkeypatch.delenv("PYTHONSTARTUP", raising=False)
    (tmp_path / "jupyter_server_config.py").write_text(
        "import os, threading\nthreading.Thread(target=threading.Event().wait, name='a worker that waits').start()\n"
        f"open({str(tmp_path / 'startup')!r}, 'w').write(os.environ['PYTHONSTARTUP'])\n")
    folders = {f"JUPYTER_{name}_DIR": str(tmp_path) for name in ("CONFIG", "DATA", "RUNTIME")}
    ours, terminal = os.openpty()  # on a terminal JupyterLab handles Ctrl-C itself
    with (tmp_path / "said").open("w") as told:
        started = subprocess.Popen([sys.executable, "-m", "minikafka.lab", "00", "--no-browser", "--ServerApp.port=0"],
                                   env={**os.environ, **folders, "PYTHONPATH": str(launcher.ROOT)}, cwd=launcher.ROOT,
                                   stdin=terminal, stdout=subprocess.DEVNULL, stderr=told)
    try:
        while not list(tmp_path.glob("jpserver-*-open.html")):  # written when it answers
            assert started.poll() is None
            time.sleep(0.1)
        started.send_signal(signal.SIGINT)
        started.wait(60)
        assert not list(tmp_path.glob("jpserver-*")), "what told of the server is gone with it"
        assert Path((tmp_path / "startup").read_text()) == launcher.HERE / "startup.py"
        said = (tmp_path / "said").read_text()
        assert "/lab/tree/labs/00-first-cluster.ipynb?token=" in said and not re.search(r"^\[[IW] ", said, re.MULTILINE), said
    finally:
        started.kill()
        started.wait()
        os.close(terminal)
        os.close(ours)


@pytest.mark.parametrize("number, name", [("00", "00-first"), ("0", "00-first"), ("7", "07-acks"), ("playground", "playground")])
def test_a_lab_by_its_number(project, number, name):
    """Fails if LAB=7 does not open the lab whose file begins with 07, or `make play` not the playground."""
    options = launcher.arguments(number, ["--no-browser"], project)
    assert f"--LabApp.default_url=/lab/tree/labs/{name}.ipynb" in options and options[-1] == "--no-browser"


def test_a_lab_that_does_not_exist(project):
    """Fails if JupyterLab were started on an address that is not there."""
    with pytest.raises(FileNotFoundError, match="no 42-"):
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
