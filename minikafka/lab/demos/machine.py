"""Clients on a machine of their own, which know one broker only and can be cut off together with it.

    away = Machine(cluster, "branch office", broker=1)     # stands where `Writer` and `Reader` take a cluster
    away.reach_only(1)                                     # its network leads to broker 1 and nowhere else
    Writer(away, "positions", acks=1)

Owns: the machine's place in the simulated network.
"""
from __future__ import annotations

from typing import Any

from minikafka.client import Blocking, Producer
from minikafka.sim.world.world import CLIENT_PORT


class Machine:
    """A cluster as the clients of another machine see it."""

    def __init__(self, cluster: Any, name: str, broker: int) -> None:
        self.world, self.run, self.watch = cluster.world, cluster.run, cluster.watch
        self._name, self._bootstrap = name, [(cluster.world.hosts[broker].name, CLIENT_PORT)]

    def producer(self, **settings: Any) -> Any:
        """Return a producer that runs on this machine, its calls blocking."""
        with self.world.loop.entered():
            return Blocking(self.run, Producer(self.world.client_env(self._name), self._bootstrap, **settings))

    def reach_only(self, *brokers: int) -> None:
        """Cut the machine off from all other brokers, until the network is healed."""
        for broker in {*self.world.brokers} - {*brokers}:
            self.world.cut(self._name, broker)
