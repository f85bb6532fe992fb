"""Every handler of a request, room by room: importing this module fills the tables of `broker/server/registry.py`."""
# ruff: noqa: F401

import minikafka.broker.authorizer.api.acls
import minikafka.broker.compat.api.delegation_tokens
import minikafka.broker.compat.api.scram
import minikafka.broker.compat.api.security_disabled
import minikafka.broker.config.api.alter
import minikafka.broker.config.api.describe
import minikafka.broker.controller.api.broker_requests
import minikafka.broker.controller.api.cluster
import minikafka.broker.controller.api.partitions
import minikafka.broker.controller.api.topics
import minikafka.broker.coordinator.api
import minikafka.broker.groups.api.admin
import minikafka.broker.groups.api.classic_membership
import minikafka.broker.groups.api.consumer_heartbeat
import minikafka.broker.groups.api.offsets
import minikafka.broker.metadata.api.describe_cluster
import minikafka.broker.metadata.api.describe_topic_partitions
import minikafka.broker.metadata.api.metadata
import minikafka.broker.quotas.api
import minikafka.broker.raft.api
import minikafka.broker.replication.api.delete_records
import minikafka.broker.replication.api.fetch
import minikafka.broker.replication.api.list_offsets
import minikafka.broker.replication.api.produce
import minikafka.broker.server.api_versions
import minikafka.broker.storage.api
import minikafka.broker.transactions.api.admin
import minikafka.broker.transactions.api.init_producer_id
import minikafka.broker.transactions.api.transactions
import minikafka.broker.transactions.api.txn_offset_commit
import minikafka.broker.transactions.api.write_txn_markers
