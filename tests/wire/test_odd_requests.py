"""Requests that name something twice, or nothing, or have numbers without a meaning: the answers, by value, on both engines."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    AlterPartitionReassignmentsRequest,
    DescribeGroupsRequest,
    DescribeQuorumRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ListGroupsRequest,
    ListTransactionsRequest,
    UpdateFeaturesRequest,
)
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.consumer.group import OffsetCommitRequest, OffsetDeleteRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer.transaction import (
    AddPartitionsToTxnRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)

from minikafka.protocol.errors import Err
from minikafka.protocol.reader import MAX_STRING
from tests import requests
from tests.wire import conftest
from tests.wire.conftest import Place, describe_configs

NOT_HERE = "This server does not host this topic-partition."


@pytest.fixture
def coordinator(cluster: Any, at: Place, name: str) -> Any:
    """A connection to the coordinator of the group and of the transactional id that are called `name`."""
    with conftest.coordinator(at, name) as group, conftest.coordinator(at, name, 1) as transaction:
        yield {"group": group, "transaction": transaction}


# --- reading ----------------------------------------------------------------------------------------------------

def test_an_unknown_isolation_level_spoils_list_offsets(at: Place) -> None:
    """Fails if partitions are read, or the request is not echoed as it was: an empty topic, a partition twice."""
    topic, partition = ListOffsetsRequest.ListOffsetsTopic, ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition
    earliest = partition(partition_index=0, timestamp=-2)
    asked = [topic(name=at.name, partitions=[earliest, earliest]), topic(name="", partitions=[])]
    answer = at.raw.ask(ListOffsetsRequest(isolation_level=2, topics=asked), 7)
    assert {t.name: [(p.partition_index, p.error_code, p.offset) for p in t.partitions] for t in answer.topics} == {
        at.name: [(0, Err.UNKNOWN_SERVER_ERROR, -1), (0, Err.UNKNOWN_SERVER_ERROR, -1)], "": []}


def fetch(at: Place, index: int, isolation: int = 0, replica: int = -1, epoch: int = -1, session: int = -1) -> Any:
    request = requests.fetch(at.name, replica_id=replica, isolation_level=isolation, session_epoch=session)
    (partition,) = request.topics[0].partitions
    partition.partition, partition.current_leader_epoch = index, epoch
    return at.raw.ask(request, 12)


def test_an_unknown_isolation_level_matters_when_something_is_read(at: Place) -> None:
    """Fails if the level is checked before the session and the partitions."""
    def codes(answer: Any) -> tuple[int, list[int]]:
        return answer.error_code, [p.error_code for topic in answer.responses for p in topic.partitions]

    assert codes(fetch(at, 0, isolation=2)) == (Err.UNKNOWN_SERVER_ERROR, [Err.UNKNOWN_SERVER_ERROR])
    assert codes(fetch(at, 7, isolation=2)) == (0, [3])
    assert codes(fetch(at, 0, isolation=2, session=1)) == (70, [])


def test_a_debugging_replica_reads_as_a_consumer(cluster: Any, at: Place) -> None:
    """Fails if replica -2 is shown more than its isolation level allows, or a negative epoch fences."""
    def read() -> Any:
        (data,) = fetch(at, 0, isolation=1, replica=-2, epoch=-2).responses[0].partitions
        return data if data.error_code != 6 else None       # the leader may not know yet that it is the one

    data = cluster.wait(read, timeout=60)
    assert (data.error_code, data.aborted_transactions) == (0, [])


def test_names_and_ids_of_topics(at: Place) -> None:
    """Fails if a topic without name or id is refused although others have ids, which alone count then."""
    def ask(version: int, *topics: tuple[Any, str | None]) -> Any:
        rows = [MetadataRequest.MetadataRequestTopic(topic_id=i, name=n) for i, n in topics]
        return at.raw.ask(MetadataRequest(topics=rows, allow_auto_topic_creation=False,
                                          include_topic_authorized_operations=True), version)

    assert [t.error_code for t in ask(11, (None, None)).topics] == [42]
    (refused,) = ask(11, (at.id, "__consumer_offsets")).topics
    assert (refused.error_code, refused.is_internal) == (42, False)
    assert [t.error_code for t in ask(12, (None, None)).topics] == [Err.UNKNOWN_SERVER_ERROR]
    assert [(t.error_code, t.name) for t in ask(12, (None, None), (at.id, None), (None, "zz")).topics] == [(0, at.name)]
    (unknown,) = ask(12, (uuid4(), None)).topics
    assert (unknown.error_code, unknown.authorized_operations) == (100, None)


# --- administration ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("asked", [[], [("__cluster_metadata", [1])], [("__cluster_metadata", [0, 1])],
                                   [("__cluster_metadata", [0]), ("zz", [0])], [("zz", [])]])
def test_the_quorum_has_one_partition(at: Place, asked: list[tuple[str, list[int]]]) -> None:
    """Fails if anything but the one partition, alone, is described."""
    topic = DescribeQuorumRequest.TopicData
    rows = [topic(topic_name=name, partitions=[topic.PartitionData(partition_index=i) for i in indexes])
            for name, indexes in asked]
    answer = at.raw.ask(DescribeQuorumRequest(topics=rows), 2)
    assert (answer.error_code, answer.error_message, answer.nodes) == (0, "", [])
    assert [(t.topic_name, [(p.partition_index, p.error_code, p.error_message, p.leader_id, p.leader_epoch,
                             p.high_watermark, p.current_voters) for p in t.partitions]) for t in answer.topics] == [
        (name, [(i, 3, NOT_HERE, 0, 0, 0, []) for i in indexes]) for name, indexes in asked]


def test_no_partitions_need_no_kind_of_election(at: Place) -> None:
    """Fails if the kind is checked first."""
    answer = at.raw.ask(ElectLeadersRequest(election_type=9, topic_partitions=[], timeout_ms=5000), 2)
    assert (answer.error_code, answer.replica_election_results) == (0, [])


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_what_is_decided_whatever_the_timeout(at: Place, timeout_ms: int) -> None:
    """Fails if elections and moves of nothing, or an update of features, time out."""
    elected = at.raw.ask(ElectLeadersRequest(election_type=0, topic_partitions=[], timeout_ms=timeout_ms), 2)
    moved = at.raw.ask(AlterPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=[]), 0)
    updated = at.raw.ask(UpdateFeaturesRequest(timeout_ms=timeout_ms, feature_updates=[]), 1)
    assert (elected.error_code, moved.error_code, moved.error_message, updated.error_code) == (0, 0, "", 0)


def test_reassignments_check_replicas_before_their_number(at: Place) -> None:
    """Fails if the replication factor is compared first."""
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic

    def ask(*replicas: list[int]) -> Any:
        partitions = [topic.ReassignablePartition(partition_index=0, replicas=some) for some in replicas]
        topics = [topic(name=at.name, partitions=partitions)] if partitions else []
        return at.raw.ask(AlterPartitionReassignmentsRequest(
            timeout_ms=5000, allow_replication_factor_change=False, topics=topics), 1)

    answer = ask([], [1, 1], [77], [1])
    assert [(p.error_code, p.error_message) for p in answer.responses[0].partitions] == [
        (39, "The manual partition assignment includes an empty replica list."),
        (39, "The manual partition assignment includes the broker 1 more than once."),
        (39, "The manual partition assignment includes broker 77, but no such broker is registered."),
        (38, "The replication factor is changed from 3 to 1")]
    assert [a.allow_replication_factor_change for a in (answer, ask())] == [False, True]


def test_unknown_states_are_named_once(at: Place) -> None:
    """Fails if a state that nobody knows is repeated."""
    answer = at.raw.ask(ListTransactionsRequest(state_filters=["Foo", "Empty", "Foo"], producer_id_filters=[]), 0)
    assert answer.unknown_state_filters == ["Foo"]


@pytest.mark.parametrize(("kind", "resource", "text"), [
    (8, "", "Broker id must not be empty"), (8, "x", "Broker id must be an integer, but it is: x"),
    (8, "²", "Broker id must be an integer, but it is: ²"),
    (8, "77", "Unexpected broker id, expected {leader} but received 77"), (32, "", "Group name must not be empty"),
    (16, "", "Client metrics subscription name must not be empty")])
def test_resources_without_a_right_name(at: Place, kind: int, resource: str, text: str) -> None:
    """Fails if the refusal has other words, or reaches the good resource beside it."""
    bad, good = describe_configs(at.raw, (kind, resource), (2, at.name))
    assert (bad.error_code, bad.error_message) == (42, text.format(leader=at.leader))
    assert (good.error_code, good.error_message) == (0, "")


def test_an_unknown_kind_of_resource_spoils_the_request(at: Place) -> None:
    """Fails if the other resources are described."""
    assert [(r.error_code, r.resource_name) for r in describe_configs(at.raw, (2, at.name), (3, "x"))] == [
        (42, at.name), (42, "x")]


# --- groups and transactions ------------------------------------------------------------------------------------

def rows(answer: Any, partitions: str = "partitions", code: str = "error_code") -> list[Any]:
    return sorted(ordered(answer, partitions, code))


def ordered(answer: Any, partitions: str = "partitions", code: str = "error_code") -> list[Any]:
    return [(topic.name, [(p.partition_index, getattr(p, code)) for p in getattr(topic, partitions)]) for topic in answer]


def test_commits_of_unknown_topics(cluster: Any, at: Place, coordinator: Any, name: str) -> None:
    """Fails if an unknown topic without partitions is left out, or an unknown partition of a known id is another error."""
    topic = OffsetCommitRequest.OffsetCommitRequestTopic

    def ask(version: int, *topics: Any) -> Any:
        return coordinator["group"].ask(OffsetCommitRequest(group_id=name, topics=list(topics)), version).topics

    row = topic.OffsetCommitRequestPartition(partition_index=9, committed_offset=0)
    assert rows(ask(8, topic(name="zz", partitions=[]), topic(name=at.name, partitions=[row]))) == [
        (at.name, [(9, 3)]), ("zz", [])]
    twice = requests.commit(name, at.name, 0).topics * 2
    cluster.wait(lambda: ask(8, *twice)[0].partitions[0].error_code == 0, timeout=60)   # the coordinator has its log
    assert ordered(ask(8, *twice)) == [(at.name, [(0, 0)])] * 2
    assert ordered(ask(8, *twice, topic(name=at.name, partitions=[row]))) == [(at.name, [(9, 3), (0, 0), (0, 0)])]
    (known,) = ask(10, topic(topic_id=at.id, partitions=[row]))
    assert [p.error_code for p in known.partitions] == [3]
    assert len(ask(10, topic(topic_id=uuid4(), partitions=[]))) == 1


def test_deletions_of_offsets(at: Place, coordinator: Any, name: str) -> None:
    """Fails if a partition that is named twice is answered once, a known topic without partitions is answered, or the rows of a
    topic that is named twice are elsewhere than in Kafka: together as soon as any partition is unknown."""
    coordinator["group"].ask(requests.commit(name, at.name, 5), 8)
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic

    def ask(*topics: tuple[str, list[int]]) -> Any:
        rows = [topic(name=n, partitions=[topic.OffsetDeleteRequestPartition(partition_index=i) for i in indexes])
                for n, indexes in topics]
        return coordinator["group"].ask(OffsetDeleteRequest(group_id=name, topics=rows), 0)

    assert rows(ask((at.name, []), ("zz", [])).topics) == [("zz", [])]
    assert rows(ask((at.name, [7, 0, 0])).topics) == [(at.name, [(7, 3), (0, 0), (0, 0)])]
    assert ordered(ask((at.name, [0]), (at.name, [0])).topics) == [(at.name, [(0, 0)]), (at.name, [(0, 0)])]
    assert ordered(ask((at.name, [0]), ("zz", [3]), (at.name, [8, 0]), ("zz", [1])).topics) == [
        ("zz", [(3, 3), (1, 3)]), (at.name, [(8, 3), (0, 0), (0, 0)])]


def test_a_name_that_grows_too_long_for_its_answer_spoils_the_request(cluster: Any, at: Place) -> None:
    """Fails if an answer holds a string that no client reads: a group's name of the greatest length, in a sentence."""
    longest = "g" * MAX_STRING

    with conftest.coordinator(at, longest) as raw:
        request = DescribeGroupsRequest(groups=["a", longest])
        cluster.wait(lambda: raw.ask(request, 5).groups[1].error_code == 0, timeout=60)
        answers = [(group.error_code, group.error_message) for group in raw.ask(request, 6).groups]
        assert answers == [(Err.UNKNOWN_SERVER_ERROR, None)] * 2


