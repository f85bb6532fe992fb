"""`Cluster(engine="sim", seed=7)`: the live cluster's words over a seeded world."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from minikafka import BrokerDied, Cluster, ClusterError, NotReady, NotSupported, Trace
from minikafka.broker.raft.raft import Raft
from minikafka.broker.replication.shell.partition import Partition
from minikafka.client.producer.sender import Sender
from minikafka.sim.engine.cluster import SimCluster

# What works here as the live cluster has it, because it asks only methods that are ours.
SHARED = {"connect", "leader", "isr", "closed", "view", "security", "for_kafka_python", "for_confluent", "for_spark", "for_java",
          "without_processes"}


@pytest.fixture
def c() -> Iterator[Cluster]:
    with Cluster(engine="sim", seed=7, preset="class") as cluster:
        cluster.admin().create_topic("flights", partitions=2)
        yield cluster


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_every_public_name_of_the_live_cluster_is_here() -> None:
    """Fails when the live cluster learns a call that the simulated one has not, or its arguments differ."""
    assert public(Cluster) - public(SimCluster) == SHARED
    for name in public(Cluster) - SHARED:
        live, ours = vars(Cluster)[name], vars(SimCluster)[name]
        if callable(live):
            assert inspect.signature(live).parameters.keys() == inspect.signature(ours).parameters.keys(), name
    live, ours = inspect.signature(Cluster.__init__).parameters, inspect.signature(SimCluster.__init__).parameters
    assert [*live, "seed"] == list(ours)


class Stop(BaseException):
    """What a time limit raises, wherever the program is."""


@pytest.mark.parametrize(("owner", "name"), [(Partition, "append"), (Partition, "append_fetched"), (Sender, "_next_look"),
                                             (Raft, "check")])
def test_a_time_limit_ends_the_run_and_no_process_of_it(c: Cluster, monkeypatch: pytest.MonkeyPatch, owner: type,
                                                        name: str) -> None:
    """Fails if a world goes on when a limit of the program that runs it has ended what a broker or a client was doing."""
    def stopped(*_: object, **__: object) -> None:
        monkeypatch.undo()
        raise Stop

    producer = c.producer()
    monkeypatch.setattr(owner, name, stopped)
    with pytest.raises(Stop):
        producer.send("flights", "x", partition=0)
        c.sleep(5)
    assert getattr(owner, name) is not stopped and isinstance(c, SimCluster) and c.world.crashes == []


def test_the_engine_chooses_the_class(c: Cluster) -> None:
    """Fails if the seeded world cannot be had by the name of its engine, or is not what it says."""
    assert isinstance(c, SimCluster) and c.engine == "sim"
    assert (c.ids, c.alive, c.address(2)) == ([1, 2, 3], [1, 2, 3], "broker-2:9092")
    assert c.bootstrap == "broker-1:9092,broker-2:9092,broker-3:9092" and c.controller() in c.ids
    assert sorted(c.partitions("flights")) == ["flights-0", "flights-1"]


def story(seed: int) -> tuple[object, ...]:
    with Cluster(engine="sim", seed=seed, preset="class") as c:
        c.admin().create_topic("flights", partitions=2)
        producer, consumer = c.producer(), c.consumer("flights", group="g")
        placed = [producer.send("flights", f"value {number}") for number in range(5)]
        leader = c.leader("flights")
        assert leader is not None
        c.at(c.now() + 0.5, lambda: c.kill(leader))
        c.wait(lambda: c.leader("flights") not in (None, leader))
        placed.append(producer.send("flights", "after the death", partition=0))
        c.restart(leader)
        c.wait(lambda: len(c.isr("flights")) == 3, timeout=30)
        read = [(r.topic, r.partition, r.offset) for r in consumer.poll(5.0)]
        return placed, read, c.now(), c.trace.events(), c.world.trace_hash()


def test_equal_seeds_and_calls_give_equal_outcomes() -> None:
    """Fails if what a student sees depends on more than the seed."""
    first, second, other = story(3), story(3), story(4)
    assert first == second and first[4] != other[4]
    assert len(first[0]) == 6 and set(first[1]) <= {("flights", p, o) for p, o in first[0]}  # type: ignore[arg-type]


def test_records_survive_every_fault_of_the_live_cluster(c: Cluster) -> None:
    """Fails if one of the fault calls does nothing, cannot be undone, or costs an acknowledged record."""
    producer = c.producer()
    leader = c.leader("flights") or 0
    follower = next(n for n in c.isr("flights") if n != leader)
    c.hold_follower(follower)
    producer.send("flights", "1", partition=0)
    assert follower not in c.isr("flights")
    c.slow_follower(follower, 100)
    c.wait(lambda: len(c.isr("flights")) == 3, timeout=30)
    c.cut(leader, follower)
    c.slow("clients", leader, latency=0.05)
    started = c.now()
    producer.send("flights", "2", partition=0)
    assert c.now() - started > 0.1
    c.heal()
    c.pause(follower)
    assert follower not in c.alive
    c.resume(follower)
    c.jump_clock(follower, 3600)
    c.stop(follower)
    c.restart(follower)
    c.kill(leader)
    c.wipe(leader)
    c.mend()
    c.wait(lambda: len(c.isr("flights")) == 3, timeout=60)
    consumer = c.consumer("flights")
    assert [r.value for r in consumer.poll(5.0)] == [b"1", b"2"]
    told = [e["fault"] for e in c.trace.events("fault")]
    assert {"hold_follower", "slow_follower", "cut", "slow", "heal", "pause", "resume", "jump_clock", "stop", "kill",
            "wipe", "boot"} <= set(told)


def test_a_full_disk_kills_silently_and_mends(c: Cluster) -> None:
    """Fails if the death that fill_disk asks for is reported, or another is not (I-CLUSTER-2)."""
    producer = c.producer()
    follower = next(n for n in c.isr("flights") if n != c.leader("flights"))
    c.fill_disk(follower)
    producer.send("flights", "a", partition=0)
    c.wait(lambda: follower not in c.alive)
    c.mend()
    assert c.alive == [1, 2, 3]
    c.world.fail_disk(follower, "write")
    with pytest.raises(BrokerDied, match=f"node {follower} died.*EIO|failed to write"):
        for number in range(50):
            producer.send("flights", str(number), partition=0)
            c.sleep(0.1)
    c.mend()


def test_watched_clients_tell_the_trace(c: Cluster) -> None:
    """Fails if what only a client knows does not reach the trace in the words of the live cluster's watched clients."""
    producer, consumer = c.watch(c.producer(), "p"), c.watch(c.consumer("flights", group="g"))
    trace = c.trace
    trace.new()
    partition, offset = producer.send("flights", "a")
    assert [r.offset for r in consumer.poll(5.0)] == [offset]
    consumer.commit()
    tp = f"flights-{partition}"
    found = {e["k"]: e for e in trace.new() if e["b"] == 0}
    assert found["sent"]["client"] == "p" and found["acked"]["tp"] == tp and found["acked"]["offset"] == offset
    assert found["position"] | {"tp": tp, "position": 1} == found["position"]
    assert isinstance(trace, Trace) and c.trace.last("committed", tp=tp)["offset"] == 1  # type: ignore[index]


