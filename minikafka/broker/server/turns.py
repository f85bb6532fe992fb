"""Turns: long work is done in slices, and between two slices everybody else on the event loop has a turn.

Work that grows with what a client names is a coroutine that calls `await pace()` where others may have a turn:

    async def describe_groups(ctx, request, groups) -> DescribeGroupsResponse:
        rows = await each(partial(_describe, groups), request.groups)
        return DescribeGroupsResponse(groups=rows)

`Turns.begin` runs a coroutine without a task up to the first future that it awaits, or to the end of its slice. So work of a
few steps, which is nearly all there is, is done at once, with neither a task nor a future. What has been read before an `await`
may have changed after it; `pace` returns True if others had a turn. A state machine awaits nothing: if it decides on many
things, it yields one decision after the other, and `collected` gives others a turn between two of them.

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
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from functools import partial
from types import coroutine
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from minikafka.broker.server.env import Env

A = TypeVar("A")
T = TypeVar("T")
Work: TypeAlias = Coroutine[Any, Any, T]

SLICE_S = 0.005
MOST_STEPS = 1000
LONG = 1000  # elements of a message that are read or written at once; a longer one is read or written in a thread


@coroutine
def pace() -> Generator[None, bool | None, bool]:
    """Let others have a turn if the slice is over; return whether they had one. The None goes to `Turns`, which decides; a task
    that `Turns` did not begin gives a turn each time."""
    return (yield None) is not False


async def each(make: Callable[[A], T], items: Iterable[A]) -> list[T]:
    """Return `[make(item) for item in items]`; others may have a turn after each item."""
    made = []
    for item in items:
        made.append(make(item))
        await pace()
    return made


async def collected(decisions: Iterable[tuple[list[A], T]]) -> tuple[list[A], list[T]]:
    """Return the records of all decisions, and the verdict of each; others may have a turn after each decision."""
    records, verdicts = [], []
    for made, verdict in decisions:
        records += made
        verdicts.append(verdict)
        await pace()
    return records, verdicts


def at_once(work: Work[T]) -> T:
    """Run work that awaits nothing but `pace`, and return its result; nobody else has a turn."""
    try:
        work.send(None)
        while True:
            work.send(False)
    except StopIteration as stop:
        result: T = stop.value
        return result


class Turns:
    """The long work of one broker."""

    def __init__(self, env: Env) -> None:
        self._env, self.now = env, env.now
        self._waiting: deque[Future[None]] = deque()

    def begin(self, work: Work[T]) -> T | Awaitable[T]:
        """Do the first slice of `work` now. Return the result if that was all, else the rest, for a task to await."""
        try:
            waits_for = self._slice(partial(work.send, None), work)
        except StopIteration as stop:
            result: T = stop.value
            return result
        return self._rest(work, waits_for)

    @coroutine
    def _rest(self, work: Work[T], waits_for: Future[Any] | None) -> Generator[Future[Any], Any, T]:  # Any: of anything
        while True:
            try:
                if waits_for is None:
                    yield from self.turn()
                elif not waits_for.done():
                    yield waits_for
                resume = partial(work.send, True)
            except GeneratorExit:  # nobody awaits the rest any more; the work may have been closed before it
                work.close()
                raise
            except BaseException as error:
                resume = partial(work.throw, error)
            try:
                waits_for = self._slice(resume, work)
            except StopIteration as stop:
                result: T = stop.value
                return result

    def _slice(self, resume: Callable[[], Future[Any] | None],
               work: Work[T]) -> Future[Any] | None:  # Any: a future of anything
        """Do steps until the slice is over (None) or the work awaits a future; StopIteration when it is done."""
        now = self.now
        end = now() + SLICE_S
        waits_for = resume()
        for _ in range(MOST_STEPS):
            if waits_for is not None or now() >= end:
                break
            waits_for = work.send(False)
        return waits_for

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
