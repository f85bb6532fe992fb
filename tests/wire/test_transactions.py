"""Transactions by value: each refusal with its code, markers byte by byte, on both engines (asked of Apache Kafka 4.3)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from kafka.protocol.admin.transactions import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.producer import InitProducerIdRequest
from kafka.protocol.producer.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)

from minikafka.log.batch import batches, build, records
from minikafka.protocol.errors import Err
from tests import requests
from tests.wire.conftest import Place, coordinator, describe_configs
from tests.wire.raw import Raw

GROUP, TRANSACTION = 0, 1
V1, V2 = 4, 5                          # of EndTxn: before KIP-890, and with it
NOT_ADDED_KNOWN, ADDED_ON_THE_WAY = 11, 12     # of Produce: what becomes of a partition that is not in the transaction
COMMIT, ABORT = True, False
BUSY, PATIENCE = "CONCURRENT_TRANSACTIONS", 60.0
LATER = (BUSY, "COORDINATOR_LOAD_IN_PROGRESS", "NOT_LEADER_OR_FOLLOWER")   # what every client tries again

Id = tuple[int, int]                   # producer id and epoch


class Batch(NamedTuple):
    """One batch as it was read: its first offset, T(ransactional), C(ontrol) or -, epoch, and what is in it."""

    offset: int
    kind: str
    epoch: int
    content: Any


class Desk(NamedTuple):
    """A transactional id that nobody else uses, a connection to its coordinator, and one to the topic's leader."""

    id: str
    raw: Raw
    at: Place

    # --- requests to the coordinator ------------------------------------------------------------------------------

    def init(self, expected: Id = (-1, -1), timeout: int = 60_000, version: int = 4) -> tuple[str, int, int]:
        request = InitProducerIdRequest(transactional_id=self.id, transaction_timeout_ms=timeout,
                                        producer_id=expected[0], producer_epoch=expected[1])
        answer = self.raw.ask(request, version)
        return Err(answer.error_code).name, answer.producer_id, answer.producer_epoch

    def begin(self) -> Id:
        """InitProducerId as a client does it."""
        error, *given = patiently(self.init)
        assert error == "NONE"
        return given[0], given[1]

    def add(self, who: Id, *partitions: int, version: int = 3, topic: str | None = None) -> dict[int, str]:
        topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic or self.at.name, partitions=partitions)]
        if version < 4:
            answer = self.raw.ask(AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.id, v3_and_below_producer_id=who[0],
                v3_and_below_producer_epoch=who[1], v3_and_below_topics=topics), version)
            results = answer.results_by_topic_v3_and_below
        else:
            one = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
                transactional_id=self.id, producer_id=who[0], producer_epoch=who[1], verify_only=False, topics=topics)
            results = self.raw.ask(AddPartitionsToTxnRequest(transactions=[one]), version).results_by_transaction[0]
            results = results.topic_results
        return {p.partition_index: Err(p.partition_error_code).name for t in results for p in t.results_by_partition}

    def end(self, who: Id, commit: bool, version: int = V1) -> tuple[str, int, int]:
        request = EndTxnRequest(transactional_id=self.id, producer_id=who[0], producer_epoch=who[1], committed=commit)
        answer = self.raw.ask(request, version)
        return Err(answer.error_code).name, answer.producer_id, answer.producer_epoch

    def settle(self) -> tuple[str, int, int]:
        """Wait until every marker is written; returns state, producer id and epoch."""
        deadline = time.monotonic() + PATIENCE
        while (found := self.describe())[0] in ("PrepareCommit", "PrepareAbort"):
            assert time.monotonic() < deadline, found
        return found[:3]

    def describe(self) -> tuple[str, int, int, list[tuple[str, list[int]]]]:
        request = DescribeTransactionsRequest(transactional_ids=[self.id])
        one = self.raw.ask(request, 0).transaction_states[0]
        assert one.error_code == 0
        return one.transaction_state, one.producer_id, one.producer_epoch, [(t.topic, t.partitions) for t in one.topics]

    # --- requests to the partition's leader -------------------------------------------------------------------------

    def produce(self, who: Id, sequence: int, version: int = ADDED_ON_THE_WAY, transactional: bool = True,
                transactional_id: str | None = "") -> tuple[str, int, str | None]:
        """Returns error, base offset and error message; "" stands for the own id."""
        data = build([(b"k", b"v")], timestamp_ms=int(time.time() * 1000), producer_id=who[0], producer_epoch=who[1],
                     base_sequence=sequence, transactional=transactional)
        request = requests.produce(self.at.name, data, transactional_id=self.id if transactional_id == "" else transactional_id)
        answer = self.at.raw.ask(request, version).responses[0].partition_responses[0]
        return Err(answer.error_code).name, answer.base_offset, answer.error_message

    def fetch(self, offset: int = 0, committed: bool = True) -> tuple[int, int, Any, list[Batch]]:
        """High watermark, last stable offset, aborted transactions as (producer id, first offset), batches."""
        request = requests.fetch(self.at.name, offset, max_wait_ms=100, isolation_level=int(committed))
        answer = self.at.raw.ask(request, 12)
        p = answer.responses[0].partitions[0]
        assert p.error_code == 0
        aborted = p.aborted_transactions
        rows = None if aborted is None else [(one.producer_id, one.first_offset) for one in aborted]
        return p.high_watermark, p.last_stable_offset, rows, [_batch(*one) for one in batches(p.records)]

    def latest(self, committed: bool) -> int:
        error, offset = self.end_offset(committed)
        assert error == "NONE"
        return offset

    def end_offset(self, committed: bool) -> tuple[str, int]:
        answer = self.at.raw.ask(requests.list_offsets(self.at.name, isolation_level=int(committed)), 7)
        found = answer.topics[0].partitions[0]
        return Err(found.error_code).name, found.offset


