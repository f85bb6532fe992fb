"""The API half of the fidelity table: Kafka's column is what Apache advertises, ours is what we serve."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kafka.protocol.metadata import ApiVersionsRequest

from tests.wire.raw import Raw
from tools.fidelity import ROOT, rows, served


def advertised(bootstrap: str) -> dict[int, tuple[int, int]]:
    with Raw(bootstrap) as raw:
        return {r.api_key: (r.min_version, r.max_version) for r in raw.ask(ApiVersionsRequest(version=0), 0).api_keys}


def test_the_table_is_what_the_engine_advertises(cluster) -> None:
    """On Apache: the Kafka column, whole. On ours: the column of our versions, and nothing besides."""
    if cluster.engine == "apache":
        expected = {row.key: (row.min, row.max) for row in rows()}
    else:
        expected = {row.key: versions for row in rows() if (versions := served(row.key)) is not None}
    assert advertised(cluster.bootstrap) == expected


def test_grades_agree_with_what_is_served() -> None:
    """Absent means not served; served versions lie within Kafka's, and a narrower range is not 'same on the wire'."""
    for row in rows():
        ours = served(row.key)
        assert (row.grade == "absent") == (ours is None), row
        assert ours is None or row.min <= ours[0] <= ours[1] <= row.max, row
        assert row.grade != "same on the wire" or ours == (row.min, row.max), row


def test_the_readme_shows_the_table() -> None:
    tool = Path(ROOT) / "tools" / "fidelity.py"
    checked = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
