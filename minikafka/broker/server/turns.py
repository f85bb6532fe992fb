"""Turns: long work is done in slices, and between two slices everybody else on the event loop has a turn.

Work that grows with what a client names is a generator. It yields None where others may have a turn, and yields a function
to have it called in a thread (decompression, a long scan: what touches nothing that is shared); it returns its result as usual:

    def describe_groups(ctx, request, groups) -> Steps[DescribeGroupsResponse]:
        rows = yield from each(partial(_describe, groups), request.groups)
        return DescribeGroupsResponse(groups=rows)

So work of a few steps, which is nearly all there is, is done at once, with neither a task nor a future. What has been read before
a `yield` may have changed after it; `yield` returns True if others had a turn. A state machine knows nothing of turns: if it
decides on many things, it yields one decision after the other, and `collected` gives others a turn between two of them.

Owns: the queue of long work.
Invariants: no slice is longer than SLICE_S and one step, nor has it more than MOST_STEPS (the simulator's time stands
              still while code runs, so there the number of steps alone counts).
            I-TURN-2 whatever the number of long works, one slice of one of them is done between two polls of the sockets;
              they take turns in the order of their arrival.
What Kafka does differently: threads; the operating system slices.
"""

from __future__ import annotations

from asyncio import Future
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from minikafka.broker.server.env import Env

A = TypeVar("A")
T = TypeVar("T")
Steps: TypeAlias = Generator[Callable[[], object] | None, Any, T]

SLICE_S = 0.005
MOST_STEPS = 1000
LONG = 1000  # elements of a message that are read or written at once; a longer one is read or written in a thread


def each(make: Callable[[A], T], items: Iterable[A]) -> Steps[list[T]]:
    """Return `[make(item) for item in items]`; others may have a turn after each item."""
    made = []
    for item in items:
        made.append(make(item))
        yield None
    return made


def collected(decisions: Iterable[tuple[list[A], T]]) -> Steps[tuple[list[A], list[T]]]:
    """Return the records of all decisions, and the verdict of each; others may have a turn after each decision."""
    records, verdicts = [], []
    for made, verdict in decisions:
        records += made
        verdicts.append(verdict)
        yield None
    return records, verdicts


def at_once(steps: Steps[T]) -> T:
    """Do all steps now and return their result; nobody else has a turn."""
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        result: T = stop.value
        return result


class Pace:
    """The same for a loop that awaits: `await pace()` in each round."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._begin()

    def _begin(self) -> None:
        self._left, self._end = MOST_STEPS, self._turns.now() + SLICE_S

    async def __call__(self) -> None:
        """Let others have a turn if the slice is over."""
        self._left -= 1
        if self._left <= 0 or self._turns.now() >= self._end:
            await self._turns.turn()
            self._begin()


class Turns:
    """The long work of one broker."""

    def __init__(self, env: Env) -> None:
        self._env, self.now = env, env.now
        self._waiting: deque[Future[None]] = deque()

    def pace(self) -> Pace:
        """Begin a slice of a loop that awaits."""
        return Pace(self)

    def begin(self, steps: Steps[T]) -> T | Awaitable[T]:
        """Do the first slice now. Return the result if that was all, else an awaitable of it."""
        try:
            wanted = self._slice(partial(steps.send, None), steps)
        except StopIteration as stop:
            result: T = stop.value
            return result
        return self._rest(steps, wanted)

    async def take(self, steps: Steps[T]) -> T:
        """Do all steps, in as many slices as they need, and return their result."""
        try:
            wanted = self._slice(partial(steps.send, None), steps)
        except StopIteration as stop:
            result: T = stop.value
            return result
        return await self._rest(steps, wanted)

    async def _rest(self, steps: Steps[T], wanted: Callable[[], object] | None) -> T:
        while True:
            resume = partial(steps.send, True)
            if wanted is None:
                await self.turn()
            else:
                try:
                    resume = partial(steps.send, await self._env.aside(wanted))
                except Exception as error:
                    resume = partial(steps.throw, error)
            try:
                wanted = self._slice(resume, steps)
            except StopIteration as stop:
                result: T = stop.value
                return result

    def _slice(self, resume: Callable[[], Callable[[], object] | None], steps: Steps[T]) -> Callable[[], object] | None:
        """Do steps until the slice is over (None) or a function is to be called; StopIteration when all are done."""
        now = self.now
        end = now() + SLICE_S
        wanted = resume()
        for _ in range(MOST_STEPS):
            if wanted is not None or now() >= end:
                break
            wanted = steps.send(False)
        return wanted

    def turn(self) -> Future[None]:
        """Return a future that is done when it is this work's turn (I-TURN-2)."""
        turn = self._env.future()
        self._waiting.append(turn)
        if len(self._waiting) == 1:
            self._env.later(0, self._next)
        return turn

    def _next(self) -> None:
        turn = self._waiting.popleft()
        if not turn.done():  # its connection may be gone
            turn.set_result(None)
        if self._waiting:
            self._env.later(0, self._next)
