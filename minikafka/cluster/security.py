"""The settings of clients of a cluster that needs TLS or a password: given once, and translated for each client.

    Security({"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_plain_username": "ada",
              "sasl_plain_password": "...", "ssl_cafile": "ca.pem"})

The names are kafka-python's. librdkafka and Java have other names for the same settings, and Spark's connector takes Java's
names with `kafka.` before them. A cluster that is
not closed (closed.py) needs none.

Owns: the translation, and the opening of a connection for the few requests of `wire.py`.
Invariants: I-SECURITY-1 a setting that some client does not have is refused, never dropped.
"""

from __future__ import annotations

import base64
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from .errors import ClusterError, NotSupported

# kafka-python's name: librdkafka's, Java's (None: see `_java`)
NAMES: dict[str, tuple[str, str | None]] = {
    "security_protocol": ("security.protocol", "security.protocol"),
    "sasl_mechanism": ("sasl.mechanism", "sasl.mechanism"),
    "sasl_plain_username": ("sasl.username", None),
    "sasl_plain_password": ("sasl.password", None),
    "ssl_cafile": ("ssl.ca.location", None),
    "ssl_certfile": ("ssl.certificate.location", None),
    "ssl_keyfile": ("ssl.key.location", None),
    "ssl_password": ("ssl.key.password", "ssl.key.password"),
    "ssl_check_hostname": ("ssl.endpoint.identification.algorithm", None),
}
FILES = "ssl_cafile", "ssl_certfile", "ssl_keyfile"  # found from any folder; on a Spark cluster each worker must have them
USER = "sasl_plain_username", "sasl_plain_password"
PROTOCOLS = "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"
KEY = re.compile(r"-----BEGIN ([A-Z ]*)PRIVATE KEY-----(.*?)-----END", re.DOTALL)
PBES2 = bytes.fromhex("06092a864886f70d01050d")  # its object identifier, in DER
LOGIN = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


class Security:
    """The settings of one cluster. Raises NotSupported for a setting or mechanism that some client does not have."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        if unknown := sorted(settings.keys() - NAMES):
            raise NotSupported(f"{', '.join(unknown)}: not a setting that all clients have. There are: {', '.join(NAMES)}")
        self.settings = {name: str(Path(value).absolute()) if name in FILES else value for name, value in settings.items()}
        self.protocol = str(settings.get("security_protocol", "PLAINTEXT"))
        if self.protocol not in PROTOCOLS:
            raise NotSupported(f"security_protocol={self.protocol!r}: there are {', '.join(PROTOCOLS)}")
        if self.sasl and settings.get("sasl_mechanism") not in LOGIN:
            raise NotSupported(f"sasl_mechanism={settings.get('sasl_mechanism')!r}: there are {', '.join(LOGIN)}")
        if self.sasl and (missing := [name for name in USER if name not in settings]):
            raise NotSupported(f"{self.protocol} needs {' and '.join(missing)}, too")

    @property
    def sasl(self) -> bool:
        return self.protocol.startswith("SASL_")

    # --- in the words of each client --------------------------------------------------------------------------------

    def kafka_python(self) -> dict[str, Any]:
        return dict(self.settings)

    def librdkafka(self) -> dict[str, Any]:
        told = {NAMES[name][0]: value for name, value in self.settings.items() if name != "ssl_check_hostname"}
        if not self.settings.get("ssl_check_hostname", True):
            told[NAMES["ssl_check_hostname"][0]] = "none"
        return told

    def java(self) -> dict[str, str]:
        """Return the settings by Java's names; certificates and keys as PEM."""
        told = {java: str(self.settings[name]) for name, (_, java) in NAMES.items() if java and name in self.settings}
        if self.sasl:
            user, password = (_quoted(str(self.settings[f"sasl_plain_{what}"])) for what in ("username", "password"))
            told["sasl.jaas.config"] = f"{LOGIN[self.settings['sasl_mechanism']]} required username={user} password={password};"
        if ca := self.settings.get("ssl_cafile"):
            told |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": ca}
        if certificate := self.settings.get("ssl_certfile"):
            told |= {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": Path(certificate).read_text(),
                     "ssl.keystore.key": _key_for_java(Path(self.settings.get("ssl_keyfile", certificate)))}
        if not self.settings.get("ssl_check_hostname", True):
            told["ssl.endpoint.identification.algorithm"] = ""
        return told

    def spark(self, source: str) -> dict[str, str]:
        """Return the options of Spark's `source`: "kafka", the official connector, or ours."""
        told = self.java() if source == "kafka" else {k.replace("_", "."): str(v) for k, v in self.settings.items()}
        return {f"kafka.{name}": value for name, value in told.items()}

    # --- a connection of our own --------------------------------------------------------------------------------------

    def open(self, host: str, port: int, timeout: float) -> socket.socket:
        """Connect, with TLS where the protocol says so; OSError."""
        plain = socket.create_connection((host, port), timeout)
        if not self.protocol.endswith("SSL"):
            return plain
        context = ssl.create_default_context(cafile=self.settings.get("ssl_cafile"))
        context.check_hostname = self.settings.get("ssl_check_hostname", True)
        if certificate := self.settings.get("ssl_certfile"):
            context.load_cert_chain(certificate, self.settings.get("ssl_keyfile"), self.settings.get("ssl_password"))
        return context.wrap_socket(plain, server_hostname=host)

    def log_in(self, host: str, ask: Callable[..., Any]) -> None:
        """Authenticate on the connection that `ask` uses; raises ClusterError with the broker's text if it refuses."""
        if not self.sasl:
            return
        name = self.settings["sasl_mechanism"]
        mechanism = get_sasl_mechanism(name)(host=host, mechanism=name, **self.settings)
        if ask(SaslHandshakeRequest(mechanism=name), SaslHandshakeResponse, 1).error_code:
            raise ClusterError(f"{host} does not offer the SASL mechanism {name}")
        while not mechanism.is_done():
            request = SaslAuthenticateRequest(auth_bytes=mechanism.auth_bytes())
            answer = ask(request, SaslAuthenticateResponse, 1)
            if answer.error_code:
                raise ClusterError(f"{host} does not let us in: {answer.error_message}")
            mechanism.receive(bytes(answer.auth_bytes))


OPEN = Security({})  # for a cluster without a login


class Address(str):
    """host:port of a broker, with the security settings that it needs."""

    security = OPEN

    @classmethod
    def of(cls, text: str, security: Security) -> Address:
        address = cls(text)
        address.security = security
        return address


def security_of(address: str) -> Security:
    return address.security if isinstance(address, Address) else OPEN


def _key_for_java(file: Path) -> str:
    """Return the text of a private key. Raises NotSupported if Java's clients cannot open it, with the command that helps."""
    text = file.read_text()
    kind, body = found.groups() if (found := KEY.search(text)) else ("", "")
    if kind == "ENCRYPTED ":
        why = "its password is of the kind PBES2, OpenSSL's default" if PBES2 in base64.b64decode(body) else ""
    else:
        why = "it is not in the form of PKCS #8" if kind else ""
    if why:
        raise NotSupported(f"Java's clients, and so Spark's connector, cannot open the key in {file}: {why}. Every client opens "
                           f"what this makes: openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES -in {file} -out new.key")
    return text


def _quoted(text: str) -> str:
    """Return a value as Java's JAAS configuration reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
