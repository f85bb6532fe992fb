"""Listeners: a client learns the addresses of the listener that it came by, on both engines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin import DescribeClusterRequest, DescribeQuorumRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from minikafka import Cluster
from minikafka.broker.config.definition import ConfigError
from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.server.listeners import check_exposure, check_listeners
from minikafka.cluster.plan import new_plan, open_plan
from tests.conftest import own_cluster
from tests.requests import topic
from tests.wire.raw import Raw

LISTENERS = {"LAB": "127.0.0.2", "FAR": ("localhost", "kafka.invalid")}


doors = own_cluster(2, controllers=1, listeners=LISTENERS, config={"auto.create.topics.enable": False})


def asked(cluster: Cluster, listener: str | None, version: int = 13, topics: Any = None) -> Any:
    names = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=name, topic_id=None) for name in topics]
    with Raw(cluster.address(1, listener)) as raw:
        return raw.ask(MetadataRequest(topics=names, allow_auto_topic_creation=False), version)


def addresses(rows: Any) -> dict[int, str]:
    return {b.node_id: f"{b.host}:{b.port}" for b in rows}


def test_a_client_learns_the_addresses_of_its_own_listener(doors: Cluster) -> None:
    """Fails if a client that came by one listener is sent to the address of another."""
    more = {node: doors.plan.nodes[node].more for node in doors.ids}
    expected = {None: {n: doors.address(n) for n in doors.ids}, "LAB": {n: doors.address(n, "LAB") for n in doors.ids},
                "far": {n: f"kafka.invalid:{more[n]['FAR'].port}" for n in doors.ids}}
    assert expected["LAB"][1].startswith("127.0.0.2:") and len({*map(str, expected.values())}) == 3
    for listener, brokers in expected.items():
        assert addresses(asked(doors, listener, topics=[]).brokers) == brokers
        with Raw(doors.address(2, listener)) as raw:
            found = raw.ask(DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=1), 1)
            assert {b.broker_id: f"{b.host}:{b.port}" for b in found.brokers} == brokers
            wanted = FindCoordinatorRequest(key_type=0, coordinator_keys=["a-group"])
            doors.wait(lambda raw=raw, wanted=wanted: raw.ask(wanted, 4).coordinators[0].error_code == 0)
            (one,) = raw.ask(wanted, 4).coordinators
            assert f"{one.host}:{one.port}" == brokers[one.node_id]


def test_a_broker_without_the_listener_is_not_there(doors: Cluster) -> None:
    """Fails if a client is sent to a broker that has no address for it, or does not learn why a partition has no leader."""
    with Raw(doors.address(1)) as raw:
        raw.create(topic("halves", assign=[(0, [1]), (1, [2])]))
    doors.plan.nodes[2].more.pop("LAB")
    doors.restart(2)
    found = doors.wait(lambda: len((f := asked(doors, "LAB", topics=["halves"])).brokers) == 1 and f)
    assert addresses(found.brokers) == {1: doors.address(1, "LAB")}
    rows = [(p.partition_index, p.error_code, p.leader_id, list(p.offline_replicas))
            for p in sorted(found.topics[0].partitions, key=lambda p: p.partition_index)]
    assert rows == [(0, 0, 1, []), (1, 72, -1, [2])]                                   # LISTENER_NOT_FOUND
    older = asked(doors, "LAB", 5, ["halves"])
    assert {p.partition_index: p.error_code for p in older.topics[0].partitions} == {0: 0, 1: 5}    # LEADER_NOT_AVAILABLE
    assert len(asked(doors, None, topics=[]).brokers) == 2
    with Raw(doors.address(1, "LAB")) as raw:
        topic_ = DescribeQuorumRequest.TopicData
        quorum = raw.ask(DescribeQuorumRequest(topics=[topic_(topic_name="__cluster_metadata", partitions=[
            topic_.PartitionData(partition_index=0)])]), 2)
    assert [node.node_id for node in quorum.nodes] == [101]


@pytest.mark.parametrize("lines, told", [
    ({"inter.broker.listener.name": "NODES"}, "NODES is missing"),
    ({"controller.listener.names": "QUORUM"}, "QUORUM is missing"),
    ({"listeners": "INTERNAL://127.0.0.1:9093"}, "a broker needs one more listener"),
    ({"listeners": "INTERNAL://127.0.0.1:9093,A://127.0.0.1:1,a://127.0.0.1:2"}, "Each listener must have a different name"),
    ({"listeners": "INTERNAL://127.0.0.1:9093,PLAINTEXT://127.0.0.1:9093"}, "Each listener must have a different port"),
    ({"listeners": "INTERNAL://127.0.0.1:9093,LAB://127.0.0.1:9092"}, "No security protocol defined for listener LAB"),
    ({"advertised.listeners": "LAB://127.0.0.1:9092"}, "Found LAB. The valid options based on the current configuration are "
                                                       "PLAINTEXT,INTERNAL"),
])
def test_listeners_that_do_not_fit_are_refused(lines: dict[str, str], told: str) -> None:
    """Fails if a broker starts with a listener that nobody can use, or the text does not name what is wrong."""
    with pytest.raises(ConfigError, match=re.escape(told)):
        check_listeners(BrokerConfig({"node.id": "1"} | lines))


def test_names_are_free() -> None:
    """Fails if a listener needs a name of ours, in our spelling."""
    config = BrokerConfig({
        "listeners": "nodes://127.0.0.1:1,quorum://127.0.0.1:2,Lab://127.0.0.2:3", "inter.broker.listener.name": "NODES",
        "controller.listener.names": "Quorum",
        "listener.security.protocol.map": "NODES:PLAINTEXT,quorum:PLAINTEXT,LAB:PLAINTEXT"})
    check_listeners(config)
    assert check_exposure(config) == []


def test_a_broker_that_is_added_later_has_the_same_listeners(tmp_path: Path) -> None:
    """Fails if the clients of a listener never learn of a broker that was added, or a kept folder forgets its listeners."""
    plan = new_plan(tmp_path, "minikafka", 1, None, {})
    plan.open_more(LISTENERS)
    added = open_plan(tmp_path, "minikafka", {}).add_broker()  # type: ignore[union-attr]
    assert [(name, one.host, one.advertised) for name, one in added.more.items()] == [
        ("LAB", "127.0.0.2", f"127.0.0.2:{added.more['LAB'].port}"),
        ("FAR", "localhost", f"kafka.invalid:{added.more['FAR'].port}")]
    with pytest.raises(ValueError, match="choose other names"):
        plan.open_more({"internal": "127.0.0.1"})
