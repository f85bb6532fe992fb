"""The map around Kafka, walked: Kafka Streams, Connect and MirrorMaker as Apache ships them, against the brokers of the lab.

    available()                                   # "" or why the stops cannot be run here
    count_with_streams(cluster, words, disturb)   # Apache's WordCountDemo, exactly once
    copy_with_connect(cluster, lines)             # a file into a topic, and the topic into a file
    mirror(cluster, away, topic)                  # a topic into another cluster

Owns: the Java programs of a call; each is a process that ends with the call, or with this process.
Invariants: a stop ends on a condition: the results are there, or PATIENCE is over and the program's last lines are told.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from minikafka.cluster.plan import free_ports
from minikafka.cluster.process import Launcher
from minikafka.lab.waiting import waiting
from minikafka.machine.files import scratch
from minikafka.machine.jars import ECOSYSTEM, JarsMissing, class_path
from minikafka.machine.java import NoJava, find_java

PATIENCE = 90.0                                 # seconds
JAVA_FLAGS = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"]
WORDS_IN, WORDS_OUT = "streams-plaintext-input", "streams-wordcount-output"     # WordCountDemo's own


def available() -> str:
    """Return why the stops cannot be run here, "" if they can. Fetches the jars if a network is there."""
    try:
        find_java()
        class_path(ECOSYSTEM)
    except (NoJava, JarsMissing) as error:
        return str(error).splitlines()[0]
    return ""


@contextmanager
def java(main: str, *arguments: str) -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """Run a program of the jars; what is yielded waits for a condition while the program lives."""
    with scratch() as folder:
        launcher = Launcher(main.rpartition(".")[2])
        command = [str(find_java().executable), *JAVA_FLAGS, "-cp", class_path(ECOSYSTEM), main, *arguments]
        child = launcher.start(command, folder / "log.txt", {})

        def wait(condition: Callable[[], Any]) -> Any:
            until = time.monotonic() + PATIENCE
            while not (answer := condition()):
                if not child.alive or time.monotonic() > until:
                    raise RuntimeError(f"{main}: {child.how_it_ended()}, not done. Its log ends:\n{child.last_lines(8)}")
                time.sleep(0.2)
            return answer
        try:
            with waiting(f"Apache's {main.rpartition('.')[2]} starts and works"):
                yield wait
        finally:
            child.kill()
            launcher.close()


def properties(folder: Path, file_name: str, /, **values: object) -> str:
    """Write a file as Java programs read their settings (a dot is written as two underscores), and return its path."""
    path = folder / file_name
    path.write_text("".join(f"{key.replace('__', '.')}={value}\n" for key, value in values.items()))
    return str(path)


def bounce(cluster: Any, broker: int) -> None:
    """Kill a broker, and start it again."""
    cluster.kill(broker)
    cluster.restart(broker)


def create(cluster: Any, *topics: str, partitions: int = 1) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap)) as admin:
        admin.create_topics({topic: {"num_partitions": partitions, "replication_factor": 3} for topic in topics},
                            wait_for_metadata=True)


def read_all(bootstrap: str, topic: str, partitions: Sequence[int] = (0,)) -> list[Any]:
    """Return what is committed in a topic, by a reader of its own; nothing if the topic is not there."""
    found: list[Any] = []
    with closing(KafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed")) as consumer:
        places = [TopicPartition(topic, part) for part in partitions]
        if topic not in consumer.topics():
            return []
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        ends = {place: consumer.end_offsets([place])[place] for place in places}
        while any(consumer.position(place) < end for place, end in ends.items()):
            for records in consumer.poll(timeout_ms=500).values():
                found += records
    return found


def send_all(bootstrap: str, topic: str, values: Sequence[str]) -> None:
    with closing(KafkaProducer(bootstrap_servers=bootstrap, acks="all", enable_idempotence=True)) as producer:
        for value in values:
            producer.send(topic, value.encode())
        producer.flush()


# --- Streams ---------------------------------------------------------------------------------------------------------

def count_with_streams(cluster: Any, words: Sequence[str], disturb: Callable[[], Any]) -> tuple[dict[str, int], int, int]:
    """Count words by Apache's WordCountDemo, exactly once; `disturb` is called when half of them are counted.

    Returns the last count of each word, how many updates were written, and how many of them went back.
    """
    with scratch() as folder:
        create(cluster, WORDS_IN, WORDS_OUT)
        half = len(words) // 2
        settings = properties(folder, "streams.properties", bootstrap__servers=cluster.bootstrap, state__dir=folder,
                              processing__guarantee="exactly_once_v2", replication__factor=3)
        with java("org.apache.kafka.streams.examples.wordcount.WordCountDemo", settings) as wait:
            send_all(cluster.bootstrap, WORDS_IN, words[:half])
            wait(lambda: len(_updates(cluster.bootstrap)) >= half)
            disturb()
            send_all(cluster.bootstrap, WORDS_IN, words[half:])
            wait(lambda: len(_updates(cluster.bootstrap)) >= len(words))
        updates = _updates(cluster.bootstrap)
        last: dict[str, int] = {}
        back = 0
        for word, number in updates:
            back += number <= last.get(word, 0)
            last[word] = number
        return last, len(updates), back


def _updates(bootstrap: str) -> list[tuple[str, int]]:
    with suppress(KafkaError):
        return [(r.key.decode(), int.from_bytes(r.value, "big")) for r in read_all(bootstrap, WORDS_OUT)]
    return []


# --- Connect ---------------------------------------------------------------------------------------------------------

def copy_with_connect(cluster: Any, lines: Sequence[str]) -> list[str]:
    """Copy a file into a topic and that topic into another file by a Connect worker; return the lines of the second file."""
    with scratch() as folder:
        source, target = folder / "in.txt", folder / "out.txt"
        source.write_text("".join(f"{line}\n" for line in lines))
        create(cluster, "lines")
        text = "org.apache.kafka.connect.storage.StringConverter"
        worker = properties(folder, "worker.properties", bootstrap__servers=cluster.bootstrap, key__converter=text,
                            value__converter=text, offset__storage__file__filename=f"{folder}/offsets",
                            offset__flush__interval__ms=1000, listeners=f"http://127.0.0.1:{free_ports(1)[0]}",
                            plugin__path=ECOSYSTEM.folder, plugin__discovery="service_load")
        read = properties(folder, "read.properties", name="read", connector__class="FileStreamSource", file=source, topic="lines")
        write = properties(folder, "write.properties", name="write", connector__class="FileStreamSink", file=target,
                           topics="lines")
        with java("org.apache.kafka.connect.cli.ConnectStandalone", worker, read, write) as wait:
            wait(lambda: target.exists() and target.read_text().count("\n") >= len(lines))
            return target.read_text().splitlines()


# --- MirrorMaker -----------------------------------------------------------------------------------------------------

def mirror(cluster: Any, away: Any, topic: str) -> tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]]:
    """Mirror a topic of three partitions from `cluster` to `away`; return (partition, value) of all records here and there."""
    with scratch() as folder:
        one_copy = ("", "offset.storage.", "config.storage.", "status.storage.", "offset-syncs.topic.", "checkpoints.topic.",
                    "heartbeats.topic.")
        names = {"clusters": "home, away", "home.bootstrap.servers": cluster.bootstrap, "away.bootstrap.servers": away.bootstrap,
                 "home->away.enabled": "true", "home->away.topics": topic, "away->home.enabled": "false",
                 "refresh.topics.interval.seconds": 2, **{f"{kind}replication.factor": 1 for kind in one_copy}}
        settings = properties(folder, "mirror.properties", **names)
        wanted = _placed(cluster.bootstrap, topic)
        with java("org.apache.kafka.connect.mirror.MirrorMaker", settings) as wait:
            return wanted, wait(lambda: len(found := _placed(away.bootstrap, f"home.{topic}")) >= len(wanted) and found)


def _placed(bootstrap: str, topic: str) -> list[tuple[int, bytes]]:
    with suppress(KafkaError):
        return sorted((record.partition, record.value) for record in read_all(bootstrap, topic, range(3)))
    return []
