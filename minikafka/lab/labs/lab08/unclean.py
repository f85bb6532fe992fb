"""Lab 8's disasters: a leader that is alone, and then dies.

    end = disaster(min_insync=1, unclean=True)
    end.acknowledged      [(0, "common 0"), ..., (99, "alone 29")]   every promise, as the producers heard it
    end.readable          what a new reader finds when all is over

    python -m minikafka.lab.labs.lab08.unclean 1 true        the same as a story, line by line

Owns: the script of the night, and what its clients were told.
Invariants
  `acknowledged` holds what a client was told with acks=all, `readable` what a client read; neither asks a broker
    for anything that a client could not ask
"""
from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.producer import ProduceRequest

from minikafka.client.client import Client
from minikafka.client.retry import OPEN_OUTCOME
from minikafka.lab.labs.lab08.experiment import TOPIC, TP, A, C, D, names
from minikafka.lab.labs.stage import replicated, simulated
from minikafka.lab.labs.steady import read_all
from minikafka.lab.waiting import waiting
from minikafka.log.batch import build
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.engine.watched import Told

PRODUCE_VERSION = 9
Entry = tuple[int, str]                # offset and value


@dataclass
class Disaster:
    """The result of one run of the script. Lists of (offset, value)."""

    min_insync: int
    unclean: bool
    cluster: Any
    acknowledged: list[Entry] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)     # to the records sent while broker 1 was alone
    seen: list[Entry] = field(default_factory=list)            # what a reader had got before broker 1 died
    readable: list[Entry] = field(default_factory=list)        # what a new reader gets when all is over
    eligible: tuple[int, ...] = ()                             # the ELR while broker 1 was alone
    successor: int | None = None                               # who led after its death, while it was dead
    written_later: int = 0                                     # records that were acknowledged before it came back

    @property
    def lost(self) -> list[Entry]:
        """Return the acknowledged records that are not in the log any more at their offset with their value."""
        found = set(self.readable)
        return [entry for entry in self.acknowledged if entry not in found]

    @property
    def accepted(self) -> int:
        """Return how many records broker 1 acknowledged when it was alone in the ISR."""
        return self.answers[Err.NONE.name]

    @property
    def leader(self) -> str:
        return "nobody" if self.successor is None else f"broker {self.successor}"


def disaster(min_insync: int = 1, unclean: bool = True, *, common: int = 70, alone: int = 30, later: int = 20,
             cluster: Any = None, moment: Callable[[str], None] = lambda name: None) -> Disaster:
    """Give all three replicas `common` records, let brokers 2 and 3 get stuck, send `alone` more to 1 with acks=all,
    and kill it.

    If another broker leads then, it gets `later` records. At last broker 1 comes back. The cluster stays open (`end.cluster`).
    `moment` is called with the name of each step as it begins: ask, stuck, alone, kill, freeze, later, back, explain.
    """
    cluster = cluster or simulated(8, controllers=1)
    end = Disaster(min_insync, unclean, cluster)
    with waiting(f"the night with min.insync.replicas={min_insync}, unclean election {'on' if unclean else 'off'}"):
        replicated(cluster, TOPIC, [C, A, D], min_insync_replicas=min_insync, unclean_leader_election_enable=str(unclean).lower())
        send(cluster, end, "common", common)
        cluster.wait(lambda: all(replica_end(cluster, follower) == common for follower in (A, D)))
        cluster.sleep(0.5)
        moment("ask")
        stay_alone(cluster, end, alone, moment)
        cluster.sleep(0.5)
        moment("kill")
        cluster.kill(C)
        cluster.sleep(1.0)
        moment("freeze")
        end.successor = successor(cluster)
        cluster.heal()
        cluster.sleep(1.0)
        moment("later")
        if end.successor is not None:
            end.written_later = send(cluster, end, "later", later)
        moment("back")
        cluster.restart(C)
        cluster.wait(lambda: len(cluster.isr(TOPIC)) == 3, timeout=60)
        cluster.sleep(1.0)
        end.readable = contents(cluster)
        moment("explain")
    return end


def stay_alone(cluster: Any, end: Disaster, records: int, moment: Callable[[str], None]) -> None:
    """Let 2 and 3 get stuck and send `records` records to broker 1; return when it is alone in the ISR and all are answered."""
    for follower in (A, D):
        cluster.hold_follower(follower)
    moment("stuck")
    told = Told(cluster.world, "strict", None)
    for number in range(records):
        answer, offset = one_try(cluster, f"alone {number}", told=told)
        end.answers[answer] += 1
        if answer == Err.NONE.name:
            end.acknowledged.append((offset, f"alone {number}"))
    cluster.wait(lambda: cluster.isr(TOPIC) == [C])
    end.eligible = eligible(cluster)
    end.seen = contents(cluster)
    moment("alone")


def alone(min_insync: int = 2, records: int = 50) -> Any:
    """Return a cluster in which all three replicas have `records` records, and 2 and 3 were killed afterwards: broker 1
    is alone in the ISR."""
    cluster = replicated(simulated(8, controllers=1), TOPIC, [C, A, D], min_insync_replicas=min_insync)
    with cluster.producer() as producer:
        for number in range(records):
            producer.send(TOPIC, f"km {number}", partition=0)
    for follower in (A, D):
        cluster.kill(follower)
    cluster.wait(lambda: cluster.isr(TOPIC) == [C])
    return cluster