def _batch(header: Any, raw: Any) -> Batch:
    kind = "C" if header.is_control else "T" if header.is_transactional else "-"
    found = [(r.key, r.value) for r in records(raw)]
    if header.is_control:
        assert header.base_sequence == -1 and header.is_transactional
        ((key, value),) = found
        assert key[:3] == b"\0\0\0" and value[:2] == b"\0\0" and len(value) == 6
        return Batch(header.base_offset, kind, header.producer_epoch, key[3] == 1)
    return Batch(header.base_offset, kind, header.producer_epoch, len(found))


def patiently(ask: Any) -> Any:
    """Ask again while the last transaction is not complete, or something has only just begun, as clients do."""
    deadline = time.monotonic() + PATIENCE
    while (answer := ask())[0] in LATER:
        assert time.monotonic() < deadline
    return answer


@pytest.fixture
def desk(at: Place) -> Iterator[Desk]:
    """Ready: the coordinator of the id has loaded its partition, and the topic's leader knows that it leads."""
    with coordinator(at, at.name, TRANSACTION) as raw:
        made, deadline = Desk(at.name, raw, at), time.monotonic() + PATIENCE
        probe = DescribeTransactionsRequest(transactional_ids=[at.name])
        while Err(raw.ask(probe, 0).transaction_states[0].error_code) is not Err.TRANSACTIONAL_ID_NOT_FOUND:
            assert time.monotonic() < deadline
        assert patiently(lambda: made.end_offset(False))[0] == "NONE"
        yield made


# --- a transaction from beginning to end --------------------------------------------------------------------------


def test_the_feature_is_finalized(at: Place) -> None:
    """Fails if transaction.version is not finalized at 2: then no client uses KIP-890."""
    answer = at.raw.ask(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 4)
    assert {f.name: f.max_version_level for f in answer.finalized_features}["transaction.version"] == 2
    assert {f.name: (f.min_version, f.max_version) for f in answer.supported_features}["transaction.version"] == (0, 2)


