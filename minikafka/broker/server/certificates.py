"""The certificates of a listener: what it shows, and whom it trusts, from the files that Kafka's `ssl.` settings name.

    ssl.keystore.location     a PEM file: the private key of this node, its certificate, and those that lead to the authority
    ssl.truststore.location   a PEM file: the authorities whose certificates it trusts
    ssl.client.auth           none; requested: a client may show a certificate; required: it must

With `listener.name.NAME.` before it a setting is that of one listener. All of them may be altered while the broker runs.

Owns: the two contexts of OpenSSL of a listener, for connections that this node accepts and opens.
Invariants: I-TLS-3 only TLS 1.2 and 1.3; the node that opens a connection checks the other's certificate and host name.
            I-TLS-4 a new connection gets what the settings and their files say now; open ones stay. Files that cannot be used
              change nothing: an alteration to them is refused; where they were replaced, the certificates of before stay, and
              the log says why.
            I-TLS-5 an alteration to a certificate with another subject, or without one of the hosts, is refused, unless
              `ssl.allow.dn.changes` or `ssl.allow.san.changes` says otherwise.
What Kafka does differently: it also reads JKS and PKCS #12. It reads a file again only when its setting is altered.
Source: org.apache.kafka.common.security.ssl.DefaultSslEngineFactory, SslFactory; KIP-226, KIP-651 (PEM).
"""

from __future__ import annotations

import logging
import os
import re
import ssl
from collections.abc import Mapping
from typing import NamedTuple

from minikafka.broker.config.definition import ConfigError, plain
from minikafka.broker.config.effective import LISTENER_PREFIX, BrokerConfig, listener_value
from minikafka.broker.metadata.image import MetadataImage

log = logging.getLogger("minikafka.tls")

CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
KEYS, TRUST = "ssl.keystore", "ssl.truststore"
SETTINGS = "ssl.client.auth", *(f"{kind}.{what}" for kind in (KEYS, TRUST) for what in ("type", "location"))
KEYWORDS = {"1.2.840.113549.1.9.1": "EMAILADDRESS"}  # which RFC 4514 does not have

Settings = dict[str, str | None]


class Certificates(NamedTuple):
    """The contexts of OpenSSL for connections that others open, and for those that this node opens."""

    accepting: ssl.SSLContext
    opening: ssl.SSLContext


class CertificateFiles:
    """The files of one listener. Raises ConfigError if one that it needs is not named, or cannot be used."""

    def __init__(self, listener: str, config: BrokerConfig) -> None:
        self.listener, self.config = listener, config
        self._state, settings = self._look(MetadataImage())
        self._certificates = read_certificates(settings)
        self._shown = _text(settings)

    def now(self, image: MetadataImage) -> Certificates:
        """Return what a new connection gets (I-TLS-4)."""
        state, settings = self._look(image)
        if state != self._state:
            self._state = state
            try:
                self._certificates, self._shown = read_certificates(settings), _text(settings)
                log.info("%s has new certificates", self.listener)
            except (ConfigError, OSError) as error:
                log.warning("%s keeps the certificates that it has: %s", self.listener, error)
        return self._certificates

    def check(self, image: MetadataImage, altered: Mapping[str, str | None]) -> None:
        """Raise ConfigError if some of these new values are this listener's, and name a file that cannot be used (I-TLS-5)."""
        names = {f"{LISTENER_PREFIX}{self.listener.lower()}.{name}": name for name in SETTINGS}
        if changed := {names[name]: value for name, value in altered.items() if name in names}:
            settings = self._look(image)[1] | changed
            read_certificates(settings)
            if (text := _text(settings)) != self._shown:
                check_names(self._shown, text, listener_value(image, self.config, self.listener, "ssl.allow.dn.changes"),
                            listener_value(image, self.config, self.listener, "ssl.allow.san.changes"))

    def _look(self, image: MetadataImage) -> tuple[object, Settings]:
        """Return the settings, and what differs as soon as one of them, or a file that it names, is another."""
        settings = {name: listener_value(image, self.config, self.listener, name) for name in SETTINGS}
        return (settings, *(_version(settings[f"{kind}.location"]) for kind in (KEYS, TRUST))), settings


