"""The student's own file, run as a process: the exercises "from nothing".

A cell `%%writefile my_producer.py` writes it. A check runs it with this Python in a folder of its own, gives it lines at its
standard input, breaks something meanwhile, and judges it from outside: by what stands in the log and by what it printed.

    text = source("my_producer.py")                         Unknown, Todo or Wrong if there is nothing to run
    with cluster_of_its_own() as cluster, Program(text, cluster.bootstrap, "orders") as program:
        program.give(["order-0", "order-1"])
        until(lambda: len(program.printed) == 2, program)   until this is so, or the program shows no sign of life any more
        cluster.kill(cluster.leader("orders"))
        program.give_no_more()
        ended(program)                                      Wrong if it goes on, or ends with an error

`Program` is the one call that starts a process. It can stand over another world (a browser has no processes): who gives another
class with the same methods runs the same checks.

Owns: the process, its folder, and what it has printed.

Invariants
  I-PROG-1  nothing outlives the block: not the program, nor what it has started, nor its folder; after a kill of the kernel the
            process ends by the parent-death signal, and the next cluster removes the folder
  I-PROG-2  a program without an end comes to one: after QUIET seconds without a sign of life, LONG seconds, or MUCH output
"""
from __future__ import annotations

import ast
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minikafka.cluster import Cluster, ClusterError
from minikafka.cluster.folder import temporary_folder
from minikafka.cluster.process import EXEC_WITH_PARENT_DEATH
from minikafka.lab.exercise import Todo, Unknown, Wrong, checks
from minikafka.lab.values import shown

QUIET = 20.0    # seconds without a line, after which a program that should go on is taken to wait for ever
LONG = 240.0    # seconds from its start, in which a program has to end; a busy machine takes ten times as long as a quiet one
MUCH = 1 << 20  # bytes that a program may print
LOOK = 0.05     # seconds between two looks at a program
TAIL = 8        # lines of its errors that a verdict shows
CONFIG = {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 1000, "group.initial.rebalance.delay.ms": 0}


def source(answer: str) -> str:
    """Return the program: the text of the file of this name, or the answer itself if it has several lines.

    Unknown if there is no file, Todo if nobody has written in it yet, Wrong if Python cannot read it.
    """
    text, name = (answer, "your program") if "\n" in answer else (_read(Path(answer).expanduser()), Path(answer).name)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if all(line.startswith("#") for line in lines):
        raise Todo(" ".join(line.lstrip("# ") for line in lines) or f"{name} is empty: write your program below %%writefile")
    try:
        ast.parse(text)
    except SyntaxError as error:
        line = text.splitlines()[(error.lineno or 1) - 1:][:1]
        raise Wrong(f"{name}, line {error.lineno}, is no Python: {error.msg}. Change the cell, and run it before this one",
                    line) from None
    except ValueError as error:
        raise Wrong(f"{name} is no Python: {error}") from None
    return text


def _read(path: Path) -> str:
    name = path.name if len(path.name) < 60 else f"{path.name[:59]}…"
    again = f"Run the cell that begins with %%writefile {name}, then this one"
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Unknown(f"there is no file {name} beside this notebook. {again}") from None
    except (OSError, ValueError) as error:
        raise Wrong(f"{name} cannot be read ({getattr(error, 'strerror', None) or error}). {again}") from None


