"""Tests that are stories of a world in virtual time: `async def test_...(world, ...)`, made a test by a decorator.

    @in_world(OneBroker, 3, max_connections="20")
    async def test_something(world: OneBroker) -> None: ...

The world is the story's first parameter; pytest gives the others.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

Story = Callable[..., Coroutine[Any, Any, Any]]
Decorator = Callable[[Story], Callable[..., None]]


def as_test(play: Callable[[Story, dict[str, Any]], object]) -> Decorator:
    """Return the decorator of stories that `play(story, given)` runs in their world; `given` is what pytest gives the test."""

    def decorate(story: Story) -> Callable[..., None]:
        @functools.wraps(story)
        def test(**given: Any) -> None:
            play(lambda world: story(world, **given), given)

        test.__signature__ = inspect.Signature([*inspect.signature(story).parameters.values()][1:])  # type: ignore[attr-defined]
        return test

    return decorate


def in_world(kind: Callable[..., Any], *args: Any, **config: Any) -> Decorator:
    """Run a story in a new world, by the world's own `play`."""
    return as_test(lambda story, _: kind(*args, **config).play(story))
