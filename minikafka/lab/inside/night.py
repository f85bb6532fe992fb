"""One night: a simulated cluster whose brokers run the student's rule, what an adversary can do to it, and the count afterwards.

    night = Plot("1 dies", play, (1, 2, 3)).begin(student)      # play: a function of a night, with such lines:
    night.writes(5)          # acknowledged by all in sync; a rule that lets this wait has stood still
    night.holds(3)           # broker 3 lives, and copies nothing
    night.tries(5)           # may wait: the adversary hopes for an answer
    night.kills(1, 2)
    night.ends()             # all is mended, one more record, and everything is read

Owns: the cluster, its writer and its reader, and what was acknowledged to them. Times are seconds of the cluster's clock.
Invariants
  a night that has ended without `Fell` has lost nothing that was acknowledged, and kept nobody waiting for longer than PATIENCE
"""
from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from minikafka.cluster.errors import BrokerDied, NotReady
from minikafka.lab.inside.student import Misused, Student
from minikafka.lab.labs.stage import replicated, simulated
from minikafka.lab.labs.steady import Read, Reader, Writer, read_all
from minikafka.protocol.errors import KafkaError

TOPIC, TP = "positions", "positions-0"
PATIENCE = 6.0   # seconds that a record may wait: a death is noticed after three
SEED = 6
SLOW = 0.03     # kilobytes a second that a slow follower copies: a record takes some seconds

T = TypeVar("T")


class Stood(Exception):
    """An error: what has to go on in such a night has stood still; its text says what that was. The picture shows partition
    `tp` at `t`, the moment at which it is raised if that is None."""

    def __init__(self, what: str, t: float | None = None, tp: str = TP) -> None:
        super().__init__(what)
        self.t, self.tp = t, tp


class Refused(Stood):
    """An error: a broker has refused what was right; its text says all."""

    word = "refused"


@dataclass(frozen=True)
class Plot:
    """A night as it is planned: its title, and as a function of it; the replicas, of which the first leads; settings of
    the topic, with underscores; settings of brokers."""

    title: str
    play: Callable[[AdversaryNight], None]
    replicas: tuple[int, ...] = (1, 2, 3)
    configs: dict[str, Any] = field(default_factory=dict)
    brokers: dict[str, Any] = field(default_factory=dict)
    kind: type[AdversaryNight] | None = None    # of night; None: of a partition and its replicas

    def begin(self, student: Student, seed: int = SEED) -> AdversaryNight:
        return (self.kind or AdversaryNight)(student, self, seed)


