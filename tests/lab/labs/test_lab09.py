"""Lab 9: other settings give other figures; strict cells compare those of the text."""
from __future__ import annotations

import re

import pytest

from minikafka.lab.labs.lab09 import checks
from minikafka.lab.labs.lab09 import experiment as lab09
from minikafka.lab.picture.draw.metadata import picture


@pytest.fixture(scope="module")
def fallen() -> lab09.Failover:
    return lab09.failover(session=3.0)


@pytest.mark.parametrize("session", [2.0, 6.0])
def test_the_session_bounds_the_silence(session: float) -> None:
    """Fails if a failover could be quicker than the session allows, or much slower."""
    assert session - 1 < lab09.failover(session=session).silent < session + 1


def test_the_metadata_log_as_a_lane(fallen: lab09.Failover) -> None:
    """I-METALANE-1. Fails if a cell is missing or out of order, or a letter is too small."""
    svg, text = picture(fallen.log, fallen.killed)
    assert len(re.findall(r'font-size="18"[^>]*>[A-Za-z]<', svg)) == len(fallen.log)
    assert {float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)} == {14.0, 16.0, 18.0} and "var(" not in svg
    assert len(text.splitlines()) == len(fallen.log) and text.splitlines()[-1].endswith("broker 1 is fenced") and "epoch 2" in svg


def test_an_epoch_begins_with_an_election(fallen: lab09.Failover) -> None:
    """Section 3. Fails if the record of the election is left out, or names another node than the one that won."""
    assert re.fullmatch(r"controller 10[123] is elected: epoch \d+ begins", fallen.log[0].text)
    assert {entry.epoch for entry in fallen.log} == {int(fallen.log[0].text.split()[-2])}


def test_a_dead_controller_delays_no_record() -> None:
    """Fails if a writer waits for a controller, or if the next one keeps the epoch."""
    head = lab09.without_controller(seed=91)
    assert head.silent < 0.25 and 0.5 < head.headless < 6 and head.after != head.before and head.epochs[1] > head.epochs[0]


def test_what_a_zombie_acknowledges_is_lost() -> None:
    """Fails if acks=all is answered by a leader that nobody follows, or if fewer seconds would lose as many records."""
    short, long = lab09.zombie(seconds=6.0), lab09.zombie(seconds=12.0)
    assert short.lost == short.acknowledged == 60 and long.lost == long.acknowledged == 120
    assert short.crowns == {1: 0, 2: 1} and short.truncated > short.lost and short.strict == "REQUEST_TIMED_OUT"


@pytest.mark.parametrize("answer", ["ABCCCDE", "abcccde", "A B C C C D E", list("ABCCCDE"), tuple("abcccde")])
def test_seven_letters_may_be_written_in_any_way(answer):
    """Fails if a right answer to 9.8 is refused for its form."""
    assert checks.duties(lambda: answer)
