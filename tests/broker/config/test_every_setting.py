"""Every configuration at both ends of what is accepted: it is lived with, and can be taken back, also after a restart.

The walk is made from the tables of definitions, so that a new configuration is in it by itself. Three brokers in virtual time
produce, roll, clean, retain, fetch, restart and serve; the simulator makes a violation of each error that a broker reports.
A failure names the setting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka.protocol.producer import InitProducerIdRequest

from minikafka.broker.config.definition import Config, ConfigError, Range
from minikafka.broker.config.group_and_metrics import GROUP_CONFIGS, METRICS_CONFIGS
from minikafka.broker.config.table import BROKER_CONFIGS, TOPIC_CONFIGS
from minikafka.broker.metadata.records import BROKER_RESOURCE, CLIENT_METRICS, GROUP, TOPIC_RESOURCE
from minikafka.broker.quotas.limits import CONSUMER_RATE, MUTATION_RATE, OF_CLIENTS, PRODUCER_RATE
from minikafka.log.batch import build
from minikafka.protocol.apis import ConsumerGroupHeartbeatRequest
from minikafka.protocol.errors import Err
from tests import requests
from tests.broker.replication.test_replica_manager import Replicas
from tests.stage import IDS, staged

SET, DELETE = 0, 1
ENDS = {"INT": (-(2**31), 2**31 - 1), "SHORT": (-(2**15), 2**15 - 1), "LONG": (-(2**63), 2**63 - 1),
        "DOUBLE": ("-1.7976931348623157E308", "0", "4.9E-324", "1.7976931348623157E308", "1e999", "-1e999", "NaN", "0x1p-1"),
        "BOOLEAN": ("false", "true"), "STRING": ("", "x", "x" * 9000), "CLASS": ("", "x"), "PASSWORD": ("", "x"),
        "LIST": ("", ",".join(f"{n}:1" for n in range(3000)), "compact", "compact,delete", "client_id=.*")}
# What a producer may be told under some setting; never that the broker does not know what went wrong.
FAIR = (Err.NONE, Err.MESSAGE_TOO_LARGE, Err.RECORD_LIST_TOO_LARGE, Err.NOT_ENOUGH_REPLICAS, Err.INVALID_TIMESTAMP)
HURRIED = {"log.initial.task.delay.ms": "5000", "log.retention.check.interval.ms": "5000", "log.cleaner.backoff.ms": "5000",
           "metadata.log.max.snapshot.interval.ms": "60000", "group.consumer.min.session.timeout.ms": "100"}


def ends(config: Config) -> list[str]:
    """The lowest and the highest values of its type and of its range that are accepted."""
    found = [str(value) for value in ENDS[config.type]]
    if isinstance(config.valid, Range):
        found += [str(value) for value in (config.valid.low, config.valid.high, config.valid.also) if value is not None]
    found += getattr(config.valid, "allowed", ())
    return [text for text in dict.fromkeys(found) if accepted(config, text)]


def accepted(config: Config, text: str) -> bool:
    try:
        config.parse(text)
    except ConfigError:
        return False
    return True


class Walk(Replicas):
    """The brokers, and requests over a new connection each: a setting may close or mute connections."""

    extra = HURRIED

    async def ask(self, node: int, request: Any, version: int, timeout: float = 60.0) -> Any:
        self.connect(node)
        try:
            return await super().ask(node, request, version, timeout)
        finally:
            self.peers[node].close()

    async def alter(self, kind: int, name: str, *settings: tuple[str, str | None], node: int = 1) -> int:
        """Set, or take back what is None; the error code."""
        row = IncrementalAlterConfigsRequest.AlterConfigsResource
        configs = [row.AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
                   for key, value in settings]
        resources = [row(resource_type=kind, resource_name=name, configs=configs)]
        answer = await self.ask(node, IncrementalAlterConfigsRequest(resources=resources, validate_only=False), 1)
        return int(answer.responses[0].error_code)

    async def describe(self, kind: int, name: str) -> int:
        row = DescribeConfigsRequest.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        return int((await self.ask(1, DescribeConfigsRequest(resources=[row]), 4)).results[0].error_code)

    async def create_topics(self, *topics: tuple[str, dict[str, str]]) -> dict[str, int]:
        wanted = [requests.topic(name, 1, 2, **configs) for name, configs in topics]
        answer = await self.ask(1, requests.create_topics(*wanted), 7)
        return {one.name: one.error_code for one in answer.topics}

    def home(self, topic: str) -> int | None:
        return next((n for n, b in self.brokers.items()
                     if (p := b.replicas.partitions.get((topic, 0))) is not None and p.is_leader), None)

    async def led(self, *topics: str) -> None:
        await self.until(lambda: all(self.home(topic) is not None for topic in topics))

    async def put(self, topic: str, acks: int = 1) -> int:
        """Write three keyed records, one of them a tombstone; the error code."""
        batch = build([(b"a", b"v" * 100), (b"b", None), (b"c", b"w")], timestamp_ms=self.client.wall_ms())
        answer = await self.ask(self.home(topic) or 1, requests.produce(topic, batch, acks=acks, timeout_ms=1000), 9)
        return int(answer.responses[0].partition_responses[0].error_code)

    async def fetch(self, topic: str) -> int:
        """Read from the start of the log; the error code."""
        node = self.home(topic) or 1
        start = self.brokers[node].replicas.partitions[topic, 0].log.start_offset
        answer = await self.ask(node, requests.fetch(topic, start, isolation_level=1), 11)
        return int(answer.responses[0].partitions[0].error_code if answer.responses else not answer.throttle_time_ms)

    def sound(self, what: object) -> None:
        """Fails if a broker ended, or reported an error of ours, since `what` was set."""
        assert self.world.errors == [] and self.world.crashes == [], what
        assert sorted(self.brokers) == list(IDS), what

    async def restart(self, *nodes: int) -> None:
        for node in nodes or IDS:
            await self.world.restart(node)
        await self.world.ready()
        await self.until(lambda: self.world.controller() is not None)


# --- topics -----------------------------------------------------------------------------------------------------------


def topics() -> Iterator[tuple[str, tuple[str, str]]]:
    """A name, and the one setting at one of its ends that this topic has beside those that keep the cleaner busy."""
    for config in TOPIC_CONFIGS.values():
        for number, text in enumerate(ends(config)):
            yield f"{config.name}.{number}", (config.name, text)


@staged(Walk, 3)
async def test_a_topic_lives_with_every_setting_and_without_it_again(w: Walk) -> None:
    """Fails if an append, a roll, a cleaning, a retention, a restart or a read breaks at an end of a topic's setting."""
    busy = {"internal.segment.bytes": "400", "cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "0.0",
            "max.compaction.lag.ms": "1", "delete.retention.ms": "0"}
    await w.begin()
    made = await w.create_topics(*((name, busy | dict([one])) for name, one in topics()))
    wanted = {name: one for name, one in topics() if made[name] == 0}
    assert {code for name, code in made.items() if name not in wanted} <= {Err.INVALID_CONFIG}
    assert len(wanted) > 2 * 33 - 10 and {one[0] for one in wanted.values()} >= {*TOPIC_CONFIGS} - {"remote.storage.enable"}
    await w.led(*wanted)
    for _ in range(3):
        for name, one in wanted.items():
            assert await w.put(name) in FAIR, one
            w.sound(one)
        await w.client.sleep(15)
        w.sound("cleaning or retention: the report names the log")
    await w.restart()
    await w.led(*wanted)
    w.sound("a restart")
    for name, one in wanted.items():
        assert await w.fetch(name) == 0, one
        assert await w.alter(TOPIC_RESOURCE, name, *((key, None) for key in {*busy, one[0]})) == 0, one
    await w.restart(1)
    await w.led(*wanted)
    for name, one in wanted.items():
        assert await w.put(name, acks=-1) == 0 and await w.fetch(name) == 0, one
        w.sound(one)


