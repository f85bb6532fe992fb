"""DeleteTopics: by name up to version 5, by name or id from version 6.

Owns: delete_topics(). It reads the image and makes records; it changes nothing.
Invariants: I-TOPIC-4 every name and id of the request is answered once, whatever is wrong with it.
What Kafka does differently: it shuffles the answers, so that their order does not tell what may not be seen.
Source: ControllerApis.deleteTopics; KIP-516 (ids), KIP-599 (texts).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import DeleteTopicsResponse

from minikafka.broker.metadata.image import MetadataImage, Topic
from minikafka.broker.metadata.records import MetadataRecord, RemoveTopicRecord, Uuid
from minikafka.protocol.errors import Err, KafkaError

Result = DeleteTopicsResponse.DeletableTopicResult
SILENT = (Err.REQUEST_TIMED_OUT, Err.THROTTLING_QUOTA_EXCEEDED)         # refused without words, as in Kafka


def delete_topics(image: MetadataImage, names: list[str | None], ids: list[Uuid], refused: list[Any],
                  charge: Callable[[int], None]) -> tuple[list[MetadataRecord], DeleteTopicsResponse]:
    """Decide on what split() made of the request: the records to commit, and the answer for afterwards. `charge` raises
    KafkaError where a quota of changes is used up."""
    results = list(refused)
    doomed: dict[Uuid, Topic] = {}
    for topic_id, count in Counter(ids).items():
        topic = image.topic_by_id(topic_id)
        if count > 1:
            results.append(_result(None, topic_id, KafkaError(Err.INVALID_REQUEST, "Duplicate topic id.")))
        elif topic is None:
            results.append(_result(None, topic_id, KafkaError(Err.UNKNOWN_TOPIC_ID)))
        else:
            doomed[topic_id] = topic
    for name, count in Counter(names).items():
        topic = image.topics.get(name)
        if count > 1:
            results.append(_result(name, None, KafkaError(Err.INVALID_REQUEST, "Duplicate topic name.")))
        elif topic is None:
            results.append(_result(name, None, KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION)))
        elif topic.id in ids:
            doomed.pop(topic.id, None)
            text = "The provided topic name maps to an ID that was already supplied."
            results.append(_result(name, topic.id, KafkaError(Err.INVALID_REQUEST, text)))
        else:
            doomed[topic.id] = topic
    records: list[MetadataRecord] = []
    for topic_id, topic in doomed.items():
        try:
            charge(len(topic.partitions))
        except KafkaError as late:
            results.append(_result(topic.name, topic_id, late))
        else:
            results.append(_result(topic.name, topic_id, None))
            records.append(RemoveTopicRecord(topic_id))
    return records, _response(results)


def split(request: Any) -> tuple[list[str | None], list[Uuid], list[Any]]:
    """(names, ids, refusals) out of a decoded DeleteTopicsRequest of any version."""
    names: list[str | None] = list(request.topic_names or [])
    ids: list[Uuid] = []
    refused = []
    for state in request.topics or []:
        if state.name is None and state.topic_id is None:
            refused.append(_result(None, None, KafkaError(Err.INVALID_REQUEST,
                                                          "Neither topic name nor id were specified.")))
        elif state.name is not None and state.topic_id is not None:
            refused.append(_result(state.name, state.topic_id, KafkaError(
                Err.INVALID_REQUEST, "You may not specify both topic name and topic id.")))
        elif state.name is None:
            ids.append(state.topic_id)
        else:
            names.append(state.name)
    return names, ids, refused


def refuse_all(request: Any, error: KafkaError) -> DeleteTopicsResponse:
    """One error for everything in the request."""
    names, ids, refused = split(request)
    return _response([_result(name, None, error) for name in names] + [_result(None, i, error) for i in ids] + refused)


def _response(results: list[Any]) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(throttle_time_ms=0, responses=results)


def _result(name: str | None, topic_id: Uuid | None, error: KafkaError | None) -> Any:
    return Result(name=name, topic_id=topic_id, error_code=int(error.code) if error else 0,
                  error_message=error.message if error and error.code not in SILENT else None)
