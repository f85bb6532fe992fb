"""The campaign of frames: spoiled frames against one simulated broker, about a hundred thousand a minute on each core.

    python -m minikafka chaos --frames 1000000 --seed 7 --ledger

A piece is a world of its own, one broker in virtual time with one topic. It gets frames of one of three kinds (frames.py), each
on a connection of its own, WIDTH of them at once:

    spoiled     a valid request of each API and version, with bytes changed, cut off, inserted
    absurd      well-formed requests of absurd values
    internal    both kinds on the brokers' own listener; its senders may be believed, so only survival is asked there

At the end of a piece the broker is killed and started again, and must serve: poison in metadata or logs shows there.

Owns: how frames are sent, the verdict, which process runs which piece.
Invariants: a problem is: an exception in the broker, or one that its log tells of; a frame that is answered twice; a
              frame by which a record is appended; an ordinary request that is not answered at the end, or after the restart.
            I-FRAMES-2 a piece is repeated by its kind and its seed alone.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple
from uuid import UUID

from kafka.protocol.metadata import ApiVersionsRequest

from minikafka.broker.server.registry import CLIENTS, HANDLERS, INTERNAL
from minikafka.proof.chaos.frames import absurd, corpus, mutated
from minikafka.proof.chaos.one_broker import OneBroker
from minikafka.sim.world.world import CLIENT_PORT, INTERNAL_PORT

KINDS = ("spoiled", "absurd", "internal")
VARIANTS = 40  # frames of each API and version in a piece of a campaign
WIDTH = 40  # connections at once
PATIENCE_S = 0.3  # virtual; then a request counts as waiting (long polls, joins), and its client leaves
SHOW_EVERY = 100_000  # frames
DELETE_TOPICS = b"\x00\x14"


class SentFrame(NamedTuple):
    """A frame that is sent: the API and version that it was made from, and its bytes without their size."""

    name: str
    body: bytes


@dataclass
class Frames:
    """The result of a piece, or of many: what became of the frames, and the problems."""

    fates: Counter[str] = field(default_factory=Counter)  # answered, closed (hung up on), waiting
    problems: list[str] = field(default_factory=list)
    kind = "frames"  # in the ledger

    def add(self, other: Frames) -> None:
        self.fates.update(other.fates)
        self.problems += other.problems

    @property
    def requests(self) -> int:
        return self.fates.total()

    def json(self) -> str:
        """Return one line for machines."""
        return json.dumps({"frames": self.requests, "fates": self.fates, "problems": self.problems})

    def summary(self) -> str:
        """Return the lines for a person, the most important last."""
        fates = ", ".join(f"{count:,} {fate}" for fate, count in self.fates.items())
        verdict = "VIOLATED" if self.problems else "all is well"
        problems = (f"PROBLEM   {problem}" for problem in self.problems)
        return "\n".join([*problems, f"{self.requests:,} frames: {fates}: {verdict}"])


def fuzz(frames: int, seed: int, jobs: int, show: Callable[[str], None] = print) -> Frames:
    """Send at least `frames` frames, divided among `jobs` processes; `say` gets the progress."""
    smallest = sum(api.max - api.min + 1 for api in HANDLERS[INTERNAL].values()) * VARIANTS
    pieces = [(KINDS[number % len(KINDS)], seed * 1_000_000 + number, VARIANTS) for number in range(-(-frames // smallest))]
    result, shown = Frames(), 0
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for outcome in pool.imap_unordered(_piece, pieces):
            result.add(outcome)
            if result.requests - shown >= SHOW_EVERY:
                shown = result.requests
                show(f"{shown:,} frames, {len(result.problems)} problems")
    return result


def _piece(arguments: tuple[str, int, int]) -> Frames:
    return piece(*arguments)


def piece(kind: str, seed: int, variants: int) -> Frames:
    """Run one piece of a kind; `variants`: how many frames are made of each API and version."""
    result = Frames()
    with _log_of_errors(result.problems):
        try:
            OneBroker(seed).play(lambda world: _play(world, kind, Random(f"{kind} {seed}"), variants, result))
        except Exception as error:  # `play` raises what ended the broker
            result.problems.append(repr(error))
    result.problems = [f"{kind}, seed {seed}: {problem}" for problem in result.problems]
    return result


async def _play(world: OneBroker, kind: str, rng: Random, variants: int, result: Frames) -> None:
    port = INTERNAL_PORT if kind == "internal" else CLIENT_PORT
    frames = list(_frames(kind, world.broker(1).image.topics["t"].id, rng, variants))
    for at in range(0, len(frames), WIDTH):
        some = frames[at : at + WIDTH]
        await _send(world, some, port, result)
        if kind != "internal" and world.client_records:
            result.problems.append(f"a record was appended by one of the frames from {at} to {at + len(some)}")
            break
    await _serves(world)
    world.kill(1)
    await world.restart(1)
    await _serves(world)


def _frames(kind: str, topic_id: UUID, rng: Random, variants: int) -> Iterator[SentFrame]:
    listener = INTERNAL if kind == "internal" else CLIENTS
    good = [SentFrame(*one) for one in corpus(topic_id, rng, listener)]
    for _ in range(variants):
        if kind != "absurd":
            yield from (spoiled for frame in good if (spoiled := _spoiled(frame, good, rng)) is not None)
        if kind != "spoiled":
            yield from (SentFrame(*one) for one in absurd(topic_id, rng, listener))


def _spoiled(frame: SentFrame, good: Sequence[SentFrame], rng: Random) -> SentFrame | None:
    """Return the frame with some bytes changed; None for what has become a DeleteTopics by a flipped bit of its key: it rightly
    deletes the topic that all others are about. A DeleteTopics itself gets no tail with that topic's id in it."""
    deletes = frame.name.startswith("DeleteTopics")
    body = mutated(frame.body, rng, [one.body for one in ((frame,) if deletes else good)])
    return SentFrame(frame.name, body) if deletes or body[:2] != DELETE_TOPICS else None


async def _send(world: OneBroker, frames: Sequence[SentFrame], port: int, result: Frames) -> None:
    """Send the frames on connections of their own, and wait for what becomes of them."""
    clients = [await world.connect(port) for _ in frames]
    for client, frame in zip(clients, frames):
        client.send_frame(frame.body)
    until = world.now() + PATIENCE_S
    for client, frame in zip(clients, frames):
        await client.wait(1, until - world.now())
        if len(client.frames) > 1:
            result.problems.append(f"answered twice: a frame made from {frame.name}, {frame.body[:200]!r}")
        result.fates["answered" if client.frames else "closed" if client.closed else "waiting"] += 1
        client.close()


async def _serves(world: OneBroker) -> None:
    """Raise AssertionError if an ordinary request is not answered."""
    client = await world.connect()
    assert (await client.request(ApiVersionsRequest(), 0)).error_code == 0, "ApiVersions was refused"
    client.close()


@contextmanager
def _log_of_errors(problems: list[str]) -> Iterator[None]:
    """Note each exception that the broker's log tells of; nothing is printed."""
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: problems.append(f"{record.getMessage()}: {record.exc_info and record.exc_info[1]!r}")  # type: ignore
    log = logging.getLogger("minikafka")
    propagated, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagated
