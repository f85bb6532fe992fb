"""Kafka clients for a simulated world, plain enough to learn from how a Kafka client works.

A map: `connection` (frames) and `metadata` are below `client`; `producer` is made of `batches`, `sender`, `idempotence`
and `transactions`; `consumer` of `positions`, `questions`, `fetcher`, `reading`, `group`, `assignors` and `commits`;
`admin` stands alone. All of them live in an Env, send real frames to real brokers, and tell a history what they did if
they are given one. `Blocking` wraps any of them for callers that are not asynchronous.
"""

from minikafka.client.admin.admin import Admin
from minikafka.client.blocking import Blocking
from minikafka.client.client import Client
from minikafka.client.consumer.consumer import Consumer
from minikafka.client.consumer.reader import read_all
from minikafka.client.consumer.reading import Record
from minikafka.client.producer.producer import Producer
from minikafka.client.retry import Unsure

__all__ = ["Admin", "Blocking", "Client", "Consumer", "Producer", "Record", "Unsure", "read_all"]
