"""kafka-python, unchanged, as processes of a simulated world (minikafka/sim/guest)."""

from __future__ import annotations

import logging
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time

import kafka.producer.sender
import pytest

from minikafka.cluster import Cluster
from minikafka.sim.guest.guest import KILLED, Guest
from minikafka.sim.world.world import World

ORDERS = [f"order-{n}" for n in range(8)]
PRODUCER = """
import sys, time
from kafka import KafkaProducer
producer = KafkaProducer(bootstrap_servers=sys.argv[1], acks="all", enable_idempotence=True)
for line in sys.stdin:
    producer.send(sys.argv[2], line.strip().encode()).get(timeout=60)
    print(line.strip())
    time.sleep(0.2)
producer.close()
"""
MEMBER = """
import sys
from kafka import KafkaConsumer
for record in KafkaConsumer(sys.argv[2], bootstrap_servers=sys.argv[1], group_id="bills", auto_offset_reset="earliest"):
    print(record.offset, record.value.decode())
    if record.value == b"order-7":
        sys.exit(3)
"""
CONFIG = {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 1000, "group.initial.rebalance.delay.ms": 0}


def story(seed: int) -> tuple[str, list[str], list[str], tuple[int | None, int | None]]:
    """Let a leader die under a producer and a member; return the trace's hash, what both printed, and their exit codes."""
    with Cluster(engine="sim", seed=seed, config=CONFIG) as cluster:
        cluster.admin().create_topic("orders", 1, 3)
        producer, member = (Guest(cluster.world, text, cluster.bootstrap, "orders", name=name)
                            for text, name in ((PRODUCER, "producer.py"), (MEMBER, "member.py")))
        producer.stdin.give(ORDERS)
        producer.stdin.end()
        cluster.wait(lambda: len(producer.stdout.lines) == 3, timeout=60)
        cluster.kill(cluster.leader("orders", 0))
        cluster.wait(lambda: producer.code is not None and member.code is not None, timeout=60)
        return cluster.world.trace_hash(), producer.stdout.lines, member.stdout.lines, (producer.code, member.code)


def what_this_process_has() -> list[object]:
    """Return this process's modules, and what of them a program in a world finds replaced."""
    modules = {name: module for name, module in sys.modules.items() if name.startswith(("kafka", "queue", "uuid", "_queue"))}
    return [modules, dict(vars(kafka)), kafka.producer.sender.threading, time.sleep, time.time, threading.Thread, threading.Lock,
            socket.socket, socket.getaddrinfo, selectors.DefaultSelector, random.random, os.urandom, logging.getLogger,
            sys.stdout]


def alone(text: str, *arguments: str, seconds: float = 60.0, lines: list[str] | None = None) -> Guest:
    """Run a program that needs no broker to its end."""
    world = World(1)
    guest = Guest(world, text, *arguments)
    guest.stdin.give(lines or [])
    guest.stdin.end()
    world.run(world.sleep(seconds))
    world.close()
    return guest


def test_the_same_seed_gives_the_same_run_in_fresh_processes() -> None:
    """Fails if anything that kafka-python does depends on more than the seed, or if the hash is blind to it; if an order is
    lost or stands there twice; if an exit code is lost; or if this process finds anything of it afterwards (I-GUEST-2)."""
    before = what_this_process_has()
    here = story(1)
    assert what_this_process_has() == before
    assert here[1:] == (ORDERS, [f"{n} {order}" for n, order in enumerate(ORDERS)], (0, 3))
    code = "from tests.sim.test_guest import story; print(story({})[0])"
    same, again, other = (subprocess.run([sys.executable, "-c", code.format(seed)], capture_output=True, text=True, timeout=300,
                                         env={"PYTHONHASHSEED": hashes, "PYTHONPATH": "."}, check=True).stdout
                          for seed, hashes in ((1, "1"), (1, "424242"), (3, "1")))
    assert same == again == f"{here[0]}\n" != other


THREADS = """
import queue, sys, threading, time, uuid, os, random
began = time.monotonic_ns()
work, done = queue.Queue(), queue.SimpleQueue()
two = threading.Semaphore(2)
def worker():
    while (item := work.get()) is not None:
        with two:
            time.sleep(1)
        done.put(item)
workers = [threading.Thread(target=worker) for _ in range(4)]
for each in workers: each.start()
for n in range(4): work.put(n)
for each in workers: work.put(None)
for each in workers: each.join()
print(sorted(done.get() for _ in range(4)), (time.monotonic_ns() - began) // 10 ** 9, "s")
threading.Timer(5, print, ["late"]).start()
never = threading.Timer(9, print, ["never"])
never.start()
never.cancel()
lock = threading.Lock()
print(lock.acquire(timeout=1), lock.acquire(timeout=1), lock.acquire(blocking=False))
print(uuid.uuid4(), os.urandom(4).hex(), random.random(), random.Random(1).random())
try:
    queue.Queue().get(timeout=1)
except queue.Empty:
    print("empty")
threading.Thread(target=lambda: 1 / 0).start()
"""


