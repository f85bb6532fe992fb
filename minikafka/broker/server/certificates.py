"""The certificates of a node: what it shows, and whom it trusts, from the files that Kafka's `ssl.` settings name.

    ssl.keystore.location     a PEM file: the private key of this node, its certificate, and those that lead to the authority
    ssl.truststore.location   a PEM file: the authorities whose certificates it trusts
    ssl.client.auth           none; requested: a client may show a certificate; required: it must

Owns: the two contexts of OpenSSL, for connections that this node accepts and opens.
Invariants: I-TLS-3 only TLS 1.2 and 1.3; the node that opens a connection checks the other's certificate and host name.
What Kafka does differently: it also reads JKS and PKCS #12, and each listener may have settings of its own.
Source: org.apache.kafka.common.security.ssl.DefaultSslEngineFactory; KIP-651 (PEM).
"""

from __future__ import annotations

import ssl
from typing import NamedTuple

from minikafka.broker.config.definition import ConfigError
from minikafka.broker.config.effective import BrokerConfig

CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
KEYS, TRUST = "ssl.keystore", "ssl.truststore"


class Certificates(NamedTuple):
    """The contexts of OpenSSL for connections that others open, and for those that this node opens."""

    accepting: ssl.SSLContext
    opening: ssl.SSLContext


def read_certificates(config: BrokerConfig) -> Certificates:
    """Return the contexts. Raises ConfigError if a file that they need is not named, or cannot be used."""
    if config[f"{KEYS}.location"] is None:
        raise ConfigError(f"{KEYS}.location", None, "a listener with SSL needs a PEM file with this node's key and certificate")
    if config["ssl.client.auth"] != "none" and config[f"{TRUST}.location"] is None:
        raise ConfigError(f"{TRUST}.location", None, "ssl.client.auth needs a PEM file with the authorities of clients")
    accepting, opening = _context(ssl.PROTOCOL_TLS_SERVER, config), _context(ssl.PROTOCOL_TLS_CLIENT, config)
    accepting.verify_mode = CLIENT_AUTH[config["ssl.client.auth"]]
    return Certificates(accepting, opening)


def _context(protocol: int, config: BrokerConfig) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for kind in (KEYS, TRUST):
        name, path = f"{kind}.location", config[f"{kind}.location"]
        if path is None:
            continue
        if config[f"{kind}.type"] != "PEM":
            raise ConfigError(f"{kind}.type", config[f"{kind}.type"], "minikafka reads PEM files only: set it to PEM")
        try:  # the empty password keeps OpenSSL from a prompt
            context.load_cert_chain(path, password="") if kind == KEYS else context.load_verify_locations(path)
        except OSError as error:  # ssl.SSLError is one
            raise ConfigError(name, path, f"minikafka cannot use this file: {error}") from error
    return context
