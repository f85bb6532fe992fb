"""A night as a student plans it: a list of moves, made before anything runs.

    night = Night()
    night.holds(3)           # broker 3 lives, and copies nothing: one move
    night.writes(5)          # five records, one after the other, with acks=all: one move
    night.kills(1, 2)        # two moves: each broker that is named is one
    night.passes(5)          # five seconds
    night.problem([1, 2, 3], most=5)      # "" or why it cannot be played

The moves have the names of those of the adversary (night.py), who plays them: `night.onto(machine)`.
Owns: the list, and what makes a night impossible. Invariants
  a move never raises, whatever it is given: what is wrong is said when the night is judged
"""
from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

from minikafka.lab.values import shown

RECORDS, SECONDS = 20, 60   # of one move, at most
MOVES = ("writes", "holds", "slows", "cuts", "kills", "restarts", "frees", "passes")
Move = tuple[str, tuple[Any, ...]]


class Night:
    """The student's night. Each method returns the night, so that calls can stand in one line."""

    def __init__(self) -> None:
        self.moves: list[Move] = []

    def writes(self, count: int = 1) -> Night:
        """Write records, one after the other; one that gets no answer is the last."""
        return self._add("writes", count)

    def holds(self, *brokers: int) -> Night:
        """Let followers live and copy nothing, from one second later on."""
        return self._each("holds", brokers)

    def slows(self, *brokers: int) -> Night:
        """Let followers copy little: a record takes them some seconds."""
        return self._each("slows", brokers)

    def cuts(self, a: int, b: int) -> Night:
        """Cut the network between two brokers."""
        return self._add("cuts", a, b)

    def kills(self, *brokers: int) -> Night:
        """End brokers at once, without a farewell."""
        return self._each("kills", brokers)

    def restarts(self, *brokers: int) -> Night:
        """Start brokers again that were killed."""
        return self._each("restarts", brokers)

    def frees(self) -> Night:
        """Let all followers copy again, over links that work."""
        return self._add("frees")

    def passes(self, seconds: float) -> Night:
        """Let time pass."""
        return self._add("passes", seconds)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a night has no move {name!r}; it has {', '.join(MOVES)}")

    def _each(self, name: str, brokers: tuple[Any, ...]) -> Night:
        for broker in brokers:
            self._add(name, broker)
        return self

    def _add(self, name: str, *arguments: Any) -> Night:
        self.moves.append((name, arguments))
        return self

    def __len__(self) -> int:
        return len(self.moves)

    def __repr__(self) -> str:
        moves = ", ".join(f"{name}({', '.join(map(shown, arguments))})" for name, arguments in self.moves)
        return f"{len(self)} move{'s' * (len(self) != 1)}: {moves or 'none yet'}"

    def onto(self, machine: Any) -> None:
        """Make the moves in an adversary's night; a record may wait, as in `tries`."""
        for name, arguments in self.moves:
            getattr(machine, "tries" if name == "writes" else name)(*arguments)

    def problem(self, brokers: list[int], most: int) -> str:
        """Return why the night cannot be played; "" if it can."""
        dead = set[int]()
        for place, (name, arguments) in enumerate(self.moves, 1):
            if why := next(_wrong(name, arguments, brokers, dead), ""):
                return f"move {place}, {name}({', '.join(map(shown, arguments))}): {why}"
            if name == "kills":
                dead.update(arguments)
            elif name == "restarts":
                dead.difference_update(arguments)
        if not any(name == "writes" for name, _ in self.moves):
            return "the night writes nothing, so there is no record to lose: night.writes(5) writes five"
        if len(self) > most:
            return f"the night has {len(self)} moves, and {most} are allowed; each broker that is named counts as one"
        return ""


def _wrong(name: str, arguments: tuple[Any, ...], brokers: list[int], dead: set[int]) -> Iterator[str]:
    """Yield what is wrong with one move, while the brokers in `dead` are killed."""
    if name in ("writes", "passes"):
        kind, most, what = (Integral, RECORDS, "records") if name == "writes" else (Real, SECONDS, "seconds")
        (value,) = arguments
        if not isinstance(value, kind) or isinstance(value, bool) or not 0 < value <= most:
            yield f"a number of {what} is wanted, {most} at most"
        return
    for broker in arguments:
        if not isinstance(broker, Integral) or broker not in brokers:
            yield f"there is no broker {shown(broker)}; there are {', '.join(map(str, brokers))}"
        elif name == "kills" and broker in dead:
            yield f"broker {broker} is dead already"
        elif name == "restarts" and broker not in dead:
            yield f"broker {broker} lives; only a broker that was killed can be started again"
        elif name in ("holds", "slows") and broker in dead:
            yield f"broker {broker} is dead, and copies nothing anyway"
    if name == "cuts" and arguments[0] == arguments[1]:
        yield "two different brokers are wanted"
