"""Slides: every lab has some, every demo belongs to a lab, and no letter is too small for the last row."""
from __future__ import annotations

import re

from minikafka.lab import demos
from tools.teach import slides
from tools.teach.minutes import labs


def test_every_lab_has_questions_and_what_was_seen():
    """Fails if a source is written so that the slides lose its predictions or its summary, or a demo belongs to no lab."""
    for lab in labs().values():
        asked = len(re.findall(r'predict\("', "".join(cell.source for cell in lab.cells if cell.cell_type == "code")))
        assert len([*slides.questions(lab)]) == asked > 0 and [*slides.seen(lab)] and len([*slides.opening(lab)]) == 2
    assert {name for names in slides.of_labs().values() for name in names} == {*demos.names()}


def test_a_deck():
    """Fails if a stop of a demo has no slide, if a picture's letters are too small, or if a slide loads something."""
    deck = slides.deck(4)
    widths = {float(width) for width in re.findall(r'data-part="picture" viewBox="0 0 ([\d.]+) ', deck)}
    assert deck.count("<section class='picture'>") == 6 and widths == {slides.UNITS}
    assert slides.LETTER * slides.PIXELS / max(widths) >= slides.SMALLEST
    smaller = [size for size in map(float, re.findall(r'font-size="([\d.]+)"', deck)) if size < slides.LETTER]
    smaller += [size for size in map(int, re.findall(r"font-size: (\d+)px", slides.STYLE)) if size < slides.SMALLEST]
    assert not smaller and "src=" not in deck and "href=" not in deck
