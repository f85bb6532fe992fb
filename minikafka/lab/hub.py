"""A student's server under JupyterHub: `python -m minikafka.lab.hub`, the command that the hub's spawner starts as that student.

The project, its environment and its jars are one installation for all, which no student can write. A student's own are, in
~/minikafka: the notebooks (labs/), the progress and JupyterLab's settings (.cache/). Clusters have ports and folders of their own
anyway.

    docker/jupyterhub_config.py     the hub's side: three commands, and what they make

Owns: what a student's folder has in it.
Invariants
  I-HUB-1  a notebook that is there is never written again: what a student typed stays
  no other student can read the folder, and nothing is written outside of the student's home and /tmp
"""
from __future__ import annotations

import os
import shutil
import sys
from importlib import import_module
from pathlib import Path

from minikafka.lab.__main__ import ROOT, arguments, kernels, notebook
from minikafka.machine.environment import settle

OWN = "minikafka"  # a folder in the student's home
LOADS = ("labs", "solutions")  # folders of notebooks, as far as the installation has them


def prepare(home: Path, project: Path = ROOT) -> Path:
    """Return the student's folder; make what is missing in it (I-HUB-1)."""
    root = home / OWN
    root.mkdir(mode=0o700, exist_ok=True)
    for theirs in (found for part in LOADS for found in sorted((project / part).glob("*.ipynb"))):
        mine = root / theirs.relative_to(project)
        if not mine.exists():
            mine.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(theirs, mine)
    return root


def environment(root: Path, project: Path = ROOT) -> dict[str, str]:
    """Return the variables of the student's server and kernels: what is the student's own, and what all share."""
    shared = project / ".cache" / "minikafka"
    first = f"/lab/tree/{notebook('00', root).as_posix()}"  # unless the hub says otherwise (Spawner.default_url)
    return {"JUPYTERHUB_DEFAULT_URL": os.environ.get("JUPYTERHUB_DEFAULT_URL") or first,
            "MINIKAFKA_PROGRESS": str(root / ".cache" / "progress.json"),
            **kernels(root),
            **({"MINIKAFKA_CACHE": str(shared)} if shared.is_dir() else {})}


def main(argv: list[str]) -> None:
    """Run the server in this process, until the hub ends it."""
    try:
        hubs = import_module("jupyterhub.singleuser")  # not in the lock: only who runs a hub needs it
    except ImportError:
        sys.exit(f"JupyterHub is not in this environment: {sys.executable} -m pip install jupyterhub")
    settle()
    root = prepare(Path.home())
    os.environ.update(environment(root))
    os.chdir(root)
    sys.argv[1:] = arguments("00", argv, root)
    hubs.main()


if __name__ == "__main__":
    main(sys.argv[1:])