async def works(w: Walk) -> tuple[int, int]:
    """Commit an offset, begin a transactional id; the error codes."""
    begin = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1)
    committed = await w.ask(await w.coordinator_of("g"), requests.commit("g", "t", 3), 8)
    begun = await w.ask(await w.coordinator_of("x", 1), begin, 4)
    return int(committed.topics[0].partitions[0].error_code), int(begun.error_code)


async def set_both(w: Walk, *settings: tuple[str, str | None]) -> int:
    codes = [await w.alter(TOPIC_RESOURCE, topic, *settings) for topic in ("__consumer_offsets", "__transaction_state")]
    assert codes[0] == codes[1]
    return codes[0]


@staged(Walk, 8)
async def test_internal_topics_live_with_every_setting(w: Walk) -> None:
    """Fails if a coordinator's own topic at an end of a setting breaks it, its next start, or the way back."""
    await w.begin()
    assert await works(w) == (0, 0)
    given = {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}
    lowest: dict[str, str] = {}
    for one in dict(topics()).values():
        if await set_both(w, one) == 0:
            await works(w)              # where nothing can be written, Kafka too says UNKNOWN_SERVER_ERROR: not a bug's
            w.sound(one)
            lowest.setdefault(*one)
            assert await set_both(w, (one[0], given.get(one[0]))) == 0, one
    assert await set_both(w, *lowest.items()) == 0
    await works(w)
    await w.client.sleep(20)
    await w.restart()
    await works(w)
    w.sound(lowest)
    assert await set_both(w, *((key, given.get(key)) for key in lowest)) == 0
    await w.restart(2)
    assert await works(w) == (0, 0)


