"""Makes requirements.lock from requirements.in, and environment.yml from the lock. Run by `make lock`.

Invariants
  I-LOCK-1  one lock serves Python 3.11 to 3.14 on Linux and macOS: what differs carries a marker (uv's universal resolution)
  I-LOCK-2  the lock names versions only: no index, no hashes, no path of the machine that made it
  I-LOCK-3  environment.yml holds the lock's lines, word for word, in its pip section

A version that is already locked stays, unless it is named: `tools/lock.py --upgrade pyspark`.
`tools/lock.py --environment` only rewrites environment.yml.
"""
from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
ENVIRONMENT = ROOT / "environment.yml"
OLDEST_PYTHON = "3.11"

LOCK_HEAD = """\
# Made by `make lock` from requirements.in: do not edit. One file for Python 3.11 to 3.14; markers say what differs.
"""
ENVIRONMENT_HEAD = """\
# For users of conda. Made by `make lock` from requirements.lock: do not edit; a test compares them.
#   conda env create -f environment.yml && conda activate minikafka && make lab
# Only Python comes from conda: the packages are the same wheels, at the same versions, as in .venv.
# One Python, no range: Binder begins with the one that it reads here, and with 3.10 where it finds a range.
name: minikafka
channels:
  - conda-forge
dependencies:
  - python =3.13
  - pip
  - make
  - pip:
"""


def pins(text: str) -> list[str]:
    """The requirement lines of a lock, without comments, in the file's order."""
    lines = (line.split(" #")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def resolve(upgrade: list[str]) -> None:
    """Runs uv over requirements.in; what the present lock holds is kept where it can be."""
    command = ["uv", "pip", "compile", "requirements.in", "--universal", "--python-version", OLDEST_PYTHON,
               "--no-header", "--no-emit-index-url", "--no-emit-find-links", "--quiet", "-o", str(LOCK)]
    for name in upgrade:
        command += ["--upgrade-package", name]
    subprocess.run(command, cwd=ROOT, check=True)
    LOCK.write_text(LOCK_HEAD + re.sub(r"-r requirements\.in", "requirements.in", LOCK.read_text()))


def environment(lock: str) -> str:
    """The text of environment.yml that belongs to a lock."""
    items = [*pins(lock), "-e ."]
    return ENVIRONMENT_HEAD + "".join(f'      - "{item}"\n' for item in items)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environment", action="store_true", help="only rewrite environment.yml")
    parser.add_argument("--upgrade", action="append", default=[], metavar="PACKAGE")
    options = parser.parse_args(argv)
    if not options.environment:
        try:
            resolve(options.upgrade)
        except FileNotFoundError:
            print("make lock needs uv on the PATH (nothing else does)", file=sys.stderr)
            return 1
    ENVIRONMENT.write_text(environment(LOCK.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
