"""A night of controllers: three or four of them, of whom one leads, and an admin client that creates topics.

    night.decides()                  # a topic is created; acknowledged, it is decided
    a, b = night.others              # those that do not lead
    night.parts(a, b)
    night.kills(night.first)
    night.until_led()

Owns: who leads, and what was decided, as the trace tells it: an election is no request, so no client can see two winners.
Invariants
  a night that has ended without `Fell` had one leader in each epoch, and each leader's log had every record that was decided
  the student's rule begins when the cluster runs: one that lets nobody lead, or decides nothing, would start none
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import CreateTopicsRequest

from minikafka.cluster.errors import NotReady
from minikafka.lab.inside.night import AdversaryNight, Refused, Stood
from minikafka.lab.inside.student import Misused, Student
from minikafka.protocol.errors import Err, KafkaError

FIRST = 101
METADATA = "__cluster_metadata-0"
LONG = 15.0      # seconds within which somebody must lead: some split votes


class OfControllers(Refused):
    """An error of controllers: the picture shows their log."""

    def __init__(self, what: str, t: float) -> None:
        super().__init__(what, t, METADATA)


class TwoLeaders(OfControllers):
    """An error: two controllers have won the same epoch."""

    word = "two leaders"


class DecidedAndGone(OfControllers):
    """An error: a controller leads that has not what was decided before."""

    word = "decided and gone"


class NobodyLeads(OfControllers):
    """An error: the controllers live, and elect nobody."""

    word = "stood still"


class ControllerNight(AdversaryNight):
    """A night of three controllers. `decided`: topic -> the offsets that were decided while it was created."""

    moves, kept, controllers = 5, "0 lost, and one leader in each epoch", 3

    def __init__(self, student: Student, *arguments: Any) -> None:
        student.rests = True
        super().__init__(student, *arguments)
        student.rests = False
        self.decided: dict[str, range] = {}
        self.dead = set[int]()
        self._admin = self.cluster.admin(timeout=LONG)

    # --- what an adversary does -----------------------------------------------------------------------------------

    @property
    def ids(self) -> range:
        return range(FIRST, FIRST + self.controllers)

    @property
    def first(self) -> int:
        """Return the controller that was elected last."""
        return int(self.cluster.trace.last("raft", role="leader")["b"])

    @property
    def others(self) -> list[int]:
        return [controller for controller in self.ids if controller != self.first]

    def decides(self) -> None:
        """Create a topic. Raises NobodyLeads if nobody acknowledges it."""
        before = Logs(self).end
        try:
            self._steps(lambda: self._admin.create_topic(self._next(), assignment={0: [1]}))
        except KafkaError:
            self._judge()
            raise NobodyLeads(f"{self._living()}, and for {LONG:g} s no topic could be created: nobody decides{self._waits()}",
                              self.cluster.now()) from None
        self._acknowledged(before)
        self._judge()

    def asks(self) -> None:
        """Let a controller have eleven records of a topic to decide; a leader without a majority writes them, and cannot."""
        before, topic = Logs(self).end, CreateTopicsRequest.CreatableTopic(
            name=self._next(), num_partitions=10, replication_factor=1, assignments=[], configs=[])
        request = CreateTopicsRequest(topics=[topic], timeout_ms=500, validate_only=False)
        answer = self.during(self._admin.unblocked.client.ask_any(request, 7))
        if answer is not None and answer.topics[0].error_code == Err.NONE:
            self._acknowledged(before)

    def end(self, controller: int) -> int:
        """Return where a controller's metadata log ends."""
        return max(Logs(self).of[controller], default=-1) + 1

    def until(self, happened: Callable[[], bool]) -> None:
        """Wait for what the adversary waits for, for ten seconds at most."""
        patience = self.cluster.now() + 10
        while not happened() and self.cluster.now() < patience:
            self.passes(0.1)

    def kills(self, *controllers: int) -> None:
        super().kills(*controllers)
        self.dead |= {*controllers}

    def parts(self, *controllers: int) -> None:
        """Cut all ways between these."""
        for a in controllers:
            for b in controllers:
                if a < b:
                    self.cuts(a, b)

    def slows_ways(self, of: int, by: float) -> None:
        """Let each way between this controller and the others take `by` seconds."""
        for other in self.ids:
            if other != of:
                self.cluster.slow(of, other, latency=by)

    def restarts(self, *controllers: int) -> None:
        """Start dead controllers again, or living ones anew, and wait until somebody leads. Raises NobodyLeads."""
        self.dead -= {*controllers}
        try:
            self._steps(lambda: self.cluster.restart(*controllers))
        except NotReady:
            self._judge()
            raise NobodyLeads(f"{self._living()}, and none of them leads", self.cluster.now()) from None
        self._judge()

    def ends(self) -> None:
        """Let everything run again, and decide once more."""
        self.dead.clear()
        try:
            self._steps(self.cluster.mend)
        except NotReady:
            self._judge()
            raise NobodyLeads(f"{self._living()}, and none of them leads", self.cluster.now()) from None
        self.decides()
        self.passes(3)
        self._judge()

    def mended(self, after: float = 0.0) -> bool:
        """Return False: there is nothing to look for in the topic's log."""
        return False

    def anything(self) -> None:
        """Make one of the moves, drawn by chance. One is dead at most; who starts again reaches the others."""
        def rise() -> None:
            self.frees()
            self.restarts(*self.dead)
        one, other = self.random.sample(self.ids, 2)
        moves: list[Callable[[], None]] = [lambda: self.passes(3), self.frees, self.asks, lambda: self.cuts(one, other)]
        moves += [lambda: self.slows_ways(one, by=0.3), rise if self.dead else lambda: self.kills(one)]
        self.random.choice(moves)()

    # --- inside ---------------------------------------------------------------------------------------------------

    def _next(self) -> str:
        self._sent += 1
        return f"topic-{self._sent}"

    def _acknowledged(self, before: int) -> None:
        """Note that the last topic was acknowledged, and what was decided meanwhile."""
        self.decided[f"topic-{self._sent}"] = range(before, Logs(self).end)
        self.acknowledged += 1

    def _living(self) -> str:
        living = [str(controller) for controller in self.ids if controller not in self.dead]
        return f"Controllers {', '.join(living[:-1])} and {living[-1]} live"

    def _waits(self) -> str:
        """Return where the logs of those that live end, if they hold what is not decided."""
        ends = [self.end(controller) for controller in self.ids if controller not in self.dead]
        decided = Logs(self).end
        return f". Their logs end at {', '.join(map(str, ends))}; below {decided} all is decided" if max(ends) > decided else ""

    def _steps(self, act: Any) -> None:
        """Do what takes time. A controller that finds another one's error ends itself: then the error is the news."""
        try:
            super()._steps(act)
        except Misused:
            if self.student.error is None:
                self._judge()
            raise

    def _judge(self) -> None:
        """Read the metadata logs. Raises TwoLeaders and DecidedAndGone."""
        logs = Logs(self)
        if logs.fault is not None:
            raise logs.fault