GENERAL = "The server experienced an unexpected error when processing the request."
AskedQuota = AlterClientQuotasRequest.EntryData


def _set_quota(kind: str) -> AlterClientQuotasRequest:
    entity = AskedQuota.EntityData(entity_type=kind, entity_name="x")
    return AlterClientQuotasRequest(entries=[AskedQuota(entity=[entity], ops=[])], validate_only=True)


def test_a_refusal_quotes_a_long_name_whole_or_spoils_the_request(at: Place) -> None:
    """Fails if a name is cut in the text of an error, if a spoiled request has an empty text where Kafka has null, or if
    that it is spoiled does not come back from the controller (quotas)."""
    long, longest = "Q" * 9000, "Q" * MAX_STRING
    [topic] = at.raw.ask(requests.create_topics(requests.topic(long), check=True), 7).topics
    assert (topic.error_code, topic.error_message.count("Q")) == (17, 9000)
    [topic] = at.raw.ask(requests.create_topics(requests.topic(longest), check=True), 7).topics
    assert (topic.name, topic.error_code, topic.error_message) == (longest, Err.UNKNOWN_SERVER_ERROR, None)
    [entry] = at.raw.ask(_set_quota(long), 1).entries
    assert (entry.error_code, entry.error_message.count("Q")) == (42, 9000)
    [entry] = at.raw.ask(_set_quota(longest), 1).entries
    assert (entry.error_code, entry.error_message) == (Err.UNKNOWN_SERVER_ERROR, GENERAL)
    assert [(part.entity_type, part.entity_name) for part in entry.entity] == [(longest, "x")]
    [result] = describe_configs(at.raw, (4, longest))
    assert (result.error_code, result.error_message) == (Err.UNKNOWN_SERVER_ERROR, GENERAL)


