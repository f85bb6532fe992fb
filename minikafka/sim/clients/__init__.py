"""Kafka clients for a simulated world, plain enough to learn from how a Kafka client works.

A map: `connection` (frames) and `metadata` are below `client`; `producer` is made of `batches`, `sender`, `idempotence`
and `transactions`; `consumer` of `positions`, `questions`, `fetcher`, `reading`, `group`, `assignors` and `commits`;
`admin` stands alone. All of them live in an Env, send real frames to real brokers, and tell a history what they did if
they are given one. `Blocking` wraps any of them for callers that are not asynchronous.
"""

from minikafka.sim.clients.admin import Admin
from minikafka.sim.clients.blocking import Blocking
from minikafka.sim.clients.client import Client
from minikafka.sim.clients.consumer import Consumer
from minikafka.sim.clients.producer import Producer
from minikafka.sim.clients.reader import read_all
from minikafka.sim.clients.reading import Record
from minikafka.sim.clients.retry import Unsure

__all__ = ["Admin", "Blocking", "Client", "Consumer", "Producer", "Record", "Unsure", "read_all"]
