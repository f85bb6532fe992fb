"""TLS between clients and brokers and among the nodes, on both engines: who gets in, and how the others are turned away."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource
from kafka.protocol.admin import IncrementalAlterConfigsRequest
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse

from minikafka import Cluster
from minikafka.broker.config.api.alter import BAD_FILE, BAD_NAMES, REFUSED_FILE
from minikafka.broker.config.definition import ConfigError
from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.server.certificates import CertificateFiles, Certificates
from minikafka.broker.server.listeners import check_listeners
from minikafka.broker.server.tls import HANDSHAKE_S, TlsSession, TlsTransport
from minikafka.cluster import wire
from minikafka.cluster.security import Address, Security
from minikafka.protocol.codec import encode_request
from minikafka.sim.world.world import World
from tests.requests import topic
from tests.wire.raw import PATIENCE, Raw

LISTENERS = "TLS", "ASKS", "NEEDS", "DN", "SAN"
HELLO = encode_request(ApiVersionsRequest(), 0, 1, "raw")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority and the certificates that it has signed; `other.pem` is an authority that has signed nothing."""
    folder = tmp_path_factory.mktemp("tls")

    def openssl(command: str) -> None:
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)

    curve = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    for name in ("ca", "other"):
        openssl(f"req -x509 {curve} -days 2 -subj /CN={name} -keyout {name}.key -out {name}.pem")
    (folder / "stranger.pem").write_text((folder / "other.key").read_text() + (folder / "other.pem").read_text())
    both = "IP:127.0.0.1,DNS:localhost"
    for name, subject, hosts in (
            ("both", "/CN=both", both), ("new", "/CN=both", both), ("ada", "/CN=ada", both), ("less", "/CN=Both", "IP:127.0.0.1"),
            ("named", "/O=Lab,_inc/emailAddress=a@b/OU=x+UID=y/CN=taxi", both)):
        (folder / "names").write_text(f"subjectAltName={hosts}")
        openssl(f"req {curve} -multivalue-rdn -utf8 -subj {subject} -keyout {name}.key -out {name}.csr")
        openssl(f"x509 -req -days 2 -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out {name}.crt")
        (folder / f"{name}.pem").write_text((folder / f"{name}.key").read_text() + (folder / f"{name}.crt").read_text())
    return folder


def contexts_of(config: dict[str, str]) -> Certificates:
    return CertificateFiles("TLS", BrokerConfig(config)).now(MetadataImage())


def settings(certificates: Path) -> dict[str, str]:
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificates / "both.pem"),
            "ssl.truststore.type": "PEM", "ssl.truststore.location": str(certificates / "ca.pem")}


@pytest.fixture(scope="module")
def closed(engine: str, certificates: Path) -> Iterator[Cluster]:
    """Two brokers and a controller that speak TLS with each other, and with clients on five listeners."""
    with Cluster(brokers=2, controllers=1, engine=engine, listeners=dict.fromkeys(LISTENERS, "127.0.0.1"), config={
            **settings(certificates), "listener.security.protocol.map": "".join(f"{name}:SSL," for name in LISTENERS) +
            "INTERNAL:SSL,CONTROLLER:SSL", "listener.name.dn.ssl.allow.dn.changes": "true",
            "listener.name.san.ssl.allow.san.changes": "true",
            "listener.name.asks.ssl.client.auth": "requested", "listener.name.needs.ssl.client.auth": "required",
            "listener.name.needs.ssl.keystore.location": str(certificates / "ada.pem"),
            "listener.name.needs.ssl.keystore.type": "PEM"}) as cluster:
        yield cluster


def test_clients_write_and_read_by_tls(closed: Cluster, certificates: Path, name: str) -> None:
    """Fails if one of the client libraries cannot use the listener, or if replication between brokers with TLS stands still."""
    security = Security({"security_protocol": "SSL", "ssl_cafile": str(certificates / "ca.pem")})
    servers = closed.address(1, "TLS")
    with Raw(closed.address(1)) as raw:
        raw.create(topic(name, assign=[(0, [1, 2])]))
    with KafkaProducer(bootstrap_servers=servers, acks="all", **security.kafka_python()) as producer:
        producer.send(name, b"by kafka-python" + bytes(200_000)).get(60)
    for node in closed.ids:         # acks=all: both have the record
        known = wire.partitions(Address.of(closed.address(node, "TLS"), security), [name])
        assert sorted(known[f"{name}-0"].isr) == [1, 2]
    other = confluent_kafka.Producer({"bootstrap.servers": servers, **security.librdkafka()})
    other.produce(name, b"by librdkafka")
    assert other.flush(60) == 0
    with KafkaConsumer(name, bootstrap_servers=servers, auto_offset_reset="earliest", consumer_timeout_ms=60000,
                       **security.kafka_python()) as consumer:
        assert [next(consumer).value.rstrip(b"\0") for _ in "12"] == [b"by kafka-python", b"by librdkafka"]
    assert wire.live_brokers(Address.of(servers, security)) == {n: closed.address(n, "TLS") for n in closed.ids}


