"""A consumer as a process of its own, so that it can be killed: lab 5's live part.

    C1 = Member("C1", cluster, "rides", "meter", enable_auto_commit=True)     # starts the process
    C1.wait(34)                                                               # until it has worked on 34 records
    C1.kill()                                                                 # kill -9: no commit, no farewell
    C1.pause(); C1.resume()                                                   # it stands still, as in a long garbage collection
    C1.restart()                                                              # a new process in its place

The program is `consume` below, an ordinary kafka-python loop; the first line of its standard input are its settings. It prints
one line a record, and these lines are all that its parent knows of it. kafka-python's own messages go to a log in the cluster's
folder; a `wait` that times out shows its end.

Owns: the processes, the records that they said they had worked on, and their logs; and their place in `cluster.members`, from
where the picture's control bar kills, pauses and restarts them.
Invariants
  a member ends when its parent does, however that ends (its standard input closes)
  what becomes of a process stands in the cluster's trace, also if nobody asked for it ("died")
"""
from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from minikafka.cluster.trace import TraceWriter
from minikafka.lab.picture.sentences.phrases import counted

WORK = 0.05  # seconds for a record
SETTINGS = {"auto_offset_reset": "earliest", "max_poll_records": 10, "session_timeout_ms": 6000, "heartbeat_interval_ms": 2000}


class Member:
    """A member of a group in a process of its own. `settings` are KafkaConsumer's. `done` holds the offsets whose work
    was finished, in order."""

    program = __name__  # the module that the process runs
    state = "running"   # a picture may look at a member that is about to start

    def __init__(self, name: str, cluster: Any, topic: str, group: str, **settings: Any) -> None:
        if (before := cluster.members.pop(name, None)) is not None:  # a cell that runs again
            before.kill()
        self.name, self.group, self.done, self.times = name, group, list[int](), list[float]()
        asked = {**cluster.for_kafka_python(), "group_id": group, "client_id": name, **SETTINGS, **settings}
        trace = str(cluster.trace.path)
        self._command, self._asked = [sys.executable, "-m", self.program, name, topic, trace], json.dumps(asked)
        self.log = Path(trace) / f"member-{name}.log"
        self._session = asked["session_timeout_ms"] / 1000
        self._write = TraceWriter(Path(trace) / f"process-{name}-{time.time_ns()}.trace")
        self._grown = threading.Condition()
        self._start()
        cluster.members[name] = self  # last: the picture asks each member for its state at any moment

    def _start(self) -> None:
        with self._grown, self.log.open("a") as log:
            self.process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                                            start_new_session=True)
            self._over = False
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended already
            self.process.stdin.write(f"{self._asked}\n")  # not on the command line: a closed cluster has a password
            self.process.stdin.flush()
        self._tell("running")
        threading.Thread(target=self._listen, args=(self.process,), name=self.name, daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with self._grown:
                self._worked(int(line))
                self._grown.notify_all()
        with self._grown:
            if process is not self.process:
                return  # another one runs in its place
            self._over = True
            self._grown.notify_all()
        if self.state in ("running", "paused"):
            self._tell("died")

    def _worked(self, number: int) -> None:
        """Take note of a line: the offset of a record."""
        self.done.append(number)
        self.times.append(time.monotonic())

    def _tell(self, state: str) -> None:
        """Note what became of the process, here and in the cluster's trace."""
        self.state = "running" if state == "resumed" else state
        self._write("member", client=self.name, group=self.group, state=state, session=self._session)
        self._write.flush()

    def wait(self, count: int, timeout: float = 60.0) -> int:
        """Wait until it has worked on `count` records and return how many it has. Raises TimeoutError, also if it has ended."""
        with self._grown:
            self._grown.wait_for(lambda: len(self.done) >= count or self._over, timeout)
            if len(self.done) < count:
                how = "has ended and" if self._over else f"had {timeout:g} s, and"
                raise TimeoutError(f"{self.name} {how} has worked on {counted(len(self.done), 'record')}, not on {count}.\n"
                                   f"{self._said()}")
            return len(self.done)

    def _said(self, lines: int = 20) -> str:
        """Return the end of its log; "" if that went with its cluster."""
        return "\n".join(self.log.read_text().splitlines()[-lines:]) if self.log.exists() else ""

    def kill(self) -> None:
        """Kill the process (kill -9); it has ended when this returns."""
        if self.state in ("running", "paused"):
            self._tell("killed")
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """Let the process stand still (SIGSTOP): it sends no heartbeat until `resume`."""
        self.process.send_signal(signal.SIGSTOP)
        self._tell("paused")

    def resume(self) -> None:
        """Let a paused process go on (SIGCONT)."""
        self.process.send_signal(signal.SIGCONT)
        self._tell("resumed")

    def restart(self) -> None:
        """Start a new process under the same name; one that runs is killed first. A restarted member joins anew, and reads on
        from the group's committed offsets."""
        self.kill()
        self._start()

    def leave(self, timeout: float = 30.0) -> None:
        """Ask it to finish its batch, close its consumer and end; returns when it has."""
        self._tell("left")
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout)


def consume(name: str, topic: str, settings: dict[str, Any], trace: str) -> None:
    """Run the program of a member: poll, work, print, until told to leave."""
    from kafka import KafkaConsumer
    from kafka.errors import CommitFailedError, IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError

    others_now = (RebalanceInProgressError, IllegalGenerationError, UnknownMemberIdError, CommitFailedError)
    asked_to_leave = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked_to_leave.set())
    consumer = KafkaConsumer(topic, **settings)
    # kafka-python 3.0.12: a member that joins before it knows the topic joins once more, and a poll() that ends while the answer
    # to that is under way forgets it: the member stands still for good. So first of all get to know the topic.
    consumer.partitions_for_topic(topic)
    tell_the_picture(consumer, name, trace)
    while not asked_to_leave.is_set():
        for records in consumer.poll(timeout_ms=200).values():
            for record in records:
                time.sleep(WORK)
                print(record.offset, flush=True)
        if not settings.get("enable_auto_commit", True):
            try:
                consumer.commit()
            except others_now:  # somebody joined or died while it worked
                continue  # the next poll joins the group again, and what was not committed comes once more
    consumer.close()


def tell_the_picture(consumer: Any, name: str, trace: str) -> Any:
    """Write what the consumer reads into the cluster's trace, so that the picture can show its position; return the consumer to
    use from now on."""
    from minikafka.cluster.watch import watch
    writer = TraceWriter(Path(trace) / f"member-{name}-{os.getpid()}.trace")

    def say(kind: str, **fields: Any) -> None:
        writer(kind, **fields)
        writer.flush()                   # a process that is killed cannot flush later

    return watch(consumer, say, name)


def end_with_parent() -> None:
    """End this process when its parent ends: the parent holds the other end of our standard input."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    told = json.loads(sys.stdin.readline())
    threading.Thread(target=end_with_parent, daemon=True).start()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    consume(sys.argv[1], sys.argv[2], told, sys.argv[3])
