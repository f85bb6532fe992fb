"""Processes: brokers end with whoever started them, die loudly, come back on the same ports with the same data."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from minikafka import BrokerDied, Cluster, ClusterError, NotReady, NotSupported
from minikafka.cluster import wire
from tests.clients.kit import LIBRARIES, Record, make_topic

OWNER = """
import signal, sys, time
from minikafka import Cluster
signal.signal(signal.SIGINT, signal.default_int_handler)   # a run in the background inherits that it is ignored
c = Cluster(brokers=1, engine={engine!r})
if {paused}:
    c.pause(1)
print(c.pid(1), flush=True)
{end}
"""
ENDS = {
    "kill -9": ("time.sleep(600)", signal.SIGKILL),
    "an exception": ("raise SystemExit(3)", None),
    "os._exit": ("import os; os._exit(0)", None),
    "Ctrl-C while asleep": ("time.sleep(600)", signal.SIGINT),
}


def gone(pid: int, within: float = 10.0) -> bool:
    """Whether a process ends in time. A zombie counts: our parent may not wait for orphans."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("paused", [False, True], ids=["running", "paused"])
@pytest.mark.parametrize("end", ENDS)
def test_brokers_end_with_their_owner(engine: str, end: str, paused: bool) -> None:
    """However the owner ends, also if the broker is stopped. Fails without the parent-death signal (I-PROC-1, I-LIVE-2)."""
    if engine == "apache" and end != "kill -9":
        pytest.skip("the leash is the same for both engines: one way to end is enough on the slow one")
    code, sent = ENDS[end]
    owner = subprocess.Popen([sys.executable, "-c", OWNER.format(engine=engine, paused=paused, end=code)],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert owner.stdout is not None
    try:
        pid = int(owner.stdout.readline())
        if sent is not None:
            owner.send_signal(sent)
        owner.wait(30)
    finally:
        owner.kill()
        owner.wait()
    assert gone(pid)


@pytest.fixture
def own(engine: str) -> Cluster:
    """A broker of one's own, to be broken for good."""
    cluster = Cluster(brokers=1, engine=engine, preset="class")
    yield cluster
    cluster._end()


@pytest.mark.ours_first
def test_an_unexpected_death_is_raised_once_with_the_log(own: Cluster) -> None:
    """Fails if a broker can vanish unnoticed, or one death is reported for ever (I-CLUSTER-2, I-NODES-1)."""
    os.kill(own.pid(1), signal.SIGKILL)
    own._nodes.children[1].process.wait()
    with pytest.raises(BrokerDied, match="node 1 died \\(signal SIGKILL\\)"):
        own.sleep(0)
    assert own.alive == []
    assert own.trace.last("exit")["broker"] == 1
    own.restart(1)
    assert own.alive == [1]


@pytest.mark.ours_first
def test_close_raises_for_a_death_that_nobody_noticed(own: Cluster) -> None:
    """Fails if a test could pass though its broker had died at its end."""
    os.kill(own.pid(1), signal.SIGKILL)
    own._nodes.children[1].process.wait()
    with pytest.raises(BrokerDied):
        own.close()
    with pytest.raises(ClusterError, match="closed"):
        own.kill(1)


def test_data_and_ports_survive_a_stop_a_kill_and_the_cluster_itself(engine: str, tmp_path: Path) -> None:
    """Fails if ports are chosen anew (clients would lose the cluster), or the folder is not opened again."""
    with Cluster(brokers=1, engine=engine, preset="class", data=tmp_path / "kept") as cluster:
        bootstrap = cluster.bootstrap
        with KafkaProducer(bootstrap_servers=bootstrap) as producer:
            assert [producer.send("kept", b"%d" % n).get(30).offset for n in range(5)] == list(range(5))
        cluster.stop(1)
        cluster.restart(1)
        cluster.kill(1)
        cluster.restart(1)
        assert cluster.bootstrap == bootstrap
    with Cluster(brokers=1, engine=engine, preset="class", data=tmp_path / "kept") as cluster:
        assert cluster.bootstrap == bootstrap
        consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=30_000)
        consumer.assign([TopicPartition("kept", 0)])
        assert [record.value for _, record in zip(range(5), consumer)] == [b"%d" % n for n in range(5)]
        consumer.close()
    with pytest.raises(ClusterError, match="holds data of engine"):  # also where Apache's jars are missing
        Cluster(data=tmp_path / "kept", engine="apache" if engine == "minikafka" else "minikafka")


