"""Opens JupyterLab on a lab: `python -m minikafka.lab [NN | playground] [options of jupyter lab]`; `make lab`, `make play`.

Everything it needs is on this machine: no update check, no news, no extension manager asks the network (overrides.json).

Fonts are large enough for a projector (themes.json). JupyterLab applies sizes of fonts only from a *user's* settings, not
from overrides.json; so the labs have a settings folder of their own in .cache/, begun with a copy of the user's, and what
is changed there in JupyterLab stays.

Invariants
  I-LAUNCH-1  the user's own settings of JupyterLab are read, never written
  I-LAUNCH-2  a size that the user has chosen wins
  I-LAUNCH-3  when JupyterLab has ended, so does the process: Python alone would wait for ever for a worker thread of AnyIO's
  What another course has put into IPython's start-up folder is not run
"""
from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import sys
from pathlib import Path

import json5

import minikafka.machine.grammars  # noqa: F401  # before JupyterLab
from minikafka.machine.environment import settle

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLAYGROUND = "playground"
THEMES = Path("@jupyterlab") / "apputils-extension" / "themes.jupyterlab-settings"


def notebook(lab: str, root: Path = ROOT) -> Path:
    """Return the path of a lab's notebook ("00", "0", "playground"), relative to the project. Raises FileNotFoundError if there
    is none."""
    pattern = f"{PLAYGROUND}.ipynb" if lab == PLAYGROUND else f"{int(lab):02d}-*.ipynb"
    found = sorted((root / "labs").glob(pattern), key=lambda path: (len(path.name), path.name))  # not a copy of it
    if not found:
        raise FileNotFoundError(f"there is no {pattern} in {root / 'labs'}")
    return found[0].relative_to(root)


def settings(root: Path = ROOT) -> Path:
    """Return the labs' own settings folder; make it on first use."""
    folder = root / ".cache" / "jupyterlab" / "user-settings"
    if not folder.exists():
        from jupyterlab.commands import get_user_settings_dir  # here, not above: JupyterLab takes a second to import
        mine = Path(get_user_settings_dir())
        if mine.is_dir():
            shutil.copytree(mine, folder)
        theirs = folder / THEMES
        chosen = json5.loads(theirs.read_text()) if theirs.exists() else {}
        sizes = json.loads((HERE / "jupyter" / "themes.json").read_text())["overrides"]
        theirs.parent.mkdir(parents=True, exist_ok=True)
        theirs.write_text(json.dumps({**chosen, "overrides": {**sizes, **chosen.get("overrides", {})}}, indent=2))
    return folder


def workspaces(root: Path = ROOT) -> Path:
    """Return the labs' own folder of workspaces. On first use the left side bar is closed: text and picture need its room."""
    folder = root / ".cache" / "jupyterlab" / "workspaces"
    first = folder / "default-37a8.jupyterlab-workspace"  # JupyterLab's name for the workspace "default"
    if not folder.exists():
        folder.mkdir(parents=True)
        first.write_text(json.dumps({"metadata": {"id": "default"},
                                     "data": {"layout-restorer:data": {"left": {"collapsed": True, "widgets": []}}}}))
    return folder


def arguments(lab: str, extra: list[str], root: Path = ROOT) -> list[str]:
    """Return the command line of JupyterLab that opens a lab, without the program's name."""
    return [
        f"--ServerApp.root_dir={root}",
        f"--LabApp.default_url=/lab/tree/{notebook(lab, root).as_posix()}",
        f"--LabApp.app_settings_dir={HERE / 'jupyter'}",
        f"--LabApp.user_settings_dir={settings(root)}",
        f"--LabApp.workspaces_dir={workspaces(root)}",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
        # JupyterLab refuses root unless told; in a container one often is. It listens on loopback, behind a token.
        f"--ServerApp.allow_root={os.geteuid() == 0}",
        "--ServerApp.answer_yes=True",  # Ctrl-C ends it without a question
        "--Application.log_level=WARN",  # the address and what is wrong, not each extension and missing language server
        "--MappingKernelManager.transport_encryption=auto",  # to the kernels: no neighbour here reads along
        # No pings: the browser is on this machine. Jupyter's wait for an answer, 90 s, is longer than Tornado allows.
        "--ServerApp.tornado_settings={'ws_ping_interval': 0}",
        *extra,
    ]


def kernels(root: Path = ROOT) -> dict[str, str]:
    """Return the variables of the labs' kernels: what each runs first, and a folder of IPython's that is theirs."""
    return {"PYTHONSTARTUP": str(HERE / "startup.py"), "IPYTHONDIR": str(root / ".cache" / "ipython"),
            "PYTHONSAFEPATH": "1"}  # until a kernel runs: IPython itself looks beside the notebook, after Python's own modules


def main(argv: list[str]) -> None:
    """Run JupyterLab in this process, so that Ctrl-C reaches it; one Ctrl-C ends it (I-LAUNCH-3)."""
    lab, extra = ("00", argv) if not argv or not re.fullmatch(rf"\d+|{PLAYGROUND}", argv[0]) else (argv[0], argv[1:])
    try:
        options = arguments(lab, extra)
    except FileNotFoundError as missing:
        sys.exit(str(missing))
    settle()
    os.environ.update(kernels())
    code: int | str | None = 0
    from jupyterlab.labapp import LabApp
    try:
        LabApp.launch_instance(options)
    except SystemExit as end:
        code = end.code
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1 if code else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
