""".ci/run with a `make` that the test controls: what it runs, in which order, and its exit status."""
from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("bash", "dirname", "timeout", "cat")
MAKE = """#!/bin/sh
echo "$1" >> "$CALLS"
echo "== 1 passed in 0.01s =="
[ "$1" != "$FAILING" ]
"""
PACKAGES = """#!/bin/sh
[ packages != "$FAILING" ]
"""
IMAGE = """#!/bin/sh
echo image >> "$CALLS"
[ image != "$FAILING" ]
"""


def run(folder: Path, failing: str = "", user: int = 1000, tools: tuple[str, ...] = ()) -> tuple[int, list[str], str]:
    """Exit status, the parts that ran, and what was printed. An apt-get installs nothing, and fails if `failing` is packages."""
    project, path = folder / "project", folder / "bin"
    (project / ".ci").mkdir(parents=True)
    path.mkdir()
    shutil.copy(ROOT / ".ci" / "run", project / ".ci" / "run")
    (project / "tools").mkdir()
    for tool in TOOLS:
        (path / tool).symlink_to(shutil.which(tool))
    scripts = {path / "make": MAKE, path / "id": f"#!/bin/sh\necho {user}\n", project / "tools" / "image.sh": IMAGE,
               path / "apt-get": PACKAGES, path / "sleep": "#!/bin/sh\n"}
    for script, text in (scripts | {path / tool: "#!/bin/sh\n" for tool in tools}).items():
        script.write_text(text)
        script.chmod(0o755)
    calls = folder / "calls"
    done = subprocess.run(["bash", str(project / ".ci" / "run")], capture_output=True, text=True, timeout=60,
                          env={"PATH": str(path), "CALLS": str(calls), "FAILING": failing})
    return done.returncode, calls.read_text().split(), done.stdout


def test_everything_in_order(tmp_path):
    """Fails if a part is left out, or if pytest's closing lines do not reach the output."""
    status, made, text = run(tmp_path)
    assert (status, made) == (0, ["setup", "apache", "test", "proof", "judge"])
    assert text.count("1 passed") == 5


@pytest.mark.parametrize("failing, made", [
    ("setup", ["setup"]),
    ("apache", ["setup", "apache"]),
    ("test", ["setup", "apache", "test", "proof", "judge"]),
    ("proof", ["setup", "apache", "test", "proof", "judge"]),
    ("judge", ["setup", "apache", "test", "proof", "judge"]),
])
def test_a_part_that_fails_fails_the_run(tmp_path, failing, made):
    """Fails if a failure is swallowed; a failing test must not keep the judge from speaking."""
    status, calls, _ = run(tmp_path, failing)
    assert status != 0 and calls == made


@pytest.mark.parametrize("user, made", [(0, ["setup"]), (1000, ["setup", "apache", "test", "proof", "judge"])])
def test_packages_that_cannot_be_installed_end_the_run_before_the_tests(tmp_path, user, made):
    """Fails if a browser's tests could be skipped in silence, or if somebody who is not root needs apt-get."""
    status, calls, _ = run(tmp_path, "packages", user)
    assert (status != 0, calls) == (user == 0, made)


@pytest.mark.parametrize("user, tools, parts", [
    (0, ("buildah", "mmdebstrap", "chromium", "kcat"), 6),
    (0, ("buildah",), 5),
    (1000, ("buildah", "mmdebstrap"), 5),
])
def test_the_image_is_built_where_that_is_possible(tmp_path, user, tools, parts):
    """Fails if CI needs root or tools that are not there, or leaves the image out where both are."""
    status, made, _ = run(tmp_path, user=user, tools=tools)
    assert (status, made) == (0, ["setup", "apache", "test", "proof", "judge", "image"][:parts])


def test_an_image_that_cannot_be_built_fails_the_run(tmp_path):
    assert run(tmp_path, "image", 0, ("buildah", "mmdebstrap"))[0] != 0
