"""What `python -m minikafka chaos` prints and returns, without a cluster."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from minikafka.__main__ import main
from minikafka.log.batch import build
from minikafka.proof.chaos.campaign import ChaosCampaign, ChaosOutcome
from minikafka.proof.chaos.command import outcome_line, write_ledger
from minikafka.proof.chaos.nemesis import ANYWHERE, INSIDE, Nemesis, rounds
from minikafka.proof.chaos.search import acquit_brokers, report_lines
from minikafka.proof.history import check
from minikafka.proof.ledger import HEAD
from tests.proof.history.kit import Told

CLEAN, LOST = Told().send("a", 0).final("a@0"), Told().send("a", 0).final("")


def outcome(told_history: Told, *problems: str) -> ChaosOutcome:
    return ChaosOutcome("minikafka", 7, check(told_history.history), {"kill": 12, "pause": 2}, list(problems), {}, 60.0,
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


def test_the_last_line_has_the_whole_outcome() -> None:
    """Fails if kills, acknowledged, lost or duplicates are missing, or a problem beside the verdicts is overlooked."""
    assert outcome_line(outcome(CLEAN)).splitlines()[-1].endswith("12 kills, 1 acked, 0 lost, 0 duplicates: all is well")
    assert outcome_line(outcome(LOST)).splitlines()[-1].endswith("12 kills, 1 acked, 1 lost, 0 duplicates: VIOLATED")
    assert "PROBLEM   a broker died" in outcome_line(outcome(CLEAN, "a broker died"))
    assert outcome_line(outcome(CLEAN, "a broker died")).endswith("VIOLATED")
    assert outcome(CLEAN, "a broker died").json()["good"] is False


def test_a_campaign_is_a_row_of_the_ledger(tmp_path: Path) -> None:
    """Fails if a row has other columns than the head, the kills are not in it, or a problem counts for nothing."""
    write_ledger(outcome(CLEAN), "abc", tmp_path / "new" / "ledger.tsv")
    write_ledger(outcome(LOST, "a broker died"), "abc", tmp_path / "new" / "ledger.tsv")
    head, *rows = (line.split("\t") for line in (tmp_path / "new" / "ledger.tsv").read_text().splitlines())
    assert head == list(HEAD)
    assert rows == [["abc", "live", "seed 7", "12", "0"], ["abc", "live", "seed 7", "12", "2"]]


def test_rounds_are_chosen_by_words_of_their_names() -> None:
    """Fails if a round is never chosen, has no code, or is one that the engine cannot be put through."""
    assert rounds("minikafka") == ANYWHERE | INSIDE and rounds("apache") == ANYWHERE
    assert rounds("apache", ["pause", "stop"]).keys() == {"pause_one", "pause_and_kill", "stop_one"}
    assert all(callable(getattr(Nemesis, name)) for name in rounds("minikafka"))


@pytest.mark.parametrize(("asked", "said"), [
    ("--minutes 0", "more than nothing"), ("--minutes -1", "more than nothing"), ("--rate 0", "more than nothing"),
    ("--faults kill,nosuch", "no faults named nosuch for minikafka; there are kill_one"),
    ("--faults cut --engine apache", "no faults named cut for apache"), ("--check nowhere", "nowhere"),
    (f"--check {__file__}", "is no event of a history")])
def test_what_there_is_not_is_refused(asked: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if such a campaign starts brokers, ends in a traceback, or finds that all is well."""
    try:
        status = main(["chaos", *asked.split()])
    except SystemExit as left:
        status = left.code
    out, error = capsys.readouterr()
    assert (status, out) == (2, "") and said in error


def test_minutes_begin_when_the_cluster_serves() -> None:
    """I-CHAOS-6. Fails if a cluster that took long to start is praised for a campaign in which nothing was broken."""
    campaign = ChaosCampaign(minutes=0.001)
    campaign.begun, campaign.rng = time.monotonic() - 3600, Random(0)
    campaign.workers = [SimpleNamespace(renew=lambda: None, alive_at=float("inf"))]
    nemesis = SimpleNamespace(count=Counter())
    nemesis.round = lambda: nemesis.count.update(kill=1)
    campaign._break(None, nemesis)
    assert nemesis.count["kill"] > 0


@pytest.mark.parametrize("second, acquitted", [((7, 1, 0), True), ((8, 0, 0), True), ((7, 0, 1), False), ((7, 0, 0), False)])
def test_a_record_sent_again_under_another_epoch_is_no_duplicate_of_the_brokers(
        tmp_path: Path, second: tuple[int, int, int], acquitted: bool) -> None:
    """Fails if a broker is blamed for what librdkafka numbers anew, or two copies under one producer epoch are excused."""
    folder = tmp_path / "node-1" / "data" / "t-0"
    folder.mkdir(parents=True)
    batches = [build([(None, b"a")], base_offset=offset, timestamp_ms=0, producer_id=id, producer_epoch=epoch,
                     base_sequence=sequence) for offset, (id, epoch, sequence) in enumerate([(7, 0, 0), second])]
    (folder / "0.log").write_bytes(b"".join(batches))
    report = check(Told().send("a", 1, idempotent=True).poll("c", "a@0").final("a@0 a@1").history)
    assert "duplicate" in report.violated
    acquit_brokers(report, tmp_path)
    assert ("duplicate" not in report.violated) is acquitted and report["duplicate"].count > 0
    first = "at 0 (epoch -1, producer 7 epoch 0 sequence 0) and 1 ("
    assert acquitted or any(first in line for line in report_lines(report, tmp_path))
