"""Slides: every lab has some, every demo belongs to a lab, and no letter is too small for the last row."""
from __future__ import annotations

import re

from minikafka.lab import demos
from tools.teach import slides
from tools.teach.guesses import HIGH, Ran, guesses
from tools.teach.minutes import labs


def test_every_lab_has_questions_and_what_was_seen():
    """Fails if a source is written so that slides lose its predictions, its summary or a column, or a demo has no lab."""
    for lab in labs().values():
        asked = len(re.findall(r'predict\("', "".join(cell.source for cell in lab.cells if cell.cell_type == "code")))
        assert "".join(slides.questions(lab)).count("What do you expect?") == asked > 0
        assert (shown := "".join(slides.seen(lab))) and ("its partition waits" in shown) == (lab.number == 1)
        assert len([*slides.opening(lab)]) == 2
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


def test_what_a_room_needs_to_guess():
    """Fails if a guess comes without the story or output above it, with an exercise, a solution, or more than a slide holds."""
    found = {one.exercise: one for lab in labs().values() for one in guesses(lab)}
    assert "Broker 1 burns down" in found["8.1"].story and "sync per record" in found["5.2"].story
    assert "12 trucks, partitions [5, 1, 6]: 197 a second" in found["3.5"].cell.printed and "True" in found["6.1"].cell.printed
    assert not any("Your turn" in one.text + one.story for one in found.values())
    assert not any("BEGIN SOLUTION" in one.cell.code or "reveal(" in one.cell.code for one in found.values())
    assert all(one.cell.fitting().high <= HIGH for one in found.values())
    long = Ran("above", "code\n" * 30, "row\n" * 30)
    assert (short := long.fitting()).high <= HIGH and short.printed.startswith("row") and short.printed.endswith("...")