class Program:
    """A program that runs, with these arguments; `printed` holds its lines so far. A block ends it, however the block ends.

    quiet: seconds without a sign of life after which nothing more is expected; QUIET if it is None.
    """

    def __init__(self, text: str, *arguments: str, name: str = "program.py", quiet: float | None = None) -> None:
        self.name, self._quiet, self._began = name, quiet, time.monotonic()
        self._folder, self._lock = temporary_folder()
        self._last = self._began
        self._lines: list[str] = []
        self._half = b""
        try:
            (self._folder / name).write_text(text, encoding="utf-8")
            self._out, self._errors = self._folder / "printed.txt", self._folder / "errors.txt"
            self._start([sys.executable, name, *arguments])
        except BaseException:
            self._remove()
            raise

    def _start(self, command: list[str]) -> None:
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1", "MINIKAFKA_PROGRESS": "off"}
        environment.pop("PYTHONSTARTUP", None)
        with self._out.open("wb") as out, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(EXEC_WITH_PARENT_DEATH), str(os.getpid()), *command], cwd=self._folder,
                env=environment, stdin=subprocess.PIPE, stdout=out, stderr=errors, start_new_session=True)
        self._reader = self._out.open("rb")

    # --- what it is given -----------------------------------------------------------------------------------------------

    def be_patient(self) -> None:
        """Count QUIET from now on: only now can the program go on."""
        self._last = time.monotonic()

    def give(self, lines: Iterable[str]) -> None:
        """Write lines to its standard input; a program that has ended does not get them."""
        assert self._process.stdin is not None
        self.be_patient()
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.write("".join(f"{line}\n" for line in lines).encode())
            self._process.stdin.flush()

    def give_no_more(self) -> None:
        """Close its standard input: `for line in sys.stdin` comes to its end."""
        assert self._process.stdin is not None
        self.be_patient()
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.close()

    def kill(self) -> None:
        """Kill it and all that it has started (kill -9)."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        """Stop it, as a machine stops that is out of breath; its connections stay open. It stands still then, or has ended."""
        os.killpg(self._process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Let it go on."""
        os.killpg(self._process.pid, signal.SIGCONT)

    # --- what it shows --------------------------------------------------------------------------------------------------

    @property
    def printed(self) -> list[str]:
        """Return the whole lines that it has printed so far, without the ends of lines."""
        new = self._reader.read(MUCH)
        if new:
            self.be_patient()
            *lines, self._half = (self._half + new).split(b"\n")
            self._lines += [line.decode(errors="replace").rstrip("\r") for line in lines]
        return self._lines

    @property
    def code(self) -> int | None:
        """Return its exit code; negative for the number of a signal, None while it runs."""
        return self._process.poll()

    @property
    def errors(self) -> list[str]:
        """Return the last lines that it has printed to its standard error."""
        return self._errors.read_text(errors="replace").splitlines()[-TAIL:]

    @property
    def over(self) -> bool:
        """Return whether no more is to be expected of it: it has ended, is quiet, has run for LONG, or has printed MUCH."""
        ended, seen, now = self.code is not None, self.printed, time.monotonic()
        return ended or now > self._last + (self._quiet or QUIET) or now > self._began + LONG or sum(map(len, seen)) > MUCH

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.kill()
        finally:
            self._remove()

    def _remove(self) -> None:
        for stream in (getattr(self, "_reader", None), getattr(getattr(self, "_process", None), "stdin", None)):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self._lock)


class Together:
    """A run of several programs side by side. What a run beforehand has seen of one is told without running it again."""

    def __init__(self, run: Callable[[Sequence[str]], list[Any]]) -> None:
        self._run, self._seen = run, dict[str, Any]()

    def __call__(self, answer: str) -> Any:
        text = source(answer)
        return self._seen[text] if text in self._seen else self._run([text])[0]

    def beforehand(self, answers: Iterable[str]) -> None:
        """Run all of these that are programs at all; for whoever judges many (tools/notebooks/gate.py)."""
        texts = dict.fromkeys(text for answer in answers if (text := _runnable(answer)))
        self._seen = dict(zip(texts, self._run([*texts])))


TOGETHER: dict[str, Together] = {}  # by exercise


def file_exercise(exercise: str, run: Callable[[Sequence[str]], list[Any]], verdict: Callable[[Any], str], matters: str) -> None:
    """Register the check of an exercise whose answer is a file. `run` takes the texts of programs and returns what was seen of
    each from outside, `verdict` judges that."""
    TOGETHER[exercise] = together = Together(run)

    @checks(exercise, seconds=300, matters=matters)
    def from_outside(answer: str) -> str:
        return verdict(together(answer))


def _runnable(answer: str) -> str:
    try:
        return source(answer)
    except (Todo, Unknown, Wrong):
        return ""


def until(condition: Callable[[], Any], *programs: Program) -> bool:
    """Wait until the condition holds (True), or nothing more is to be expected of these programs (False)."""
    while not condition():
        if all(program.over for program in programs):
            return bool(condition())
        time.sleep(LOOK)
    return True


def ended(program: Program) -> None:
    """Wait for the end of a program. Wrong if it does not come, or is an error."""
    until(lambda: program.code is not None, program)
    if (told := how_it_ended(program.code)) is not None:
        raise Wrong(told, program.errors)


