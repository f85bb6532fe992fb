"""What a user has when a client does not connect: its message, the broker's log, and the addresses that it was sent to.

    print(attempt(settings))            one record is written and read back; or the first message that says more than others
    tell(cluster, settings)             the same, and what the broker has logged meanwhile
    complaint(message)                  what it is about, without the address and the advice
    sent_to(settings)                   {broker: address}, the answer to Metadata, as `kcat -L` prints it

The client is librdkafka by its Python package; `settings` have Kafka's own names. Owns: one attempt. Invariants: none of its own.
"""
from __future__ import annotations

import re
import textwrap
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from minikafka.lab.labs.lab21.office import GROUP, SHELF

PATIENCE, SOON, TRIES = 8.0, 1.0, 5  # seconds for a record; and after "all brokers are down" for a message that says why
QUIET: dict[str, Any] = {"log_level": 0, "socket.connection.setup.timeout.ms": 3000,
                         "broker.address.family": "v4"}
WHEN = re.compile(r"^\d{4}-\d\d-\d\d \S+ \w+ |\(after \d+ms.*?\)|\(channelId=\S+\) ?|\[SocketServer[^]]*\] ?")
ABOUT, LINES = re.compile(r"127\.0\.0\.1|^org\.apache\S+: "), 2  # what is shown of the log
WIDE, LABEL = 76, " " * 8  # characters of a printed line, so that no word and no number is cut; and its beginning


class AttemptOutcome(NamedTuple):
    """The end of an attempt: whether the record was written and read back, and the text that says so or why not."""

    connected: bool
    text: str

    def __str__(self) -> str:
        return self.text


def attempt(settings: Mapping[str, Any], topic: str = SHELF) -> AttemptOutcome:
    """Write one record, and read it."""
    errors: list[KafkaError] = []
    try:
        offset = _write(settings, topic, errors)
        if offset is None:
            return AttemptOutcome(False, _best(errors))
        if _read(settings, topic, offset):
            return AttemptOutcome(True, f"connected: a record was written to {topic} and read back")
        return AttemptOutcome(False, f"a record was written to {topic}, and could not be read")
    except KafkaException as error:
        return AttemptOutcome(False, _text(error.args[0]))
    except (TypeError, ValueError) as error:  # values that are no settings
        return AttemptOutcome(False, f"the client refuses its settings: {error}")


def _write(settings: Mapping[str, Any], topic: str, errors: list[KafkaError]) -> int | None:
    """Return the offset of a record; None with at least one error."""
    written: list[int] = []

    def delivered(error: KafkaError | None, message: Any) -> None:
        errors.append(error) if error else written.append(message.offset())

    producer = Producer({**settings, **QUIET, "error_cb": errors.append, "message.timeout.ms": int(PATIENCE * 1000)})
    producer.produce(topic, b"is anybody there?", on_delivery=delivered)
    until = time.monotonic() + PATIENCE
    while not written and not any(map(_says_why, errors)) and time.monotonic() < until:
        producer.poll(0.05)
        if errors:
            until = min(until, time.monotonic() + SOON)
    if not written:
        producer.purge()
    return written[0] if written else None


def _read(settings: Mapping[str, Any], topic: str, offset: int) -> bool:
    with closing(Consumer({**settings, **QUIET, "group.id": GROUP, "enable.auto.commit": False})) as consumer:
        consumer.assign([TopicPartition(topic, 0, offset)])
        message = consumer.poll(PATIENCE)
        return message is not None and not message.error()


def _says_why(error: KafkaError) -> bool:
    """Return whether nothing better is to come: of a TLS handshake that ends at once, librdkafka tells all at the next try."""
    return _says_something(error) and ("SSL" not in error.str() or "handshake failed" in error.str())


def _says_something(error: KafkaError) -> bool:
    return error.code() not in (KafkaError._ALL_BROKERS_DOWN, KafkaError._PURGE_QUEUE)


def _best(errors: list[KafkaError]) -> str:
    ranked = *filter(_says_why, errors), *filter(_says_something, errors), *errors
    return _text(ranked[0]) if ranked else f"nothing happened for {PATIENCE:.0f} s"


def complaint(message: str) -> str:
    """Return what a client's message complains about, without the address and the advice."""
    by_openssl = re.search(r"::([^:]+)", message)
    return by_openssl[1] if by_openssl else message.partition(": ")[2]


def _text(error: Any) -> str:
    """Return a message without the time that it took, and without the number of attempts."""
    told = error.str() if isinstance(error, KafkaError) else str(error)
    return re.sub(r"^\d+/\d+ brokers are down$", "all brokers are down", WHEN.sub("", told).strip())


def sent_to(settings: Mapping[str, Any]) -> dict[int, str]:
    """Return the address of each broker as the bootstrap broker says it. Raises KafkaException."""
    return {broker.id: f"{broker.host}:{broker.port}" for broker in _metadata(settings).brokers.values()}


def topics(settings: Mapping[str, Any]) -> list[str]:
    """Return the topics that this client can see. Raises KafkaException."""
    return sorted(_metadata(settings).topics)


def _metadata(settings: Mapping[str, Any]) -> Any:
    """Return the answer to Metadata. The client may send the request to the second address already: then a new client tries."""
    for tries_left in reversed(range(TRIES)):
        try:
            return AdminClient({**settings, **QUIET}).list_topics(timeout=4 * PATIENCE)  # Apache Kafka answers late after a start
        except KafkaException as error:
            if not tries_left or error.args[0].code() != KafkaError._TRANSPORT:
                raise
    raise AssertionError("unreachable")


def tell(cluster: Any, settings: Mapping[str, Any], topic: str = SHELF) -> tuple[str, str]:
    """Print and return the client's message, and what the broker has logged meanwhile; it may log a moment later."""
    file = cluster.plan.nodes[1].log
    before = len(file.read_bytes())
    seen = attempt(settings, topic)
    until = time.monotonic() + (0 if seen.connected else SOON)
    while not (lines := _logged(file, before)) and time.monotonic() < until:
        time.sleep(0.02)
    logged = lines[:LINES] or ["(nothing)"]
    print(_folded("client: ", seen.text), *map(_folded, ["broker: ", *[LABEL] * LINES], logged), sep="\n")
    return seen.text, "\n".join(logged)


def _folded(label: str, text: str) -> str:
    """Return lines that are cut between words."""
    return textwrap.fill(text, WIDE, initial_indent=label, subsequent_indent=LABEL, break_long_words=False,
                         break_on_hyphens=False)


def _logged(file: Path, before: int) -> list[str]:
    """Return the lines about clients behind this many bytes of a log, each once."""
    new = file.read_bytes()[before:].decode(errors="replace").splitlines()
    return list(dict.fromkeys(WHEN.sub("", line) for line in new if ABOUT.search(line)))


def who(client: bool, broker: bool) -> str:
    """Return which of the two it is, in a word."""
    return {(True, True): "both", (True, False): "client", (False, True): "broker", (False, False): "neither"}[client, broker]
