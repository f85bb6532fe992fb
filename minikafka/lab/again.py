"""A cell that runs again: what its last run had begun ends first.

A second `Cluster(...)` would leave three brokers that nobody can reach, a second consumer would wait for partitions that the
first still holds, a second fleet would drive beside the first. So before a cell runs once more, what its last run has left in
the names of the notebook ends: clusters, clients, and the labs' own fleets, flows, members and streams; and the topics that it
has created are deleted, so that it finds the same as the first time. A cluster ends as well when its last name is given to
something else, and with a cluster end the clients that were connected to it.

Owns: what each cell has begun.
Invariants
  what another cell has begun goes on, as long as a name holds it
  nobody waits longer than PATIENCE for an end; what a cell puts out does not tell a second run from the first
    (what ended is said in HTML, which nothing compares)
"""
from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from html import escape
from typing import Any

from minikafka.lab.background import within
from minikafka.lab.names import bound, shell, statements
from minikafka.lab.verdict import AS_IT_IS

CLOSED, LAB, QUERY = ("close",), ("leave", "stop", "kill"), ("stop",)
WAYS = {"kafka.": CLOSED, "confluent_kafka": CLOSED, "cimpl": CLOSED, "minikafka.cluster": CLOSED, "minikafka.lab.labs": LAB,
        "minikafka.lab.play": LAB, "minikafka.lab.page": CLOSED,
        "pyspark.sql.streaming": QUERY}  # by module: the calls that end a thing, the gentlest first
LIMITS = {"timeout": 2, "timeout_ms": 2000}  # what a thing itself gets for its farewell
PATIENCE = 5.0  # seconds

_begun: dict[str, list[Any]] = {}  # by cell
_topics: dict[int, set[str]] = {}  # by cluster: those that were there after the last cell
_created: dict[str, list[tuple[Any, str]]] = {}  # by cell: topics, each with its cluster
_ran: set[str] = set()
repeated = False                   # whether any cell has run twice
_before: set[int] = set()          # what was there when the running cell began
_clusters: list[Any] = []          # real ones that a name of the notebook held after some cell


class DoneBefore(Exception):
    """An error: a step of an experiment was done before with this thing, and cannot be done a second time."""

    def __init__(self, what: str, thing: Any) -> None:
        super().__init__(what)
        self.thing = thing


def step(thing: Any, what: str) -> None:
    """Note a step that changes a thing of a lab for good, a job or a simulated cluster. Raises DoneBefore the second time."""
    done = thing.__dict__.setdefault("steps", set())
    if what in done:
        raise DoneBefore(what, thing)
    done.add(what)


def before_cell(info: Any) -> None:
    """End what the last run of this cell has begun. `info`: IPython's ExecutionInfo."""
    global repeated
    repeated = repeated or _key(info) in _ran
    _ran.add(_key(info))
    if "step(" in info.raw_cell:
        return  # such a cell does nothing the second time, so what it has begun is still needed
    gone = [topic for cluster, topic in _created.pop(_key(info), ()) if _delete(cluster, topic)]
    ended = [thing for thing in reversed(_begun.pop(_key(info), ())) if end(thing)]  # the cluster last, as a rule
    if gone or ended:
        told = [f"topic {topic}" for topic in gone] + ([_listed(ended)] if ended else [])
        say(f"This cell has run before, and what it had begun has ended: {', '.join(told)}.")
    _before.clear()
    _before.update(id(thing) for thing in _things(names(), names()))


def after_cell(result: Any) -> None:
    """Note what this cell has begun, and end clusters that no name holds any more. `result`: IPython's ExecutionResult."""
    made = dict.fromkeys(name for statement in statements(result.info.raw_cell or "") for name in bound(statement))
    begun = [thing for thing in _things(made, names()) if id(thing) not in _before and _ways(thing)]
    if begun:
        _begun[_key(result.info)] = begun
    held = {id(thing) for thing in _things(names(), names())}
    for cluster in filter(_is_cluster, list(_things(names(), names()))):
        now = _topics_of(cluster)
        if new := now - _topics.get(id(cluster), now):  # of a cluster that is looked at for the first time, nothing is new
            _created.setdefault(_key(result.info), []).extend((cluster, topic) for topic in sorted(new))
        _topics[id(cluster)] = now
    _clusters.extend(thing for thing in begun if _is_cluster(thing) and thing not in _clusters)
    for cluster in list(_clusters):
        if cluster.closed:
            _clusters.remove(cluster)
        elif id(cluster) not in held and end(cluster):
            _clusters.remove(cluster)
            say("A cluster that no name holds any more has ended.")


