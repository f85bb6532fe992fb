"""The principal of a connection: whom access lists, quotas and the log mean by this client.

    PLAINTEXT            User:ANONYMOUS
    SASL                 User:NAME, the name of the login
    SSL, a certificate   User:SUBJECT, as `ssl.principal.mapping.rules` write the subject
    SSL, no certificate  User:ANONYMOUS

Owns: the text of a certificate's subject, and the rules that make a name of it. No sockets.
Invariants: I-PRINCIPAL-1 a connection has one principal, from its first request to its end.
What Kafka does differently: a class of the user's own may build principals (principal.builder.class). A part of a subject that
has no keyword in RFC 2253 is written in DER there; here only the address of a mailbox is, the others by OpenSSL's name.
Source: DefaultKafkaPrincipalBuilder, SslPrincipalMapper; RFC 2253, KIP-371.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from minikafka.broker.config.definition import ConfigError
from minikafka.broker.server.tls import TlsSession
from minikafka.protocol.errors import ProtocolError

USER = "User:"
ANONYMOUS = USER + "ANONYMOUS"  # KafkaPrincipal.ANONYMOUS
_KEYWORDS = {"commonName": "CN", "countryName": "C", "localityName": "L", "stateOrProvinceName": "ST", "organizationName": "O",
             "organizationalUnitName": "OU", "streetAddress": "STREET", "domainComponent": "DC", "userId": "UID"}
_MAILBOX, _IA5_STRING = "1.2.840.113549.1.9.1", 0x16  # emailAddress, and the type of its text in DER
_RULE = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLITTER = re.compile(rf"\s*(?P<rule>{_RULE})\s*(?:,\s*|$)")
MAPPING_RULES = "ssl.principal.mapping.rules"
LONGEST_ID = 8191  # letters: their bytes fit into a header
LONGEST = 127  # bytes of a text whose length is one byte in DER


def sender(principal: str, client_id: str) -> str:
    """Return what stands for the client's id in the header of a request that a broker forwards: its principal before the id."""
    return f"{principal}\0{client_id}"[:LONGEST_ID]


def principal_and_id(sent: str | None) -> tuple[str, str | None]:
    """Return who sends a forwarded request, and by which client id; None: a broker, in its own name."""
    principal, found, client_id = (sent or "").partition("\0")
    return (principal, client_id) if found else (ANONYMOUS, sent)


class CertifiedSession(TlsSession):
    """A TLS session of which the certificate of the other end can be read."""

    @property
    def certificate(self) -> Mapping[str, Any]:  # Any: as ssl.SSLObject.getpeercert
        """Return what is in the certificate that the other end has proven to own; empty if it has shown none."""
        return self._tls.getpeercert() or {}


def principal_of(session: CertifiedSession, mapper: SslPrincipalMapper) -> str:
    """Return the principal of a client with TLS and without a login. Raises ProtocolError if no rule applies."""
    certificate = session.certificate
    return USER + mapper.name(subject(certificate)) if certificate else ANONYMOUS


def subject(certificate: Mapping[str, Any]) -> str:  # Any: as ssl.SSLObject.getpeercert
    """Return the subject as Java writes it (RFC 2253): the last part first, CN=ada,OU=taxis."""
    parts = ("+".join(_attribute(*pair) for pair in part) for part in reversed(certificate["subject"]))
    return ",".join(parts)


def _attribute(name: str, value: str) -> str:
    if name == "emailAddress":
        data = value.encode()[:LONGEST]
        return f"{_MAILBOX}=#{bytes([_IA5_STRING, len(data)]).hex()}{data.hex()}"
    text = re.sub(r'([,+"\\<>;])', r"\\\1", value)
    text = re.sub(r"^(?=[# ])|(?<!\\)(?= $)", r"\\", text) if text != " " else "\\ "
    return f"{_KEYWORDS.get(name, name)}={text}"


class SslPrincipalMapper:
    """The rules of `ssl.principal.mapping.rules`: `DEFAULT`, or `RULE:pattern/replacement/` with L or U at its end."""

    def __init__(self, text: str) -> None:
        """Parse the rules; ConfigError for a pattern or a rule that cannot be read."""
        self._rules = [found for found in _SPLITTER.finditer(text.strip()) if found[2] or found[3] is not None]
        if wrong := [found[6] for found in _SPLITTER.finditer(text.strip()) if found[6]]:
            raise ConfigError(MAPPING_RULES, wrong[0], "expected DEFAULT or RULE:pattern/replacement/[LU], comma separated")
        try:
            self._patterns = [re.compile(found[3] or "") for found in self._rules]
        except re.error as error:
            raise ConfigError(MAPPING_RULES, text, f"a pattern cannot be read: {error}") from error

    def name(self, distinguished: str) -> str:
        """Return what the first rule that matches makes of a subject. Raises ProtocolError if there is none."""
        for found, pattern in zip(self._rules, self._patterns, strict=True):
            if found[2]:
                return distinguished
            if matched := pattern.fullmatch(distinguished):
                made = _expanded(found[4], matched)
                return made.lower() if found[5] == "L" else made.upper() if found[5] == "U" else made
        raise ProtocolError(f"No rules apply to {distinguished} ({MAPPING_RULES})")


def _expanded(replacement: str, matched: re.Match[str]) -> str:
    """Return Java's replacement with its references, $1, filled in. A number without a group is no reference but text."""
    groups = matched.re.groups

    def one(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        number, rest = int(found[2]), ""
        while number > groups and number >= 10:
            number, rest = number // 10, str(number % 10) + rest
        return (matched[number] or "") + rest if number <= groups else found[0]

    return re.sub(r"\\(.)|\$(\d{1,9})", one, replacement)
