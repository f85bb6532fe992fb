"""From where a broker can be reached: from this machine only, unless `minikafka.allow.remote` is set.

Clients do not authenticate: any client that reaches their listener may read, write and delete everything. On INTERNAL
the nodes prove to each other that they belong to the cluster, where it has a secret (membership.py). Kafka listens on all
addresses by default, which would be dangerous in a classroom's network.

Owns: the rules about `listeners`, their security protocols and `advertised.listeners`.
Invariants
  I-EXP-1  without `minikafka.allow.remote` no socket is bound to anything but loopback.
  I-EXP-2  a listener that is configured for encryption or authentication is never opened without them.
What Kafka does differently: listeners have any names; here INTERNAL is for the other nodes, PLAINTEXT for clients.
Source: kafka.server.KafkaConfig.validateValues (the refusal of 0.0.0.0); the rest is ours.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from minikafka.broker.config.definition import ConfigError, plain

if TYPE_CHECKING:
    from minikafka.broker.config.effective import BrokerConfig

WILDCARD = "0.0.0.0"

Addresses = dict[str, tuple[str, int]]


def parse_listeners(texts: list[str]) -> Addresses:
    """Return {name: (host, port)} for texts such as `INTERNAL://127.0.0.1:9093`. Raises ConfigError for other texts."""
    listeners: Addresses = {}
    for part in texts:
        name, _, address = part.strip().partition("://")
        host, _, port = address.rpartition(":")
        if not name or not port.isdecimal():
            raise ConfigError("listeners", part, "Expected NAME://host:port")
        listeners[name] = (host.strip("[]"), int(port))
    return listeners


def advertised(config: BrokerConfig) -> Addresses:
    """Return the addresses that clients and brokers learn: `advertised.listeners` where it is set, else `listeners`."""
    return parse_listeners(config["listeners"]) | parse_listeners(config["advertised.listeners"] or [])


def check_listeners(config: BrokerConfig) -> None:
    """Raise ConfigError if a listener is missing, or has a security protocol other than PLAINTEXT."""
    needed = {"INTERNAL"} | ({"PLAINTEXT"} if "broker" in config["process.roles"] else set())
    names = parse_listeners(config["listeners"])
    if missing := needed - names.keys():
        raise ConfigError("listeners", ",".join(config["listeners"]), f"{' and '.join(sorted(missing))} is missing: a node "
                          "needs INTERNAL://host:port for the other nodes and, as a broker, PLAINTEXT://host:port for clients")
    for pair in config["listener.security.protocol.map"].split(","):
        name, _, protocol = pair.strip().partition(":")
        if name in names and protocol != "PLAINTEXT":
            raise ConfigError("listener.security.protocol.map", pair, f"{name} can only be PLAINTEXT here")


def check_exposure(config: BrokerConfig) -> list[str]:
    """Return warnings for the log; raise ConfigError if the broker must not start with these listeners."""
    for host, _ in advertised(config).values():
        if host in (WILDCARD, ""):
            raise plain(f"advertised.listeners cannot use the nonroutable meta-address {WILDCARD}. "
                        "Use a routable IP address.")
    remote = [f"{name}://{host}:{port}" for name, (host, port) in parse_listeners(config["listeners"]).items()
              if not is_loopback(host)]
    if remote and not config["minikafka.allow.remote"]:
        raise plain(f"{', '.join(remote)} can be reached from other machines, and nobody there has to log in. "
                    "Listen on 127.0.0.1, or set minikafka.allow.remote=true if this network is to be trusted.")
    return [f"{listener} can be reached from other machines: whoever is there may read, write and delete everything"
            for listener in remote]


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach `host`; a name other than localhost may mean anything."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
