"""kafka-python itself, over real sockets, with a cluster that is simulated."""

from __future__ import annotations

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic

from minikafka.sim.engine.bridge import Bridge
from minikafka.sim.world.world import World


def test_a_broker_behind_a_bridge_keeps_the_lines_of_its_listeners() -> None:
    """Fails if the address on the bridge takes what the file says of one listener away."""
    world = World(7, config={"listener.name.internal.ssl.client.auth": "required"})
    with Bridge(world):
        assert {host.config.of_listener("INTERNAL", "ssl.client.auth") for host in world.hosts.values()} == {"required"}


def test_kafka_python_through_the_death_of_a_simulated_leader() -> None:
    """Fails if bytes are lost or out of order on the bridge, the brokers advertise addresses that no client can reach, or
    a simulated death does not break the real connections."""
    with Bridge(World(7), speed=4.0) as bridge:
        admin = KafkaAdminClient(bootstrap_servers=bridge.bootstrap)
        admin.create_topics([NewTopic("t", 1, 3)])
        producer = KafkaProducer(bootstrap_servers=bridge.bootstrap, linger_ms=1)
        sent = [producer.send("t", f"v{i}".encode()) for i in range(50)]
        producer.flush(30)
        leader = bridge.do(lambda world: world.broker(1).image.topics["t"].partitions[0].leader)
        bridge.do(lambda world: world.kill(leader))
        sent += [producer.send("t", f"v{i}".encode()) for i in range(50, 100)]
        assert [promise.get(60).offset for promise in sent] == list(range(100))
        bridge.do(lambda world: world.boot(leader))
        consumer = KafkaConsumer("t", bootstrap_servers=bridge.bootstrap, auto_offset_reset="earliest",
                                 consumer_timeout_ms=60_000)
        values = [next(consumer).value.decode() for _ in range(100)]
        assert values == [f"v{i}" for i in range(100)]
        assert bridge.do(lambda world: [world.errors, world.crashes]) == [[], []]
        for client in (consumer, producer, admin):
            client.close()
