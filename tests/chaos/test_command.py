"""What `python -m minikafka chaos` prints and returns, without a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minikafka.__main__ import main
from minikafka.chaos.campaign import Outcome
from minikafka.chaos.command import HEAD, told, write_ledger
from minikafka.history import check
from tests.history.kit import Told

CLEAN, LOST = Told().send("a", 0).final("a@0"), Told().send("a", 0).final("")


def outcome(told_history: Told, *problems: str) -> Outcome:
    return Outcome("minikafka", 7, check(told_history.history), {"kill": 12, "pause": 2}, list(problems), {}, 60.0,
                   Path("folder"), Path("folder/history.jsonl"))


@pytest.mark.parametrize(("history", "status"), [(CLEAN, 0), (LOST, 1), (Told().send("a", 0), 1)])
def test_a_saved_history_is_judged_again(tmp_path: Path, capsys: pytest.CaptureFixture[str], history: Told,
                                         status: int) -> None:
    """Fails if a violation, or a history that cannot tell, ends with status 0."""
    history.history.save(tmp_path / "h")
    assert main(["chaos", "--check", str(tmp_path / "h"), "--json"]) == status
    assert json.loads(capsys.readouterr().out)["counts"]["sent"] == 1
    assert main(["chaos", "--check", str(tmp_path / "h")]) == status
    assert "1 sent" in capsys.readouterr().out


def test_the_last_line_says_it_all() -> None:
    """Fails if kills, acknowledged, lost or duplicates are missing, or a problem beside the verdicts is overlooked."""
    assert told(outcome(CLEAN)).splitlines()[-1].endswith("12 kills, 1 acked, 0 lost, 0 duplicates: all is well")
    assert told(outcome(LOST)).splitlines()[-1].endswith("12 kills, 1 acked, 1 lost, 0 duplicates: VIOLATED")
    assert "PROBLEM   a broker died" in told(outcome(CLEAN, "a broker died"))
    assert told(outcome(CLEAN, "a broker died")).endswith("VIOLATED")
    assert outcome(CLEAN, "a broker died").json()["good"] is False


def test_a_campaign_is_a_row_of_the_ledger(tmp_path: Path) -> None:
    """Fails if a row has other columns than the head, the kills are not in it, or a problem counts for nothing."""
    write_ledger(outcome(CLEAN), "abc", tmp_path / "new" / "ledger.tsv")
    write_ledger(outcome(LOST, "a broker died"), "abc", tmp_path / "new" / "ledger.tsv")
    head, *rows = (line.split("\t") for line in (tmp_path / "new" / "ledger.tsv").read_text().splitlines())
    assert head == list(HEAD)
    assert rows == [["abc", "live", "seed 7", "12", "0"], ["abc", "live", "seed 7", "12", "2"]]
