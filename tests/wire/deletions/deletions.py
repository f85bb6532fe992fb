"""What an administrator takes away, or another producer. Each adds its answer to the transcript; it returns when every broker
has the change.

`touches`: what it takes something away from; works that hold none of that are not played.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import DeleteTopicsRequest
from kafka.protocol.admin.transactions import DescribeProducersRequest
from kafka.protocol.consumer.group import LeaveGroupRequest, OffsetDeleteRequest
from kafka.protocol.producer.transaction import WriteTxnMarkersRequest

from minikafka.protocol.errors import Err
from tests.wire.conftest import describe
from tests.wire.deletions.scene import Scene
from tests.wire.deletions.work import BROKER_SETTINGS, GROUP, GROUP_SETTINGS, ID, TOPIC
from tests.wire.raw import Raw
from tests.wire.test_alter_configs import BROKER as BROKER_CONFIG
from tests.wire.test_alter_configs import DELETE, incremental
from tests.wire.test_alter_configs import GROUP as GROUP_CONFIG
from tests.wire.test_alter_configs import TOPIC as TOPIC_CONFIG
from tests.wire.test_delete_records import delete
from tests.wire.test_partition_admin import move
from tests.wire.test_produce import batch, patched, produce

Deletion = Callable[[Scene], None]
DELETIONS: dict[str, tuple[Deletion, frozenset[str]]] = {}


def deletion(title: str, *touches: str) -> Callable[[Deletion], Deletion]:
    def noted(body: Deletion) -> Deletion:
        DELETIONS[title] = body, frozenset(touches)
        return body
    return noted


# --- groups and what belongs to them ------------------------------------------------------------------------------------


@deletion("DeleteGroups", GROUP)
def delete_group(s: Scene) -> None:
    s.tell("DeleteGroups", s.group.delete())


@deletion("OffsetDelete", GROUP, TOPIC)
def delete_offset(s: Scene) -> None:
    row = OffsetDeleteRequest.OffsetDeleteRequestTopic
    rows = [row.OffsetDeleteRequestPartition(partition_index=0)]
    answer = s.group.ask(OffsetDeleteRequest(group_id=s.name, topics=[row(name=s.name, partitions=rows)]), 0)
    s.tell("OffsetDelete", answer.error_code, *(p.error_code for t in answer.topics for p in t.partitions))


@deletion("LeaveGroup, by which an administrator removes members", GROUP)
def remove_members(s: Scene) -> None:
    members = s.members or [("nobody", None)]
    rows = [LeaveGroupRequest.MemberIdentity(member_id="" if instance else member, group_instance_id=instance, reason="removed")
            for member, instance in members]
    answer = s.group.ask(LeaveGroupRequest(group_id=s.name, members=rows), 5)
    s.tell("LeaveGroup", answer.error_code, *(row.error_code for row in answer.members))


@deletion("IncrementalAlterConfigs, which removes a group's settings", GROUP, GROUP_SETTINGS)
def remove_group_configs(s: Scene) -> None:
    if not s.settings:
        s.set(s.at.raw, GROUP_CONFIG, s.name, "consumer.session.timeout.ms", 50_000)
    s.tell("IncrementalAlterConfigs", *map(s.remove, s.settings))


# --- topics and what belongs to them ------------------------------------------------------------------------------------


@deletion("DeleteTopics", TOPIC)
def delete_topic(s: Scene) -> None:
    row = DeleteTopicsRequest.DeleteTopicState(name=s.name, topic_id=None)
    (answer,) = s.at.raw.ask(DeleteTopicsRequest(topics=[row], timeout_ms=30000), 6).responses
    s.tell("DeleteTopics", answer.error_code)

    def gone() -> bool:
        for address in s.at.addresses.values():
            with Raw(address) as raw:
                if describe(raw, s.name).topics[0].error_code != Err.UNKNOWN_TOPIC_OR_PARTITION:
                    return False
        return True
    s.cluster.wait(gone, timeout=60)


@deletion("DeleteTopics, and CreateTopics with the same name", TOPIC)
def delete_topic_and_create_it(s: Scene) -> None:
    delete_topic(s)
    s.make_topic()


@deletion("DeleteRecords up to the high watermark", TOPIC)
def delete_records(s: Scene) -> None:
    ((low, error),) = delete(s.at.raw, (s.name, [(0, -1)])).values()
    s.tell("DeleteRecords", error, f"low watermark {low}")


@deletion("AlterPartitionReassignments, which removes the leader's replica", TOPIC)
def remove_leader(s: Scene) -> None:
    error, _, rows = move(s.at.raw, (s.name, 0, [2, 3]))
    s.tell("AlterPartitionReassignments", error, *(row[2] for row in rows))

    def moved() -> bool:
        (found,) = describe(s.at.raw, s.name).topics[0].partitions
        return found.leader_id in (2, 3) and sorted(found.replica_nodes) == [2, 3]
    s.cluster.wait(moved, timeout=60)
    s.find_leader()


@deletion("IncrementalAlterConfigs, which removes a topic's setting", TOPIC)
def remove_topic_config(s: Scene) -> None:
    ((*_, error, _),) = incremental(s.at.raw, (TOPIC_CONFIG, s.name, [("max.message.bytes", DELETE, None)]))
    s.tell("IncrementalAlterConfigs", error)
    large = patched(batch(b"x" * 3000), 17, ">I", 1, recount=False)  # its checksum is wrong, so that it is never written
    s.cluster.wait(lambda: produce(s.at, large).error_code != Err.MESSAGE_TOO_LARGE, timeout=60)  # the leader has the change


@deletion("IncrementalAlterConfigs, which removes the brokers' settings", TOPIC, GROUP, ID, BROKER_SETTINGS)
def remove_broker_configs(s: Scene) -> None:
    if not s.settings:
        for broker in (str(s.at.leader), ""):
            s.set(s.at.raw, BROKER_CONFIG, broker, "log.segment.bytes", 1 << 24)
    s.tell("IncrementalAlterConfigs", *map(s.remove, s.settings))


# --- transactional ids ----------------------------------------------------------------------------------------------------


@deletion("InitProducerId of another producer", ID)
def fence(s: Scene) -> None:
    s.tell("InitProducerId", s.desk.init()[0])
    s.desk.settle()


@deletion("WriteTxnMarkers, by which an administrator aborts", ID, TOPIC)
def abort(s: Scene) -> None:
    """Abort what is open in the topic's partition, as `kafka-transactions.sh abort` does."""
    kind = DescribeProducersRequest.TopicRequest
    asked = DescribeProducersRequest(topics=[kind(name=s.name, partition_indexes=[0])])
    found: list[Any] = s.at.raw.ask(asked, 0).topics[0].partitions[0].active_producers
    opened = [one for one in found if one.current_txn_start_offset >= 0]
    s.tell("DescribeProducers", f"{len(opened)} with an open transaction")
    for one in opened:
        marker = WriteTxnMarkersRequest.WritableTxnMarker
        mark = marker(producer_id=one.producer_id, producer_epoch=one.producer_epoch, transaction_result=False,
                      coordinator_epoch=one.coordinator_epoch, transaction_version=0,
                      topics=[marker.WritableTxnMarkerTopic(name=s.name, partition_indexes=[0])])
        answer = s.at.raw.ask(WriteTxnMarkersRequest(markers=[mark]), 1).markers[0]
        s.tell("WriteTxnMarkers", answer.topics[0].partitions[0].error_code)
