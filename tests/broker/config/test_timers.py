"""Upkeep by time: each timer that has a setting is seen at work on a running broker with a short value; on both engines.

The walk is made from the tables of settings: a new setting of time has to be shown, or named as one by which a request waits.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.protocol.admin import DescribeQuorumRequest, ListTransactionsRequest
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import InitProducerIdRequest

from minikafka import Cluster
from minikafka.broker.config.table import BROKER_CONFIGS, TOPIC_CONFIGS
from minikafka.log.batch import build
from minikafka.protocol.errors import Err
from tests import requests
from tests.conftest import own_cluster
from tests.requests import EARLIEST, topic
from tests.wire.conftest import Place, end, place
from tests.wire.raw import Raw
from tests.wire.test_alter_configs import BROKER, SET, incremental
from tests.wire.test_delete_records import delete

pytestmark = [pytest.mark.slow]
ROOT = Path(__file__).parents[3]

SHORT = {
    "default.replication.factor": 1, "transaction.state.log.num.partitions": 1,
    "producer.id.expiration.check.interval.ms": 300, "log.initial.task.delay.ms": 300, "log.retention.check.interval.ms": 300,
    "log.flush.scheduler.interval.ms": 300, "log.flush.offset.checkpoint.interval.ms": 300,
    "log.flush.start.offset.checkpoint.interval.ms": 300, "replica.high.watermark.checkpoint.interval.ms": 300,
    "log.cleaner.backoff.ms": 300, "metadata.max.idle.interval.ms": 100, "metadata.log.max.snapshot.interval.ms": 1000,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 3_600_000,
    "transactional.id.expiration.ms": 1000, "transaction.remove.expired.transaction.cleanup.interval.ms": 300,
}
GROUPS = "tests/wire/consumer_groups/test_timeouts.py"
SIGNED = "tests/broker/security/test_signed_tokens.py"
TOKENS = "tests/broker/security/test_delegation_tokens.py"
# The test that shows each; a name alone is a test of this file.
SHOWN = {
    "connection.failed.authentication.delay.ms": "tests/broker/security/test_login.py::test_garbage_ends_the_connection",
    "connections.max.reauth.ms": "tests/broker/security/test_reauthentication.py::"
                                 "test_after_its_end_nothing_but_a_new_login_is_served",
    "sasl.oauthbearer.clock.skew.seconds": f"{SIGNED}::test_each_odd_message",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": f"{SIGNED}::test_keys_of_a_web_server",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": f"{SIGNED}::test_a_web_server_that_fails_is_asked_again_for_a_while",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": f"{SIGNED}::test_a_web_server_that_fails_is_asked_again_for_a_while",
    "delegation.token.max.lifetime.ms": f"{TOKENS}::test_a_token_is_made",
    "delegation.token.expiry.time.ms": f"{TOKENS}::test_a_token_is_made",
    "delegation.token.expiry.check.interval.ms":
        "tests/broker/controller/test_controller.py::test_tokens_that_have_ended_are_removed_at_the_next_look",
    "producer.id.expiration.ms": "test_a_silent_producer_is_forgotten",
    "producer.id.expiration.check.interval.ms": "test_a_silent_producer_is_forgotten",
    "retention.ms": "test_old_records_go", "log.retention.check.interval.ms": "test_old_records_go",
    "log.initial.task.delay.ms": "test_old_records_go", "segment.ms": "test_a_record_is_compacted_between_its_lags",
    "segment.jitter.ms": "tests/log/test_cleaner.py::test_a_segment_is_closed_in_time_to_be_compacted",
    "flush.ms": "test_records_are_flushed", "log.flush.scheduler.interval.ms": "test_records_are_flushed",
    "log.flush.offset.checkpoint.interval.ms": "test_records_are_flushed",
    "log.flush.start.offset.checkpoint.interval.ms": "test_the_start_of_a_log_is_noted",
    "replica.high.watermark.checkpoint.interval.ms": "test_records_are_flushed",
    "max.compaction.lag.ms": "test_a_record_is_compacted_between_its_lags",
    "min.compaction.lag.ms": "test_a_record_is_compacted_between_its_lags",
    "log.cleaner.backoff.ms": "test_a_record_is_compacted_between_its_lags",
    "delete.retention.ms": "tests/clients/test_compaction.py::test_a_tombstone_removes_its_key_and_then_itself",
    "metadata.max.idle.interval.ms": "test_an_idle_controller_writes",
    "metadata.log.max.snapshot.interval.ms": "test_an_idle_controller_writes",
    "metadata.log.segment.ms": "tests/broker/metadata/test_metadata_damage.py::test_a_file_ends_once_it_is_flushed",
    "metadata.max.retention.ms": "tests/broker/raft/test_quorum.py::test_older_snapshots_are_kept_while_they_are_small_and_young",
    "transactional.id.expiration.ms": "test_an_unused_transactional_id_is_forgotten",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "test_an_unused_transactional_id_is_forgotten",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms":
        "tests/wire/test_transactions.py::test_rule_50_a_transaction_that_takes_too_long_is_aborted",
    "offsets.retention.minutes": "tests/broker/groups/test_shell_groups.py::"
                                 "test_offsets_that_nobody_renews_are_forgotten_and_the_group_with_them",
    "offsets.retention.check.interval.ms": "tests/wire/test_offset_expiry.py::test_an_offset_expires_at_its_own_time",
    "group.consumer.session.timeout.ms": f"{GROUPS}::test_a_silent_member_is_missed",
    "group.consumer.heartbeat.interval.ms": f"{GROUPS}::test_assignments_have_an_interval",
    "group.consumer.assignment.interval.ms": f"{GROUPS}::test_assignments_have_an_interval",
    "connections.max.idle.ms": "tests/broker/security/test_limits.py::test_silence_ends_after_connections_max_idle_ms",
    "broker.session.timeout.ms": "tests/cluster/test_life.py::test_a_paused_broker_is_fenced_and_returns",
    "broker.heartbeat.interval.ms": "tests/cluster/test_life.py::test_a_paused_broker_is_fenced_and_returns",
    "replica.lag.time.max.ms": "tests/broker/replication/test_replica_manager.py::test_the_isr_shrinks_in_time_and_grows_again",
    "leader.imbalance.check.interval.seconds":
        "tests/wire/test_elections.py::test_a_clean_stop_moves_the_leader_and_it_comes_back",
    "unclean.leader.election.interval.ms":
        "tests/broker/controller/test_controller.py::test_a_late_unclean_setting_takes_effect_at_the_next_look",
}
# For these a request, a vote or a member waits, or a value is bounded by them: nothing is kept up.
WAITS = """
controller.quorum.election.timeout.ms controller.quorum.fetch.timeout.ms controller.quorum.election.backoff.max.ms
controller.quorum.append.linger.ms controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms
replica.fetch.wait.max.ms replica.fetch.backoff.ms replica.socket.timeout.ms request.timeout.ms offsets.commit.timeout.ms
add.partitions.to.txn.retry.backoff.ms add.partitions.to.txn.retry.backoff.max.ms transaction.max.timeout.ms
group.initial.rebalance.delay.ms group.min.session.timeout.ms group.max.session.timeout.ms
group.consumer.min.session.timeout.ms group.consumer.max.session.timeout.ms group.consumer.min.heartbeat.interval.ms
group.consumer.max.heartbeat.interval.ms group.consumer.min.assignment.interval.ms group.consumer.max.assignment.interval.ms
message.timestamp.before.max.ms message.timestamp.after.max.ms quota.window.size.seconds controller.quota.window.size.seconds
"""


def test_every_timer_is_shown() -> None:
    """Fails if there is a setting of time that no test shows at work, or if a test that shows one has gone."""
    defaults = {synonym for row in TOPIC_CONFIGS.values() for synonym, _ in row.synonyms} - {"log.flush.scheduler.interval.ms"}
    rows = [*TOPIC_CONFIGS.values(), *(row for row in BROKER_CONFIGS.values() if row.name not in defaults)]
    timers = {row.name for row in rows if row.effect == "read" and re.search(r"\.(ms|seconds|minutes|hours)$", row.name)}
    assert timers == {*SHOWN, *WAITS.split()}
    for shown in SHOWN.values():
        file, _, test = shown.rpartition("::")
        assert f"def {test}(" in (ROOT / file if file else Path(__file__)).read_text(), shown
    assert {*SHORT} <= {*SHOWN, "default.replication.factor", "transaction.state.log.num.partitions"}


hasty = own_cluster(1, config=SHORT)    # a broker whose timers are short


@pytest.fixture
def settings() -> dict[str, str]:
    """Settings of the topic; a test gives its own by parametrize."""
    return {}


@pytest.fixture
def at(hasty: Cluster, name: str, settings: dict[str, str]) -> Iterator[Place]:
    with Raw(hasty.bootstrap) as raw:
        raw.create(topic(name, **settings))
    found = place(hasty, name)
    with found.raw:
        yield found


def produce(at: Place, sequence: int = -1, key: bytes | None = None, value: bytes = b"x", age_s: float = 0) -> int:
    """Write one record, of producer 4711 if it has a sequence; the error code."""
    who = {"producer_id": 4711, "producer_epoch": 0, "base_sequence": sequence} if sequence >= 0 else {}
    batch = build([(key, value)], timestamp_ms=int((time.time() - age_s) * 1000), **who)
    return int(at.raw.ask(requests.produce(at.name, batch), 9).responses[0].partition_responses[0].error_code)


def noted(cluster: Cluster, file: str, name: str) -> str | None:
    """The offset of the topic's partition in a checkpoint of the broker's folder."""
    path = cluster.plan.nodes[1].data / file
    rows = dict(line.rsplit(" ", 1) for line in path.read_text().splitlines()[2:]) if path.exists() else {}
    return rows.get(f"{name} 0")


def test_a_silent_producer_is_forgotten(hasty: Cluster, at: Place) -> None:
    """Fails if what a partition knows of a producer stays for as long as the broker runs, whatever was altered meanwhile: a gap
    in the sequences is then refused for ever."""
    assert [produce(at, 0), produce(at, 5)] == [0, Err.OUT_OF_ORDER_SEQUENCE_NUMBER]
    time_ms = ("producer.id.expiration.ms", SET, "500")
    assert incremental(at.raw, (BROKER, "", [time_ms])) == [(BROKER, "", 0, None)]
    hasty.wait(lambda: produce(at, 9) == 0, timeout=60)


@pytest.mark.parametrize("settings", [{"retention.ms": "1000"}])
def test_old_records_go(hasty: Cluster, at: Place) -> None:
    """Fails if retention is not applied, or first after the half minute that log.initial.task.delay.ms is by default."""
    assert produce(at) == 0
    hasty.wait(lambda: end(at.raw, at.name, EARLIEST) == 1, timeout=60)


@pytest.mark.parametrize("settings", [{"flush.ms": "100"}])
def test_records_are_flushed(hasty: Cluster, at: Place) -> None:
    """Fails if only a segment that is closed becomes durable, or if that, or the high watermark, is not noted."""
    assert produce(at) == 0
    hasty.wait(lambda: noted(hasty, "replication-offset-checkpoint", at.name) == "1", timeout=60)
    hasty.wait(lambda: noted(hasty, "recovery-point-offset-checkpoint", at.name) == "1", timeout=60)


def test_the_start_of_a_log_is_noted(hasty: Cluster, at: Place) -> None:
    """Fails if the offset up to which an administrator deleted is not written down."""
    assert [produce(at), produce(at)] == [0, 0]
    assert delete(at.raw, (at.name, [(0, 1)])) == {(at.name, 0): (1, 0)}
    hasty.wait(lambda: noted(hasty, "log-start-offset-checkpoint", at.name) == "1", timeout=60)


RECORDS = re.compile(r"\.log(\.swap|\.cleaned)?$")
COMPACTED = {"cleanup.policy": "compact", "segment.ms": "200"}


@pytest.mark.parametrize("settings", [COMPACTED | {"min.cleanable.dirty.ratio": "1.0", "max.compaction.lag.ms": "500"}])
def test_a_record_is_compacted_between_its_lags(hasty: Cluster, at: Place, name: str) -> None:
    """Fails if a log that is never dirty enough is not compacted in time, or one whose records are too young is."""
    young = at._replace(name=f"{name}-young")
    at.raw.create(topic(young.name, **COMPACTED, **{"min.compaction.lag.ms": "3600000", "min.cleanable.dirty.ratio": "0.0"}))
    place(hasty, young.name).raw.socket.close()

    def is_there(one: Place, value: bytes) -> bool:
        """Look at the files of records, also those that the cleaner has not renamed to .log yet; again if it does meanwhile."""
        files = [file for file in (hasty.plan.nodes[1].data / f"{one.name}-0").iterdir() if RECORDS.search(file.name)]
        try:
            return any(value in file.read_bytes() for file in files)
        except FileNotFoundError:
            return is_there(one, value)

    for one in (young, at):
        for age_s, value in ((9, b"old"), (6, b"new"), (3, b"end")):   # each begins a segment
            assert produce(one, key=b"k" if age_s > 3 else b"end", value=value, age_s=age_s) == 0
    hasty.wait(lambda: not is_there(at, b"old"), timeout=60)
    assert is_there(at, b"new") and is_there(young, b"old")


def metadata_end(raw: Raw) -> int:
    rows = DescribeQuorumRequest.TopicData
    request = DescribeQuorumRequest(topics=[rows(topic_name="__cluster_metadata", partitions=[
        rows.PartitionData(partition_index=0)])])
    return int(raw.ask(request, 1).topics[0].partitions[0].high_watermark)


def test_an_idle_controller_writes(hasty: Cluster) -> None:
    """Fails if an idle log of metadata does not move, or if no snapshot is made of it in time."""
    folder = hasty.plan.nodes[1].metadata / "__cluster_metadata-0"
    with Raw(hasty.bootstrap) as raw:
        begun = metadata_end(raw)
        hasty.wait(lambda: metadata_end(raw) > begun + 20, timeout=60)
    hasty.wait(lambda: any(int(file.name[:20]) > begun for file in folder.glob("*.checkpoint")), timeout=60)


def test_an_unused_transactional_id_is_forgotten(hasty: Cluster, name: str) -> None:
    """Fails if an id stays for ever, or is looked for only where transactions are aborted."""
    with Raw(hasty.bootstrap) as raw:
        def begun() -> bool:
            return raw.ask(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000), 4).error_code == 0

        def known() -> bool:
            return name in [t.transactional_id for t in raw.ask(ListTransactionsRequest(), 1).transaction_states]

        hasty.wait(lambda: raw.ask(FindCoordinatorRequest(key=name, key_type=1), 3).error_code == 0 and begun(), timeout=60)
        assert known()
        hasty.wait(lambda: not known(), timeout=60)