def test_filters_of_groups_are_trimmed(cluster: Any, coordinator: Any, at: Place, name: str) -> None:
    """Fails if another character counts as blank around a state than in Kafka, or the letters' case matters."""
    commit = requests.commit(name, at.name, 0)
    cluster.wait(lambda: coordinator["group"].ask(commit, 8).topics[0].partitions[0].error_code == 0, timeout=60)

    def listed(state: str) -> bool:
        answer = coordinator["group"].ask(ListGroupsRequest(states_filter=[state]), 4)
        return name in [group.group_id for group in answer.groups]

    assert [listed(state) for state in ("\0 eMPTY\x1f", "\u00a0Empty", "Stable")] == [True, False, False]


def test_partitions_for_a_transaction(at: Place, coordinator: Any, name: str) -> None:
    """Fails if one error for all does not repeat the request's rows, or a client may add an internal topic."""
    topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic

    def ask(*topics: tuple[str, list[int]]) -> list[Any]:
        answer = coordinator["transaction"].ask(AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name, v3_and_below_producer_id=5, v3_and_below_producer_epoch=0,
            v3_and_below_topics=[topic(name=n, partitions=indexes) for n, indexes in topics]), 3)
        return rows(answer.results_by_topic_v3_and_below, "results_by_partition", "partition_error_code")

    assert ask((at.name, [0, 0]), ("zz", [])) == [(at.name, [(0, 49), (0, 49)]), ("zz", [])]
    assert ask((at.name, [0, 0]), ("__consumer_offsets", [0])) == [("__consumer_offsets", [(0, 29)]), (at.name, [(0, 55)])]


