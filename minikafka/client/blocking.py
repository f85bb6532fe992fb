"""Blocking clients, for callers that do not write `async`: each call drives the world until it is done.

    producer = Blocking(world.run, Producer(world.client_env(), world.bootstrap))
    partition, offset = producer.send("flights", "a value")

A simulated world's time passes only while a call waits.

Owns: nothing but the client.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any


class Blocking:
    """The methods and attributes of `client`; an asynchronous method blocks here, driven by `run`."""

    def __init__(self, run: Callable[[Coroutine[Any, Any, Any]], Any], client: Any) -> None:
        self._run, self._client = run, client

    @property
    def unblocked(self) -> Any:
        """Return the client itself, for a coroutine that runs inside the world."""
        return self._client

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        if not inspect.iscoroutinefunction(attribute):
            return attribute

        @functools.wraps(attribute)
        def wait(*args: Any, **kwargs: Any) -> Any:
            return self._run(attribute(*args, **kwargs))

        return wait

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *dir(self._client)])

    def __enter__(self) -> Blocking:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<blocking {self._client!r}>"
