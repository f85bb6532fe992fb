"""The checks of the exercises "from nothing" in a notebook inside a world: the student's file runs in a world of its own.

Only what the check sees of the program comes from there (lab/twins.py): its form, its verdict and its place in the student's
record are those of a machine. The seed is always the same, so that the same file gets the same verdict.

Owns: nothing.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minikafka.lab.page.librdkafka import stand_in
from minikafka.lab.twins import SimulatedProgram, twin

SEED = 1
Run = Callable[[Sequence[str]], list[Any]]


def simulated_exercise(register: Callable[..., None]) -> Callable[..., None]:
    """Return `file_exercise` (lab/program.py) for a place without processes."""
    SimulatedProgram.librdkafka = staticmethod(stand_in)

    def registered(exercise: str, run: Run, verdict: Callable[[Any], str], matters: str) -> None:
        def in_a_world(texts: Sequence[str]) -> list[Any]:
            return getattr(twin(run.__module__, SEED), run.__name__)(texts)

        register(exercise, in_a_world, verdict, matters)
    return registered