# --- brokers ----------------------------------------------------------------------------------------------------------

DYNAMIC = [config for config in BROKER_CONFIGS.values() if config.dynamic]
TAKEN_BACK: dict[str, str | None] = {"min.insync.replicas": "1"}        # of all brokers: it is never unset


async def serves(w: Walk, what: object) -> None:
    """Under a setting, whatever it is, everything is answered, and nothing breaks."""
    assert await w.put("t") in FAIR and await w.fetch("t") == 0, what
    assert await w.describe(BROKER_RESOURCE, "1") == await w.describe(BROKER_RESOURCE, "") == 0, what
    w.sound(what)


@pytest.mark.parametrize("scope", ["", "1"], ids=["every broker", "one broker"])
@staged(Walk, 4)
async def test_a_broker_lives_with_every_setting_and_without_it_again(w: Walk, scope: str) -> None:
    """Fails if a dynamic setting at one of its ends breaks a broker, its next start, or the way to take it back."""
    await w.begin()
    assert await w.alter(TOPIC_RESOURCE, "t", ("cleanup.policy", "compact"), ("internal.segment.bytes", "300")) == 0
    lowest: dict[str, str] = {}
    highest: dict[str, str] = {}
    for one in ((config.name, text) for config in DYNAMIC for text in ends(config)):
        if (code := await w.alter(BROKER_RESOURCE, scope, one)) != 0:
            assert code in (Err.INVALID_REQUEST, Err.INVALID_CONFIG), one
            continue
        if not scope:
            await serves(w, one)
            await w.client.sleep(6 if "cleaner.io" in one[0] else 0)      # the cleaner looks every five seconds
        lowest.setdefault(*one)
        highest[one[0]] = one[1]
        assert await w.alter(BROKER_RESOURCE, scope, (one[0], TAKEN_BACK.get(one[0]))) == 0, one
    assert len(lowest) > 45
    for together in (lowest, highest):
        for one in together.items():
            assert await w.alter(BROKER_RESOURCE, scope, one) == 0, one
        await w.client.sleep(20)
        await w.restart()
        await w.led("t")
        await serves(w, together)
        for key in together:
            assert await w.alter(BROKER_RESOURCE, scope, (key, TAKEN_BACK.get(key))) == 0, key
        await w.restart(2)
        await w.led("t")
        assert await w.put("t", acks=-1) == 0
        assert (await w.create_topics((f"after-{len(w.events(1, 'start'))}", {}))).popitem()[1] == 0
        w.sound(together)