def test_a_client_without_tls_gets_an_alert_and_a_clean_end(closed: Cluster) -> None:
    """Fails if it waits, or is cut off: the first four bytes that it gets, read as a length, are the famous 352 MB."""
    with Raw(closed.address(1, "TLS")) as raw:
        raw.send(HELLO)
        told = b""
        while piece := raw.socket.recv(100):
            told += piece
    assert told == bytes.fromhex("15030300020250") and int.from_bytes(told[:4], "big") == 352_518_912


def test_a_client_with_tls_at_a_listener_without_it_is_turned_away(closed: Cluster) -> None:
    """Fails if the beginning of a handshake, read as a length, makes the broker wait for 369 MB."""
    host, _, port = closed.address(1).rpartition(":")
    with socket.create_connection((host, int(port)), PATIENCE) as plain, pytest.raises(OSError):
        ssl.create_default_context().wrap_socket(plain, server_hostname=host)


def test_there_is_one_handshake(closed: Cluster, certificates: Path) -> None:
    """Fails if a client of TLS 1.2 may ask for one costly handshake after the other on its connection."""
    command = ["openssl", "s_client", "-tls1_2", "-connect", closed.address(1, "TLS"), "-CAfile", str(certificates / "ca.pem")]
    asked = subprocess.run(command, input=b"R\n", capture_output=True, timeout=PATIENCE)
    assert b"RENEGOTIATING" in asked.stderr and asked.stderr.count(b"depth=0") == 1


def test_who_trusts_another_authority_does_not_connect(closed: Cluster, certificates: Path) -> None:
    """Fails if such a client gets in, or if the broker has lost something by it."""
    host, _, port = closed.address(1, "TLS").rpartition(":")
    for name in ("other.pem", "ca.pem"):
        context = ssl.create_default_context(cafile=str(certificates / name))
        with socket.create_connection((host, int(port)), PATIENCE) as plain:
            if name == "other.pem":
                with pytest.raises(ssl.SSLCertVerificationError):
                    context.wrap_socket(plain, server_hostname=host)
            else:
                with context.wrap_socket(plain, server_hostname=host) as tls:
                    tls.sendall(HELLO)
                    assert len(tls.recv(100)) > 50 and tls.version() == "TLSv1.3"
    older = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection((host, int(port)), PATIENCE) as plain, older.wrap_socket(plain, server_hostname=host) as tls:
        tls.sendall(HELLO)
        assert len(tls.recv(100)) > 50


def shown(address: str, certificates: Path) -> str:
    """The certificate that a broker shows at an address."""
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    with socket.create_connection((host, int(port)), PATIENCE) as plain, context.wrap_socket(plain, server_hostname=host) as tls:
        return ssl.DER_cert_to_PEM_cert(tls.getpeercert(binary_form=True) or b"")


@pytest.mark.parametrize("listener, own, served", [
    ("TLS", None, True), ("TLS", "ada.pem", True), ("TLS", "stranger.pem", True),
    ("ASKS", None, True), ("ASKS", "ada.pem", True), ("ASKS", "stranger.pem", False),
    ("NEEDS", None, False), ("NEEDS", "ada.pem", True), ("NEEDS", "stranger.pem", False)])
def test_whose_certificate_is_needed(closed: Cluster, certificates: Path, listener: str, own: str | None, served: bool) -> None:
    """Fails if a setting of one listener is another's, or one that asks for a certificate takes an unknown authority's."""
    given = {"ssl_certfile": str(certificates / own)} if own else {}
    security = Security({"security_protocol": "SSL", "ssl_cafile": str(certificates / "ca.pem"), **given})
    address = Address.of(closed.address(1, listener), security)
    if served:
        assert sorted(wire.live_brokers(address)) == [1, 2]
    else:
        with pytest.raises(OSError):
            wire.live_brokers(address)
    expected = "ada.crt" if listener == "NEEDS" else "both.crt"
    if listener != "NEEDS" or own is None:
        assert shown(closed.address(1, listener), certificates).split() == (certificates / expected).read_text().split()