def how_it_ended(code: int | None) -> str | None:
    """Return what is wrong with the end of a program; None if nothing is."""
    if code is None:
        return (f"your program was still running {QUIET:g} s after its last line, and was stopped. When its input is at its end "
                "it has to end: close the client. Is there a loop or a thread that goes on?")
    if code < 0:
        return f"your program was ended by signal {-code}"
    return f"your program ended with exit code {code}; 0 is wanted. Its last words stand below" if code else None


def said(lines: list[str], given: Iterable[str]) -> None:
    """Raise Wrong if a program has printed something that it was not asked for: each line has to be one of `given`."""
    if strange := [line for line in lines if line not in {*given}]:
        raise Wrong(f"your program printed {shown(strange[0])}. It has to print the lines that were asked for, and nothing else "
                    "(print to sys.stderr what you want to see yourself)")


@dataclass(frozen=True)
class SideBySide:
    """Programs that run at the same time, each with a topic of its own, all of them led by one broker."""

    cluster: Cluster
    leader: int
    topics: list[str]
    programs: list[Program]

    def logs(self, broker: int) -> list[int]:
        """Return how many bytes each topic's log has on a broker: what has arrived there, whether it can be read or not."""
        folders = [self.cluster.plan.nodes[broker].data / f"{name}-0" for name in self.topics]
        return [sum(log.stat().st_size for log in folder.glob("*.log")) for folder in folders]

    def another_leads(self) -> None:
        """Wait until each topic has another leader than `leader`; from then on the programs can go on."""
        for name, program in zip(self.topics, self.programs):
            self.cluster.wait(lambda name=name: self.cluster.leader(name) not in (None, -1, self.leader), timeout=60)
            program.be_patient()


@contextlib.contextmanager
def side_by_side(texts: Sequence[str], name: str) -> Iterator[SideBySide]:
    """Start a cluster and these programs (`python NAME BOOTSTRAP TOPIC`); their leader is not the active controller."""
    with cluster_of_its_own() as cluster, contextlib.ExitStack() as stack:
        leader = no_controller(cluster, cluster.ids)
        topics = [f"orders-{n}" if n else "orders" for n in range(len(texts))]
        for each in topics:
            topic(cluster, each, leader, **{"min.insync.replicas": "2"})
        yield SideBySide(cluster, leader, topics, [stack.enter_context(Program(text, cluster.bootstrap, each, name=name))
                                                   for text, each in zip(texts, topics)])


@contextlib.contextmanager
def cluster_of_its_own(brokers: int = 3, **config: Any) -> Iterator[Cluster]:
    """Start a cluster for one check, gone after it. Unknown if it cannot do what is asked of it: no fault of the student's."""
    try:
        with Cluster(brokers=brokers, config={**CONFIG, **config}) as cluster:
            yield cluster
    except ClusterError as error:
        raise Unknown(f"the check's own cluster did not work ({error}). Is the machine busy? Run the cell again") from None


def no_controller(cluster: Cluster, brokers: Iterable[int]) -> int:
    """Return the first of these brokers that is not the active controller: its death leaves the one who elects."""
    active = cluster.controller()
    return next(broker for broker in brokers if broker != active)


def topic(cluster: Cluster, name: str, leader: int, **configs: str) -> None:
    """Create a topic of one partition with a replica on each broker, led by `leader`; return when it can be written."""
    from kafka import KafkaAdminClient
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    try:
        others = [broker for broker in cluster.ids if broker != leader]
        admin.create_topics({name: {"assignments": {0: [leader, *others]}, "configs": configs}})
    finally:
        admin.close()
    cluster.wait(lambda: cluster.leader(name) == leader and len(cluster.isr(name)) == len(cluster.ids), timeout=60)


def stored(cluster: Cluster, topic: str) -> list[str]:
    """Return the values of all records of a topic's partition 0, in order, as somebody reads them who comes later."""
    from kafka import KafkaConsumer, TopicPartition
    cluster.wait(lambda: (cluster.leader(topic) or -1) > 0, timeout=60)
    partition, found = TopicPartition(topic, 0), []
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False)
    try:
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            for records in consumer.poll(timeout_ms=500).values():
                found += [(record.value or b"").decode(errors="replace") for record in records]
    finally:
        consumer.close()
    return found
