"""Who a client is: the subject of a certificate as Java writes it, and the rules that make a name of it."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest

from minikafka.broker.config.definition import ConfigError
from minikafka.broker.server.principals import (
    ANONYMOUS,
    CertifiedSession,
    SslPrincipalMapper,
    principal_and_id,
    principal_of,
    sender,
    subject,
)
from minikafka.broker.server.tls import TlsSession
from minikafka.protocol.errors import ProtocolError

DUKE = "CN=Duke,OU=ServiceUsers,O=Org,C=US"
RULES = (r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/, RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L, "
         r"RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U, DEFAULT")


@pytest.mark.parametrize("rules, name, expected", [
    ("DEFAULT", DUKE, DUKE), ("", DUKE, None), (RULES, DUKE, "Duke"),
    (RULES, "CN=duke1,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke1@sme"), (RULES, "cn=duke2,o=x", "DUKE2"), (RULES, "OU=x", "OU=x"),
    (r"RULE:^CN=(\w),(\w)$/$1-$12-$3-$0/", "CN=a,b", "a-a2-$3-CN=a,b"), (r"RULE:^CN=a\/b$/c\/d/", "CN=a/b", "c/d"),
])
def test_the_first_rule_that_matches_makes_the_name(rules: str, name: str, expected: str | None) -> None:
    """Fails if a rule of Kafka's documentation (KIP-371) means something else here, or a subject without a rule gets in."""
    if expected is None:
        with pytest.raises(ProtocolError, match="No rules apply to"):
            SslPrincipalMapper(rules).name(name)
    else:
        assert SslPrincipalMapper(rules).name(name) == expected


@pytest.mark.parametrize("rules", ["RULE:", "RULE:^CN=(.*)$/$1", "default", "RULE:(/x/"])
def test_what_is_no_rule_is_refused(rules: str) -> None:
    """Fails if a broker starts with rules that it would have to guess."""
    with pytest.raises(ConfigError, match="ssl.principal.mapping.rules"):
        SslPrincipalMapper(rules)


@pytest.mark.parametrize("pairs, text", [
    ([("countryName", "DE"), ("organizationName", "Taxis, Inc."), ("commonName", "ada")], r"CN=ada,O=Taxis\, Inc.,C=DE"),
    ([("commonName", ' #a+"b"\\<;> ')], r'CN=\ #a\+\"b\"\\\<\;\>\ '), ([("commonName", "#1")], r"CN=\#1"),
    ([("commonName", "a"), ("emailAddress", "a@b.c")], "1.2.840.113549.1.9.1=#16056140622e63,CN=a"),
])
def test_subjects_are_written_as_java_does(pairs: list[tuple[str, str]], text: str) -> None:
    """Fails if an access list that names a principal of Apache's does not fit ours (texts of X500Principal.getName)."""
    assert subject({"subject": tuple(((name, value),) for name, value in pairs)}) == text


@pytest.mark.parametrize("client_id", ["", "c", "a\0b", "x" * 20_000])
def test_a_forwarded_request_keeps_its_sender(client_id: str) -> None:
    """Fails if a client takes another's name on the way to the controller, or its id does not fit into a header."""
    principal, found = principal_and_id(sender("User:ada", client_id))
    assert principal == "User:ada" and found is not None
    assert client_id.startswith(found) and len(found) >= min(8000, len(client_id))
    assert principal_and_id("broker-1") == (ANONYMOUS, "broker-1") and principal_and_id(None) == (ANONYMOUS, None)


def test_a_certificate_names_the_principal(tmp_path: Path) -> None:
    """Fails if the subject of a proven certificate is not read, or a client without one has a name (I-PRINCIPAL-1)."""
    command = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /O=x/CN=ada -keyout key -out pem"
    subprocess.run(["openssl", *command.split()], cwd=tmp_path, check=True, capture_output=True)
    accepting, opening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    accepting.load_cert_chain(tmp_path / "pem", tmp_path / "key")
    accepting.load_verify_locations(tmp_path / "pem")
    accepting.verify_mode, opening.check_hostname, opening.verify_mode = ssl.CERT_OPTIONAL, False, ssl.CERT_NONE
    for expected in (ANONYMOUS, "User:CN=ada,O=x"):
        one, other = TlsSession(opening, "localhost"), CertifiedSession(accepting)
        one.receive(b"")
        while data := one.outgoing():
            other.receive(data)
            one.receive(other.outgoing())
        assert other.open and principal_of(other, SslPrincipalMapper("DEFAULT")) == expected
        opening.load_cert_chain(tmp_path / "pem", tmp_path / "key")