def test_certificates_are_renewed_while_a_broker_runs(closed: Cluster, certificates: Path) -> None:
    """Fails if an alteration of a keystore reaches other brokers or listeners, or ends a connection that is open (I-TLS-4)."""
    security = Security({"security_protocol": "SSL", "ssl_cafile": str(certificates / "ca.pem")})
    with wire.WireConnection(Address.of(closed.address(1, "ASKS"), security), PATIENCE) as open_one:
        with KafkaAdminClient(bootstrap_servers=closed.bootstrap) as admin:
            admin.alter_configs([ConfigResource("BROKER", "1", {
                "listener.name.asks.ssl.keystore.location": str(certificates / "new.pem"),
                "listener.name.asks.ssl.keystore.type": "PEM"})], raise_on_unknown=False)
        new, old = ((certificates / name).read_text().split() for name in ("new.crt", "both.crt"))
        closed.wait(lambda: shown(closed.address(1, "ASKS"), certificates).split() == new, PATIENCE)
        assert shown(closed.address(2, "ASKS"), certificates).split() == old
        assert shown(closed.address(1, "TLS"), certificates).split() == old
        assert open_one.ask(ApiVersionsRequest(), ApiVersionsResponse, 0).error_code == 0


def alter(raw: Raw, prefix: str, file: object, kind: str = "PEM", validate: bool = False) -> tuple[int, str]:
    """Let broker 2 have another store; return the code and the text."""
    row = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [row.AlterableConfig(name=f"{prefix}.{what}", config_operation=0, value=str(value))
               for what, value in (("location", file), ("type", kind))]
    request = IncrementalAlterConfigsRequest(resources=[row(resource_type=4, resource_name="2", configs=configs)],
                                             validate_only=validate)
    answer = raw.ask(request, 1).responses[0]
    return answer.error_code, answer.error_message


def test_an_alteration_to_a_file_that_cannot_be_used_is_refused(closed: Cluster, certificates: Path, tmp_path: Path) -> None:
    """Fails if a broker takes a name of a file that leaves its listener without a certificate or with another name (I-TLS-5), or
    refuses in other words."""
    half, ca, both = tmp_path / "half.pem", certificates / "ca.pem", str(certificates / "both.pem")
    half.write_text("half a certificate")
    listener = "listener.name.asks.ssl"
    with Raw(closed.address(2)) as raw:
        for store, file in (("keystore", "/nowhere.pem"), ("keystore", half), ("keystore", ca), ("truststore", half),
                            ("truststore", "/nowhere.pem")):
            for validate in (True, False):
                assert alter(raw, f"{listener}.{store}", file, validate=validate) == (42, REFUSED_FILE.format(
                    BAD_FILE, f"Failed to load PEM SSL keystore {file}"))
        for name, text in (
                ("named", "DistinguishedName does not match:  existing={alias=kafka, DN=CN=both}, new={alias=kafka, DN=CN=taxi, "
                 'OU=x + UID=y, EMAILADDRESS=a@b, O="Lab,_inc"}'),
                ("less", "SubjectAltNames do not match:  existing={alias=kafka, SAN=[[2, localhost], [7, 127.0.0.1]]}, "
                 "new={alias=kafka, SAN=[[7, 127.0.0.1]]}")):
            code, told = alter(raw, f"{listener}.keystore", certificates / f"{name}.pem")
            hosts = told.replace("[[7, 127.0.0.1], [2, localhost]]", "[[2, localhost], [7, 127.0.0.1]]")
            assert (code, hosts) == (42, REFUSED_FILE.format(BAD_NAMES, f"Keystore {text}"))
        assert alter(raw, f"{listener}.keystore", both, "JKS")[0] == 42
        assert alter(raw, "ssl.keystore", both) == (42, "These security configs can be dynamically updated only per-listener "
                                                    "using the listener prefix: [ssl.keystore.type, ssl.keystore.location]")
        assert alter(raw, "listener.name.none.ssl.keystore", "/nowhere.pem") == (0, None)
    assert shown(closed.address(2, "ASKS"), certificates).split() == (certificates / "both.crt").read_text().split()


@pytest.mark.parametrize("listener, taken, refused", [("DN", "named", "less"), ("SAN", "less", "named")])
def test_names_may_change(closed: Cluster, certificates: Path, listener: str, taken: str, refused: str) -> None:
    """Fails if ssl.allow.dn.changes or ssl.allow.san.changes of a listener does nothing, or allows what the other one is for."""
    with Raw(closed.address(2)) as raw:
        prefix = f"listener.name.{listener.lower()}.ssl.keystore"
        assert alter(raw, prefix, certificates / f"{taken}.pem") == (0, None)
        expected = (certificates / f"{taken}.crt").read_text().split()
        closed.wait(lambda: shown(closed.address(2, listener), certificates).split() == expected, PATIENCE)
        code, text = alter(raw, prefix, certificates / f"{refused}.pem")
        assert code == 42 and BAD_NAMES in text


