"""The handlers of the APIs, one module per family; importing the package fills the tables of `broker/api.py`."""

from minikafka.broker.handlers import (  # noqa: F401
    alter_configs,
    api_versions,
    cluster,
    configs,
    fetch,
    group_admin,
    group_offsets,
    groups,
    metadata,
    offsets,
    partition_admin,
    produce,
    producer_ids,
    quorum,
    topics,
    transaction_admin,
    transaction_markers,
    transaction_offsets,
    transactions,
)
