"""Two nights of the control room: what the active controller was given, what it decided, and what another decision would cost.

    for moment in night(unclean=False):
        moment.what, moment.now, moment.alive            "broker 1 is gone", {"leader": 1, ...}, [2, 3]
        moment.decided                                   (3, 1, [3]): leader, epoch, ISR, as the controller wrote them
    beside(next_leader, decide)                          two functions of a student's beside that controller, moment by moment
    rules()                                              some rules that sound right, and what each of them costs

A simulated cluster with three brokers, three controllers and min.insync.replicas=1; a writer sends five records a second with
acks=all. Log ends and acknowledgements are measured, ten times a second.

Owns: the nights, and the price of a decision.
Invariants
  a moment's state and decision are read from the metadata log, never computed here
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from minikafka.broker.metadata.records import BrokerRegistrationChangeRecord, RegisterBrokerRecord
from minikafka.lab.labs.lab09.metadata import NO_CHANGE
from minikafka.lab.labs.stage import replicated, simulated
from minikafka.lab.labs.steady import Writer

Now = dict[str, Any]                                # {"leader": 1, "epoch": 0, "replicas": [1, 2, 3], "isr": [1, 2], "elr": []}
Decision = tuple[int, int, list[int]]               # leader (-1: nobody), leader epoch, ISR
Leads = Callable[[Now, list[int]], int]             # now and who is alive -> the leader of a clean election
Decides = Callable[[Now, list[int], bool, int], Decision]   # ... whether an unclean election is allowed, that leader
TOPIC, LOOK = "positions", 0.1


@dataclass(frozen=True)
class Occasion:
    """An event at which the controller had to decide; `t` and `lasts` (until the next one) are seconds."""

    t: float
    what: str
    now: Now
    alive: list[int]
    unclean: bool
    decided: Decision
    ends: dict[int, int]       # broker -> where its log ended
    acknowledged: int          # records that the writer was promised
    lasts: float = 0.0

    def lost(self, leader: int) -> int:
        """Return how many acknowledged records a leader does not have."""
        return max(0, self.acknowledged - self.ends[leader]) if leader in self.ends else 0

    def costs(self, leader: int) -> tuple[int, float]:
        """Return the records that are lost with this leader, and the seconds without one that lives."""
        lives = leader in self.alive
        needless = not lives and self.decided[0] != -1
        return (self.lost(leader) if lives else 0), (self.lasts if needless else 0.0)


@functools.cache
def night(unclean: bool) -> tuple[Occasion, ...]:
    """Return the moments of a night; the unclean one is the same, with unclean.leader.election.enable=true."""
    with simulated(9, controllers=3) as cluster:
        replicated(cluster, TOPIC, min_insync_replicas=1, unclean_leader_election_enable=str(unclean).lower())
        cluster.sleep(1)
        film = _Film(cluster, unclean)
        film.runs(3)
        cluster.hold_follower(2)                    # it lives, and copies nothing: the leader removes it from the ISR
        film.runs(14)
        cluster.kill(1)
        film.runs(6)
        cluster.heal()
        cluster.restart(1)
        film.runs(6)
        cluster.kill(2)
        film.runs(5)
        cluster.restart(2)
        film.runs(5)
        for broker in (1, 2, 3):                    # one after the other: 3 is the last that has everything
            cluster.kill(broker)
            film.runs(5)
        for broker in (2, 3, 1):
            cluster.restart(broker)
            film.runs(5)
        cluster.stop(film.leader())
        film.runs(4)
        return tuple(film.moments())


class _Film:
    """A record of a night: the metadata log from now on, and how long each broker's log was at each time."""

    def __init__(self, cluster: Any, unclean: bool) -> None:
        self._cluster, self._unclean, self._began = cluster, unclean, cluster.now()
        self._writer = Writer(cluster, TOPIC, rate=5)
        self._samples: list[tuple[float, int, dict[int, int], int]] = []    # when, metadata log end, log ends, acknowledged
        self._look()

    def runs(self, seconds: float) -> None:
        until = self._cluster.now() + seconds
        while self._cluster.now() < until:
            self._cluster.sleep(LOOK)
            self._look()

    def leader(self) -> int:
        return int(self._cluster.leader(TOPIC))

    def _quorum(self) -> Any:
        return self._cluster.world.broker(self._cluster.controller()).quorum

    def _look(self) -> None:
        ends = dict(self._samples[-1][2]) if self._samples else {}
        for number in self._cluster.ids:
            broker = self._cluster.world.broker(number) if number in self._cluster.alive else None
            if broker is not None and (partition := broker.replicas.partitions.get((TOPIC, 0))) is not None:
                ends[number] = partition.log.end_offset
        told = 1 + max((ack.offset for ack in self._writer.acked), default=-1)
        self._samples.append((self._cluster.now(), self._quorum().applied, ends, told))

    def moments(self) -> Iterator[Occasion]:
        """Yield the events in order: each batch of the log that says that a broker went or came."""
        state: dict[str, Any] = {}
        alive: set[int] = set()
        last: Occasion | None = None
        for batch in self._quorum().log.decisions(0, self._samples[-1][1]):
            before = _given(state)
            went, came = _moved(batch.records, alive)
            for record in batch.records:
                _apply(state, record)
            alive = alive - went | came
            if before and (went or came):
                one = self._moment(batch.last_offset, went, came, before, sorted(alive), _decision(state))
                if last is not None:
                    yield replace(last, lasts=round(one.t - last.t, 1))
                last = one
        if last is not None:
            yield replace(last, lasts=round(self._samples[-1][0] - self._began - last.t, 1))

    def _moment(self, offset: int, went: set[int], came: set[int], before: Now, alive: list[int], decided: Decision) -> Occasion:
        place = next(n for n, sample in enumerate(self._samples) if sample[1] > offset)
        t, _, ends, told = self._samples[max(0, place - 1)]
        what = ", ".join([f"broker {n} is gone" for n in sorted(went)] + [f"broker {n} is back" for n in sorted(came)])
        return Occasion(round(t - self._began, 1), what, before, alive, self._unclean, decided, ends, told)