SERVER = """
import signal, socket, socketserver, threading, time
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        time.sleep(1)
        self.wfile.write(self.rfile.readline().upper())
server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
def ask(text, patience=2):
    with socket.create_connection(server.server_address, timeout=patience) as line:
        line.sendall(text.encode() + b"\\n")
        return line.recv(16).decode().strip()
began, both, heard = time.monotonic(), threading.Barrier(2, timeout=9), []
def call(text):
    heard.append(ask(text))
    both.wait()
callers = [threading.Thread(target=call, args=(text,)) for text in ("stock", "mail")]
for each in callers: each.start()
for each in callers: each.join()
print(sorted(heard), int(time.monotonic() - began), "s")
try:
    ask("late", patience=0.5)
except TimeoutError:
    print("no answer in time")
server.shutdown()
server.server_close()
try:
    ask("nobody")
except OSError as error:
    print(type(error).__name__)
leave = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: leave.set())
print(leave.wait(60), "left")
"""


def test_a_server_in_a_world_answers_and_a_signal_meets_its_handler() -> None:
    """Fails if two callers are served one after the other, if a caller waits on the machine's clock, if a server that has ended
    is still reached, or if a signal kills a program that has a handler for it."""
    with Cluster(brokers=1, engine="sim") as cluster:
        guest = Guest(cluster.world, SERVER)
        cluster.wait(lambda: len(guest.stdout.lines) == 3, timeout=60)
        assert guest.stdout.lines == ["['MAIL', 'STOCK'] 1 s", "no answer in time", "ConnectionRefusedError"]
        guest.signal(signal.SIGTERM)
        cluster.wait(lambda: guest.code is not None, timeout=10)
        assert guest.stdout.lines[-1] == "True left" and guest.code == 0


def test_what_a_program_finds_under_the_names_of_the_standard_library() -> None:
    """Fails if a lock, a queue, a semaphore or a timer does not wait for the world's clock, or if chance is not the seed's."""
    one, two = alone(THREADS), alone(THREADS)
    first, locks, chance, empty, late = one.stdout.lines
    assert (first, locks, empty, late) == ("[0, 1, 2, 3] 2 s", "True False False", "empty", "late")
    assert one.stdout.lines == two.stdout.lines and chance.endswith(str(random.Random(1).random()))
    assert one.code == 0 and "ZeroDivisionError" in one.stderr.text


@pytest.mark.parametrize(("text", "code", "printed", "error"), [
    ("import sys\nprint(sys.argv, __name__)\nprint('no', file=sys.stderr)\nsys.exit('bad')",
     1, "['guest.py', 'a'] __main__\n", "no\nbad\n"),
    ("print('half', end='')\n1 / 0", 1, "half", "ZeroDivisionError: division by zero\n"),
    ("import atexit\natexit.register(print, 'last')\nprint(input('? '), input())\ninput()", 1, "? one two\nlast\n", "EOFError"),
    ("import sys\nsys.stdout.write(sys.stdin.read().upper())", 0, "ONE\nTWO\n", ""),
    ("import logging\nlogging.getLogger('shop').warning('few left')", 0, "", "few left\n"),
    ("while True: print('again')", None, "again\nagain\n", ""),
])
def test_streams_and_exit_codes(text: str, code: int | None, printed: str, error: str) -> None:
    """Fails if a program's lines, errors or end are not those of a process; or if one that prints for ever stops the world
    (I-GUEST-1)."""
    seen = alone(text, "a", lines=["one", "two"], seconds=0.1)
    assert seen.code == code and seen.stdout.text[:50].startswith(printed) and error in seen.stderr.text


LOOKING = """
import time
end, looks = time.monotonic() + 100, 0
while time.monotonic() < end:
    looks += 1
print(looks, time.monotonic() - end)
"""


def test_a_loop_that_only_looks_at_the_clock_looks_seldom() -> None:
    """I-GUEST-1: fails if a hundred seconds of a loop such as kafka-python's sender, while nobody leads, cost a page
    minutes; or if such a loop sleeps for much longer than it means to."""
    looks, late = map(float, alone(LOOKING, seconds=110).stdout.text.split())
    assert looks < 1_000_000 and 0 <= late < 0.02


FOR_EVER = """
import time
try:
    while True:
        print("on")
        time.sleep(1)
finally:
    print("end")
"""


def test_a_killed_program_does_nothing_more() -> None:
    """Fails if a paused program goes on, if one that goes on again does not, or if a `finally` runs after kill -9."""
    world = World(1)
    guest = Guest(world, FOR_EVER)
    world.run(world.sleep(1.5))
    guest.pause()
    world.run(world.sleep(5))
    assert guest.stdout.lines == ["on", "on"]
    guest.resume()
    world.run(world.sleep(0.5))
    assert len(guest.stdout.lines) == 3
    guest.kill()
    world.run(world.sleep(5))
    assert guest.code == KILLED and guest.stdout.lines == ["on", "on", "on"]
    world.close()