class AdversaryNight:
    """A night under way. `acked`: the acknowledged records, value -> offset; `longest`: seconds that one had to wait;
    `moves`: of a random night; `kept`: what was kept, in words; `controllers`: how many."""

    moves, kept, controllers = 8, "0 lost", 1

    def __init__(self, student: Student, plot: Plot, seed: int) -> None:
        self.student, self.acked, self.longest = student, {}, 0.0
        self.deaths: list[tuple[int, int, float]] = []     # who, how many records were acknowledged before, and when
        self.acknowledged = 0   # before the last record of all
        self.log: list[Read] = []
        self._sent, self._stream = 0, None
        self.cluster: Any = simulated(seed, controllers=self.controllers, brokers=max(3, *plot.replicas), config=plot.brokers)
        replicated(self.cluster, TOPIC, plot.replicas, **plot.configs)
        self.random = Random(seed)
        self.reader = Reader(self.cluster, TOPIC, name="map")
        self._producer = self._truck("truck")

    # --- what an adversary does -----------------------------------------------------------------------------------

    def writes(self, count: int = 1) -> None:
        """Write records, each of which must be acknowledged within PATIENCE seconds. Raises Stood."""
        for _ in range(count):
            began = self.cluster.now()
            answered = self._send()
            self.longest = max(self.longest, self.cluster.now() - began)
            if not answered:
                raise Stood(f"A record got no answer for {PATIENCE:g} s")

    def tries(self, count: int = 1) -> None:
        """Write records until one gets no answer; that may be right."""
        for _ in range(count):
            if not self._send():
                return

    def holds(self, *brokers: int) -> None:
        """Let followers live and copy nothing; they have what was written before, and their last Fetches are answered."""
        self.passes(1)
        for broker in brokers:
            self.cluster.hold_follower(broker)
        self.passes(1)

    def slows(self, *brokers: int) -> None:
        """Let followers copy little."""
        for broker in brokers:
            self.cluster.slow_follower(broker, SLOW)

    def cuts(self, a: int, b: int) -> None:
        self.cluster.cut(a, b)

    def delays(self, *brokers: int, by: float) -> None:
        """Let each way between the leader and these take `by` seconds."""
        for broker in brokers:
            self.delays_way(self.cluster.leader(TOPIC), broker, by)

    def delays_way(self, a: int, b: int, by: float) -> None:
        self.cluster.slow(a, b, latency=by)

    def streams(self, rate: float = 20) -> None:
        """Begin to write, until somebody dies or the night ends; a leader answers this writer at once."""
        self._stream = Writer(self.cluster, TOPIC, rate, prefix="s", acks=1, idempotent=False)

    def kills_when_alone(self, leader: int, within: float) -> None:
        """Kill the leader as soon as it is alone in sync, or else after `within` seconds. Raises Stood if nobody follows it."""
        until = self.cluster.now() + within
        while self.cluster.isr(TOPIC) != [leader] and self.cluster.now() < until:
            self.passes(0.1)
        self.kills(leader)
        self.until_succeeded(leader)

    def until_succeeded(self, leader: int) -> None:
        """Wait until somebody leads in the place of a broker that died. Raises Stood."""
        try:
            self._steps(lambda: self.cluster.wait(lambda: self.cluster.leader(TOPIC) in self.cluster.alive, timeout=20))
        except NotReady:
            raise Stood(f"Broker {leader} died, and 20 s later it has no successor") from None

    def kills(self, *brokers: int) -> None:
        if self._stream is not None:
            self._steps(self._stream.finish)
        for broker in brokers:
            self.cluster.kill(broker)
            self.deaths.append((broker, len(self.acked), self.cluster.now()))

    def frees(self) -> None:
        """Let all followers copy again, over links that work."""
        self.cluster.heal()

    def restarts(self, *brokers: int) -> None:
        self._steps(lambda: self.cluster.restart(*brokers))

    def passes(self, seconds: float) -> None:
        self._steps(lambda: self.cluster.sleep(seconds))

    def during(self, story: Coroutine[Any, Any, T]) -> T | None:
        """Return what a client's story returns, None if its broker is gone."""
        found: list[T] = []
        self._steps(lambda: found.append(self.cluster.run(story)))
        return found[0]

    def until_in_sync(self, *brokers: int) -> None:
        """Wait until exactly these brokers are in sync, for half a minute at most. Raises Stood."""
        try:
            self._steps(lambda: self.cluster.wait(lambda: set(self.cluster.isr(TOPIC)) == set(brokers), timeout=30))
        except NotReady:
            isr = set(self.cluster.isr(TOPIC))
            wrong, stayed = (isr - {*brokers}, "in") if isr - {*brokers} else ({*brokers} - isr, "out of")
            who = f"broker{'s' * (len(wrong) > 1)} {' and '.join(map(str, sorted(wrong)))}"
            raise Stood(f"For 30 s {who} stayed {stayed} the ISR") from None

    def ends(self) -> None:
        """Let everything run again, write one more record, and read all there is."""
        if not self.mended():
            raise Stood(f"All brokers run again, and nobody leads {TP}")
        self.acknowledged = len(self.acked)
        self._producer = self._truck("truck-2")    # the first one's sequence may be lost with its records
        self.writes(1)
        self.reads()

    def mended(self, after: float = 0.0) -> bool:
        """Let everything run again, `after` seconds from now; return whether somebody leads then."""
        if after:
            self.passes(after)
        if self._stream is not None:
            self._stream.stop()
        try:
            self._steps(self.cluster.mend)
            self._steps(lambda: self.cluster.wait(lambda: self.cluster.leader(TOPIC) in self.cluster.alive, timeout=20))
        except NotReady:
            return False
        return True

    def reads(self) -> None:
        """Read the whole log."""
        self.passes(1)
        self.log = read_all(self.cluster, TOPIC)
        self._look()

    def close(self) -> None:
        try:
            self.cluster.close()
        except BrokerDied:
            pass

    def by_chance(self) -> None:
        """Play a random night: as many moves as this kind of night has."""
        for _ in range(self.moves):
            self.anything()
        self.ends()

    def anything(self) -> None:
        """Make one of the moves, drawn by chance."""
        alive = self.cluster.alive
        dead = [broker for broker in self.cluster.ids if broker not in alive]
        moves: list[Callable[[], None]] = [lambda: self.tries(3), lambda: self.passes(3), self.frees]
        moves += [lambda: self.holds(self.random.choice(alive)), lambda: self.kills(self.random.choice(alive))] if alive else []
        moves += [lambda: self.restarts(self.random.choice(dead))] if dead else []
        self.random.choice(moves)()

    # --- inside ---------------------------------------------------------------------------------------------------

    def _truck(self, name: str) -> Any:
        return self.cluster.watch(self.cluster.producer(acks=-1, delivery_timeout=PATIENCE, name=name), name)

    def _send(self) -> bool:
        value, self._sent = str(self._sent + 1), self._sent + 1
        try:
            self._steps(lambda: self.acked.update({value: self._producer.send(TOPIC, value, partition=0)[1]}))
        except KafkaError:
            return False
        return True

    def _steps(self, act: Any) -> None:
        """Do what takes time, then look whether the student's function has failed meanwhile: then nothing else counts."""
        try:
            act()
        except BrokerDied as died:
            self._look()
            first = str(died).split(" The end of its log")[0]
            raise Misused(f"with this rule a broker cannot go on: {first}") from None
        finally:
            self._look()

    def _look(self) -> None:
        if self.student.error is not None:
            raise self.student.error
