"""Lab 9: what its text states, measured again; other settings, other figures."""
from __future__ import annotations

import re

import pytest

from minikafka.lab.labs.lab09 import checks
from minikafka.lab.labs.lab09 import experiment as lab09
from minikafka.lab.labs.lab09.checks import _leadership
from minikafka.lab.labs.lab09.metadata import history
from minikafka.lab.picture.draw.metadata import picture


@pytest.fixture(scope="module")
def fallen() -> lab09.Failover:
    return lab09.failover(session=3.0)


@pytest.mark.parametrize("session", [2.0, 6.0])
def test_the_session_bounds_the_silence(session: float) -> None:
    """Fails if a failover could be quicker than the session allows, or much slower."""
    assert session - 1 < lab09.failover(session=session).silent < session + 1


def test_two_records_decide(fallen: lab09.Failover) -> None:
    """Fails if the leader moves before its broker is given up, or if more is decided than the text says."""
    assert [entry.text for entry in fallen.decisions()] == ["positions-0: leader 2, ISR [2, 3]", "broker 1 is fenced"]
    assert [entry.offset for entry in fallen.log] == list(range(fallen.log[-1].offset + 1))


def test_the_history_of_a_partition(fallen: lab09.Failover) -> None:
    """Fails if a change tells more than it names, or if another partition's records are among them."""
    own = history(fallen.log, "positions-0")
    assert [(row["kind"], row["leader"], row["isr"]) for row in own] == [("new", 1, [1, 2, 3]), ("change", 2, [2, 3])]
    assert _leadership(own, own[0]["offset"]) == (1, 0) and _leadership(own, 1000) == (2, 1)
    assert history(fallen.log, "positions-1") == []


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


def test_a_short_session_sees_dead_where_a_broker_is_busy() -> None:
    """Section 2. Fails if a session that is longer than the pause moves a leader, or if a shorter one does not."""
    table = lab09.sessions((1.5, 3.0))
    assert list(table.iloc[:, 1]) == [1, 0] and table.dtypes.iloc[1].kind == "i" and table.iloc[0, 0] < 2.5 < table.iloc[1, 0]


def test_a_dead_controller_delays_no_record() -> None:
    """Fails if a writer waits for a controller, or if the next one keeps the epoch."""
    head = lab09.without_controller(seed=91)
    assert head.silent < 0.25 and 0.5 < head.headless < 6 and head.after != head.before and head.epochs[1] > head.epochs[0]


def test_without_a_majority_nothing_is_decided() -> None:
    """Fails if data stops with the controllers, or if the ISR shrinks although nobody can write that down."""
    frozen = lab09.without_majority(seed=91)
    assert (frozen["write to a partition"], frozen["read it"], frozen["create a topic"]) == ("yes", "yes", "REQUEST_TIMED_OUT")
    assert frozen["write, when a follower has stopped"].startswith("0 of ")
    assert "[1, 2, 3]" in frozen["write, when a follower has stopped"]
    assert frozen["the same, with a second controller back"].startswith("all ")


def test_what_a_zombie_acknowledges_is_lost() -> None:
    """Fails if acks=all is answered by a leader that nobody follows, or if fewer seconds would lose as many records."""
    short, long = lab09.zombie(seconds=6.0), lab09.zombie(seconds=12.0)
    assert short.lost == short.acknowledged == 60 and long.lost == long.acknowledged == 120
    assert short.crowns == {1: 0, 2: 1} and short.truncated > short.lost and short.strict == "REQUEST_TIMED_OUT"


@pytest.mark.parametrize("answer", ["ABCCCDE", "abcccde", "A B C C C D E", list("ABCCCDE"), tuple("abcccde")])
def test_seven_letters_may_be_written_in_any_way(answer):
    """Fails if a right answer to 9.8 is refused for its form."""
    assert checks.duties(lambda: answer)
