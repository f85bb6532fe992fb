"""One broker that clients find by seven listeners: one is right, three tell clients a wrong address, two show a certificate that
no client takes, one needs no login.

    SASL_SSL   right: TLS, and a login by SCRAM
    OFFICE     clients learn an address at which nobody listens
    NAMED      clients learn a name that no name server knows
    DESK       clients learn the port of OPEN, which speaks no TLS
    OLD        its certificate ended yesterday
    OTHER      its certificate is that of another machine
    OPEN       PLAINTEXT; whoever comes there is User:ANONYMOUS

Owns: all of them but the certificates (certificates.py), the topics SHELF and HIDDEN, and the access lists that let everybody
use SHELF, and read in GROUP.
Invariants: none of its own.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

from minikafka import Cluster
from minikafka.lab.labs.lab21 import certificates
from minikafka.lab.values import shown

SHELF, HIDDEN, GROUP = "shelf", "payments", "lab21"
ADDRESS = re.compile(r"[A-Za-z0-9._-]+:(\d{1,5})")
BROKEN = "OFFICE", "NAMED", "DESK"
LISTENERS = {"OFFICE": ("127.0.0.1", "127.0.0.2"), "NAMED": ("127.0.0.1", "kafka.invalid"), "DESK": "127.0.0.1",
             "OLD": "127.0.0.1", "OTHER": "127.0.0.1", "OPEN": "127.0.0.1"}


def open_office(engine: str = "minikafka") -> Any:
    """Start the broker. Raises ClusterError where the program `openssl` is missing."""
    cluster = Cluster(brokers=1, engine=engine, security="tls+scram", listeners=LISTENERS, config={
        "listener.security.protocol.map": "OPEN:PLAINTEXT", "auto.create.topics.enable": False,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"})
    with closing(KafkaAdminClient(**cluster.for_kafka_python())) as admin:
        admin.create_topics({name: {"num_partitions": 1, "replication_factor": 1} for name in (SHELF, HIDDEN)},
                            wait_for_metadata=True)
        admin.create_acls([ACL("User:*", "*", ACLOperation.ALL, ACLPermissionType.ALLOW, ResourcePattern(kind, name))
                           for kind, name in ((ResourceType.TOPIC, SHELF), (ResourceType.GROUP, GROUP))])
    break_again(cluster)
    return cluster


def break_again(cluster: Any) -> None:
    """Start the broker with the wrong addresses and certificates."""
    for name, (days, names) in certificates.BROKEN.items():
        certificates.sign(cluster, name, days, names)
    cluster.plan.config.update(certificates.settings(cluster))
    ports = {name: address.rpartition(":")[2] for name, address in bound(cluster).items()}
    advertise(cluster, {"OFFICE": f"127.0.0.2:{ports['OFFICE']}", "NAMED": f"kafka.invalid:{ports['NAMED']}",
                        "DESK": str(cluster.address(1, "OPEN"))})


def bound(cluster: Any) -> dict[str, str]:
    """Return where the sockets of the three listeners are: `listeners` in the broker's file."""
    return {name: str(cluster.address(1, name)) for name in BROKEN}


def advertised(cluster: Any) -> dict[str, str]:
    """Return what clients learn of the three listeners: `advertised.listeners` in the broker's file."""
    more = cluster.plan.nodes[1].more
    return {name: more[name].advertised for name in BROKEN}


def unusable(addresses: Any) -> str:
    """Return why no broker can be started with these addresses of the three listeners, "" if one can."""
    if not isinstance(addresses, Mapping) or sorted(addresses, key=str) != sorted(BROKEN):
        names = sorted(addresses, key=str) if isinstance(addresses, Mapping) else addresses
        return f"an address is wanted for each of {', '.join(BROKEN)}; you return {shown(names, 100)}"
    for name, address in addresses.items():
        found = ADDRESS.fullmatch(address) if isinstance(address, str) else None
        if found is None or not 0 < int(found[1]) < 65536:
            return f"{name}: an address is a host and a port, a text such as 127.0.0.1:9092; you return {shown(address, 60)}"
        if address.startswith("0.0.0.0:"):
            return f"{name}: 0.0.0.0 is for listeners, \"every address of this machine\"; a client cannot go there. Say the " \
                   "one by which it comes, such as 127.0.0.1"
    return ""


def repair(cluster: Any, learn: Callable[[dict[str, str], dict[str, str]], dict[str, str]]) -> None:
    """Start the broker with what a student's function says; with what is right as long as it says nothing that can be used."""
    try:
        addresses = learn(bound(cluster), advertised(cluster))
    except Exception:  # the student's: todo(), or whatever; the check says what is wrong with it
        addresses = {}
    if unusable(addresses):
        print("your function returns nothing that can be used (the check says why): these are our addresses")
    advertise(cluster, bound(cluster) if unusable(addresses) else addresses)


def advertise(cluster: Any, addresses: Mapping[str, str]) -> None:
    """Write other addresses into the broker's file, and start it again."""
    for name, address in addresses.items():
        cluster.plan.nodes[1].more[name].advertised = address
    cluster.plan.save()
    cluster.restart(1)
