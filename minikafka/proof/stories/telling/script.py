"""A script: a short readable story over one seeded world, whose output is a transcript a student can read.

    @script("A1 high watermark truncation", rules="7, 19-21")
    async def a1_hw_truncation(story: Story) -> None:
        '''The prose of this docstring opens the transcript.'''
        story.step("broker 1 restarts")
        story.world.kill(1)
        ...
        story.show("t-0")

The function's name is the name of the script and of its transcript, tests/stories/brokers/NAME.txt. The same story is told
again with a rule switched off (proof/weakened): then it ends as it did before the rule was found, and an invariant falls.

Owns: the scripts by name, and how one is run.
Invariants: a telling depends on the script, its seed and the code, and on nothing else.
            I-STORY-2 with every rule on a story ends without a violation; otherwise telling it raises an error.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

from minikafka.proof.stories.telling.story import Story
from minikafka.proof.stories.telling.teller import Teller

Tell = Callable[[Any], Awaitable[None]]
Stage = Callable[[int, bool, dict[str, Any]], Teller]


@dataclass(frozen=True)
class Script:
    """One story as it is written. `world` are the arguments of its world; `unclean`: it loses records on purpose."""

    name: str
    title: str
    rules: str
    tell: Tell
    seed: int = 1
    stage: Stage = Story
    unclean: bool = False
    world: Mapping[str, Any] = field(default_factory=dict)

    @property
    def prologue(self) -> str:
        prose = dedent(inspect.getdoc(self.tell) or "").splitlines()
        rules = f"rule{'s' if len(self.rules) > 2 else ''} {self.rules}"
        return "\n".join(f"# {line}".rstrip() for line in [f"{self.title} ({rules}).", "", *prose])


@dataclass(frozen=True)
class Telling:
    """One run of a script: the lines that a reader sees, and the ids of the invariants and verdicts that fell, in order."""

    text: str
    violations: tuple[str, ...]


SCRIPTS: dict[str, Script] = {}


def script(title: str, *, rules: str, seed: int = 1, stage: Stage = Story, unclean: bool = False,
           **world: Any) -> Callable[[Tell], Tell]:
    """Register the decorated coroutine function as a script under its own name. `stage` is the class of its story,
    `world` the arguments of that story's world."""
    def register(tell: Tell) -> Tell:
        name = tell.__name__
        assert name not in SCRIPTS, f"two scripts are called {name}"
        SCRIPTS[name] = Script(name, title, rules, tell, seed, stage, unclean, world)
        return tell
    return register


def load() -> dict[str, Script]:
    """Return every script of this package, by name, whichever module of it holds it."""
    package = importlib.import_module("minikafka.proof.stories")
    for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")
    return {name: SCRIPTS[name] for name in sorted(SCRIPTS, key=_place)}


def _place(name: str) -> tuple[str, int, str]:
    """Return a sort key that puts a2 before a10."""
    head = name.partition("_")[0]
    return head[:1], int(head[1:]) if head[1:].isdigit() else 0, name


def tell(which: Script, seed: int | None = None, without: AbstractContextManager[object] | None = None) -> Telling:
    """Tell a story. `without` switches a rule off for as long as it lasts; only then the story may break off, because it no
    longer goes as it was written. Raises any error that happens with every rule on (I-STORY-2)."""
    with without or nullcontext():
        story = which.stage(which.seed if seed is None else seed, which.unclean, dict(which.world))
        story.lines.append(which.prologue)
        try:
            story.run(which.tell)
        except Exception as error:
            if without is None:
                raise
            story.broke_off(error)
        finally:
            telling = Telling(story.text, story.violations())
            story.close()
    if without is None:
        assert not telling.violations, f"{which.name}: {telling.violations}\n{telling.text}"
    return telling
