"""What the control bar may do to a cluster, each order a job of its own.

A restart takes seconds; meanwhile the picture goes on and another broker can be killed. Whatever goes wrong becomes one
line for the viewer (`say`), never a traceback that nobody reads.

Owns: the orders under way.
Invariants
  I-ORDERS-1  an order that is under way is not begun a second time
  I-ORDERS-2  no exception leaves an order; its first line is said
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from minikafka.lab.background import Background

SLOW_KIB = 1.0  # KiB/s: a slow follower falls behind within seconds in a lab's traffic
CLIENTS = "clients"

ORDERS: dict[str, Callable[..., Any]] = {
    "kill": lambda c, node: _process(c, node, "kill"),
    "stop": lambda c, node: c.stop(node),
    "pause": lambda c, node: _process(c, node, "pause"),
    "resume": lambda c, node: _process(c, node, "resume"),
    "restart": lambda c, node: _process(c, node, "restart"),
    "slow": lambda c, node: c.slow_follower(node, SLOW_KIB),
    "hold": lambda c, node: c.hold_follower(node),
    "cut": lambda c, node, other: c.cut(node, other),
    "heal": lambda c: c.heal(),
    "mend": lambda c: c.mend(),
    "pass": lambda c, seconds: c.sleep(seconds),  # simulated clusters: time passes only when somebody lets it
}

Say = Callable[[str, str], None]  # level ("good", "wait", "bad"), one line


class Orders:
    """Carries out orders on one cluster."""

    def __init__(self, cluster: Any, say: Say, changed: Callable[[], None]) -> None:
        self._cluster, self._say, self._changed = cluster, say, changed
        self._lock = threading.Lock()
        self._under_way: dict[tuple[Any, ...], Background] = {}

    @property
    def busy(self) -> list[list[Any]]:
        """Return the orders under way, each as [name, arguments...]."""
        with self._lock:
            return [list(order) for order in self._under_way]

    def begin(self, name: str, *args: Any) -> None:
        """Start an order; an unknown one, or one under way, is only remarked on."""
        order = (name, *args)
        if name not in ORDERS:
            return self._say("bad", f"there is no order {name!r}")
        job = Background(f"view-order-{name}", lambda: self._carry_out(order))
        with self._lock:
            if order in self._under_way:
                return None
            self._under_way[order] = job
        self._say("wait", f"{self._words(order)} ...")
        return job.wake()

    def _words(self, order: tuple[Any, ...]) -> str:
        nodes = getattr(getattr(self._cluster, "plan", None) or getattr(self._cluster, "world", None), "nodes", ())
        return words(*order, controllers=set(nodes) - set(getattr(self._cluster, "ids", ())))

    def _carry_out(self, order: tuple[Any, ...]) -> None:
        try:
            passing = getattr(self._cluster, "passing", None)
            with turn_of(self._cluster):
                if passing is not None:
                    passing.hand()
                ORDERS[order[0]](self._cluster, *order[1:])
            if passing is not None:
                passing.begin()
            level, text = "good", f"{self._words(order)}: done"
        except Exception as error:  # I-ORDERS-2
            level, text = "bad", f"{self._words(order)}: {first_line(error)}"
        with self._lock:
            self._under_way.pop(order, None)
        self._say(level, text)
        self._changed()


def _process(cluster: Any, node: int | str, order: str) -> None:
    """Give an order to a broker, by its id, or to a member of a group that the notebook started, by its name."""
    if isinstance(node, int):
        getattr(cluster, order)(node)
    elif (member := cluster.members.get(node)) is not None:
        getattr(member, order)()
    else:
        raise LookupError(f"this notebook has started no member {node}")


def turn_of(cluster: Any) -> AbstractContextManager[Any]:
    """Return a lock: a simulated world is driven by one thread at a time; live brokers take orders from anywhere."""
    return getattr(cluster, "turn", None) or nullcontext()


def words(name: str, *args: Any, controllers: Collection[int] = ()) -> str:
    """Return the order as a sentence's beginning: "cut broker 1 from the clients". `controllers`: nodes that are no brokers."""
    ends = ["the clients" if a == CLIENTS else f"consumer {a}" if not isinstance(a, int) else
            f"{'controller' if a in controllers else 'broker'} {a}" for a in args]
    if name == "cut":
        return f"cut {ends[0]} from {ends[1]}"
    if name == "pass":
        return f"let {args[0]:g} s pass"
    if name in ("slow", "hold"):
        return f"{name} follower {args[0]}"
    return {"heal": "heal all links and disks", "mend": "mend everything"}.get(name) or f"{name} {ends[0]}"


def first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else 'no more is known'}"