def marks(cluster: Any) -> str:
    """Return a line with the log end offset and the high watermark of broker 1, and how far a new reader gets; all three are
    exclusive ends."""
    partition = cluster.world.broker(C).replicas.partitions[TOPIC, 0]
    return (f"log end {partition.log.end_offset}, high watermark {partition.high_watermark}, "
            f"a reader gets {len(contents(cluster))} records")


def send(cluster: Any, end: Disaster, prefix: str, count: int) -> int:
    """Send records with acks=all, one after the other, as any producer would; return how many were acknowledged."""
    done = 0
    with cluster.watch(cluster.producer(name=prefix), prefix) as producer:
        for number in range(count):
            try:
                _, offset = producer.send(TOPIC, f"{prefix} {number}", partition=0)
            except KafkaError:
                continue
            end.acknowledged.append((offset, f"{prefix} {number}"))
            done += 1
    return done


def one_try(cluster: Any, value: str, acks: int = -1, timeout: float = 20.0, told: Told | None = None) -> tuple[str, int]:
    """Send one record to broker 1 once, without the retries of a producer; return (Kafka's name of the answer, offset).

    With `told`, the trace shows this record as it shows those of a watched producer.
    """
    client = Client(cluster.world.client_env(), cluster.world.bootstrap, "one try", timeout + 1)
    request = produce_request(value, acks, timeout, cluster.world.client_env().wall_ms())

    async def ask() -> Any:
        await client.topic(TOPIC, timeout)     # a dead broker may be asked first; that time is not part of the try
        asked = told.invoke(told.name, "send", topic=TOPIC, partition=0) if told is not None else {}
        return asked, await client.request(C, request, PRODUCE_VERSION)

    asked, answer = cluster.run(ask())
    answer = answer.responses[0].partition_responses[0]
    client.close()
    error = Err(answer.error_code)
    if told is not None and error is Err.NONE:
        told.ok(asked, partition=0, offset=answer.base_offset)
    elif told is not None:
        (told.info if error in OPEN_OUTCOME else told.fail)(asked, error=error.name)
    return error.name, answer.base_offset


def produce_request(value: str, acks: int, timeout: float, wall_ms: int) -> Any:
    """Return a Produce request with one record for the one partition."""
    Topic = ProduceRequest.TopicProduceData
    data = build([(None, value.encode())], timestamp_ms=wall_ms)
    return ProduceRequest(transactional_id=None, acks=acks, timeout_ms=int(timeout * 1000), topic_data=[
        Topic(name=TOPIC, partition_data=[Topic.PartitionProduceData(index=0, records=data)])])


def contents(cluster: Any) -> list[Entry]:
    """Return what a new reader gets, from the beginning to where it is allowed to read."""
    return [(record.offset, record.value) for record in read_all(cluster, TOPIC)]


def replica_end(cluster: Any, broker: int) -> int:
    """Return the log end offset of one running replica."""
    return int(cluster.world.broker(broker).replicas.partitions[TOPIC, 0].log.end_offset)


def eligible(cluster: Any) -> tuple[int, ...]:
    """Return the ELR, as the controller has it (KIP-966)."""
    return tuple(cluster.world.broker(cluster.controller()).image.partition(TOPIC, 0).elr)


def successor(cluster: Any, patience: float = 15.0) -> int | None:
    """Return the broker that leads after the death of broker 1; None if none does within `patience` seconds."""
    until = cluster.now() + patience
    while cluster.now() < until:
        leader = cluster.leader(TOPIC)
        if leader not in (C, None):
            return int(leader)
        cluster.sleep(0.1)
    return None


# --- as a story -------------------------------------------------------------------------------------------------------

DOES = {"hold_follower": "copies nothing any more", "kill": "is killed", "boot": "starts again"}


def story(end: Disaster) -> Iterator[str]:
    """Tell from the trace what happened: faults, leaders, ISRs, records that were cut off; then the ledger."""
    events = [e for e in end.cluster.trace.events("fault", "isr", "role", "truncate") if e.get("tp", TP) == TP]
    began = next(e["t"] for e in events if e["k"] == "isr")
    for event in events:
        if event["t"] >= began and (told := sentence(event)):
            yield f"{event['t'] - began:6.2f} s  {told}"
    yield (f"acknowledged {len(end.acknowledged)}, of these by broker 1 alone {end.accepted}; readable at the end "
           f"{len(end.readable)}; lost {len(end.lost)}")


def sentence(event: dict[str, Any]) -> str | None:
    who = f"broker {event['b']}"
    if event["k"] == "isr":
        return f"{who}: the ISR is {names(event['isr'])} ({event['why']})"
    if event["k"] == "role" and event["role"] == "leader":
        return f"{who} leads, epoch {event['epoch']}"
    if event["k"] == "truncate" and event["from"] > event["to"]:
        return f"{who} throws away its records {event['to']} to {event['from'] - 1}"
    if event["k"] == "fault" and event.get("node") in (C, A, D):
        return f"broker {event['node']} {DOES.get(event['fault'], event['fault'])}"
    return None


def main(argv: Sequence[str]) -> int:
    """Play the disaster that the arguments name (min.insync.replicas, unclean election as true or false, and perhaps
    how many records are common and how many only broker 1 has) and print its story."""
    common, alone = [int(number) for number in argv[2:]] or (70, 30)
    end = disaster(int(argv[0]), argv[1] == "true", common=common, alone=alone)
    print("\n".join(story(end)))
    end.cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
