"""A client and its brokers as a sequence of arrows: lab 3's journey."""
from __future__ import annotations

import re

from minikafka.lab.labs.lab03.experiment import journey
from minikafka.lab.picture.draw.sequence import Arrow, picture
from minikafka.lab.picture.draw.sheet import BLUE, VERMILLION


def test_the_journey_is_an_arrow_for_each_message() -> None:
    """I-SEQUENCE-1. Fails if a message has no arrow, if a refusal looks like a success, if the bootstrap server is not named, or
    if the line of a stopped broker goes on."""
    talk = journey()
    drawn = talk.picture()
    assert len(re.findall(r'd="M[\d.]+ [\d.]+H', drawn.svg)) == len(talk.table) == len(drawn.text.splitlines()) == 14
    assert drawn.svg.count("stroke-dasharray") == 7                          # the answers
    assert len(re.findall(rf'H[\d.]+" fill="none" stroke="{VERMILLION}"', drawn.svg)) == 1
    assert ">NOT_LEADER_OR_FOLLOWER<" in drawn.svg
    assert drawn.svg.count(">bootstrap server<") == 1 and drawn.svg.count("l16 16m0") == 1
    ends = [float(end) for end in re.findall(r'M[\d.]+ 62V([\d.]+)', drawn.svg)]
    assert len(ends) == 4 and sorted(ends)[0] < sorted(ends)[1] == sorted(ends)[3]   # one ends before the others


def test_a_line_is_thick_while_the_connection_is_used() -> None:
    """Fails if a broker that is never asked looks connected, or if a long text leaves the sheet."""
    svg, text = picture([Arrow("one", 1, "Metadata", "who leads?"), Arrow("one", 1, "Metadata", "w" * 300, True)], [1, 2])
    assert len(re.findall(f'stroke="{BLUE}" stroke-width="6"', svg)) == 1
    assert "…" in svg and text.splitlines()[0] == "one: client to broker 1, Metadata: who leads?"
