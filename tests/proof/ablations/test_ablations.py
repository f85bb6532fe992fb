"""Each ablation is still caught at the seed recorded for it (tests/seeds/ablations.tsv), and each leaves no trace."""

from __future__ import annotations

import io
import sys
from contextlib import nullcontext
from functools import cache

import pytest

import minikafka.proof.ablations as package
from minikafka.proof.ablations import ablation, command
from minikafka.proof.ablations.ablation import Ablation, Hunt
from minikafka.proof.ablations.consumer_groups import groups_struck

ABLATIONS = ablation.load()
RECORDED = {row[1]: row for row in command.recorded()}


PROFILED = [name for name in RECORDED if ABLATIONS[name].profile is not None]


@cache
def fallen(profile: Hunt, seed: int) -> tuple[str, ...]:
    """With every rule on; many ablations fall at the same seed."""
    return profile(seed)


# Worlds of groups take a minute each; what they show is shown by the seeds of every run, too.
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.soak if ABLATIONS[name].profile is groups_struck else ())
                                  for name in PROFILED])
def test_recorded_seed_still_kills_and_only_without_the_rule(name: str) -> None:
    """Fails when invariants, checker or faults have become too tame to see this rule missing, or cry wolf at the very
    seed that kills without it."""
    one, (_, _, _, seed, falls) = ABLATIONS[name], RECORDED[name]
    assert one.profile is not None
    assert fallen(one.profile, int(seed)) == ()
    assert set(one.falls_at(int(seed))) & set(falls.split())


def test_each_row_is_told_as_it_is_found_and_by_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a hunt of minutes is silent until its end, or tells another profile's name."""
    pipe, told = io.BytesIO(), []

    def at_once(seed: int) -> tuple[str, ...]:
        return ("I1",)

    def later(seed: int) -> tuple[str, ...]:
        told.append(pipe.getvalue().decode().splitlines())
        return ("I2",) if seed == 3 else ()

    ablations = [Ablation(name, "7", "", ("I1", "I2"), nullcontext, profile=one)
                 for name, one in (("first", at_once), ("second", later))]
    monkeypatch.setattr(command, "load", lambda: {one.name: one for one in ablations})
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe))
    assert command.ablate([]) == 0
    rows = ["rule  ablation  found by  seed  what falls",
            "7     first     at_once   0     I1",
            "7     second    later     3     I2"]
    assert told == [rows[:2]] * 4
    assert pipe.getvalue().decode().splitlines() == rows


def test_profiles_are_recorded_by_their_names() -> None:
    """Fails when an ablation is recorded as found by another profile than the one it has."""
    assert {name: RECORDED[name][2] for name in PROFILED} == {name: ABLATIONS[name].shown_by for name in PROFILED}


def test_recorded_scripts_are_those_that_are_told() -> None:
    """Fails when an ablation is shown by another script, or at another seed, than the transcripts (test_stories.py) are."""
    scripted = {name: (one.script, str(one.seeds()[0])) for name, one in ABLATIONS.items() if one.script is not None}
    assert {name: RECORDED[name][2:4] for name in scripted if name in RECORDED} == scripted


def test_the_page_finds_each_ablation_by_its_rule() -> None:
    """Fails when an ablation is new, renamed or moved, and the page of the folder does not list it beside its rules and file."""
    listed, head = set(), ("", "")
    for line in (package.__doc__ or "").partition("By rule")[2].splitlines()[2:]:
        head = (line[4:14].strip(), line[14:36].strip()) if line[4:14].strip() else head
        listed |= {(*head, name.strip(" ,")) for name in line[36:].split()}
    assert listed == {(one.rule.replace("848", "KIP-848"), f"{one.patch.__module__.rpartition('.')[2]}.py", name)
                      for name, one in ABLATIONS.items()}


def test_every_ablation_is_recorded() -> None:
    """Fails when one is added without the seed that proves it, or a recorded one is renamed."""
    assert set(RECORDED) == set(ABLATIONS)