def test_commit_and_abort_before_kip_890(desk: Desk) -> None:
    """Fails if a state, an offset, a marker's epoch or an aborted row of the classic path changes."""
    pid, epoch = who = desk.begin()
    assert (epoch, desk.describe()) == (0, ("Empty", pid, 0, []))
    assert desk.add(who, 0) == {0: "NONE"}
    assert desk.produce(who, 0, NOT_ADDED_KNOWN) == ("NONE", 0, None)
    assert desk.describe() == ("Ongoing", pid, 0, [(desk.at.name, [0])])
    assert desk.fetch() == (1, 0, [], []) and desk.fetch(committed=False) == (1, 0, None, [Batch(0, "T", 0, 1)])
    assert (desk.latest(committed=True), desk.latest(committed=False)) == (0, 1)
    assert desk.end(who, COMMIT)[0] == "NONE"
    assert desk.settle() == ("CompleteCommit", pid, 0)
    assert desk.fetch() == (2, 2, [], [Batch(0, "T", 0, 1), Batch(1, "C", 0, COMMIT)])
    assert desk.add(who, 0) == {0: "NONE"}
    assert desk.produce(who, 1, NOT_ADDED_KNOWN)[:2] == ("NONE", 2)
    assert desk.end(who, ABORT)[0] == "NONE"
    assert desk.settle() == ("CompleteAbort", pid, 0)
    assert desk.fetch(2) == (4, 4, [(pid, 2)], [Batch(2, "T", 0, 1), Batch(3, "C", 0, ABORT)])
    assert desk.fetch(2, committed=False)[2] is None


def test_rule_49_ending_twice(desk: Desk) -> None:
    """Fails if a repeated EndTxn is refused, or if the opposite one is taken."""
    who = desk.begin()
    assert desk.end(who, COMMIT)[0] == desk.end(who, ABORT)[0] == "INVALID_TXN_STATE", "nothing has begun"
    desk.add(who, 0)
    assert desk.end(who, COMMIT)[0] == "NONE"
    desk.settle()
    assert desk.end(who, COMMIT)[0] == "NONE" and desk.end(who, ABORT)[0] == "INVALID_TXN_STATE"


def test_rule_52_the_epoch_rises_with_every_end(desk: Desk) -> None:
    """Fails if EndTxn v5 leaves the epoch, if the marker carries the old one, or if late requests still count."""
    pid, _ = old = desk.begin()
    assert desk.produce(old, 0) == ("NONE", 0, None), "the partition joins on the way"
    assert desk.describe() == ("Ongoing", pid, 0, [(desk.at.name, [0])])
    new = (pid, 1)
    assert desk.end(old, COMMIT, V2) == ("NONE", *new)
    assert desk.settle() == ("CompleteCommit", *new)
    assert desk.fetch()[3] == [Batch(0, "T", 0, 1), Batch(1, "C", 1, COMMIT)]
    assert desk.end(old, COMMIT, V2) == ("NONE", *new), "the same again is answered again"
    assert desk.end(old, ABORT, V2) == ("INVALID_TXN_STATE", -1, -1)
    assert desk.produce(old, 1)[:2] == ("INVALID_PRODUCER_EPOCH", -1)
    assert patiently(lambda: desk.produce(new, 0))[:2] == ("NONE", 2)
    assert desk.end(old, COMMIT, V2) == ("PRODUCER_FENCED", -1, -1), "a late EndTxn (A11)"
    assert desk.end(new, ABORT, V2) == ("NONE", pid, 2)


def test_rule_52_transactions_back_to_back(desk: Desk) -> None:
    """Fails if the marker of the last transaction, which may come late, makes the first batch of the next one fail."""
    who = desk.begin()
    for number in range(15):
        assert patiently(lambda: desk.produce(who, 0))[0] == "NONE"            # noqa: B023
        error, *identity = desk.end(who, number % 2 == 0, V2)
        assert error == "NONE"
        who = (identity[0], identity[1])
    desk.settle()
    assert [b.content for b in desk.fetch()[3] if b.kind == "C"] == [n % 2 == 0 for n in range(15)]


def test_rule_52_aborting_before_the_last_markers_are_written(desk: Desk) -> None:
    """Fails if EndTxn with the epoch that the last one gave is PRODUCER_FENCED until its markers are written: a client that
    finds its group rebalancing aborts at once (franz-go), and would be dead."""
    pid, epoch = desk.begin()
    early = []
    for _ in range(10):
        assert patiently(lambda: desk.produce((pid, epoch), 0))[0] == "NONE"       # noqa: B023
        assert desk.end((pid, epoch), COMMIT, V2) == ("NONE", pid, epoch + 1)
        early.append(desk.end((pid, epoch + 1), ABORT, V2)[0])
        if early[-1] == "NONE":
            desk.settle()
        epoch += 1 + (early[-1] == "NONE")
    assert set(early) <= {BUSY, "NONE"} and BUSY in early, "the point is to come too early"


