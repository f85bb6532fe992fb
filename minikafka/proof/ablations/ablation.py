"""An ablation: one safety rule, how to switch it off from outside, and which invariants must fall when it is off.

    @ablation("4", "a fetch of any leader epoch counts", falls="I2 I3", script="a4_stale_epoch_fetch")
    def counts_stale_fetches() -> AbstractContextManager[object]:
        return replaced(Replica, "on_follower_fetch", anything)

The broker has no branches for this: an ablation replaces a function or method of log/ or broker/ for as long as
its context lasts.
Owns: the ablations by name, and the hunt for a seed at which one is caught.
Invariants: I-ABL-2 an ablation counts as caught only by an invariant or verdict that it names, not because a story
              breaks off.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from minikafka.proof.ablations.unasserted import unasserted

Patch = Callable[[], AbstractContextManager[object]]
Hunt = Callable[[int], tuple[str, ...]]  # seed -> the ids of the invariants and verdicts that fell

SEEDS = 500  # a profile made for an ablation finds it within so many seeds


@dataclass(frozen=True)
class Ablation:
    """One rule off. A script shows it at the script's own seed, or a profile made for it within SEEDS seeds."""

    name: str
    rule: str
    text: str
    falls: tuple[str, ...]
    patch: Patch
    script: str | None = None
    profile: Hunt | None = None

    @property
    def shown_by(self) -> str:
        """Return the name of the story or of the profile."""
        assert self.script or self.profile, f"{self.name} has neither script nor profile"
        return self.script or self.profile.__name__  # type: ignore[union-attr]

    def seeds(self) -> range:
        from minikafka.proof.stories.telling.script import load
        return range(load()[self.script].seed, load()[self.script].seed + 1) if self.script else range(SEEDS)

    def falls_at(self, seed: int) -> tuple[str, ...]:
        """Return the invariants that fall at this seed with the rule off, of those that the ablation names (I-ABL-2)."""
        return tuple(one for one in self._everything_at(seed) if one in self.falls)

    def _everything_at(self, seed: int) -> tuple[str, ...]:
        from minikafka.proof.stories.telling.script import load, tell
        if self.script is not None:
            return tell(load()[self.script], seed, self.patch()).violations
        assert self.profile is not None, self.shown_by
        with self.patch():
            return self.profile(seed)


ABLATIONS: dict[str, Ablation] = {}


def ablation(rule: str, text: str, *, falls: str, script: str | None = None,
             profile: Hunt | None = None) -> Callable[[Patch], Patch]:
    """Register the decorated patch under its own name. `falls`: ids of invariants and verdicts, of which one must fall."""
    def register(patch: Patch) -> Patch:
        name = patch.__name__
        assert name not in ABLATIONS, f"two ablations are called {name}"
        ABLATIONS[name] = Ablation(name, rule, text, tuple(falls.split()), partial(_off, patch), script, profile)
        return patch
    return register


@contextmanager
def _off(patch: Patch) -> Iterator[None]:
    """Switch a rule off, and with it the brokers' asserts, which would report the missing rule before any harm is done."""
    with unasserted(), patch():
        yield


def load() -> dict[str, Ablation]:
    """Return every ablation of this package, in the order of their rules."""
    package = importlib.import_module("minikafka.proof.ablations")
    for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")
    def order(one: Ablation) -> tuple[int, str]:
        digits = "".join(c for c in one.rule if c.isdigit() or c == " ").split()
        return int(digits[0]) if digits else 0, one.name
    return {one.name: one for one in sorted(ABLATIONS.values(), key=order)}


def nothing(*_: Any, **__: Any) -> None:
    """Do nothing, in place of a function whose rule is off."""
