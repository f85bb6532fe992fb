"""From where a broker can be reached: from this machine only, unless `minikafka.allow.remote` is set.

A client that reaches a listener where nobody has to log in may read, write and delete everything. Those who log in have a
password, or a certificate that the listener requires; nodes prove on INTERNAL that they belong to the cluster, where it has a
secret (membership.py). Kafka listens on all addresses by default, which would be dangerous in a classroom's network.

Owns: the rules about `listeners`, their names, their security protocols and `advertised.listeners`.
Invariants
  I-EXP-1  without `minikafka.allow.remote` only a listener where clients log in, and no password is sent as it is, is bound to
           anything but loopback; and of one where nobody logs in only programs of our own user are served (I-SRV-4).
  I-EXP-2  a listener that is configured for encryption or authentication is never opened without them.
  I-EXP-3  a login by a token that is not signed counts as none; nor is one taken where I-EXP-1 forbids it, although the
           mechanism was added while the broker runs.
What Kafka does differently: clients may also use the listener of the brokers, which is then no listener of its own. Here it
serves nodes only, every other one serves clients, and `controller.listener.names` unset means the brokers' listener, too.
Source: kafka.server.KafkaConfig.validateValues, org.apache.kafka.network.SocketServerConfigs.listenerListToEndPoints.
"""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

from minikafka.broker.config.definition import ConfigError, plain
from minikafka.broker.config.effective import HANDLER, BrokerConfig, listener_value
from minikafka.broker.metadata.image import MetadataImage

WILDCARD = "0.0.0.0"
BEARER = "OAUTHBEARER"

Addresses = dict[str, tuple[str, int]]


# and their numbers in the registration of a broker
SECURITY_PROTOCOLS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


class Listener(NamedTuple):
    """One listener: its name, where its socket is bound or what clients learn of it, and its security protocol."""

    name: str
    host: str
    port: int
    protocol: str


def parse_listeners(texts: list[str]) -> Addresses:
    """Return {name: (host, port)} for texts such as `INTERNAL://127.0.0.1:9093`. Raises ConfigError for other texts, and if
    two have one name."""
    listeners: Addresses = {}
    for part in texts:
        name, _, address = part.strip().partition("://")
        host, _, port = address.rpartition(":")
        if not name or not port.isdecimal():
            raise ConfigError("listeners", part, "Expected NAME://host:port")
        if name.upper() in listeners:
            raise plain(f"Each listener must have a different name, listeners: {','.join(texts)}")
        listeners[name.upper()] = (host.strip("[]"), int(port))
    return listeners


def node_listeners(config: BrokerConfig) -> list[str]:
    """Return the names of the listeners that serve the other nodes: first the brokers', then the controllers' own."""
    names = [config["inter.broker.listener.name"], *(config["controller.listener.names"] or [])]
    return list(dict.fromkeys(name.upper() for name in names))


def brokers_listener(config: BrokerConfig) -> Listener:
    """Return the name and the protocol by which this node reaches the listeners of the others."""
    name = node_listeners(config)[0]
    known = parse_listeners(config["listeners"])
    protocols = security_protocols(config)
    return Listener(name, *known.get(name, ("", 0)), next(protocols[one] for one in node_listeners(config) if one in known))


def nodes_and_clients(config: BrokerConfig) -> tuple[list[Listener], list[Listener]]:
    """Return the listeners that serve the other nodes, and those that serve clients."""
    ours = node_listeners(config)
    every = _listeners(config, parse_listeners(config["listeners"]))
    return [one for one in every if one.name in ours], [one for one in every if one.name not in ours]


def _listeners(config: BrokerConfig, addresses: Addresses) -> list[Listener]:
    protocols = security_protocols(config)
    return [Listener(name, *address, protocols.get(name, "")) for name, address in addresses.items()]


def security_protocols(config: BrokerConfig) -> dict[str, str]:
    """Return the protocol of each listener name in `listener.security.protocol.map`."""
    pairs = (pair.strip().partition(":") for pair in config["listener.security.protocol.map"].split(","))
    return {name.upper(): protocol for name, _, protocol in pairs}


def advertised(config: BrokerConfig) -> list[Listener]:
    """Return the addresses that clients and brokers learn: `advertised.listeners` where it is set, else `listeners`. That of
    controllers, which `controller.quorum.voters` names, is not among them."""
    found = parse_listeners(config["listeners"]) | parse_listeners(config["advertised.listeners"] or [])
    return [one for one in _listeners(config, found) if one.name not in node_listeners(config)[1:]]