def test_offsets_of_a_transaction(at: Place, coordinator: Any, name: str) -> None:
    """Fails if a partition that is named twice is answered once, or a topic that nobody knows is left out."""
    topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic

    def ask(group: str, *topics: tuple[str, list[int]]) -> list[Any]:
        asked = [topic(name=n, partitions=[topic.TxnOffsetCommitRequestPartition(partition_index=i,
                                                                                 committed_offset=0) for i in indexes]) for n,
                 indexes in topics]
        return rows(coordinator["group"].ask(TxnOffsetCommitRequest(transactional_id=name, group_id=group, producer_id=5,
                                                                    member_id="", topics=asked), 3).topics)

    assert ask(name, (at.name, [7, 7]), ("zz", [])) == [(at.name, [(7, 3), (7, 3)]), ("zz", [])]
    assert ask("", (at.name, [0])) == [(at.name, [(0, 24)])]
    assert ask("", (at.name, [0, 9, 0])) == [(at.name, [(9, 3), (0, 24), (0, 24)])], "what is not there comes first"


def test_markers_are_answered_by_producer(at: Place) -> None:
    """Fails if a producer is answered twice, or one for whom nothing is to be written at all."""
    marker = WriteTxnMarkersRequest.WritableTxnMarker

    def one(producer: int, topic: str, *indexes: int) -> Any:
        return marker(producer_id=producer, transaction_result=False, coordinator_epoch=0, transaction_version=0,
                      topics=[marker.WritableTxnMarkerTopic(name=topic, partition_indexes=list(indexes))])

    markers = [one(7001, "zz", 0), one(7001, at.name, 9), one(7002, "zz"), one(7003, "__consumer_offsets", 99)]
    answer = at.raw.ask(WriteTxnMarkersRequest(markers=markers), 1)
    assert {m.producer_id: rows(m.topics) for m in answer.markers} == {
        7001: [(at.name, [(9, 3)]), ("zz", [(0, 3)])], 7003: [("__consumer_offsets", [(99, 3)])]}