@pytest.mark.ours_first
def test_a_temporary_folder_goes_with_the_cluster(own: Cluster) -> None:
    """Fails if /tmp fills with the data of closed clusters."""
    folder = own.folder
    assert (folder / "node-1" / "log.txt").exists()
    own.close()
    assert not folder.exists()


def test_the_folder_of_a_killed_owner_goes_with_the_next_cluster(tmp_path: Path) -> None:
    """Fails if kill -9 fills the disk for good, or the folder of a living owner is taken away (I-FOLDER-1)."""
    code = "import sys, time; from minikafka.cluster.folder import temporary_folder; " \
           "print(temporary_folder()[0], flush=True); time.sleep(600)"
    owners = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "TMPDIR": str(tmp_path)}) for _ in range(2)]
    killed, living = [Path(owner.stdout.readline().strip()) for owner in owners]
    owners[0].kill()
    owners[0].wait()
    subprocess.run([sys.executable, "-c", "from minikafka.cluster.folder import sweep; sweep()"], check=True,
                   env={**os.environ, "TMPDIR": str(tmp_path)})
    try:
        assert (killed.exists(), living.exists()) == (False, True)
    finally:
        owners[1].kill()
        owners[1].wait()


def test_a_quorum_of_its_own(engine: str) -> None:
    """controllers=1: the broker dies and comes back, the controller leads on. Fails if a broker votes there."""
    with Cluster(brokers=1, engine=engine, preset="class", controllers=1) as cluster:
        assert (cluster.ids, sorted(cluster.plan.nodes)) == ([1], [1, 101])
        assert cluster.controller() == 101
        cluster.kill(1)
        cluster.restart(1)
        assert cluster.controller() == 101


def test_a_restarted_broker_is_ready_when_the_call_returns(cluster: Cluster) -> None:
    """Every broker counts it among the living. Fails if restart returns on the start of the process (I-CLUSTER-1)."""
    cluster.kill(2)
    cluster.restart(2)
    assert [sorted(wire.live_brokers(cluster.address(b))) for b in cluster.ids] == [cluster.ids] * 3


def test_a_paused_broker_is_fenced_and_returns(cluster: Cluster) -> None:
    """Fails if pause stops nothing, or if `mend` does not bring the paused broker back."""
    cluster.pause(3)
    assert cluster.alive == [1, 2]
    cluster.wait(lambda: sorted(wire.live_brokers(cluster.address(1))) == [1, 2], 30)
    cluster.mend()
    # what broker 3 knew before its pause is what it should know in the end: it may still be between the two
    cluster.wait(lambda: [sorted(wire.live_brokers(cluster.address(b))) for b in cluster.ids] == [cluster.ids] * 3, 30)


def test_a_wiped_disk_is_filled_again_by_replication(cluster: Cluster, name: str) -> None:
    """Fails if wipe leaves data, takes the metadata too, or works on a running broker."""
    make_topic(cluster, name, assignments={0: [1, 2]})
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"kept")] * 10, acks="all")
    with pytest.raises(ClusterError, match="is running"):
        cluster.wipe(2)
    cluster.kill(2)
    cluster.wipe(2)
    assert list(cluster.plan.nodes[2].data.iterdir()) == []
    assert any(cluster.plan.nodes[2].metadata.iterdir())
    cluster.restart(2)
    cluster.wait(lambda: sorted(cluster.isr(name)) == [1, 2], 60)
    cluster.kill(1)
    cluster.wait(lambda: cluster.leader(name) == 2, 30)
    assert len(LIBRARIES["confluent"].read(cluster.bootstrap, name, 10)) == 10


