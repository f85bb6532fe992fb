"""What a small world says of one life (proof/small_worlds/checks.py)."""

from __future__ import annotations

from minikafka.proof.small_worlds.checks import fallen, same, that


def test_a_life_that_keeps_every_rule_returns_nothing() -> None:
    """Fails if a rule that holds is told as fallen."""
    assert fallen(lambda: (same("I-X", "it", 1, 1), that("I-Y", True, "wrong"))) == ()


def test_the_rule_that_fell_is_shown_with_its_invariant() -> None:
    """Fails if a difference goes unnoticed, or is told without what was wanted."""
    assert fallen(lambda: same("I-X", "it", 1, 2)) == ("I-X: it: 1, not 2",)
    assert fallen(lambda: that("I-Y", [], "nobody is left")) == ("I-Y: nobody is left",)


def test_an_error_falls_as_well_with_its_place() -> None:
    """Fails if an exception of the judged code ends a whole campaign, which then names no seed."""
    def lost() -> None:
        {}["a"]

    (told,) = fallen(lost)
    assert told.startswith("it ends with KeyError('a') at lost, line ")