def _moved(records: Any, alive: set[int]) -> tuple[set[int], set[int]]:
    """Return the brokers that a batch takes out of service, and those that it brings back."""
    went, came = set(), set()
    for record in records:
        if isinstance(record, RegisterBrokerRecord) or isinstance(record, BrokerRegistrationChangeRecord) and (
                record.fenced == 1 or record.in_controlled_shutdown == 1):
            went.add(record.broker_id)
        elif isinstance(record, BrokerRegistrationChangeRecord) and record.fenced == -1:
            came.add(record.broker_id)
    return went & alive, came


def _apply(state: dict[str, Any], record: Any) -> None:
    """Change the partition's state as a record says. Who may lead is the ISR, or, while it is empty, what lab 8 calls the ELR;
    with min.insync.replicas=1 that is the last member that the ISR had."""
    if type(record).__name__ == "PartitionRecord":
        state.update(leader=record.leader, epoch=record.leader_epoch, replicas=list(record.replicas), isr=list(record.isr))
    elif type(record).__name__ == "PartitionChangeRecord":
        if record.leader != NO_CHANGE:
            state.update(leader=record.leader, epoch=state["epoch"] + 1)
        if record.isr:
            state["isr"] = list(record.isr)


def _given(state: dict[str, Any]) -> Now:
    """Return the state for a student's function. Nobody is eligible beside the last member, which `isr` keeps (_apply)."""
    given = {key: list(value) if isinstance(value, list) else value for key, value in state.items()}
    return {**given, "elr": []} if given else {}


def _decision(state: dict[str, Any]) -> Decision:
    return (state["leader"], state["epoch"], list(state["isr"])) if state else (-1, -1, [])


def seen(cluster: Any, topic: str = TOPIC) -> Now:
    """Return the state of a live cluster's partition 0, as `now` has it."""
    found = cluster.partitions(topic)[f"{topic}-0"]
    return {"leader": found.leader, "epoch": found.epoch, "replicas": found.replicas, "isr": found.isr, "elr": []}


# --- a decision beside the cluster's ---------------------------------------------------------------------------------

def beside(leads: Leads, decides: Decides, unclean: bool = False) -> pd.DataFrame:
    """Return what two functions decide, beside the cluster's controller; each decision is (leader, epoch, ISR)."""
    rows = []
    for moment in night(unclean):
        now, alive = _given(moment.now), list(moment.alive)
        said = decides(now, alive, unclean, leads(now, alive))
        rows.append((moment.t, moment.what, in_short(said), in_short(moment.decided)))
    return pd.DataFrame(rows, columns=["second", "what happens", "you", "the controller"]).set_index("second")


def in_short(decision: Any) -> str:
    """Return (leader, epoch, ISR) in words."""
    leader, epoch, isr = decision
    return f"{f'leader {leader}' if leader != -1 else 'nobody'}, epoch {epoch}, ISR {sorted(isr)}"


def _first_alive(now: Now, alive: list[int]) -> int:
    return next((broker for broker in now["replicas"] if broker in alive), -1)


def _whole_isr(now: Now, alive: list[int]) -> int:
    return now["leader"] if set(now["isr"]) <= set(alive) else -1


def _old_leader(now: Now, alive: list[int]) -> int:
    return now["leader"] if now["leader"] != -1 else now["isr"][0]


RULES = {"the first replica that is alive": _first_alive, "the leader, once the whole ISR is alive": _whole_isr,
         "the old leader, as soon as it is back": _old_leader}


def rules() -> pd.DataFrame:
    """Return what each of some rules for the next leader costs in the night without unclean elections."""
    rows = {}
    for name, rule in RULES.items():
        prices = [moment.costs(rule(moment.now, moment.alive)) for moment in night(False)]
        rows[name] = (max(lost for lost, _ in prices), round(sum(seconds for _, seconds in prices)))
    prices = [moment.costs(moment.decided[0]) for moment in night(False)]
    rows["the cluster's controller"] = (max(lost for lost, _ in prices), round(sum(seconds for _, seconds in prices)))
    return pd.DataFrame.from_dict(rows, orient="index", columns=["acknowledged, and lost", "seconds without need"])
