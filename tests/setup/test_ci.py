""".ci/run with a `make` that the test controls: what it runs, in which order, and whether it tells the truth."""
from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("bash", "dirname", "timeout", "sleep", "cat")
MAKE = """#!/bin/sh
echo "$1" >> "$CALLS"
echo "== 1 passed in 0.01s =="
[ "$1" != "$FAILING" ]
"""


def run(folder: Path, failing: str = "") -> tuple[int, list[str], str]:
    """Exit status, the targets that were made, and what was printed; not as root, so that nothing is installed."""
    project, path = folder / "project", folder / "bin"
    (project / ".ci").mkdir(parents=True)
    path.mkdir()
    shutil.copy(ROOT / ".ci" / "run", project / ".ci" / "run")
    for tool in TOOLS:
        (path / tool).symlink_to(shutil.which(tool))
    for name, text in (("make", MAKE), ("id", "#!/bin/sh\necho 1000\n")):
        (path / name).write_text(text)
        (path / name).chmod(0o755)
    calls = folder / "calls"
    done = subprocess.run(["bash", str(project / ".ci" / "run")], capture_output=True, text=True, timeout=60,
                          env={"PATH": str(path), "CALLS": str(calls), "FAILING": failing})
    return done.returncode, calls.read_text().split(), done.stdout


def test_everything_in_order(tmp_path):
    """Fails if a part is left out, or if pytest's closing lines do not reach the output."""
    status, made, text = run(tmp_path)
    assert (status, made) == (0, ["setup", "apache", "test", "judge"])
    assert text.count("1 passed") == 4


@pytest.mark.parametrize("failing, made", [
    ("setup", ["setup"]),
    ("apache", ["setup", "apache"]),
    ("test", ["setup", "apache", "test", "judge"]),
    ("judge", ["setup", "apache", "test", "judge"]),
])
def test_a_part_that_fails_fails_the_run(tmp_path, failing, made):
    """Fails if a failure is swallowed; a failing test must not keep the judge from speaking."""
    status, calls, _ = run(tmp_path, failing)
    assert status != 0 and calls == made
