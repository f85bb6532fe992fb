"""Kafka clients in plain code, to learn from how a Kafka client works; the simulator's workloads and tests use them too.

They send real frames to real brokers. All that they need is an Env (broker/server/env.py), which has the clock, the network
and random numbers, so the same code runs in a simulated world and on asyncio. They import no other file of the broker, and
none of the simulator. A client that is given a history (history.py) writes into it what it did and what the brokers answered.

Read first what all clients are built on:
    connection.py  frames over one connection, several requests in flight
    metadata.py    brokers, topics and leaders, as far as the client knows; leader epochs keep old answers out
    retry.py       which errors are retried, after which it is unknown what happened (`Unsure`), and the backoff
    client.py      the three together: a request to a node, to any broker, to a coordinator
    history.py     the operations of clients and their results, as events; recorder.py: one operation
then one of
    producer/      records to batches, batches to leaders; idempotence; transactions
    consumer/      positions, fetches, group membership in both protocols, commits
    admin/         topics, configs, partitions, groups, transactions, the quorum
    blocking.py    any of them for callers that do not write `async`

Look for this: if an answer is lost, an operation has three outcomes, not two: done, not done, unknown. Each client says
`fail` only where no attempt can have been carried out (I-SENDER-2, I-ADMIN-1).
"""

from minikafka.client.admin.admin import Admin
from minikafka.client.blocking import Blocking
from minikafka.client.client import Client
from minikafka.client.consumer.consumer import Consumer
from minikafka.client.consumer.fetched_records import ConsumerRecord
from minikafka.client.consumer.read_all import read_all
from minikafka.client.producer.producer import Producer
from minikafka.client.retry import Unsure

__all__ = ["Admin", "Blocking", "Client", "Consumer", "ConsumerRecord", "Producer", "Unsure", "read_all"]
