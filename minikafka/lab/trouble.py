"""What a cell says when a client, a cluster, a wait or Spark fails in it: the cluster's state, and what brings it back.

A student whose broker 2 is down got forty lines of kafka-python, and `NetworkSelector closed!` at their end; the picture knew the
reason all the time. So an error of that kind is shown as the picture's sentence and a remedy. Its traceback is folded: `%tb`
shows it. An error of the student's own code is shown as ever.

Owns: nothing; it looks at the names of the notebook and at their clusters.
Invariants
  I-TROUBLE-1  an error that is not known here is shown as IPython shows it
"""
from __future__ import annotations

import re
import sqlite3
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minikafka.cluster import BrokerDied, Closed, Cluster, ClusterError
from minikafka.lab import again
from minikafka.lab.again import names
from minikafka.lab.names import maker, shell
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.picture.frame import Frame, Level
from minikafka.protocol.errors import TEXTS, Err

CLIENTS, SPARK = {"kafka", "aiokafka", "confluent_kafka", "cimpl"}, {"pyspark", "py4j"}
CLOSED = re.compile(r"clos(ed|ing)|stopped|shut ?down", re.IGNORECASE)
SHORT = 8  # letters: kafka-python's `NodeNotReadyError: 1` says only "1"
FOLDED = "(The whole error: `%tb`)"
LOST = (LookupError, OSError, sqlite3.Error)  # what is met where a file, a table or an entry is gone
OUT = ("killed", "stopped")  # how the picture calls a process that has ended
DONE = {Err.TOPIC_ALREADY_EXISTS, Err.INVALID_PARTITIONS, Err.NON_EMPTY_GROUP, Err.DUPLICATE_RESOURCE}
MOVING = {Err.REBALANCE_IN_PROGRESS, Err.ILLEGAL_GENERATION, Err.UNKNOWN_MEMBER_ID, Err.FENCED_MEMBER_EPOCH,
          Err.STALE_MEMBER_EPOCH, Err.NOT_COORDINATOR, Err.COORDINATOR_NOT_AVAILABLE, Err.COORDINATOR_LOAD_IN_PROGRESS}


class Elsewhere(RuntimeError):
    """An error of what this browser cannot do; its text names what can."""


def told(error: BaseException) -> str:
    """Return what is said of an error in place of its traceback, "" if that is for IPython to show."""
    if isinstance(error, Elsewhere):
        return str(error)
    passed = {_root(frame.f_globals.get("__name__", "")) for frame, _ in traceback.walk_tb(error.__traceback__)}
    root = _root(type(error).__module__)
    of_spark = root in SPARK or bool(passed & SPARK)
    closed = CLOSED.search(str(error)) is not None
    of_client = root in CLIENTS or isinstance(error, ConnectionError) or closed and bool(passed & CLIENTS)
    of_wait = isinstance(error, (ClusterError, TimeoutError)) and "minikafka" in passed
    if isinstance(error, again.DoneBefore):
        how = start(_held([error.thing]) or "cluster")
        return f"The step “{error}” was done before: go on with the next cell. To see it again, {how[0].lower()}{how[1:]}"
    if of_spark and (name := _stopped_spark()):
        return f"Spark has ended. {start(name)}"
    if not (of_spark or of_client or of_wait or code(error)):
        if name := _ended(error):
            return f"The cluster `{name}` has ended. {start(name)}"
        return _left_behind() if _is_surprise(error) and again.repeated else ""
    cluster, name = concerned(error)
    if isinstance(error, Closed) or cluster is not None and cluster.closed:
        return f"The cluster `{name}` has ended. {start(name)}"
    if isinstance(error, BrokerDied):
        return f"{_words(error)} Start it again with `{name}.mend()` in a cell of your own, then run this cell again."
    if closed and (client := _caller(error)):
        return f"`{client}` is closed. {start(client)}"
    if (known := code(error)) not in DONE and (said := state(cluster, name)):
        return said
    if of_spark:
        return ""
    return f"{_words(error)} {_remedy(known, name)}"


def _ended(error: BaseException) -> str:
    """Return the name of a cluster that has ended, if code of the notebook looked in vain for what it, or work on it, had."""
    if not isinstance(error, LOST):
        return ""
    own, held = getattr(shell(), "user_ns", None), names()
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_globals is own]
    used = {name for each in codes for name in each.co_names if name in held}
    real = {name: value for name, value in held.items() if isinstance(value, Cluster) and value.engine != "sim"}
    work = all(value.closed for value in real.values()) and any(_of_labs(type(held[name])) for name in used)
    file = Path(str(getattr(error, "filename", None)))
    return next((name for name, value in real.items()
                 if value.closed and (work or name in used or file.is_relative_to(value.folder))), "")


def _of_labs(kind: type) -> bool:
    return kind.__module__.startswith("minikafka.lab.labs.")


def _is_surprise(error: BaseException) -> bool:
    """Return whether something of a lab was met by what it does not expect: fewer records, another name, a longer list."""
    last = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)][-1:]
    return isinstance(error, LOST) and any(module.startswith("minikafka.lab.labs.") for module in last)


def _left_behind() -> str:
    """Return what is said where a cell meets what a second run of another one has left behind."""
    found = concerned(None)[1]
    return f"Cells of this lab have run twice, and what they have left behind does not fit this one. {start(found)}"