def check_listeners(config: BrokerConfig) -> None:
    """Raise ConfigError if a listener is missing, or has no security protocol or one that is not served here."""
    texts, names = ",".join(config["listeners"]), parse_listeners(config["listeners"])
    nodes, clients = nodes_and_clients(config)
    first, *controllers = node_listeners(config)
    broker, controller = ("broker" in config["process.roles"], "controller" in config["process.roles"])
    missing = [name for name in [first] * (broker or not controllers) + controllers * controller if name not in names]
    if missing:
        raise ConfigError("listeners", texts, f"{' and '.join(missing)} is missing: a node needs {missing[0]}://host:port for "
                          "the other nodes (inter.broker.listener.name, controller.listener.names)")
    if broker and not clients:
        raise ConfigError("listeners", texts, "a broker needs one more listener, PLAINTEXT://host:port for example: "
                          f"{' and '.join(one.name for one in nodes)} serves the other nodes only")
    if len({port for _, port in names.values() if port}) < len([port for _, port in names.values() if port]):
        raise plain(f"Each listener must have a different port, listeners: {texts}")
    if unknown := parse_listeners(config["advertised.listeners"] or []).keys() - names.keys():
        raise plain("advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. "
                    f"Found {','.join(sorted(unknown))}. The valid options based on the current configuration are "
                    f"{','.join(names)}")
    _check_protocols(config, names)


def _check_protocols(config: BrokerConfig, names: Addresses) -> None:
    protocols = security_protocols(config)
    for name, protocol in protocols.items():
        if name in names and protocol not in SECURITY_PROTOCOLS:
            raise ConfigError("listener.security.protocol.map", f"{name}:{protocol}",
                              f"{name} can only be {' or '.join(SECURITY_PROTOCOLS)} here")
        if name in names and name in node_listeners(config) and protocol.startswith("SASL"):
            raise ConfigError("listener.security.protocol.map", f"{name}:{protocol}", f"{name} can only be PLAINTEXT or SSL here:"
                              " the nodes prove by minikafka.cluster.secret.file that they belong to the cluster")
    if len({protocols.get(name) for name in node_listeners(config) if name in names}) > 1:
        raise ConfigError("listener.security.protocol.map", config["listener.security.protocol.map"],
                          f"{' and '.join(node_listeners(config))} serve the other nodes and need the same protocol here")
    if without := names.keys() - protocols.keys():
        raise plain(f"Error creating broker listeners from '{','.join(config['listeners'])}': No security protocol defined for "
                    f"listener {min(without)}")


def check_exposure(config: BrokerConfig) -> list[str]:
    """Return warnings for the log; raise ConfigError if the broker must not start with these listeners."""
    for _, host, _, _ in advertised(config):
        if host in (WILDCARD, ""):
            raise plain(f"advertised.listeners cannot use the nonroutable meta-address {WILDCARD}. "
                        "Use a routable IP address.")
    remote = [one for one in _listeners(config, parse_listeners(config["listeners"])) if not is_loopback(one.host)]
    for one in remote:
        if not config["minikafka.allow.remote"] and (why := _open_door(one, config)):
            raise plain(f"{one.name}://{one.host}:{one.port} can be reached from other machines, and {why}. Listen on 127.0.0.1, "
                        "or set minikafka.allow.remote=true if this network is to be trusted.")
    return [f"{one.name}://{one.host}:{one.port} can be reached from other machines: {risk}"
            for one in remote if (risk := _risk(one, config))]


def _open_door(one: Listener, config: BrokerConfig) -> str:
    """Say what lets strangers in at this listener; "" if nothing does."""
    if not logs_in(one, config, MetadataImage()):
        return "nobody there has to log in"
    if one.protocol == "SASL_PLAINTEXT" and "PLAIN" in mechanisms(one, config, MetadataImage()):
        return "passwords of PLAIN are sent there as they are"
    return ""


def _risk(one: Listener, config: BrokerConfig) -> str:
    if not logs_in(one, config, MetadataImage()):
        return "whoever is there may read, write and delete everything"
    return "" if one.protocol.endswith("SSL") else "whoever is on the way can read what is sent"


def logs_in(one: Listener, config: BrokerConfig, image: MetadataImage) -> bool:
    """Return whether whoever connects to a listener must show who it is: by a password, a certificate or the cluster's secret."""
    if one.name in node_listeners(config) and config["minikafka.cluster.secret.file"]:
        return True
    required = one.protocol == "SSL" and listener_value(image, config, one.name, "ssl.client.auth") == "required"
    proven = BEARER not in mechanisms(one, config, image) or takes_signed(one, config)
    return required or one.protocol.startswith("SASL") and proven


def takes_signed(one: Listener, config: BrokerConfig) -> bool:
    """Return whether the tokens of OAUTHBEARER must be signed at a listener."""
    return config.of_listener(one.name, HANDLER) is not None


def takes_unproven(one: Listener, config: BrokerConfig) -> bool:
    """Return whether tokens that prove nothing may be taken at a listener (I-EXP-3)."""
    return config["minikafka.allow.remote"] or is_loopback(one.host)


def mechanisms(one: Listener, config: BrokerConfig, image: MetadataImage) -> list[str]:
    """Return the SASL mechanisms of a listener."""
    return list(listener_value(image, config, one.name, "sasl.enabled.mechanisms"))


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach `host`; a name other than localhost may mean anything."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
