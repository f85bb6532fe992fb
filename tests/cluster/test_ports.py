"""Ports of a cluster are its own for as long as it is open (I-PLAN-1): nobody takes that of a broker that is down."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from minikafka import Cluster
from minikafka.cluster.plan import HOST, hold, new_plan, open_plan


def test_nobody_takes_the_port_of_a_broker_that_is_down(cluster: Cluster) -> None:
    """Fails if another cluster, opened while a broker is dead, can get its port: then the broker could not come back."""
    broker = cluster.ids[0]
    port = int(cluster.address(broker).rpartition(":")[2])
    cluster.kill(broker)
    with pytest.raises(OSError), socket.socket() as other:
        other.bind((HOST, port))
    with pytest.raises(OSError):
        hold(port)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, port))
    cluster.restart(broker)
    assert broker in cluster.alive


def test_a_closed_cluster_gives_its_ports_back(tmp_path: Path) -> None:
    """Fails if they stay held, or if a plan of a folder that is opened again does not hold them."""
    new_plan(tmp_path / "c", "minikafka", 2, None, {})
    plan = open_plan(tmp_path / "c", "minikafka", {})
    assert plan is not None
    ports = [port for node in plan.nodes.values() for port in (node.client, node.internal, node.control)]
    plan.reserve()
    for port in ports:
        with pytest.raises(OSError):
            hold(port)
    plan.release()
    for port in ports:
        hold(port).close()