def _version(path: str | None) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path) if path is not None else None
    except OSError:
        return None
    return found and (found.st_ino, found.st_size, found.st_mtime_ns)


def _text(settings: Settings) -> bytes:
    with open(str(settings[f"{KEYS}.location"]), "rb") as file:
        return file.read()


def check_names(old: bytes, new: bytes, other_subject: bool, other_hosts: bool) -> None:
    """Raise ConfigError, in Kafka's words, if the first certificate in `new` has another subject, or lacks a host of `old`."""
    (before, hosts), (after, others) = names(old), names(new)
    if before.lower() != after.lower() and not other_subject:
        raise plain(f"Keystore DistinguishedName does not match:  existing={{alias=kafka, DN={before}}}, "
                    f"new={{alias=kafka, DN={after}}}")
    if not {*hosts} <= {*others} and not other_hosts:
        raise plain(f"Keystore SubjectAltNames do not match:  existing={{alias=kafka, SAN=[{', '.join(hosts)}]}}, "
                    f"new={{alias=kafka, SAN=[{', '.join(others)}]}}")


def names(pem: bytes) -> tuple[str, list[str]]:
    """Return the subject and the hosts of the first certificate, as Java writes them."""
    from cryptography import x509  # only here: most brokers never need it
    certificate = x509.load_pem_x509_certificates(pem)[0]
    parts = ([(KEYWORDS.get(one.oid.dotted_string, one.rfc4514_attribute_name), _quoted(str(one.value))) for one in part]
             for part in reversed(certificate.subject.rdns))
    subject = ", ".join(" + ".join(map("=".join, part)) for part in parts)
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return subject, []
    kinds = {x509.DNSName: 2, x509.UniformResourceIdentifier: 6, x509.IPAddress: 7, x509.RFC822Name: 1}
    return subject, [f"[{kinds[type(one)]}, {one.value}]" for one in found if type(one) in kinds]


def _quoted(value: str) -> str:
    if not re.search(r'[,+=\n<>#;\\"]|^ | $|  ', value):
        return value
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'


def read_certificates(settings: Settings) -> Certificates:
    """Return the contexts. Raises ConfigError if a file that they need is not named, or cannot be used."""
    if settings[f"{KEYS}.location"] is None:
        raise ConfigError(f"{KEYS}.location", None, "a listener with SSL needs a PEM file with this node's key and certificate")
    auth = CLIENT_AUTH[settings.get("ssl.client.auth") or "none"]
    if auth != ssl.CERT_NONE and settings[f"{TRUST}.location"] is None:
        raise ConfigError(f"{TRUST}.location", None, "ssl.client.auth needs a PEM file with the authorities of clients")
    accepting, opening = _context(ssl.PROTOCOL_TLS_SERVER, settings), _context(ssl.PROTOCOL_TLS_CLIENT, settings)
    accepting.verify_mode = auth
    return Certificates(accepting, opening)


def _context(protocol: int, settings: Settings) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION  # OpenSSL before 3 lets a client ask for one handshake after the other
    for kind in (KEYS, TRUST):
        name, path = f"{kind}.location", settings[f"{kind}.location"]
        if path is None:
            continue
        if settings[f"{kind}.type"] != "PEM":
            raise ConfigError(f"{kind}.type", settings[f"{kind}.type"], "minikafka reads PEM files only: set it to PEM")
        try:  # the empty password keeps OpenSSL from a prompt
            context.load_cert_chain(path, password="") if kind == KEYS else context.load_verify_locations(path)
        except OSError as error:  # ssl.SSLError is one
            raise ConfigError(name, path, f"minikafka cannot use this file: {error}") from error
    return context
