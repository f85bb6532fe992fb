"""The listener of the nodes serves nodes only; the secret by which they know each other is never sent, nor is a proof worth
anything elsewhere; what a cluster writes is for its owner."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.protocol.admin import CreateTopicsRequest, DescribeQuorumRequest
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.sasl import SaslAuthenticateRequest

from minikafka import Cluster
from minikafka.broker.raft.election import MOST_AHEAD
from minikafka.broker.server.membership import CHALLENGE, GUESTS, LARGEST, PROVE_S, Acceptor, Opener
from minikafka.cluster.plan import HOST
from minikafka.cluster.wire import quorum_leader
from minikafka.machine.files import write_atomic
from minikafka.proof.chaos.one_broker import OneBroker
from minikafka.protocol.apis import VoteRequest
from minikafka.protocol.codec import encode_request
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.world.world import INTERNAL_PORT
from tests.clients.kit import PATIENCE
from tests.story import in_world
from tests.wire.raw import Raw

VERSION = SaslAuthenticateRequest.max_version
QUORUM = DescribeQuorumRequest(topics=[DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=[])])


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(brokers=3, data=tmp_path_factory.mktemp("cluster") / "data") as cluster:
        yield cluster


def internal(cluster: Cluster, node: int = 1) -> str:
    return f"{HOST}:{cluster.plan.nodes[node].internal}"


def secret(cluster: Cluster) -> bytes:
    return cluster.plan.secret.read_bytes()


def prove(raw: Raw, opener: Opener) -> None:
    told = raw.ask(SaslAuthenticateRequest(auth_bytes=opener.challenge), VERSION).auth_bytes
    assert raw.ask(SaslAuthenticateRequest(auth_bytes=opener.answer(told)), VERSION).error_code == 0


@pytest.mark.parametrize("request_, version", [
    (QUORUM, 2), (CreateTopicsRequest(topics=[], timeout_ms=1000, validate_only=True), 5),
    (ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3)])
def test_the_listener_of_the_nodes_serves_no_stranger(three: Cluster, request_: ApiMessage, version: int) -> None:
    """Fails if any program of this machine may fetch, vote or administrate as if it were a broker (I-PROOF-1)."""
    with Raw(internal(three)) as raw:
        raw.send(encode_request(request_, version, 1, "stranger"))
        assert raw.receive() is None
    with Raw(internal(three)) as raw:
        prove(raw, Opener(secret(three), 1, bytes(CHALLENGE)))
        assert raw.ask(QUORUM, 2).error_code == 0


def test_a_wrong_secret_is_refused_by_either_end(three: Cluster) -> None:
    """Fails if a program that does not know the secret gets in; if a node believes an acceptor that does not know it."""
    opener = Opener(b"another secret of some cluster", 1, bytes(CHALLENGE))
    with Raw(internal(three)) as raw:
        told = raw.ask(SaslAuthenticateRequest(auth_bytes=opener.challenge), VERSION).auth_bytes
        with pytest.raises(KafkaError, match="does not know the secret of this cluster"):
            opener.answer(told)
        answer = raw.ask(SaslAuthenticateRequest(auth_bytes=bytes(32)), VERSION)
        assert answer.error_code == Err.SASL_AUTHENTICATION_FAILED and "secret" in answer.error_message
        assert raw.receive() is None
    assert secret(three) not in told


def test_a_proof_for_one_node_is_worth_nothing_to_another() -> None:
    """Fails if the program that took a dead node's port could hand its visitor's proof on to a living node (I-PROOF-2)."""
    opener, living = Opener(b"secret", 2, b"o" * CHALLENGE), Acceptor(b"secret", 3, b"a" * CHALLENGE)
    with pytest.raises(KafkaError):
        opener.answer(living.answer(opener.challenge))
    dead = Acceptor(b"secret", 2, b"a" * CHALLENGE)
    with pytest.raises(KafkaError):
        living.answer(opener.answer(dead.answer(opener.challenge)))
    assert not living.proven


def test_strangers_cannot_keep_the_nodes_out(three: Cluster) -> None:
    """Fails if connections without a proof take the places of the nodes, or memory, or are served after a failed frame."""
    strangers = [Raw(internal(three)) for _ in range(2 * GUESTS)]
    with Raw(internal(three)) as raw:
        raw.send((LARGEST + 1).to_bytes(4, "big"))
        assert raw.receive() is None
    three.kill(2)
    three.restart(2)
    three.wait(lambda: sorted(three.alive) == [1, 2, 3], PATIENCE)
    with Raw(internal(three)) as raw:
        prove(raw, Opener(secret(three), 1, bytes(CHALLENGE)))
    assert sum(raw.receive() is None for raw in strangers[:GUESTS]) == GUESTS
    for raw in strangers:
        raw.socket.close()


def test_no_vote_makes_the_last_epoch(three: Cluster) -> None:
    """Fails if one request takes the quorum to an epoch after which no election can follow (I-RAFT-14)."""
    data = VoteRequest.TopicData
    before = quorum_leader(three.address(1))
    for epoch in (2**31 - 1, 2 * MOST_AHEAD):
        part = data.PartitionData(partition_index=0, replica_epoch=epoch, replica_id=2, last_offset_epoch=1, last_offset=10**6)
        vote = VoteRequest(cluster_id=three.plan.cluster_id, voter_id=1,
                           topics=[data(topic_name="__cluster_metadata", partitions=[part])])
        with Raw(internal(three)) as raw:
            prove(raw, Opener(secret(three), 1, bytes(CHALLENGE)))
            answer = raw.ask(vote, VoteRequest.max_version).topics[0].partitions[0]
            assert (answer.error_code, answer.vote_granted) == (42, False) and answer.leader_epoch < MOST_AHEAD
    assert before is not None and quorum_leader(three.address(1)) == before


def test_only_the_owner_reads_what_a_cluster_writes(three: Cluster) -> None:
    """Fails if another user of the machine may read records, the log, the trace or the secret (I-PLAN-3)."""
    folder = three.plan.folder
    open_to_others = [str(path.relative_to(folder)) for path in folder.rglob("*")
                      if private(path) and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]
    assert open_to_others == []


def private(path: Path) -> bool:
    """Whether nothing above this path keeps others away already: a folder, or a file beside cluster.json."""
    return path.is_dir() or path.name == "secret"


def test_a_secret_that_is_none_starts_no_broker(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("short")
    file = tmp_path / "server.properties"
    file.write_text(f"node.id=1\ncontroller.quorum.voters=1@127.0.0.1:9093\nlog.dirs={tmp_path / 'data'}\n"
                    f"minikafka.cluster.secret.file={tmp_path / 'secret'}\n")
    ended = subprocess.run([sys.executable, "-m", "minikafka.broker", str(file)], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True)
    assert ended.returncode == 2 and "Expected a file of at least 16 random bytes" in ended.stderr


def test_a_secret_is_never_open_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if the file can be read by others while it is being written."""
    seen: list[int] = []
    write = Path.write_text

    def look(path: Path, text: str) -> int:
        seen.append(path.stat().st_mode & 0o777)
        return write(path, text)

    monkeypatch.setattr(Path, "write_text", look)
    write_atomic(tmp_path / "secret", "x", 0o600)
    assert seen == [0o600] and (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


@in_world(OneBroker, 1)
async def test_a_proof_has_its_time(world: OneBroker) -> None:
    """Fails if a connection to the nodes' listener may wait for ever without a proof, or has no time for it."""
    world.hosts[1].env.cluster_secret = b"s" * 16
    silent, told = await world.connect(INTERNAL_PORT), await world.connect(INTERNAL_PORT)
    opener = Opener(b"s" * 16, 1, bytes(CHALLENGE))
    answer = await told.request(SaslAuthenticateRequest(auth_bytes=opener.challenge), VERSION)
    await told.request(SaslAuthenticateRequest(auth_bytes=opener.answer(bytes(answer.auth_bytes))), VERSION)
    await world.sleep(PROVE_S - 1)
    assert not silent.closed
    await world.sleep(3)
    assert silent.closed and not told.closed
