"""The table: which right each API needs, on which resource. Read it from top to bottom and you know Kafka's authorization.

    One(operation, resource, field)    the whole request, on the resource that a field names; without a field, on the cluster
    EachRow(operation, resource, field)   each row of that field; the others are served
    a function                         more than a row can say: guards.py, described_guards.py

Owns: RULES, and FREE: the APIs that need no right, or check rights themselves.
Source: KafkaApis, ControllerApis; the table "Operations and Resources on Protocols" of Kafka's documentation.
"""

from __future__ import annotations

from kafka.protocol import admin, consumer, metadata, producer, sasl
from kafka.protocol.api_message import ApiMessage

from minikafka.broker.authorizer.acl import AclOperation, ResourceType
from minikafka.broker.authorizer.api import described_guards, guards
from minikafka.broker.authorizer.api.enforcement import EachRow, Guard, One, both
from minikafka.protocol import apis

A, R = AclOperation, ResourceType
READS_GROUP, WRITES_ID = One(A.READ, R.GROUP, "group_id"), One(A.WRITE, R.TRANSACTIONAL_ID, "transactional_id")
READS_TOPICS = EachRow(A.READ, R.TOPIC, "topics")
DESCRIBES, ALTERS = One(A.DESCRIBE, R.CLUSTER, told=True), One(A.ALTER, R.CLUSTER, told=True)
DESCRIBES_HERE = One(A.DESCRIBE, R.CLUSTER)  # checked by the broker, which tells no text
DESCRIBES_CONFIGS, ALTERS_CONFIGS = One(A.DESCRIBE_CONFIGS, R.CLUSTER), One(A.ALTER_CONFIGS, R.CLUSTER)

RULES: dict[type[ApiMessage], Guard] = {
    # topics
    metadata.MetadataRequest: described_guards.metadata,
    admin.DescribeTopicPartitionsRequest: described_guards.describe_topic_partitions,
    consumer.ListOffsetsRequest: EachRow(A.DESCRIBE, R.TOPIC, "topics"),
    consumer.OffsetForLeaderEpochRequest: guards.leader_epochs,
    admin.DescribeProducersRequest: guards.describe_producers,
    admin.CreateTopicsRequest: guards.create_topics,
    admin.CreatePartitionsRequest: guards.create_partitions,
    admin.DeleteTopicsRequest: guards.delete_topics,
    admin.DeleteRecordsRequest: EachRow(A.DELETE, R.TOPIC, "topics"),
    # groups
    metadata.FindCoordinatorRequest: guards.find_coordinator,
    consumer.JoinGroupRequest: READS_GROUP,
    consumer.SyncGroupRequest: READS_GROUP,
    consumer.HeartbeatRequest: READS_GROUP,
    consumer.LeaveGroupRequest: READS_GROUP,
    apis.ConsumerGroupHeartbeatRequest: guards.consumer_group_heartbeat,
    consumer.OffsetCommitRequest: both(READS_GROUP, READS_TOPICS),
    consumer.OffsetFetchRequest: described_guards.offset_fetch,
    consumer.OffsetDeleteRequest: both(One(A.DELETE, R.GROUP, "group_id", bare=True), READS_TOPICS),
    admin.ListGroupsRequest: guards.list_groups,
    admin.DescribeGroupsRequest: guards.describe_groups,
    apis.ConsumerGroupDescribeRequest: guards.consumer_group_describe,
    admin.DeleteGroupsRequest: EachRow(A.DELETE, R.GROUP, "groups_names"),
    # producers and transactions
    producer.InitProducerIdRequest: guards.init_producer_id,
    producer.AddPartitionsToTxnRequest: guards.add_partitions,
    producer.AddOffsetsToTxnRequest: both(WRITES_ID, READS_GROUP),
    producer.TxnOffsetCommitRequest: both(WRITES_ID, both(READS_GROUP, READS_TOPICS)),
    producer.EndTxnRequest: WRITES_ID,
    producer.WriteTxnMarkersRequest: guards.write_markers,
    admin.DescribeTransactionsRequest: guards.describe_transactions,
    admin.ListTransactionsRequest: guards.list_transactions,
    # configurations, quotas, passwords, access lists
    admin.DescribeConfigsRequest: guards.Configs(A.DESCRIBE_CONFIGS, loggers=A.DESCRIBE_CONFIGS),
    admin.AlterConfigsRequest: guards.Configs(A.ALTER_CONFIGS),
    admin.IncrementalAlterConfigsRequest: guards.Configs(A.ALTER_CONFIGS, loggers=A.ALTER_CONFIGS),
    admin.ListConfigResourcesRequest: DESCRIBES_CONFIGS,
    admin.DescribeClientQuotasRequest: DESCRIBES_CONFIGS._replace(told=False),
    admin.AlterClientQuotasRequest: ALTERS_CONFIGS,
    admin.DescribeUserScramCredentialsRequest: DESCRIBES_HERE,
    admin.AlterUserScramCredentialsRequest: ALTERS,
    admin.DescribeAclsRequest: DESCRIBES,
    admin.CreateAclsRequest: guards.create_acls,
    admin.DeleteAclsRequest: guards.delete_acls,
    # the cluster
    admin.DescribeClusterRequest: guards.describe_cluster,
    admin.DescribeQuorumRequest: DESCRIBES_HERE._replace(bare=True),
    admin.DescribeLogDirsRequest: guards.describe_log_dirs,
    admin.AlterReplicaLogDirsRequest: guards.alter_log_dirs,
    admin.ElectLeadersRequest: ALTERS,
    admin.ListPartitionReassignmentsRequest: DESCRIBES,
    admin.AlterPartitionReassignmentsRequest: ALTERS,
    admin.UpdateFeaturesRequest: ALTERS,
    apis.UnregisterBrokerRequest: ALTERS,
}
FREE: tuple[type[ApiMessage], ...] = (
    producer.ProduceRequest, consumer.FetchRequest,  # they check rights themselves, partition by partition
    metadata.ApiVersionsRequest, sasl.SaslHandshakeRequest, sasl.SaslAuthenticateRequest,
    apis.CreateDelegationTokenRequest, apis.RenewDelegationTokenRequest, apis.ExpireDelegationTokenRequest,
    apis.DescribeDelegationTokenRequest,  # compat/api/delegation_tokens.py
)
GUARDS = {request.API_KEY: guard for request, guard in RULES.items()}
