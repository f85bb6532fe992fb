"""Read a whole partition once, from its first record to its end: the reference for its content.

It is used at the end of a run, when everything is healed, and writes what it finds into the history as `final`.

Owns: nothing.
Invariants: it reads to the end that the leader named before it began, or says that it did not get there.
"""

from __future__ import annotations

from minikafka.broker.server.env import Env
from minikafka.client.admin.admin import Admin
from minikafka.client.consumer.consumer import READ_COMMITTED, Consumer
from minikafka.client.consumer.fetched_records import ConsumerRecord
from minikafka.client.history import History
from minikafka.client.producer.producer import as_text
from minikafka.client.recorder import Recorder
from minikafka.protocol.errors import Err, KafkaError


async def read_all(env: Env, bootstrap: list[tuple[str, int]], topic: str, partition: int = 0, *,
                   isolation: str = "read_uncommitted", timeout: float = 30.0, history: History | None = None,
                   name: str = "final") -> list[ConsumerRecord]:
    """Return the records of one partition; raises KafkaError when its end is not reached within `timeout` seconds.

    With read_committed the end is the last stable offset; where a transaction is open, this is not the whole partition, and the
    history says so. Records that were deleted while this read are not missed.
    """
    operation = Recorder(history, name).invoke("final", topic=topic, partition=partition, isolation=isolation)
    consumer = Consumer(env, bootstrap, isolation=isolation, name=f"{name} {topic}-{partition}")
    admin = Admin(env, bootstrap, timeout=timeout, name=f"{name} ends {topic}-{partition}")
    records: list[ConsumerRecord] = []
    try:
        high_watermark = await admin.offset(topic, partition, "latest")
        end = await admin.offset(topic, partition, "latest", isolation == READ_COMMITTED)
        consumer.assign([(topic, partition)])
        deadline = env.now() + timeout
        while (consumer.position((topic, partition)) or 0) < end and env.now() < deadline:
            records += await consumer.poll(1.0)
        start = await admin.offset(topic, partition, "earliest")
    except KafkaError as error:
        operation.info(error)
        raise
    finally:
        reached = consumer.position((topic, partition)) if consumer.assignment else None
        await consumer.kill()
        await admin.close()
    told = [[r.topic, r.partition, r.offset, as_text(r.value)] for r in records]
    if (reached or 0) < end:
        operation.info("the end was not reached", records=told)
        raise KafkaError(Err.REQUEST_TIMED_OUT, f"{topic}-{partition}: reached {reached} of {end}")
    if end >= high_watermark:
        operation.ok(start=start, records=told)
    else:
        operation.info("a transaction is open", records=told)
    return records
