"""Lab 9: the metadata log as a picture, and the forms of an answer. Strict cells compare the figures."""
from __future__ import annotations

import re

import pytest

from minikafka.lab.labs.lab09 import checks
from minikafka.lab.labs.lab09 import experiment as lab09
from minikafka.lab.picture.draw.metadata import picture


@pytest.fixture(scope="module")
def fallen() -> lab09.Failover:
    return lab09.failover(session=3.0)


def test_the_metadata_log_as_a_lane(fallen: lab09.Failover) -> None:
    """I-METALANE-1. Fails if a cell is missing or out of order, or a letter is too small."""
    svg, text = picture(fallen.log, fallen.killed)
    assert len(re.findall(r'font-size="18"[^>]*>[A-Za-z]<', svg)) == len(fallen.log)
    assert {float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)} == {14.0, 16.0, 18.0} and "var(" not in svg
    assert len(text.splitlines()) == len(fallen.log) and text.splitlines()[-1].endswith("broker 1 is fenced") and "epoch 2" in svg


@pytest.mark.parametrize("answer", ["ABCCCDE", "abcccde", "A B C C C D E", list("ABCCCDE"), tuple("abcccde")])
def test_seven_letters_may_be_written_in_any_way(answer):
    """Fails if a right answer to 9.8 is refused for its form."""
    assert checks.duties(lambda: answer)
