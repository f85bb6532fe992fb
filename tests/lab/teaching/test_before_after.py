"""The test before and after: two equal forms, and a cell of a lab for each key."""
from __future__ import annotations

from collections import Counter
from html import escape

import pytest

from minikafka.lab import beliefs
from tools.teach.before_after import FORMS, items, key, sources

MANY = 25


def test_two_equal_forms():
    """Fails if a form asks about other misconceptions, has equal answers, a longer text, or a letter that is right too often."""
    a, b = map(items, FORMS)
    assert [one.belief for one in a] == [one.belief for one in b] == [str(n) for n in range(1, MANY + 1)]
    assert all(len({*one.answers}) == 4 for one in a + b) and {one.ask for one in a}.isdisjoint(one.ask for one in b)
    long = [sum(len(one.ask) + sum(map(len, one.answers)) for one in ones) for ones in (a, b)]
    assert max(long) < 1.1 * min(long)
    assert all(max(Counter(one.letter(0) for one in ones).values()) <= 10 for ones in (a, b))


@pytest.mark.parametrize("form", FORMS)
def test_the_length_of_an_answer_does_not_give_it_away(form):
    """Fails if the right answer is the longest of its four, or the shortest, more often than one of four would be by chance."""
    longest = [one.belief for one in items(form) if len(one.answers[0]) > max(map(len, one.answers[1:]))]
    shortest = [one.belief for one in items(form) if len(one.answers[0]) < min(map(len, one.answers[1:]))]
    assert len(longest) <= MANY / 4 and len(shortest) <= MANY / 4, (longest, shortest)


def test_each_key_has_a_cell():
    """Fails if a misconception is refuted by no cell of the labs that its line names, or a key says nothing of it."""
    pages = [key(name) for name in FORMS]
    for belief in beliefs.table()[:MANY]:
        lab, section = sources()[belief.id]
        assert lab in belief.labs and section
        assert all(escape(f"lab {lab}, section {section}") in page for page in pages)