def test_time_is_the_worlds(c: Cluster) -> None:
    """Fails if `sleep`, `wait` or `at` use another clock than `now`, or lose an error."""
    started = c.now()
    c.sleep(60)
    assert c.now() - started == pytest.approx(60, abs=0.01)
    with pytest.raises(NotReady, match="waited 2 s in vain for: never"):
        c.wait(never, timeout=2)
    c.at(c.now() + 1, lambda: c.kill(99))
    with pytest.raises(ClusterError, match="there is no node 99"):
        c.sleep(2)


def never() -> bool:
    """never"""
    return False


def test_a_broker_more_and_racks() -> None:
    """Fails if add_broker or racks do not do what they do live."""
    with Cluster(engine="sim", seed=1, brokers=3, racks=["a", "b", "c"]) as c:
        assert c.add_broker(rack="d") == 4 and c.ids == [1, 2, 3, 4]
        broker = c.world.broker(4)
        assert {n: b.rack for n, b in broker.image.brokers.items()} == {1: "a", 2: "b", 3: "c", 4: "d"}
        c.admin().create_topic("t", assignment={0: [4, 1]})
        assert c.wait(lambda: c.leader("t")) == 4
        assert "serves" in c.log(4) and c.pid(4) == 4001


def test_wrong_arguments_are_refused() -> None:
    """Fails if a mistake is carried out in silence."""
    with pytest.raises(NotSupported, match="same seed"):
        Cluster(engine="sim", data="/tmp/x")
    with pytest.raises(ValueError, match="2 racks for 3 brokers"):
        Cluster(engine="sim", racks=["a", "b"])
    with Cluster(engine="sim", seed=1, brokers=1) as c:
        with pytest.raises(ClusterError, match="there is no node 7"):
            c.kill(7)
        with pytest.raises(ClusterError, match="is running"):
            c.wipe(1)
        c.pause(1)
        with pytest.raises(ClusterError, match="is paused"):
            c.stop(1)
        with pytest.raises(TypeError, match="clients that this cluster made"):
            c.watch(object())
    with pytest.raises(ClusterError, match="closed"):
        c.kill(1)