class Logs:
    """The metadata logs as the trace tells them. `of`: controller -> offset -> epoch; `end`: of what was decided; `fault`: the
    first one."""

    def __init__(self, night: ControllerNight) -> None:
        self.fault: Stood | None = None
        self.end = 0
        self.of = defaultdict[int, dict[int, int]](dict)
        self._topics = night.decided
        self._decided: dict[int, int] = {}      # offset -> epoch, and who was the first to decide it
        self._by: dict[int, int] = {}
        self._follows: dict[int, int] = {}
        self._led: dict[int, int] = {}
        for event in night.cluster.trace.events("raft", "append", "truncate", "recover", "hw"):
            if event["b"] in night.ids and event.get("tp", METADATA) == METADATA and self.fault is None:
                self._read(event)

    def _read(self, event: dict[str, Any]) -> None:
        node = event["b"]
        log = self.of[node]
        match event["k"]:
            case "append":
                source = self.of[self._follows.get(node, node)]     # what a follower gets may be of several epochs
                log.update({at: source.get(at, event["epoch"]) for at in range(event["base"], event["last"] + 1)})
            case "truncate" | "recover":
                end = event["to"] if event["k"] == "truncate" else event["leo"]
                self.of[node] = {at: epoch for at, epoch in log.items() if at < end}
            case "hw":
                self._decided.update({at: log[at] for at in range(self.end, event["hw"]) if at in log})
                self._by.update(dict.fromkeys(range(self.end, event["hw"]), node))
                self.end = max(self.end, event["hw"])
            case "raft":
                self._follows[node] = event["leader"] if event["leader"] >= FIRST else node
                if event["role"] == "leader":
                    self._wins(node, event["epoch"], event["t"])

    def _wins(self, node: int, epoch: int, t: float) -> None:
        other = self._led.setdefault(epoch, node)
        if other != node:
            self.fault = TwoLeaders(f"Controllers {other} and {node} both lead in epoch {epoch}: each decides by itself", t)
            return
        gone = [at for at, decided in self._decided.items() if self.of[node].get(at) != decided]
        if not gone:
            return
        topic = next((topic for topic, places in self._topics.items() if places and {*places} <= {*gone}), None)
        what = (f"{topic} was created and acknowledged, and is record {self._topics[topic][0]} of the metadata log" if topic else
                f"Controller {self._by[gone[0]]} decided record {gone[0]} of the metadata log, which is of epoch "
                f"{self._decided[gone[0]]}")
        at = self._topics[topic][0] if topic else gone[0]
        instead = (f"at {at} stands one of epoch {self.of[node][at]}" if at in self.of[node] else
                   f"at {at} it goes on with records of its own")
        leads = f"Controller {node} leads in epoch {epoch}, and its log has not that record: {instead}"
        self.fault = DecidedAndGone(f"{what}. {leads}", t)