@pytest.mark.parametrize(("producer", "epoch"), [(-1, 0), (7004, -1)])
def test_a_marker_of_nobody_is_not_written(cluster: Any, at: Place, producer: int, epoch: int) -> None:
    """Fails if a marker without a producer gets into a log, or the request beside it is answered by itself."""
    cluster.wait(lambda: fetch(at, 0).responses[0].partitions[0].error_code == 0, timeout=60)     # it knows that it leads
    marker = WriteTxnMarkersRequest.WritableTxnMarker

    def one(topic: str, producer: int, epoch: int) -> Any:
        return marker(producer_id=producer, producer_epoch=epoch, transaction_result=False, coordinator_epoch=0,
                      transaction_version=0, topics=[marker.WritableTxnMarkerTopic(name=topic, partition_indexes=[0])])

    def answers(*markers: Any) -> Any:
        answer = at.raw.ask(WriteTxnMarkersRequest(markers=list(markers)), 1)
        return {m.producer_id: rows(m.topics) for m in answer.markers}

    assert answers(one("zz", producer, epoch)) == {producer: [("zz", [(0, 3)])]}
    assert answers(one("zz", 7005, 0), one(at.name, producer, epoch)) == {
        7005: [("zz", [(0, Err.UNKNOWN_SERVER_ERROR)])], producer: [(at.name, [(0, Err.UNKNOWN_SERVER_ERROR)])]}
    assert fetch(at, 0).responses[0].partitions[0].high_watermark == 0


@pytest.mark.parametrize(("kind", "resource", "code", "text"), [
    (8, "", 42, "Node id must be an integer, but it is: "), (8, "x", 42, "Node id must be an integer, but it is: x"),
    (8, "77", 42, "Unexpected node id. Expected {leader}, but received 77"), (4, "", 40, "Unknown config name: nope")])
def test_appending_to_what_is_not_there(at: Place, kind: int, resource: str, code: int, text: str) -> None:
    """Fails if a logger's node is not checked, or an unknown name is taken for one that is no list."""
    row = IncrementalAlterConfigsRequest.AlterConfigsResource
    change = row.AlterableConfig(name="nope", config_operation=2, value="x")
    (refused,) = at.raw.ask(IncrementalAlterConfigsRequest(
        resources=[row(resource_type=kind, resource_name=resource, configs=[change])], validate_only=True), 1).responses
    assert (refused.error_code, refused.error_message) == (code, text.format(leader=at.leader))
