"""Loopback by default, one folder for one broker, one log entry on one line."""

from __future__ import annotations

import logging
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from kafka.protocol.metadata import ApiVersionsRequest

from minikafka import Cluster
from minikafka.broker.config.definition import ConfigError
from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.server.listeners import check_exposure, is_loopback
from minikafka.broker.server.log_lines import OneLine, escaped
from minikafka.broker.server.neighbours import Neighbours
from minikafka.broker.storage.shell.log_dir import LogDir, LogDirError
from minikafka.cluster.plan import free_ports
from minikafka.protocol.codec import encode_request
from minikafka.sim.world.disk import Mount, SimDisk


def config(listeners: str, **more: str) -> BrokerConfig:
    return BrokerConfig({"listeners": listeners} | {key.replace("_", "."): value for key, value in more.items()})


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of one broker."""
    with Cluster(brokers=1, data=tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


# --- who can reach us -----------------------------------------------------------------------------------------------


def test_the_default_is_loopback() -> None:
    """Fails if somebody who configures nothing opens a port to the network."""
    assert check_exposure(BrokerConfig({})) == []


@pytest.mark.parametrize("host", ["192.168.1.5", "8.8.8.8", "[2001:db8::1]", "myhost", "localhost.evil.example"])
def test_other_addresses_need_the_flag_and_warn(host: str) -> None:
    """Fails if a listener that others can reach starts without the setting for it, or without a warning (I-EXP-1)."""
    listener = f"PLAINTEXT://{host}:9092"
    with pytest.raises(ConfigError, match=r"can be reached from other machines.*minikafka\.allow\.remote=true"):
        check_exposure(config(listener))
    (warning,) = check_exposure(config(listener, minikafka_allow_remote="true"))
    assert "read, write and delete everything" in warning


@pytest.mark.parametrize("protocol, more, told", [
    ("SASL_SSL", {"sasl.enabled.mechanisms": "PLAIN"}, []),
    ("SASL_PLAINTEXT", {"sasl.enabled.mechanisms": "SCRAM-SHA-512"}, ["whoever is on the way can read what is sent"]),
    ("SASL_PLAINTEXT", {"sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN"}, None),
    ("SASL_PLAINTEXT", {"sasl.enabled.mechanisms": "PLAIN", "listener.name.out.sasl.enabled.mechanisms": "SCRAM-SHA-256"},
     ["whoever is on the way can read what is sent"]),
    ("SSL", {"ssl.client.auth": "requested"}, None),
    ("SSL", {"ssl.client.auth": "required"}, []),
])
def test_where_one_must_log_in_no_flag_is_needed(protocol: str, more: dict[str, str], told: list[str] | None) -> None:
    """Fails if a listener that nobody enters without a login needs the flag, or one that sends plain passwords needs none."""
    lines = BrokerConfig({"listeners": "OUT://192.168.1.5:9092", "listener.security.protocol.map": f"OUT:{protocol}", **more})
    if told is None:
        with pytest.raises(ConfigError, match="nobody there has to log in|passwords of PLAIN are sent there as they are"):
            check_exposure(lines)
    else:
        assert [warning.rpartition(": ")[2] for warning in check_exposure(lines)] == told


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a program of another user")
def test_a_neighbour_on_this_machine_gets_nothing(alone: Cluster) -> None:
    """Fails if another user's program is served on a listener without a login, or root's or our own is not (I-SRV-4)."""
    ask = encode_request(ApiVersionsRequest(), 0, 1, "neighbour")
    for user, served in ((65534, False), (0, True)):
        host, _, port = alone.address(1).rpartition(":")
        program = (f"import encodings.idna, os, socket; os.setuid({user}); s = socket.socket(); s.connect(({host!r}, {port})); "
                   f"s.sendall({ask!r}); print(len(s.recv(9)))")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        assert served == (done.stdout == "9\n"), done
    assert "it is another user's of this machine" in alone.log(1)


def test_the_kernel_says_whose_a_connection_is() -> None:
    """Fails if our own connection is a stranger's, or one is served whose program has closed it: root's, for Linux (I-NEAR-1)."""
    near = Neighbours()
    if not near.known:
        pytest.skip("this machine does not say whose a connection is")
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, peer = server.accept()
        with accepted:
            assert not near.is_stranger(peer, accepted.getsockname())
            client.close()
            assert near.is_stranger(peer, accepted.getsockname())
        assert near.is_stranger(("127.0.0.1", 1), server.getsockname())


@pytest.mark.parametrize("lines, told", [
    ({}, "Missing configuration `node.id` which is required"),
    ({"node.id": "1"}, "controller.quorum.voters must contain a parseable set of controllers"),
    ({"listeners": "PLAINTEXT://127.0.0.1:9092"}, "INTERNAL is missing"),
    ({"listeners": "INTERNAL://127.0.0.1:9093"}, "PLAINTEXT://host:port for example"),
    ({"listener.security.protocol.map": "PLAINTEXT:KERBEROS"}, "PLAINTEXT or SSL or SASL_PLAINTEXT or SASL_SSL here"),
    ({"listener.security.protocol.map": "PLAINTEXT:SSL,INTERNAL:PLAINTEXT"}, "a listener with SSL needs a PEM file"),
    ({"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:SASL_SSL"}, "INTERNAL can only be PLAINTEXT or SSL here"),
    ({"listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT"}, "PLAINTEXT can only have PLAIN, SCRAM"),
    ({"listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT", "sasl.enabled.mechanisms": "PLAIN"},
     "PlainLoginModule required"),
    ({"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}, "minikafka.cluster.secret.file"),
    ({"ssl.cipher.suites": "required"}, "only its default '' works"),
    ({"listeners": "PLAINTEXT://myhost:9092,INTERNAL://127.0.0.1:9093"}, "can be reached from other machines"),
    (None, "No such file or directory"),
])
def test_a_file_that_starts_no_broker_is_refused_with_the_reason(tmp_path: Path, lines: dict[str, str] | None, told: str) -> None:
    """Fails if a broker ends with a traceback, or starts without what its file sets (I-EXP-2)."""
    file = tmp_path / "server.properties"
    whole = {"node.id": "1", "controller.quorum.voters": "1@127.0.0.1:9093", "log.dirs": str(tmp_path / "data")}
    if lines is not None:
        few = lines if told.startswith(("Missing", "controller")) else whole | lines
        file.write_text("".join(f"{name}={value}\n" for name, value in few.items()))
    ended = subprocess.run([sys.executable, "-m", "minikafka.broker", str(file)], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "") and ended.stderr.startswith(f"{file}: ")
    assert told in ended.stderr and ended.stderr.count("\n") == 1


@pytest.mark.parametrize("host", ["0.0.0.0", ""])
def test_every_address_is_never_advertised(host: str) -> None:
    """Kafka's refusal, word for word; clients could not connect to it. With an address to advertise it is allowed."""
    listener, told = f"PLAINTEXT://{host}:9092", "PLAINTEXT://192.168.1.5:9092"
    with pytest.raises(ConfigError, match=r"cannot use the nonroutable meta-address 0\.0\.0\.0"):
        check_exposure(config(listener, minikafka_allow_remote="true"))
    assert len(check_exposure(config(listener, advertised_listeners=told, minikafka_allow_remote="true"))) == 1
    with pytest.raises(ConfigError, match="can be reached"):
        check_exposure(config(listener, advertised_listeners=told))


