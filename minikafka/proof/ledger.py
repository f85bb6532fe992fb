"""tests/seeds/ledger.tsv: a row for each campaign that was run, of the simulator and of live brokers.

Owns: the file, and what stands in a row: of live campaigns the kills, or the requests, in place of the seeds.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEDGER = ROOT / "tests" / "seeds" / "ledger.tsv"
HEAD = ("commit", "kind", "range", "seeds", "violations")


def checked_out() -> str:
    """Return the commit that runs ("+" if there are changes on top)."""
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    return git("rev-parse", "--short=9", "HEAD") + ("+" if git("status", "--porcelain", "--", "minikafka") else "")


def add_row(commit: str, kind: str, seeds: str, count: int, violations: int, path: Path = LEDGER) -> None:
    """Append a row to the ledger, which is made if there is none."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\t".join(HEAD) + "\n")
    with path.open("a") as file:
        file.write("\t".join((commit, kind, seeds, str(count), str(violations))) + "\n")
