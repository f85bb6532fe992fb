"""A right that ends while a request waits: on whole brokers, in virtual time."""

from __future__ import annotations

from typing import Any, ClassVar

from kafka.protocol.admin import CreateAclsRequest

from minikafka.broker.server.peer import Peer
from minikafka.log.batch import build
from minikafka.sim.world.host import host_name
from minikafka.sim.world.world import CLIENT_PORT
from tests.requests import create_topics, fetch, produce, topic
from tests.stage import Stage, staged


class Closed(Stage):
    """Everybody may do what no list is about; then there are lists."""

    extra: ClassVar[dict[str, str]] = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true"}

    async def forbid_reading(self, name: str) -> None:
        """Allow everybody to write to the topic, and nothing else."""
        made = await self.ask(1, CreateAclsRequest(creations=[CreateAclsRequest.AclCreation(
            resource_type=2, resource_name=name, resource_pattern_type=3, principal="User:*", host="*", operation=4,
            permission_type=3)]), 3)
        assert [row.error_code for row in made.results] == [0]


@staged(Closed, 3)
async def test_a_fetch_that_waits_gets_nothing_that_is_forbidden(w: Closed) -> None:
    """Fails if a record that was written after the right had ended reaches whoever had begun to wait before (I-FET-8)."""
    await w.start()
    assert (await w.ask(1, create_topics(topic("t", 1, 3)), 7)).topics[0].error_code == 0
    leader = await w.leader_of("t")
    reader = Peer(w.client, leader, host_name(leader), CLIENT_PORT, "reader")
    waiting = w.client.spawn(reader.request(fetch("t", max_wait_ms=30_000), 11, timeout=60.0), "reader")
    await w.client.sleep(1)
    await w.forbid_reading("t")
    while not w.brokers[leader].image.acls:
        await w.client.sleep(0.1)
    written = await w.ask(leader, produce("t", build([(None, b"secret")], timestamp_ms=0)), 9)
    assert written.responses[0].partition_responses[0].error_code == 0
    told: Any = await waiting
    assert [(p.error_code, bytes(p.records or b"")) for t in told.responses for p in t.partitions] == [(29, b"")]
