"""`python -m minikafka picture`: the README's picture is what the command draws from the run beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from minikafka.__main__ import main
from minikafka.lab.picture.draw.svg import draw
from minikafka.lab.picture.draw.theme import WIDTHS
from minikafka.lab.picture.facts.run import RecordedRun

PICTURES = Path(__file__).parents[3] / "labs" / "pictures"
RUN = str(PICTURES / "readme.mk")
MOMENT = ["--at", "36.2", "--tp", "flights-2"]


def test_the_committed_picture_is_what_the_command_draws(tmp_path: Path) -> None:
    """Fails if the picture was not drawn again after a change: the command stands in showcase.py."""
    drawn = tmp_path / "readme.svg"
    assert main(["picture", RUN, *MOMENT, "-o", str(drawn)]) == 0
    assert drawn.read_text() == (PICTURES / "readme.svg").read_text()


def test_the_recorded_run_shows_what_the_readme_says() -> None:
    """Fails if the recording is replaced by one that does not tell the story: a wait, a stopwatch, a loss."""
    frame = RecordedRun.open(RUN).at(36.2, "flights-2")
    assert frame.chosen is not None and frame.chosen.leader == 1
    lanes = {lane.broker: lane for lane in frame.chosen.lanes}
    assert frame.chosen.high_watermark is not None and frame.chosen.log_end is not None
    assert frame.chosen.high_watermark < frame.chosen.log_end
    assert lanes[3].behind_for is not None and 7 < lanes[3].behind_for < 10
    assert [(ghost.start, ghost.end, ghost.acked) for ghost in lanes[2].ghosts] == [(13, 16, 2)]
    assert frame.ledger.lost == 2


def test_nothing_jumps_while_time_passes() -> None:
    """Fails if the height hangs on how long a number is or how many labels find room: a live view would shake."""
    run = RecordedRun.open(RUN)
    quiet = [29 + step / 4 for step in range(40)]  # broker 3 copies nothing; no other thing happens
    for size in WIDTHS:
        assert len({draw(run.at(t, "flights-2"), size)[1] for t in quiet}) == 1


def test_without_a_file_it_is_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if the terminal gets markup."""
    assert main(["picture", RUN, *MOMENT]) == 0
    told = capsys.readouterr().out
    assert told.startswith("[WAIT] Broker 3") and "13-15 of epoch 0 cut off, 2 acknowledged" in told


def test_the_moments_worth_a_look_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if --marks draws something instead."""
    assert main(["picture", RUN, "--marks"]) == 0
    assert "broker 2 killed" in capsys.readouterr().out


def test_what_is_no_run_is_refused_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a wrong file ends in a traceback, or an unknown partition in an empty picture."""
    wrong = tmp_path / "notes.txt"
    wrong.write_text("no run")
    assert main(["picture", str(wrong)]) == 1 and "no recorded run" in capsys.readouterr().err
    assert main(["picture", RUN, "--tp", "nowhere-0"]) == 1 and "no partition nowhere-0" in capsys.readouterr().err