@staged(Walk, 5)
async def test_what_decides_over_a_node_s_place_cannot_be_set(w: Walk) -> None:
    """Fails if a client can alter what Kafka reads only from a node's file: its listeners, quorum, identity, folders."""
    await w.begin()
    for config in BROKER_CONFIGS.values():
        if not config.dynamic:
            value = config.default_text or "1"
            for scope in ("", "1"):
                assert await w.alter(BROKER_RESOURCE, scope, (config.name, value)) == Err.INVALID_REQUEST, config.name
    await w.restart()
    w.sound("nothing was set")


# --- groups, client metrics, quotas -----------------------------------------------------------------------------------


async def joins(w: Walk, group: str) -> int:
    answer = await w.ask(await w.coordinator_of(group), ConsumerGroupHeartbeatRequest(
        group_id=group, member_id="m" * 22, member_epoch=0, rebalance_timeout_ms=1000, subscribed_topic_names=["t"],
        server_assignor=None, topic_partitions=[]), 1)
    return int(answer.error_code)


@staged(Walk, 6)
async def test_groups_and_subscriptions_live_with_every_setting(w: Walk) -> None:
    """Fails if a group cannot be used, or a resource not be described, at an end of a setting."""
    await w.begin()
    for kind, table in ((GROUP, GROUP_CONFIGS), (CLIENT_METRICS, METRICS_CONFIGS)):
        for config in table.values():
            for text in [*ends(config), *(BROKER_CONFIGS[s].default_text or "" for s, _ in config.synonyms)]:
                one = (config.name, text)
                if await w.alter(kind, "g", one) == 0:
                    assert await w.describe(kind, "g") == 0, one
                    assert kind != GROUP or await joins(w, "g") == 0, one
                    w.sound(one)
                    assert await w.alter(kind, "g", (config.name, None)) == 0, one
    await w.restart()


RATES = (5e-324, 1e-7, 1.0, 2.0**63, 1.7976931348623157e308, float("inf"), float("nan"))


async def quota(w: Walk, key: str, value: float | None) -> int:
    entry = AlterClientQuotasRequest.EntryData
    op = entry.OpData(key=key, value=value or 0.0, remove=value is None)
    entity = [entry.EntityData(entity_type="client-id", entity_name=None)]
    answer = await w.ask(1, AlterClientQuotasRequest(entries=[entry(entity=entity, ops=[op])], validate_only=False), 1)
    return int(answer.entries[0].error_code)


@staged(Walk, 7)
async def test_quotas_of_any_size_are_lived_with(w: Walk) -> None:
    """Fails if a quota that is accepted breaks the requests that it counts, or cannot be taken back by whom it throttles."""
    await w.begin()
    taken = 0
    for key in OF_CLIENTS:
        for value in RATES:
            if await quota(w, key, value) == 0:
                taken += 1
                for _ in range(2):
                    await serves(w, (key, value))
                made = (await w.create_topics((f"{key}-{taken}", {}))).popitem()[1]
                assert made in (0, Err.THROTTLING_QUOTA_EXCEEDED), (key, value)
                w.sound((key, value))
                assert await quota(w, key, None) == 0, (key, value)
    assert taken > 15 and {PRODUCER_RATE, CONSUMER_RATE, MUTATION_RATE} < {*OF_CLIENTS}
    await w.restart()
    await w.led("t")
    await serves(w, "no quota")
