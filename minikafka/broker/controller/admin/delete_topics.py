"""DeleteTopics: by name or by id.

Owns: delete_topics(). It reads the image and makes records; it changes nothing.
Invariants: I-TOPIC-4 every name and id of the request is answered once, whatever is wrong with it.
What Kafka does differently: it shuffles the answers, so that their order does not tell a client which topics it may not see.
Source: ControllerApis.deleteTopics; KIP-516 (ids), KIP-599 (texts).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from minikafka.broker.metadata.image import MetadataImage, TopicImage
from minikafka.broker.metadata.records import MetadataRecord, RemoveTopicRecord, Uuid
from minikafka.protocol.errors import Err, KafkaError


class Deletion(NamedTuple):
    """The verdict on one topic: its name and id as far as the response may name them, and the refusal, if any."""

    name: str | None
    topic_id: Uuid | None
    refusal: KafkaError | None = None


def delete_topics(image: MetadataImage, names: Sequence[str], ids: Sequence[Uuid],
                  charge: Callable[[int], None]) -> Iterator[tuple[list[MetadataRecord], Deletion]]:
    """Yield the verdict on each of these names and ids, and the record that removes its topic if it is granted.

    `charge` takes a topic's number of partitions and raises KafkaError if the client's quota of changes is used up.
    """
    doomed: dict[Uuid, TopicImage] = {}
    by_id = Counter(ids)
    for topic_id, count in by_id.items():
        topic = image.topic_by_id(topic_id)
        if count > 1:
            yield [], Deletion(None, topic_id, KafkaError(Err.INVALID_REQUEST, "Duplicate topic id."))
        elif topic is None:
            yield [], Deletion(None, topic_id, KafkaError(Err.UNKNOWN_TOPIC_ID))
        else:
            doomed[topic_id] = topic
    for name, count in Counter(names).items():
        topic = image.topics.get(name)
        if count > 1:
            yield [], Deletion(name, None, KafkaError(Err.INVALID_REQUEST, "Duplicate topic name."))
        elif topic is None:
            yield [], Deletion(name, None, KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION))
        elif topic.id in by_id:
            doomed.pop(topic.id, None)
            text = "The provided topic name maps to an ID that was already supplied."
            yield [], Deletion(name, topic.id, KafkaError(Err.INVALID_REQUEST, text))
        else:
            doomed[topic.id] = topic
    for topic_id, topic in doomed.items():
        try:
            charge(len(topic.partitions))
        except KafkaError as refusal:
            yield [], Deletion(topic.name, topic_id, refusal)
        else:
            yield [RemoveTopicRecord(topic_id)], Deletion(topic.name, topic_id)