def test_loopback_is_more_than_one_address() -> None:
    assert [is_loopback(h) for h in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4


def test_a_cluster_listens_on_loopback_only(alone: Cluster) -> None:
    """Fails if a broker's ports answer on this machine's other addresses; the kernel's own table is the proof."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = {int(row[1].split(":")[1], 16): row[1].split(":")[0] for row in rows if row[3] == "0A"}
    node = alone.plan.brokers[0]
    assert (listening[node.client], listening[node.internal]) == ("0100007F", "0100007F")  # 127.0.0.1, little endian


# --- a process that is refused --------------------------------------------------------------------------------------


def start(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A broker process that is expected to give up by itself."""
    ports = free_ports(2)
    properties = {
        "node.id": "1", "controller.quorum.voters": f"1@127.0.0.1:{ports[1]}", "log.dirs": str(folder / "data"),
        "metadata.log.dir": str(folder / "metadata"), "inter.broker.listener.name": "INTERNAL",
        "listeners": f"PLAINTEXT://127.0.0.1:{ports[0]},INTERNAL://127.0.0.1:{ports[1]}",
    } | {key.replace("_", "."): value for key, value in more.items()}
    file = folder / "second.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    command = [sys.executable, "-m", "minikafka.broker", str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None  # standard input stays open: its end would end the process (I-LIVE-2)
        errors = process.stderr.read()
        return subprocess.CompletedProcess(command, process.wait(60), "", errors)


def test_a_broker_that_would_be_reachable_does_not_start(tmp_path: Path) -> None:
    """Fails if the process ignores the check, or hides the reason in a traceback."""
    ended = start(tmp_path, listeners="PLAINTEXT://192.168.1.5:9092,INTERNAL://127.0.0.1:9093")
    assert ended.returncode == 2 and "can be reached from other machines" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("shared", ["log.dirs", "metadata.log.dir"])
def test_two_brokers_never_share_a_folder(alone: Cluster, tmp_path: Path, shared: str) -> None:
    """Fails if a second process works in a folder whose first one lives: both would write the same logs (I-DIR-1)."""
    node = alone.plan.brokers[0]
    folder = node.data if shared == "log.dirs" else node.metadata
    ended = start(tmp_path, **{shared: str(folder), "minikafka_cluster_id": alone.plan.cluster_id})
    assert ended.returncode == 1 and f"{folder} is in use by another process" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert alone.wait(lambda: alone.controller() == 1, timeout=60)


def test_a_folder_of_another_cluster_or_node_is_refused() -> None:
    """Fails if a broker mixes its logs with somebody else's."""
    disk = Mount(SimDisk())
    LogDir(disk, "/data", "cluster-a", 1).claim(UUID(int=7))
    LogDir(disk, "/data", "cluster-a", 1).claim(UUID(int=7))
    with pytest.raises(LogDirError, match="cluster.id=cluster-a, but this broker is configured with cluster-b"):
        LogDir(disk, "/data", "cluster-b", 1).claim(UUID(int=7))
    with pytest.raises(LogDirError, match=r"node.id=1, but this broker is configured with 2"):
        LogDir(disk, "/data", "cluster-a", 2).claim(UUID(int=7))


def test_files_are_their_owners_only(alone: Cluster) -> None:
    """Fails if other users of the machine can read records or metadata."""
    node = alone.plan.brokers[0]
    for top in (node.data, node.metadata):
        modes = {path: path.stat().st_mode & 0o077 for path in [top, *top.rglob("*")]}
        assert len(modes) > 2
        assert {path: oct(mode) for path, mode in modes.items() if mode} == {}


# --- the log ----------------------------------------------------------------------------------------------------------


def test_a_clients_name_cannot_write_log_entries() -> None:
    """Fails if control characters reach the log as they are: a name could forge lines or drive a terminal."""
    record = logging.LogRecord("minikafka.x", logging.INFO, "", 0, "refused %s", ("a\r\nERROR all is lost\x1b[2J",), None)
    assert OneLine("%(levelname)s %(message)s").format(record) == r"INFO refused a\r\nERROR all is lost\x1b[2J"
    assert re.fullmatch(r"x{1000} \.\.\. \(5000 characters\)", escaped("x" * 5000))
    assert escaped("plain, with ümlauts") == "plain, with ümlauts"