def test_all_are_killed_and_come_back_together(cluster: Cluster, name: str) -> None:
    """Fails if nodes are restarted one after the other, each waiting for a quorum that is not there, or records are lost."""
    make_topic(cluster, name)
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"kept")] * 10, acks="all")
    for broker in cluster.ids:
        cluster.kill(broker)
    cluster.restart(*cluster.ids)
    assert len(LIBRARIES["confluent"].read(cluster.bootstrap, name, 10)) == 10


def test_faults_inside_brokers_are_refused_where_they_cannot_be(cluster: Cluster) -> None:
    """On Apache a clear error, on ours none. Fails if a fault is silently not carried out."""
    faults = [lambda: cluster.cut(1, 2), lambda: cluster.slow(1, 2, latency=0.01), lambda: cluster.hold_follower(3),
              lambda: cluster.slow_follower(3, rate=100), lambda: cluster.jump_clock(1, 0), cluster.heal]
    for fault in faults:
        if cluster.engine == "apache":
            with pytest.raises(NotSupported, match="works only inside our own brokers"):
                fault()
        else:
            fault()


def test_faults_reach_the_trace(cluster: Cluster) -> None:
    """Fails if the picture could not show what was done to the cluster."""
    cluster.pause(1)
    cluster.resume(1)
    told = [(e["fault"], e["args"]) for e in cluster.trace.events("fault") if e["b"] == 0]
    assert told[-2:] == [("pause", [1]), ("resume", [1])]


def test_waiting_and_timed_faults(cluster: Cluster) -> None:
    """wait names what it waited for; an error in a timed fault is not lost (I-CLOCK-1)."""
    def never() -> bool:
        """the moon is blue"""
        return False
    with pytest.raises(NotReady, match="the moon is blue"):
        cluster.wait(never, timeout=0.1)
    done = threading.Event()
    cluster.at(cluster.now() + 0.1, done.set)
    assert cluster.wait(done.is_set, timeout=60)
    cluster.at(cluster.now(), lambda: cluster.kill(77))
    with pytest.raises(ClusterError, match="there is no node 77"):
        cluster.sleep(10)


def test_calls_from_many_threads(cluster: Cluster) -> None:
    """A notebook's widgets call from threads of their own. Fails if two faults at once confuse the cluster."""
    errors: list[BaseException] = []
    def stop_and_go() -> None:
        try:
            for _ in range(20):
                cluster.pause(2)
                cluster.resume(2)
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=stop_and_go) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    cluster.mend()
    assert cluster.alive == cluster.ids


def test_an_existing_cluster_is_used_by_its_address(cluster: Cluster) -> None:
    """Ids, addresses, controller and partitions without owning a process; faults refused."""
    with Cluster.connect(cluster.address(2)) as other:
        assert (other.ids, other.alive) == (cluster.ids, cluster.ids)
        assert [other.address(b) for b in other.ids] == [cluster.address(b) for b in cluster.ids]
        assert other.controller() in cluster.ids
        cluster.wait(lambda: other.partitions() == cluster.partitions(), timeout=60)  # ISRs of earlier tests may grow
        with pytest.raises(NotSupported):
            other.kill(1)
        with pytest.raises(NotSupported):
            other.cut(1, 2)
    assert cluster.alive == cluster.ids


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    """Errors that say what there is. Fails if a typing error starts something else."""
    with pytest.raises(ValueError, match='there are "minikafka", "apache" and "sim"'):
        Cluster(engine="kafka")
    with pytest.raises(ValueError, match="'class'"):
        Cluster(preset="fast")
    with pytest.raises(NotReady, match="no broker answered"):
        Cluster.connect("127.0.0.1:1")