def state(cluster: Any, name: str) -> str:
    """Return the picture's sentence on a cluster that is not well, and what mends it; "" if it is well."""
    if cluster is None or cluster.closed:
        return ""
    frame = _frame(cluster)
    voters = set(frame.quorum.voters or ())
    out = sorted({broker.id for broker in frame.brokers if broker.process in OUT} | voters - set(frame.quorum.alive))
    if not out and frame.sentence.level not in (Level.BAD, Level.WAIT):
        return ""
    call = f"{name}.restart({', '.join(map(str, out))})" if out else f"{name}.mend()"
    return f"{frame.sentence.text} Mend it with `{call}` in a cell of your own, then run this cell again."


def held_up() -> str:
    """Return the picture's sentence on the notebook's cluster if it waits for or lacks something, else ""."""
    cluster, _ = concerned(None)
    if cluster is None or cluster.closed or cluster.engine == "sim":
        return ""
    sentence = _frame(cluster).sentence
    return sentence.text if sentence.level in (Level.BAD, Level.WAIT) else ""


def _frame(cluster: Any) -> Frame:
    return RecordedRun.of(cluster).at(None)


def start(name: str) -> str:
    """Return a sentence that says which cell makes a name anew."""
    line, section = maker(name)
    if not line:
        return "Run the cells from the beginning of the notebook."
    where = f" of the section “{section}”" if section else ""
    return f"Run the cell with the line `{line}`{where}, then those after it."


def _remedy(code: Err | None, name: str) -> str:
    if code in DONE:
        return f"Go on with the next cell. To begin anew, start the cluster again: {start(name)[0].lower()}{start(name)[1:]}"
    if code in MOVING:
        return "The group is being shared out anew; that takes a moment. Run this cell again."
    return "The cluster itself is well: run the cells before this one, then this one again."


def code(error: BaseException) -> Err | None:
    """Return the code of the protocol that an error of any client carries."""
    given = getattr(error, "errno", None) if _root(type(error).__module__) == "kafka" else getattr(error, "code", None)
    if _root(type(error).__module__) == "cimpl" and error.args and callable(getattr(error.args[0], "code", None)):
        given = error.args[0].code()
    return Err(given) if isinstance(given, int) and given > 0 and given in Err.__members__.values() else None


def _words(error: BaseException) -> str:
    """Return an error as one sentence: what the broker said of it, or Kafka's text for its code, or its own first line."""
    found = re.search(r"error_message=(['\"])(.+?)\1[,)]", str(error))
    known = code(error)
    said = found[2] if found else TEXTS[known] if known else str(error).partition(" The end of its log")[0].split("\n")[0]
    said = said.removeprefix(f"{type(error).__name__}: ").strip() or type(error).__name__
    said = said if len(said) > SHORT else f"{type(error).__name__}: {said}"
    return said if said.endswith((".", "!", "?")) else f"{said}."


def concerned(error: BaseException | None) -> tuple[Any, str]:
    """Return the cluster that an error is about, and the name that leads to it: the one in whose call it was raised, else the
    last one of the notebook that is open. (None, "cluster") if there is none.
    """
    direct = [(value, name) for name, value in names().items() if isinstance(value, Cluster)]
    held = [(each, name) for name, value in names().items() for each in _clusters(value)]
    trace = error.__traceback__ if error is not None else None
    called = [value for frame, _ in traceback.walk_tb(trace) if isinstance(value := frame.f_locals.get("self"), Cluster)]
    real = sorted((cluster for cluster, _ in held if cluster.engine != "sim"), key=lambda cluster: not cluster.closed)
    chosen = (called or real or [cluster for cluster, _ in held] or [None])[-1]
    return chosen, next((name for cluster, name in direct + held if cluster is chosen), "cluster")


def _clusters(value: Any, depth: int = 2) -> Iterator[Any]:
    """Yield the clusters that a value is or has."""
    if isinstance(value, Cluster):
        yield value
    elif depth and _root(type(value).__module__) == "minikafka":
        for each in getattr(value, "__dict__", {}).values():
            yield from _clusters(each, depth - 1)


def _caller(error: BaseException) -> str:
    """Return the first name of the notebook in a method of which an error was raised, "" if no name holds the thing."""
    return _held([frame.f_locals.get("self") for frame, _ in traceback.walk_tb(error.__traceback__)])


def _held(things: list[Any]) -> str:
    """Return the first name of the notebook that holds one of these things, "" if none does."""
    return next((name for name, value in names().items() if value is not None and any(value is each for each in things)), "")


def _stopped_spark() -> str:
    """Return the name of a Spark session that was stopped, "" if there is none."""
    for name, value in names().items():
        if type(value).__name__ == "SparkSession" and value._sc._jsc is None:
            return name
    return ""


def _root(module: str) -> str:
    return module.partition(".")[0]


def show(shell: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: int | None = None) -> list[str]:
    """Show an error of a cell: IPython's custom handler (`set_custom_exc`)."""
    if not (said := told(error)):
        running = any(frame.f_globals is shell.user_ns for frame, _ in traceback.walk_tb(trace))
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=running)
        return []
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, trace  # what `%tb` shows
    shell._showtraceback(kind, said, [f"{said} {FOLDED}"])
    return []