def cluster_closed(cluster: Any) -> None:
    """End what is connected to a cluster that has ended; the cluster calls this."""
    addresses = cluster.addresses if _in_a_world(cluster) else (
        {node.address for node in cluster.plan.brokers} if hasattr(cluster, "plan") else set())
    for thing in list(_things(names(), names())):
        if _ways(thing) and not _is_cluster(thing) and addresses & set(_connected(thing)):
            end(thing)


def end(thing: Any) -> bool:
    """End a thing; return whether it had not ended before. What takes longer than PATIENCE goes on ending by itself."""
    ways = [] if _is_over(thing) else _ways(thing)
    within(PATIENCE, "again", lambda: _call_one(ways))
    return bool(ways)


def _topics_of(cluster: Any) -> set[str]:
    """Return the topics of a real cluster, or of a world's, but for Kafka's own; none if nobody answers."""
    if cluster.closed or cluster.engine in ("sim", "remote") and not _in_a_world(cluster):
        return set()
    if _in_a_world(cluster):
        with suppress(Exception):  # a broker that has died is the next cell's error
            return _named(cluster.partitions())
    for broker in cluster.alive:
        with suppress(OSError):
            from minikafka.cluster.wire import partitions
            return _named(partitions(cluster.address(broker), timeout=1.0))
    return _topics.get(id(cluster), set())


def _named(partitions: Iterable[str]) -> set[str]:
    return {topic for tp in partitions if not (topic := tp.rpartition("-")[0]).startswith("__")}


def _in_a_world(cluster: Any) -> bool:
    """Return whether this is what `Cluster()` makes in a notebook inside a world: the notebook's clients connect to it."""
    return isinstance(cluster, cluster.without_processes or ())


def _delete(cluster: Any, topic: str) -> bool:
    """Delete a topic that the last run of a cell has created; return whether it is gone."""
    if cluster.closed or topic not in _topics_of(cluster):
        return False
    from minikafka.lab.labs.fresh import delete_topic
    with suppress(Exception):  # a cluster without a quorum cannot: then the cell says so
        delete_topic(cluster.bootstrap, topic)
    _topics[id(cluster)] = _topics_of(cluster)
    return topic not in _topics[id(cluster)]


def say(text: str) -> None:
    from IPython.display import display
    display({"text/html": f"<small {AS_IT_IS}>{escape(text)}</small>"}, raw=True)


def names() -> dict[str, Any]:
    """Return the names of the notebook; {} where none runs."""
    running = shell()
    return {} if running is None else {name: value for name, value in running.user_ns.items()
                                       if name not in ("In", "Out") and name not in running.user_ns_hidden and name[0] != "_"}


def _key(info: Any) -> str:
    """Return the id of a cell, its text where the page gives no id."""
    return str(info.cell_id or info.raw_cell)


def _things(chosen: Iterable[str], values: dict[str, Any]) -> Iterator[Any]:
    """Yield the values of some names, and what lies in a list, tuple or dictionary among them."""
    for name in chosen:
        value = values.get(name)
        yield from value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else (value,)


def _is_cluster(thing: Any) -> bool:
    return "minikafka.cluster.cluster" in sys.modules and isinstance(thing, sys.modules["minikafka.cluster.cluster"].Cluster)


def _is_over(thing: Any) -> bool:
    process = getattr(thing, "process", None)
    return bool(getattr(thing, "closed", False) is True or getattr(thing, "_closed", False) is True
                or process is not None and process.poll() is not None)


def _ways(thing: Any) -> list[Callable[..., Any]]:
    """Return the methods that end a thing of a client's library, of a cluster or of a lab; [] if it has none."""
    known = next((ways for root, ways in WAYS.items() if type(thing).__module__.startswith(root)), ())
    return [method for name in known if callable(method := getattr(thing, name, None))]


def _call_one(ways: list[Callable[..., Any]]) -> None:
    """Call the first of these methods that does not fail: a thing whose cluster has ended cannot say farewell."""
    for way in ways:
        with suppress(Exception):
            way(**{name: limit for name, limit in LIMITS.items() if name in _parameters(way)})
            return


def _parameters(method: Callable[..., Any]) -> Iterable[str]:
    try:
        return inspect.signature(method).parameters
    except (TypeError, ValueError):  # a method of C
        return ()


def _connected(thing: Any) -> Iterator[str]:
    """Yield the addresses that a client was given, or the client that a lab's thing has."""
    for each in (thing, *getattr(thing, "__dict__", {}).values()):
        config = getattr(each, "config", None) if type(each).__module__.startswith("kafka.") else None
        given = config.get("bootstrap_servers", ()) if isinstance(config, dict) else ()
        yield from given.split(",") if isinstance(given, str) else given


def _listed(things: list[Any]) -> str:
    kinds = [type(thing).__name__ for thing in things]
    return ", ".join(f"{kinds.count(kind)} {kind}" if kinds.count(kind) > 1 else kind for kind in dict.fromkeys(kinds))