def test_files_that_cannot_be_used_change_nothing(certificates: Path, tmp_path: Path) -> None:
    """Fails if a certificate that is replaced in its file is not shown, or a broken file leaves none (I-TLS-4)."""
    file = tmp_path / "node.pem"
    file.write_text((certificates / "both.pem").read_text())
    files = CertificateFiles("TLS", BrokerConfig(settings(certificates) | {"listener.name.tls.ssl.keystore.location": str(file)}))
    first = files.now(MetadataImage())
    file.write_text("half a certificate")
    assert files.now(MetadataImage()) is first
    file.unlink()
    assert files.now(MetadataImage()) is first
    file.write_text((certificates / "new.pem").read_text())
    assert files.now(MetadataImage()) is not first and files.now(MetadataImage()) is files.now(MetadataImage())


# --- without sockets ------------------------------------------------------------------------------------------------


def talk(one: TlsSession, other: TlsSession) -> tuple[bytes, bytes]:
    """Carry what each sends to the other until both are silent; return the clear bytes that each got."""
    got, data = (bytearray(), bytearray()), b""
    one.receive(b"")
    while data := one.outgoing():
        for byte in range(len(data)):           # in the smallest pieces
            got[1].extend(other.receive(data[byte:byte + 1]))
        got[0].extend(one.receive(other.outgoing()))
    return bytes(got[0]), bytes(got[1])


def test_what_is_written_early_waits_for_the_handshake(certificates: Path) -> None:
    """Fails if bytes leave before the handshake, are lost or change their order (I-TLS-1)."""
    contexts = contexts_of(settings(certificates) | {"ssl.client.auth": "required"})
    one, other = TlsSession(contexts.opening, "localhost"), TlsSession(contexts.accepting)
    one.send(b"a")
    one.send(b"b" * 100_000)
    other.send(b"c")
    assert talk(one, other) == (b"c", b"a" + b"b" * 100_000)
    one.end()
    assert other.receive(one.outgoing()) == b"" and other.ended


def test_a_node_checks_the_name_and_a_listener_the_certificate(certificates: Path) -> None:
    """Fails if a node talks to one whose certificate names another host, or `required` lets in who shows none (I-TLS-3)."""
    contexts = contexts_of(settings(certificates) | {"ssl.client.auth": "required"})
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        talk(TlsSession(contexts.opening, "elsewhere"), TlsSession(contexts.accepting))
    nobody = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        talk(TlsSession(nobody, "localhost"), TlsSession(contexts.accepting))


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02\x00\x01"], ids=["nothing", "half a hello"])
def test_half_a_handshake_ends_after_its_time(certificates: Path, sent: bytes) -> None:
    """Fails if whoever connects and says nothing keeps a place for the ten minutes of an idle connection (I-TLS-2)."""
    contexts, world, lost = contexts_of(settings(certificates)), World(1, brokers=1), []  # type: ignore[var-annotated]

    class Above(asyncio.Protocol):
        def connection_lost(self, exc: Exception | None) -> None:
            lost.append(world.now())

    class Beneath(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            transport.write(sent)

    async def story() -> None:
        server, client = world.client_env("server"), world.client_env("client")
        await server.listen("server", 1, lambda: TlsTransport(Above(), TlsSession(contexts.accepting), server), "clients")
        await client.connect("server", 1, Beneath, 1)
        await client.sleep(HANDSHAKE_S - 1)
        assert lost == []
        await client.sleep(2)

    world.run(story())
    world.close()
    assert len(lost) == 1


@pytest.mark.parametrize("lines, told", [
    ({"ssl.keystore.location": None}, "a listener with SSL needs a PEM file"),
    ({"ssl.keystore.type": "JKS"}, "minikafka reads PEM files only"),
    ({"ssl.keystore.location": "/nowhere.pem"}, "minikafka cannot use this file"),
    ({"ssl.truststore.location": None, "ssl.client.auth": "required"}, "ssl.client.auth needs a PEM file"),
])
def test_files_that_do_not_fit_are_refused(certificates: Path, lines: dict[str, str | None], told: str) -> None:
    """Fails if a broker starts without the certificates that its listeners need, or does not say which setting is wrong."""
    config = {name: value for name, value in {**settings(certificates), **lines}.items() if value is not None}
    with pytest.raises(ConfigError, match=re.escape(told)) as refused:
        contexts_of(config)
    assert next(iter(lines)) in str(refused.value)


def test_nodes_speak_one_protocol() -> None:
    """Fails if a node starts that the others cannot talk to."""
    config: dict[str, Any] = {
        "listeners": "INTERNAL://127.0.0.1:1,CONTROLLER://127.0.0.1:2,SSL://127.0.0.1:3",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "INTERNAL:SSL,CONTROLLER:PLAINTEXT,SSL:SSL"}
    with pytest.raises(ConfigError, match="need the same protocol"):
        check_listeners(BrokerConfig(config))
