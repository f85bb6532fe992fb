"""The exam: each question has one right answer, the key follows from the rule that judges, a seed is an exam."""
from __future__ import annotations

from random import Random

import pytest

from minikafka.proof.weakened import without
from tools.teach.exam import key, questions
from tools.teach.kinds import KINDS

SEEDS = range(50)


@pytest.mark.parametrize("name", KINDS)
def test_one_option_is_right(name):
    """Fails if two options of a question are the same, or if all seeds have the same answer."""
    drawn = [KINDS[name].draw(Random(f"{seed}/{name}")) for seed in SEEDS]
    assert all(len({*one.options}) == len(one.options) >= 2 and 0 <= one.right < len(one.options) for one in drawn)
    assert len({one.right for one in drawn}) > 1 and len({one.state for one in drawn}) > 40


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.weak])
def test_the_key_follows_from_the_brokers_rule(name):
    """Fails if a key stays the same though the brokers of this process have lost the rule that it is about."""
    def keys():
        return [KINDS[name].draw(Random(f"{seed}/{name}")).right for seed in SEEDS]
    right = keys()
    with without(KINDS[name].weak):
        weakened = keys()
    assert weakened != right and keys() == right


def test_a_seed_is_an_exam():
    """Fails if the same seed gives another exam, or another seed the same one."""
    assert (questions("2027", 2), key("2027", 2)) == (questions("2027", 2), key("2027", 2))
    assert questions("2027", 1) != questions("2028", 1).replace("2028", "2027")
