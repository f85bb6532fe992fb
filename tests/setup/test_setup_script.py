"""tools/setup.sh, on a PATH that holds only what the test puts there: uv or no uv, a whole or a broken Python.

The real installation (minutes, a network) is what .ci/run does before the tests; here the script's decisions are tested.
"""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "setup.sh"
TOOLS = ("sh", "cat", "cksum", "dirname", "rm", "mkdir", "ln", "chmod")

# A Python whose venv module makes what the test needs: an interpreter that answers `-m pip` and writes down the call.
FAKE_PYTHON = """#!/bin/sh
echo "python $*" >> "$CALLS"
case "$*" in
  *"-m venv"*) for last; do :; done; mkdir -p "$last/bin"; ln -sf "$0" "$last/bin/python" ;;
  *"-m pip --version"*) [ "$0" != "$BASE" ] ;;
  *"import $MISSING"*) exit 1 ;;
  *sys.version_info*) exec "$REAL" "$@" ;;
esac
"""
FAKE_UV = """#!/bin/sh
echo "uv $*" >> "$CALLS"
case "$1" in venv) for last; do :; done; mkdir -p "$last/bin"; ln -sf "$BASE" "$last/bin/python" ;; esac
"""


class Machine:
    """A folder with a project's bare bones, and a PATH of its own."""

    def __init__(self, folder: Path) -> None:
        self.root, self.bin, self.calls = folder / "project", folder / "bin", folder / "calls"
        (self.root / "tools").mkdir(parents=True)
        self.bin.mkdir()
        shutil.copy(SCRIPT, self.root / "tools")
        self.lock = self.root / "requirements.lock"
        self.lock.write_text("x==1\n")
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))

    def command(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)

    def setup(self, missing: str = "nothing") -> tuple[int, str, list[str]]:
        """Exit status, what was printed, and the calls of python and uv."""
        self.calls.write_text("")
        done = subprocess.run(["sh", str(self.root / "tools" / "setup.sh")], capture_output=True, text=True, timeout=30, env={
            "PATH": str(self.bin), "CALLS": str(self.calls), "REAL": sys.executable, "MISSING": missing,
            "BASE": str(self.bin / "python3")})
        return done.returncode, done.stdout + done.stderr, self.calls.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def installs(calls: list[str], tool: str) -> list[str]:
    return [call for call in calls if call.startswith(tool) and ("pip install" in call or "tools/install.py" in call)]


def test_venv_and_pip_without_uv(machine):
    """Fails if the lock is not installed, the project not editable and without fetching a build system, or its modules are left
    to be compiled by those who may not write them."""
    machine.command("python3", FAKE_PYTHON)
    status, text, calls = machine.setup()
    assert status == 0, text
    lock, project = installs(calls, "python")
    assert f"-r {machine.root}/requirements.lock" in lock
    assert f"--no-deps --no-build-isolation -e {machine.root}" in project
    assert calls.index(f"python -m compileall -q {machine.root}/minikafka") > calls.index(project)


def test_uv_where_it_is_present(machine):
    """Fails if pip is used although uv is there."""
    machine.command("python3", FAKE_PYTHON)
    machine.command("uv", FAKE_UV)
    status, text, calls = machine.setup()
    assert status == 0, text
    assert len(installs(calls, "uv")) == 2 and not installs(calls, "python")


def test_uv_helps_where_there_is_no_python(machine):
    """Fails if a missing Python ends the set-up although uv can bring one."""
    machine.command("uv", FAKE_UV)
    machine.command("somewhere", FAKE_PYTHON)
    status, text, calls = machine.setup()
    assert any(call.startswith("uv venv") and "--python 3.11" in call for call in calls), text


def test_done_once(machine):
    """Fails if a complete environment is installed again, or an old one is trusted after the lock changed."""
    machine.command("python3", FAKE_PYTHON)
    machine.setup()
    assert machine.setup()[2] == []
    machine.lock.write_text("x==2\n")
    assert len(installs(machine.setup()[2], "python")) == 2


def test_an_interrupted_installation_is_finished(machine):
    """Fails if the stamp is written before the packages are there."""
    machine.command("python3", FAKE_PYTHON.replace('"-m pip --version"*)', '"install.py"*) exit 1 ;;\n  *"-m pip --version"*)'))
    assert machine.setup()[0] != 0
    machine.command("python3", FAKE_PYTHON)
    status, _, calls = machine.setup()
    assert status == 0 and len(installs(calls, "python")) == 2


def test_another_project_s_settings_of_pip_do_not_count(tmp_path):
    """Fails if pip, asked by make setup, takes from a pip.conf any setting but those that say how packages are reached."""
    plain, odd = (tmp_path / name for name in ("plain.conf", "odd.conf"))
    plain.write_text("")
    before, given = became(plain)
    odd.write_text("\n".join(["[global]", *(f"{name} = {value}" for name, value in given.items())]))
    after, _ = became(odd)
    changed = {name for name in before if after[name] != before[name]}
    assert len(given) > 50 and changed == {
        "index_url", "extra_index_urls", "no_index", "find_links", "trusted_hosts", "proxy", "cert", "client_cert",
        "keyring_provider", "features_enabled", "retries", "timeout", "cache_dir", "log"}


BECAME = """
import json, os
from pip._internal.commands import create_command
from tools import install

def take(program, command, variables):
    os.environ.clear()
    os.environ.update(variables)
    pip = create_command(command[3])
    given = {option.get_opt_string()[2:]: option.choices[-1] if option.choices else "true" if option.type is None else
             "7" if option.type in ("int", "float") else "a=b" for option in pip.parser.option_list_all}
    print(json.dumps([vars(pip.parser.parse_args(command[4:])[0]), given], default=str))

os.execve = take
install.main()
"""


def became(settings: Path) -> tuple[dict[str, object], dict[str, str]]:
    """Return the options with which install.py calls pip under these settings, and an odd value for each option of pip."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment = clean | {"PIP_CONFIG_FILE": str(settings), "PYTHONPATH": str(SCRIPT.parents[1])}
    done = subprocess.run([sys.executable, "-c", BECAME], cwd=settings.parent, env=environment,  # where pip begins its log
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    options, given = json.loads(done.stdout)
    return options, {name: value for name, value in given.items() if name not in ("help", "version", "isolated")}


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_that_cannot_make_environments(machine, module):
    """A fresh Debian without python3-venv: fails if the remedy is not named, or a half-made .venv stays behind."""
    machine.command("python3", FAKE_PYTHON)
    status, text, _ = machine.setup(missing=module)
    assert status == 1
    assert f"'{module}' is missing" in text
    assert "apt install python3-venv" in text and "uv" in text and "conda env create" in text
    assert not (machine.root / ".venv").exists()


def test_no_python_at_all(machine):
    """Fails if the message does not say which versions serve and how to name one."""
    status, text, _ = machine.setup()
    assert status == 1 and "3.11 to 3.14" in text and "MINIKAFKA_PYTHON" in text


@pytest.mark.parametrize("uv", [True, False])
def test_a_folder_that_is_no_environment_is_not_emptied(machine, uv):
    """Fails if `make setup VENV=<a folder of yours>` deletes what is in it."""
    machine.command("python3", FAKE_PYTHON)
    if uv:
        machine.command("uv", FAKE_UV)
    (machine.root / ".venv").mkdir()
    status, text, calls = machine.setup()
    assert status == 1 and "nothing was touched" in text
    assert not any(" venv " in call for call in calls)