def test_rule_52_aborting_nothing_raises_the_epoch_too(desk: Desk) -> None:
    """Fails if a client of KIP-890 cannot get a new epoch by aborting a transaction that never began."""
    pid, _ = who = desk.begin()
    assert desk.end(who, COMMIT, V2) == ("INVALID_TXN_STATE", -1, -1)
    assert desk.end(who, ABORT, V2) == ("NONE", pid, 1)
    assert desk.settle() == ("CompleteAbort", pid, 1)
    assert desk.end(who, ABORT, V2) == ("NONE", pid, 1)
    assert desk.end((pid, 1), COMMIT, V2) == ("INVALID_TXN_STATE", -1, -1)


# --- fencing ------------------------------------------------------------------------------------------------------


def test_rule_50_a_new_producer_fences_the_old_one(desk: Desk) -> None:
    """Fails if what the old one left is not aborted with a higher epoch, or if the old one can go on."""
    pid, _ = old = desk.begin()
    assert desk.produce(old, 0)[0] == "NONE"
    assert desk.init() == (BUSY, -1, -1)
    assert desk.begin() == (pid, 2)
    assert desk.fetch()[2:] == ([(pid, 0)], [Batch(0, "T", 0, 1), Batch(1, "C", 1, ABORT)])
    assert [desk.end(old, COMMIT, v)[0] for v in (1, 2, V2)] == [
        "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "PRODUCER_FENCED"]
    assert [desk.add(old, 0, version=v) for v in (1, 2)] == [{0: "INVALID_PRODUCER_EPOCH"}, {0: "PRODUCER_FENCED"}]
    assert [desk.produce(old, 1, v)[0] for v in (9, 11, 12)] == ["INVALID_PRODUCER_EPOCH"] * 3
    assert [desk.init(old, version=v)[0] for v in (3, 4)] == ["INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"]


def test_rule_50_a_partition_fences_without_the_coordinator(reader: Reader) -> None:
    """Fails if a partition that has seen a higher epoch needs the coordinator first: that may have forgotten the id, and a fenced
    producer would get the error of an unknown id."""
    desk, old = reader.desk, reader.desk.begin()
    assert desk.produce(old, 0)[0] == reader.commit(old, 5, 5) == "NONE"
    who = desk.begin()
    known, unknown = ("INVALID_PRODUCER_EPOCH", -1, None), ("INVALID_PRODUCER_ID_MAPPING", -1, None)
    for version in (9, 11, 12):
        assert desk.produce(old, 1, version, transactional_id="nobody") == known
        assert desk.produce(who, 0, version, transactional_id="nobody") == unknown
    for version in (3, 4, 5):
        assert reader.commit(old, 6, version, transactional_id="nobody") == known[0]
        assert reader.commit(who, 6, version, transactional_id="nobody") == unknown[0]


def test_rule_50_continuing_with_an_expected_identity(desk: Desk) -> None:
    """Fails if a lost answer of InitProducerId costs an epoch, or if a wrong identity gets one."""
    pid, _ = who = desk.begin()
    assert desk.init(who) == desk.init(who) == ("NONE", pid, 1)
    assert desk.begin() == (pid, 2)
    assert desk.init(who) == desk.init((pid + 1, 2)) == ("PRODUCER_FENCED", -1, -1)
    assert desk.init((pid, -1)) == desk.init((-1, 2)) == ("INVALID_REQUEST", -1, -1)


@pytest.mark.parametrize("timeout", [0, -1, 900_001])
def test_transaction_timeouts_are_bounded(desk: Desk, timeout: int) -> None:
    """Fails if transaction.max.timeout.ms (15 minutes) does not bound what a producer may ask for."""
    assert desk.init(timeout=timeout) == ("INVALID_TRANSACTION_TIMEOUT", -1, -1)


def test_rule_50_a_transaction_that_takes_too_long_is_aborted(desk: Desk) -> None:
    """Fails if no timer aborts it, or if the abort keeps the epoch."""
    error, pid, epoch = patiently(lambda: desk.init(timeout=500))
    assert (error, epoch, desk.produce((pid, 0), 0)[0]) == ("NONE", 0, "NONE")
    deadline = time.monotonic() + PATIENCE
    while desk.describe()[0] == "Ongoing":
        assert time.monotonic() < deadline
    assert desk.settle() == ("CompleteAbort", pid, 1)
    assert desk.produce((pid, 0), 1)[0] == "INVALID_PRODUCER_EPOCH"
    assert desk.end((pid, 0), COMMIT, V2)[0] == "INVALID_TXN_STATE" and desk.end((pid, 0), COMMIT)[0] == "PRODUCER_FENCED"
    assert desk.init((pid, 0)) == desk.init((pid, 0)) == ("NONE", pid, 1), "as no other came, it may go on"
    assert desk.settle() == ("Empty", pid, 1)


def test_rule_50_what_was_aborted_may_go_on_until_another_comes(desk: Desk) -> None:
    """Fails if the epoch of the abort is given to nobody, or still to the old producer once a new one has been given its."""
    pid, _ = old = desk.begin()
    assert desk.produce(old, 0)[0] == "NONE" and desk.init() == (BUSY, -1, -1)
    assert desk.settle() == ("CompleteAbort", pid, 1)
    assert desk.init(old) == ("NONE", pid, 1)
    assert desk.init() == ("NONE", pid, 2)
    assert desk.init(old)[0] == "PRODUCER_FENCED"


# --- what belongs to a transaction ----------------------------------------------------------------------------------


def test_rule_52_a_partition_outside_of_the_transaction(desk: Desk) -> None:
    """Fails if a leader writes a transactional batch without asking the coordinator, or words the refusal otherwise."""
    pid, _ = who = desk.begin()
    assert desk.produce(who, 0, 9) == ("INVALID_TXN_STATE", -1, "Partition was not added to the transaction")
    assert desk.produce(who, 0, NOT_ADDED_KNOWN) == ("TRANSACTION_ABORTABLE", -1, None)
    for version in (NOT_ADDED_KNOWN, ADDED_ON_THE_WAY):
        assert desk.produce((pid + 1000, 0), 0, version)[0] == "INVALID_PRODUCER_ID_MAPPING"
        assert desk.produce((pid, 5), 0, version)[0] == "INVALID_PRODUCER_EPOCH"
    assert desk.produce(who, 0, transactional_id=None)[0] == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    assert desk.latest(committed=False) == 0


def test_rule_52_what_comes_first_is_written_first(desk: Desk) -> None:
    """Fails if a batch overtakes an earlier one that was refused because its partition had not joined yet."""
    who = desk.begin()
    assert desk.produce(who, 0, NOT_ADDED_KNOWN)[0] == "TRANSACTION_ABORTABLE"
    assert desk.add(who, 0) == {0: "NONE"}
    assert [desk.produce(who, sequence, NOT_ADDED_KNOWN)[0] for sequence in (1, 0, 1)] == [
        "OUT_OF_ORDER_SEQUENCE_NUMBER", "NONE", "NONE"]


def test_rule_52_a_transaction_of_a_newer_client_begins_at_0(desk: Desk) -> None:
    """Fails if a partition that knows nothing of the producer takes any sequence, as it does from older clients."""
    who = desk.begin()
    assert desk.produce(who, 3)[0] == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert desk.produce(who, 0)[0] == "NONE"


def test_rule_53_plain_writes_inside_a_transaction(desk: Desk) -> None:
    """Fails if a producer with an open transaction may write to its partition without it."""
    who = desk.begin()
    assert desk.produce(who, 0)[0] == "NONE"
    assert desk.produce(who, 1, transactional=False)[0] == "INVALID_TXN_STATE"
    assert desk.produce(who, 1, transactional=False, transactional_id=None)[0] == "INVALID_TXN_STATE"


def test_a_retry_inside_a_transaction_is_written_once(desk: Desk) -> None:
    """Fails if the check of sequences is lost on the transactional path (rule 43)."""
    who = desk.begin()
    assert [desk.produce(who, s)[:2] for s in (0, 1, 0)] == [("NONE", 0), ("NONE", 1), ("NONE", 0)]
    assert desk.produce(who, 5)[0] == "OUT_OF_ORDER_SEQUENCE_NUMBER"


def test_adding_partitions(desk: Desk) -> None:
    """Fails if one bad partition does not keep out the good ones, or if an unknown id gets another code."""
    pid, _ = who = desk.begin()
    assert desk.add(who, 0, 5) == {0: "OPERATION_NOT_ATTEMPTED", 5: "UNKNOWN_TOPIC_OR_PARTITION"}
    assert desk.add(who, 0, 5, version=4) == {0: "OPERATION_NOT_ATTEMPTED", 5: "UNKNOWN_TOPIC_OR_PARTITION"}
    assert desk.describe()[0] == "Empty"
    assert desk.add((pid + 1000, 0), 0) == {0: "INVALID_PRODUCER_ID_MAPPING"}
    assert desk.add((pid, 1), 0) == {0: "PRODUCER_FENCED"}
    assert desk._replace(id="").add(who, 0) == {0: "INVALID_REQUEST"}
    assert desk.add(who, 0, version=4) == desk.add(who, 0, version=5) == {0: "NONE"}


def test_rule_51_markers_of_older_coordinators(desk: Desk) -> None:
    """Fails if a deposed coordinator can still end a transaction, or if markers depend on a transaction being open."""
    pid, _ = desk.begin()
    unknown = 10**9 + pid

    def mark(epoch: int, coordinator_epoch: int, topic: str = desk.at.name, version: int = 1) -> str:
        marker = WriteTxnMarkersRequest.WritableTxnMarker
        one = marker(producer_id=unknown, producer_epoch=epoch, transaction_result=COMMIT, transaction_version=0,
                     coordinator_epoch=coordinator_epoch,
                     topics=[marker.WritableTxnMarkerTopic(name=topic, partition_indexes=[0])])
        answer = desk.at.raw.ask(WriteTxnMarkersRequest(markers=[one]), version).markers[0]
        assert answer.producer_id == unknown and answer.topics[0].name == topic
        return Err(answer.topics[0].partitions[0].error_code).name

    assert mark(3, 5) == "NONE" and mark(3, 5, "nowhere") == "UNKNOWN_TOPIC_OR_PARTITION"
    assert mark(3, 4) == "TRANSACTION_COORDINATOR_FENCED" and mark(2, 6) == "INVALID_PRODUCER_EPOCH"
    assert mark(3, 6, version=2) == "NONE"
    assert [b.kind for b in desk.fetch()[3]] == ["C", "C"]


def test_rule_54_read_committed(desk: Desk) -> None:
    """Fails if another producer's aborted transaction is left out, or if anything above the stable offset is sent."""
    pid, _ = who = desk.begin()
    for sequence, outcome in ((0, ABORT), (1, COMMIT), (2, ABORT)):
        desk.add(who, 0)
        assert desk.produce(who, sequence, NOT_ADDED_KNOWN)[0] == "NONE"
        desk.end(who, outcome)
        desk.settle()
    desk.add(who, 0)
    assert desk.produce(who, 3, NOT_ADDED_KNOWN)[:2] == ("NONE", 6)
    high_watermark, stable, aborted, found = desk.fetch()
    assert (high_watermark, stable, aborted) == (7, 6, [(pid, 0), (pid, 4)])
    assert [b.offset for b in found] == [0, 1, 2, 3, 4, 5]
    assert desk.fetch(2)[2] == [(pid, 4)] and desk.fetch(6) == (7, 6, [], [])
    assert desk.latest(committed=True) == 6


def test_rule_54_aborted_transactions_are_listed_beyond_the_stable_offset(desk: Desk) -> None:
    """Fails if only aborted transactions below the last stable offset are listed: Kafka lists those of the log that follows."""
    assert desk.produce((-1, -1), -1, transactional=False, transactional_id=None)[0] == "NONE"
    assert desk.produce(desk.begin(), 0)[0] == "NONE"
    with coordinator(desk.at, f"{desk.id}-2", TRANSACTION) as raw:
        other = Desk(f"{desk.id}-2", raw, desk.at)
        pid, _ = who = other.begin()
        assert other.produce(who, 0)[0] == "NONE" and other.end(who, ABORT, V2)[0] == "NONE"
        other.settle()
    high_watermark, stable, aborted, found = desk.fetch()
    assert (high_watermark, stable, aborted, [b.offset for b in found]) == (4, 1, [(pid, 2)], [0])


# --- offsets of a group ---------------------------------------------------------------------------------------------


class Reader(NamedTuple):
    """A group that nobody else uses, and a connection to its coordinator."""

    desk: Desk
    raw: Raw

    def commit(self, who: Id, offset: int, version: int, **fields: Any) -> str:
        topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        partition = topic.TxnOffsetCommitRequestPartition(partition_index=fields.pop("index", 0), committed_offset=offset,
                                                          committed_metadata="m")
        options = {"transactional_id": self.desk.id, "generation_id": -1, "member_id": "", "group_instance_id": None}
        request = TxnOffsetCommitRequest(
            group_id=self.desk.id, producer_id=who[0], producer_epoch=who[1],
            topics=[topic(name=fields.pop("topic", self.desk.at.name), partitions=[partition])], **(options | fields))
        return Err(self.raw.ask(request, version).topics[0].partitions[0].error_code).name

    def fetched(self, require_stable: bool = False) -> tuple[str, int]:
        topic = OffsetFetchRequest.OffsetFetchRequestTopic(name=self.desk.at.name, partition_indexes=[0])
        request = OffsetFetchRequest(group_id=self.desk.id, topics=[topic], require_stable=require_stable)
        found = self.raw.ask(request, 7).topics[0].partitions[0]
        return Err(found.error_code).name, found.committed_offset


@pytest.fixture
def reader(desk: Desk) -> Iterator[Reader]:
    with coordinator(desk.at, desk.id, GROUP) as raw:
        deadline = time.monotonic() + PATIENCE
        probe = OffsetFetchRequest(group_id=desk.id, topics=[])
        while raw.ask(probe, 7).error_code:
            assert time.monotonic() < deadline
        yield Reader(desk, raw)


def test_rule_61_offsets_wait_for_the_marker(reader: Reader) -> None:
    """Fails if offsets show before the commit, stay pending after it, or show after an abort."""
    desk, who = reader.desk, reader.desk.begin()
    request = AddOffsetsToTxnRequest(transactional_id=desk.id, producer_id=who[0], producer_epoch=who[1], group_id=desk.id)
    assert desk.raw.ask(request, 3).error_code == 0
    assert desk.describe()[3][0][0] == "__consumer_offsets"
    assert reader.commit(who, 5, 3) == "NONE"
    assert reader.fetched() == ("NONE", -1) and reader.fetched(True) == ("UNSTABLE_OFFSET_COMMIT", -1)
    assert desk.end(who, COMMIT)[0] == "NONE"
    desk.settle()
    assert reader.fetched() == reader.fetched(True) == ("NONE", 5)
    assert reader.commit(who, 9, 5) == "NONE", "from version 5 on the partition joins on the way"
    assert reader.fetched() == ("NONE", 5) and reader.fetched(True) == ("UNSTABLE_OFFSET_COMMIT", -1)
    assert desk.end(who, ABORT)[0] == "NONE"
    desk.settle()
    assert reader.fetched(True) == ("NONE", 5)


def test_rule_61_who_may_commit_offsets(reader: Reader) -> None:
    """Fails if a zombie, a stranger or a member of another generation gets offsets into the group's log."""
    desk, (pid, epoch) = reader.desk, reader.desk.begin()
    who = (pid, epoch)
    assert [reader.commit(who, 1, v) for v in (2, 3, 4)] == [
        "INVALID_TXN_STATE", "INVALID_TXN_STATE", "TRANSACTION_ABORTABLE"]
    generation = {"generation_id": 3, "member_id": "m"}
    assert [reader.commit(who, 1, v, **generation) for v in (3, 5)] == ["INVALID_TXN_STATE", "ILLEGAL_GENERATION"]
    for version in (3, 5):
        assert reader.commit((pid + 1000, epoch), 1, version) == "INVALID_PRODUCER_ID_MAPPING"
        assert reader.commit((pid, epoch + 1), 1, version) == "INVALID_PRODUCER_EPOCH"
        assert reader.commit(who, 1, version, topic="nowhere") == "UNKNOWN_TOPIC_OR_PARTITION"
        assert reader.commit(who, 1, version, index=7) == "UNKNOWN_TOPIC_OR_PARTITION"
    request = AddOffsetsToTxnRequest(transactional_id=desk.id, producer_id=pid, producer_epoch=epoch + 1, group_id=desk.id)
    assert [Err(desk.raw.ask(request, v).error_code).name for v in (1, 2)] == ["INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"]


# --- administration -------------------------------------------------------------------------------------------------


def test_listing_transactions(desk: Desk) -> None:
    """Fails if a filter of ListTransactions is ignored."""
    pid, _ = who = desk.begin()

    def listed(version: int = 2, **filters: Any) -> list[tuple[str, int, str]]:
        options = {"state_filters": [], "producer_id_filters": [pid], "duration_filter": -1,
                   "transactional_id_pattern": None}
        answer = desk.raw.ask(ListTransactionsRequest(**(options | filters)), version)
        assert answer.error_code == 0
        return [(t.transactional_id, t.producer_id, t.transaction_state) for t in answer.transaction_states]

    assert listed() == listed(version=0) == [(desk.id, pid, "Empty")]
    assert listed(state_filters=["Ongoing"]) == listed(producer_id_filters=[pid + 1000]) == []
    assert listed(transactional_id_pattern=desk.id[:3] + ".*") == [(desk.id, pid, "Empty")]
    assert listed(transactional_id_pattern=desk.id[:3]) == []
    assert listed(duration_filter=100_000) == [(desk.id, pid, "Empty")], "not begun: it counts from 1970"
    desk.add(who, 0)
    assert listed(state_filters=["Ongoing", "Empty"]) == [(desk.id, pid, "Ongoing")]
    assert listed(duration_filter=100_000) == []
    request = ListTransactionsRequest(state_filters=["Empty", "Odd"], producer_id_filters=[], duration_filter=-1,
                                      transactional_id_pattern="(")
    assert desk.raw.ask(request, 1).unknown_state_filters == ["Odd"]
    assert Err(desk.raw.ask(request, 2).error_code) is Err.INVALID_REGULAR_EXPRESSION
    request.transactional_id_pattern = "a{1,2000000000}"
    assert Err(desk.raw.ask(request, 2).error_code) is Err.INVALID_REGULAR_EXPRESSION


def test_describing_what_is_not_there(desk: Desk) -> None:
    """Fails if an unknown or empty transactional id gets another code."""
    request = DescribeTransactionsRequest(transactional_ids=["", desk.id])
    found = [Err(s.error_code).name for s in desk.raw.ask(request, 0).transaction_states]
    assert found == ["INVALID_REQUEST", "TRANSACTIONAL_ID_NOT_FOUND"]


def test_describing_producers(desk: Desk) -> None:
    """Fails if DescribeProducers does not show what the log remembers of a producer."""
    pid, _ = who = desk.begin()
    assert desk.produce(who, 0)[0] == desk.produce(who, 1)[0] == "NONE"
    topic = DescribeProducersRequest.TopicRequest

    def described(name: str, *indexes: int) -> list[Any]:
        request = DescribeProducersRequest(topics=[topic(name=name, partition_indexes=indexes)])
        return desk.at.raw.ask(request, 0).topics[0].partitions

    def state() -> tuple[int, ...]:
        ((one,),) = [p.active_producers for p in described(desk.at.name, 0)]
        return (one.producer_id, one.producer_epoch, one.last_sequence, one.coordinator_epoch, one.current_txn_start_offset)

    assert state() == (pid, 0, 1, -1, 0)
    desk.end(who, COMMIT, V2)
    desk.settle()
    assert (*state()[:3], state()[4]) == (pid, 1, -1, -1)
    with Raw(next(address for broker, address in desk.at.addresses.items() if broker != desk.at.leader)) as follower:
        request = DescribeProducersRequest(topics=[topic(name=desk.at.name, partition_indexes=[0])])
        (answer,) = follower.ask(request, 0).topics[0].partitions
        assert (answer.error_code, answer.error_message) == (0, None), "a follower's log remembers too"
    texts = [(Err(p.error_code).name, p.error_message) for p in described("nowhere", 0) + described(desk.at.name, 9)]
    assert texts == [("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition."),
                     ("UNKNOWN_TOPIC_OR_PARTITION", None)]


def test_the_topic_of_transactions_is_made_as_kafka_makes_it(desk: Desk) -> None:
    """Fails if `__transaction_state` lacks a setting that Kafka gives it."""
    (result,) = describe_configs(desk.raw, (2, "__transaction_state"))
    assert {c.name: c.value for c in result.configs if c.config_source == 1} == {
        "cleanup.policy": "compact", "compression.type": "uncompressed", "min.insync.replicas": "2",
        "segment.bytes": "104857600", "unclean.leader.election.enable": "false"}
