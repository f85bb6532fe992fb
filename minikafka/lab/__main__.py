"""Opens JupyterLab on a lab: `python -m minikafka.lab [NN] [options of jupyter lab]`; `make lab` calls it.

Everything it needs is on this machine: no update check, no news, no extension manager asks the network. Fonts are set
for a projector (`jupyter/overrides.json`); a setting that a user has changed wins.
"""
from __future__ import annotations

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def notebook(lab: str) -> Path:
    """The notebook of a lab by its number ("00", "0"), relative to the project. FileNotFoundError if there is none."""
    number = f"{int(lab):02d}"
    found = sorted((ROOT / "labs").glob(f"{number}-*.ipynb"))
    if not found:
        raise FileNotFoundError(f"there is no lab {number} in {ROOT / 'labs'}")
    return found[0].relative_to(ROOT)


def arguments(lab: str, extra: list[str]) -> list[str]:
    """The command line of JupyterLab that opens a lab, without the program's name."""
    return [
        f"--ServerApp.root_dir={ROOT}",
        f"--LabApp.default_url=/lab/tree/{notebook(lab).as_posix()}",
        f"--LabApp.app_settings_dir={HERE / 'jupyter'}",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
        *extra,
    ]


def main(argv: list[str]) -> None:
    """Replaces this process by JupyterLab, so that Ctrl-C reaches it and nothing is left behind."""
    lab, extra = ("00", argv) if not argv or not re.fullmatch(r"\d+", argv[0]) else (argv[0], argv[1:])
    command = [sys.executable, "-m", "jupyterlab", *arguments(lab, extra)]
    os.execv(sys.executable, command)


if __name__ == "__main__":
    main(sys.argv[1:])
