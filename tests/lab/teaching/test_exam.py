"""The exam: each question has one right answer, the key follows from the rule that judges, a seed is an exam."""
from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from minikafka.proof.weakened import without
from tools.teach.exam import drawn, made, questions
from tools.teach.kinds import KINDS, Question

SEEDS = range(50)


@cache
def of_kind(name: str) -> list[Question]:
    return [KINDS[name].draw(Random(f"{seed}/{name}")) for seed in SEEDS]


@pytest.mark.parametrize("name", KINDS)
def test_one_option_is_right(name):
    """Fails if two options of a question are the same, if few seeds have other answers, or if a letter is nearly always right."""
    ones = of_kind(name)
    assert all(len({*one.options}) == len(one.options) >= 3 and 0 <= one.right < len(one.options) for one in ones)
    assert len({one.key for one in ones}) >= 3 and len({one.asks for one in ones}) > 15
    assert Counter(one.right for one in ones).most_common(1)[0][1] <= 0.8 * len(ones)


@pytest.mark.parametrize("name", KINDS)
def test_a_question_does_not_contain_its_key(name):
    """Fails if what is asked, or how the sheet looks, depends on which option is right."""
    for one in of_kind(name):
        assert one.key not in one.ask
        assert questions([one]) == questions([replace(one, right=(one.right + 1) % len(one.options))])


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.weak])
def test_the_key_follows_from_the_brokers_rule(name):
    """Fails if a key stays the same though the brokers of this process have lost the rule that it is about."""
    right = [one.key for one in of_kind(name)]
    with without(KINDS[name].weak):
        weakened = [KINDS[name].draw(Random(f"{seed}/{name}")).key for seed in SEEDS]
    assert weakened != right


@pytest.mark.parametrize("name", ["high-watermark", "readable", "cut", "majority"])
def test_a_state_is_drawn(name):
    """Fails if a drawing has no log or group of the question, is the same for all, or shows what the question asks for."""
    drawings = [one.drawing for one in of_kind(name)]
    assert len({*drawings}) > 15
    assert all("high watermark" not in each and "data-part=\"lane\"" in each for each in drawings)


def test_who_leads_is_in_sync():
    """Fails if the metadata log of a question has a leader out of the ISR."""
    for one in of_kind("led"):
        leader, isr = "", ""
        for _, _, named, members in one.table[1:]:
            leader, isr = named or leader, members or isr
            assert leader == "-1" or leader in isr.split(", "), one.table


def test_no_question_is_asked_twice():
    """Fails if an exam with several questions of a kind asks the same thing again."""
    ones = drawn("2027", 5)
    assert len({one.asks for one in ones}) == len(ones) == 5 * len(KINDS)


def test_a_seed_is_an_exam():
    """Fails if the same seed gives another exam, another seed the same one, a sheet names its seed, no key belongs
    to it, or it asks anything of a network."""
    pages = made("2027", drawn("2027", 2))
    assert pages == made("2027", drawn("2027", 2)) and [*pages] == ["exam-2027.html", "exam-2027-key.html"]
    page, key = pages.values()
    assert "2027" not in page and page.split("<h1>")[1].split("</h1>")[0] in key
    assert questions(drawn("2027", 1)) != questions(drawn("2028", 1))
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "") and "src=" not in page
    assert page.count("class=question") == 2 * len(KINDS)
