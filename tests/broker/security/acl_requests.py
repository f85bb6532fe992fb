"""One request of each API that an access list can forbid, as plain values, and what of its answer is about rights."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kafka.protocol import admin, consumer, metadata, producer
from kafka.protocol.api_message import ApiMessage

from minikafka.protocol import apis

MODULES = (admin, consumer, metadata, producer, apis)
Values = Mapping[str, Any]
SHOWN = re.compile(r".*error_(code|message)|.*authorized_operations|(resource_|group_|topic_)?name|topic|key|user|principal|"
                   r"topic_name|group_id|transactional_id|num_partitions|replication_factor|v3.*_transactional_id|listener")
NAMES = ("shown", "hidden", "gone")  # topics: the first is in ada's lists, the second in nobody's, the third is not there
TOPICS = [{"name": name, "partitions": [0]} for name in NAMES]
INDEXED = [{"name": name, "partition_indexes": [0]} for name in NAMES]
FETCHED = [{"topic": name, "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 100}]} for name in NAMES]
COMMITTED = [{"name": name, "partitions": [{"partition_index": 0, "committed_offset": 0, "committed_metadata": ""}]}
             for name in NAMES]
BINDING = {"resource_type": 2, "resource_name": "x", "resource_pattern_type": 3, "principal": "User:x", "host": "*",
           "operation": 3, "permission_type": 3}
FILTER = {"resource_type_filter": 2, "resource_name_filter": "x", "pattern_type_filter": 3, "principal_filter": None,
          "host_filter": None, "operation": 1, "permission_type": 1}
CONFIGS = [{"resource_type": kind, "resource_name": name, "configs": []}
           for kind, name in ((2, "shown"), (2, "hidden"), (2, "gone"), (4, "1"), (16, "x"), (32, "ada-g"), (32, "g"))]
DESCRIBED = [{name: value for name, value in one.items() if name != "configs"} | {"configuration_keys": ["none"]}
             for one in CONFIGS]
PRODUCER = {"transactional_id": "bob-t", "transaction_timeout_ms": 9000, "producer_id": -1, "producer_epoch": -1}
MEMBER = {"generation_id": 1, "member_id": "nobody"}
TXN = {"producer_id": 99, "producer_epoch": 0}
MARKER = {"producer_id": 99, "producer_epoch": 0, "transaction_result": False, "coordinator_epoch": 0,
          "topics": [{"name": "hidden", "partition_indexes": [0]}]}

# name of the request, versions, values
REQUESTS: list[tuple[str, tuple[int, ...], Values]] = [
    ("Metadata", (0, 12), {"topics": [{"name": name} for name in NAMES], "allow_auto_topic_creation": False,
                           "include_topic_authorized_operations": True}),
    ("Metadata", (10,), {"topics": None, "include_topic_authorized_operations": True,
                         "include_cluster_authorized_operations": True}),
    ("DescribeTopicPartitions", (0,), {"topics": [{"name": name} for name in NAMES], "response_partition_limit": 100}),
    ("DescribeTopicPartitions", (0,), {"topics": [], "response_partition_limit": 100}),
    ("DescribeCluster", (0,), {"include_cluster_authorized_operations": True}),
    ("ListOffsets", (1, 7), {"topics": [{"name": name, "partitions": [{"partition_index": 0, "timestamp": -1}]}
                                        for name in NAMES]}),
    ("OffsetForLeaderEpoch", (4,), {"replica_id": -1, "topics": [
        {"topic": name, "partitions": [{"partition": 0, "leader_epoch": 0}]} for name in NAMES]}),
    ("Fetch", (11,), {"max_wait_ms": 0, "topics": FETCHED}),
    ("Fetch", (11,), {"replica_id": 1, "max_wait_ms": 0, "topics": FETCHED}),
    ("DescribeProducers", (0,), {"topics": [*INDEXED, {"name": "b@d", "partition_indexes": [0]}]}),
    ("CreateTopics", (2, 7), {"timeout_ms": 9000, "validate_only": True, "topics": [
        {"name": name, "num_partitions": 1, "replication_factor": 1} for name in ("bob-new", "other", "twice", "twice")]}),
    ("CreatePartitions", (3,), {"timeout_ms": 9000, "validate_only": True, "topics": [
        {"name": name, "count": 2} for name in (*NAMES, "twice", "twice")]}),
    ("DeleteTopics", (3,), {"timeout_ms": 9000, "topic_names": ["hidden2", "gone", "twice", "twice"]}),
    ("DeleteTopics", (6,), {"timeout_ms": 9000, "topics": [{"name": name} for name in ("hidden3", "gone")]}),
    ("DeleteRecords", (0, 2), {"timeout_ms": 9000, "topics": [
        {"name": name, "partitions": [{"partition_index": 0, "offset": 0}]} for name in NAMES]}),
    ("FindCoordinator", (0,), {"key": "ada-g"}), ("FindCoordinator", (1,), {"key": "g", "key_type": 1}),
    ("FindCoordinator", (6,), {"key_type": 0, "coordinator_keys": ["ada-g", "g"]}),
    ("FindCoordinator", (6,), {"key_type": 1, "coordinator_keys": ["bob-t", "t"]}),
    *((name, (0, newest), {"group_id": group, **MEMBER}) for name, newest in (("Heartbeat", 4), ("SyncGroup", 4))
      for group in ("ada-g", "g")),
    ("JoinGroup", (2, 9), {"group_id": "g", "session_timeout_ms": 9000, "rebalance_timeout_ms": 9000, "member_id": "nobody",
                           "protocol_type": "", "protocols": []}),
    ("LeaveGroup", (0,), {"group_id": "g", "member_id": "nobody"}),
    ("LeaveGroup", (5,), {"group_id": "g", "members": [{"member_id": "nobody"}]}),
    ("ConsumerGroupHeartbeat", (1,), {"group_id": "g", "member_id": "nobody", "member_epoch": 3}),
    ("ConsumerGroupHeartbeat", (1,), {"group_id": "ada-g", "member_id": "nobody", "member_epoch": 3,
                                      "subscribed_topic_names": ["shown", "hidden"]}),
    ("OffsetCommit", (2, 9), {"group_id": "ada-g", "topics": COMMITTED}), ("OffsetCommit", (9,), {"group_id": "g",
                                                                                              "topics": COMMITTED}),
    ("OffsetFetch", (1, 5), {"group_id": "ada-g", "topics": INDEXED}), ("OffsetFetch", (1, 5), {"group_id": "g",
                                                                                               "topics": INDEXED}),
    ("OffsetFetch", (5,), {"group_id": "ada-g", "topics": None}),
    ("OffsetFetch", (9,), {"groups": [{"group_id": "ada-g", "topics": INDEXED}, {"group_id": "ada-g2", "topics": None},
                                      {"group_id": "g", "topics": INDEXED}]}),
    ("OffsetDelete", (0,), {"group_id": "ada-g", "topics": [
        {"name": name, "partitions": [{"partition_index": 0}]} for name in NAMES]}),
    ("ListGroups", (4,), {}),
    ("DescribeGroups", (5,), {"groups": ["ada-g", "g"], "include_authorized_operations": True}),
    ("ConsumerGroupDescribe", (1,), {"group_ids": ["ada-g", "g"], "include_authorized_operations": True}),
    ("DeleteGroups", (2,), {"groups_names": ["ada-none", "none"]}),
    ("InitProducerId", (1, 4), {**PRODUCER, "transactional_id": None}), ("InitProducerId", (1, 4), PRODUCER),
    ("AddPartitionsToTxn", (3,), {
        "v3_and_below_transactional_id": "bob-t", "v3_and_below_producer_id": 99, "v3_and_below_producer_epoch": 0,
        "v3_and_below_topics": [{"name": name, "partitions": [0]} for name in ("bob-topic", "hidden", "gone")]}),
    ("AddPartitionsToTxn", (5,), {"transactions": [{"transactional_id": "bob-t", **TXN, "verify_only": False, "topics": [
        {"name": "bob-topic", "partitions": [0]}]}]}),
    *(("AddOffsetsToTxn", (3,), {"transactional_id": one, **TXN, "group_id": "ada-g"}) for one in ("bob-t", "t")),
    ("TxnOffsetCommit", (3,), {"transactional_id": "bob-t", "group_id": "ada-g", **TXN, **MEMBER, "topics": COMMITTED}),
    *(("EndTxn", (3,), {"transactional_id": one, **TXN, "committed": True}) for one in ("bob-t", "t")),
    ("WriteTxnMarkers", (1,), {"markers": [MARKER]}),
    ("DescribeTransactions", (0,), {"transactional_ids": ["bob-t", "t"]}), ("ListTransactions", (0,), {}),
    ("DescribeConfigs", (4,), {"resources": [*DESCRIBED, {**DESCRIBED[3], "resource_type": 8}]}),
    ("AlterConfigs", (2,), {"resources": CONFIGS, "validate_only": True}),
    ("IncrementalAlterConfigs", (1,), {"resources": CONFIGS, "validate_only": True}),
    ("ListConfigResources", (1,), {"resource_types": [4]}), ("DescribeClientQuotas", (1,), {"components": [], "strict": False}),
    ("AlterClientQuotas", (1,), {"validate_only": True, "entries": [
        {"entity": [{"entity_type": "user", "entity_name": "x"}], "ops": []}]}),
    ("DescribeUserScramCredentials", (0,), {"users": []}),
    ("AlterUserScramCredentials", (0,), {"deletions": [{"name": "x", "mechanism": 1}], "upsertions": []}),
    ("DescribeAcls", (3,), FILTER), ("CreateAcls", (3,), {"creations": [BINDING, {**BINDING, "resource_name": ""}]}),
    ("DeleteAcls", (3,), {"filters": [FILTER, FILTER]}),
    ("DescribeLogDirs", (1, 4), {"topics": [{"topic": "hidden", "partitions": [0]}]}),
    ("AlterReplicaLogDirs", (2,), {"dirs": [{"path": "/x", "topics": [{"name": "hidden", "partitions": [0]}]}]}),
    ("ElectLeaders", (0, 2), {"election_type": 0, "timeout_ms": 9000, "topic_partitions": [
        {"topic": "hidden", "partitions": [0]}]}),
    ("ListPartitionReassignments", (0,), {"timeout_ms": 9000, "topics": None}),
    ("AlterPartitionReassignments", (0,), {"timeout_ms": 9000, "topics": [
        {"name": "hidden", "partitions": [{"partition_index": 0, "replicas": None}]}]}),
    ("UpdateFeatures", (1,), {"timeout_ms": 9000, "validate_only": True, "feature_updates": [
        {"feature": "none", "max_version_level": 1, "upgrade_type": 1}]}),
    ("UnregisterBroker", (0,), {"broker_id": 77}),
    ("DescribeQuorum", (1,), {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}),
]


def made(name: str, values: Values) -> Any:
    """Return the request of this API with these values."""
    kind = next(getattr(module, f"{name}Request") for module in MODULES if hasattr(module, f"{name}Request"))
    return _made(kind, values)


def _made(kind: Any, values: Values) -> Any:
    rows = {field.name: getattr(kind, field.type_str) for field in kind._struct._fields if field.is_struct_array()}
    return kind(**{name: [_made(rows[name], row) for row in value] if name in rows and value else value
                   for name, value in values.items()})


def about_rights(answer: ApiMessage, version: int) -> str:
    """Return the codes, texts, names and rights in an answer, its rows sorted."""
    return " ".join(_told(answer, version))


def _told(row: Any, version: int) -> Iterator[str]:
    for field in (one for one in row._struct._fields if one.for_version_q(version)):
        value = getattr(row, field.name)
        if field.is_struct_array():
            rows = sorted(" ".join(_told(each, version)) for each in value or ())
            if field.name not in ("brokers", "controllers", "nodes", "node_endpoints") and any(rows):
                yield f"{field.name}[{'; '.join(each for each in rows if each)}]"
        elif SHOWN.fullmatch(field.name) and value not in (None, "", "NONE") and (value or "partition" in field.name):
            yield f"{field.name}={_plain(value)}"
        elif field.name.endswith("error_code"):
            yield "ok"


def _plain(value: Any) -> str:
    text = str(sorted(value)) if isinstance(value, set) else str(value)
    return re.sub(r"Request \S+(?= needs)|Request Request\(.*\)(?= needs)", "Request ...", text)
