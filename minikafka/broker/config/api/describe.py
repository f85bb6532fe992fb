"""DescribeConfigs: every configuration of a topic or of this broker, with where its value came from; and the broker's loggers.

Versions of DescribeConfigs: 1 synonyms; 3 types and documentation; 4 flexible.

Invariants: I-CFG-4 (broker/config/effective.py): what is shown is what is used.
            I-DESCRIBE-1 only Kafka's configurations are described, and the unknown ones that somebody has set, without their
              value; what ListConfigResources lists can be described.
What Kafka does differently: the level of a logger can be changed.
Source: ConfigHelper; KIP-133, KIP-226, KIP-569 (type and documentation).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafka.protocol.admin import DescribeConfigsRequest, DescribeConfigsResponse

from minikafka.broker.config.definition import TYPE_IDS, Config, Value, integer, to_text
from minikafka.broker.config.effective import (
    DEFAULT,
    DYNAMIC_BROKER,
    DYNAMIC_DEFAULT_BROKER,
    DYNAMIC_GROUP,
    DYNAMIC_LOGGER,
    DYNAMIC_METRICS,
    DYNAMIC_TOPIC,
    ConfigEntry,
    broker_value,
    effective,
    resolve_broker,
    resolve_topic,
)
from minikafka.broker.config.group_and_metrics import GROUP_CONFIGS, METRICS_CONFIGS
from minikafka.broker.config.table import BROKER_CONFIGS, OWN, TOPIC_CONFIGS
from minikafka.broker.metadata.records import BROKER_LOGGER, BROKER_RESOURCE, CLIENT_METRICS, GROUP, TOPIC_RESOURCE
from minikafka.broker.metadata.topic_names import check_name
from minikafka.broker.server.answer_size import ROW, AnswerBudget
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.server.turns import each
from minikafka.protocol.errors import TEXTS, Err, KafkaError

Result = DescribeConfigsResponse.DescribeConfigsResult
Row = Result.DescribeConfigsResourceResult
Synonym = Row.DescribeConfigsSynonym
# Kafka's names of Python's levels, the highest first
LEVELS = {logging.CRITICAL: "FATAL", logging.ERROR: "ERROR", logging.WARNING: "WARN", logging.INFO: "INFO",
          logging.DEBUG: "DEBUG"}
Asked = tuple[int, str, frozenset[str]]             # type and name of a resource, and the keys that are wanted of it


@handles(DescribeConfigsRequest)
async def describe_configs(ctx: Context, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """Return the configurations or the error of each resource; one resource of an unknown type fails the whole request."""
    if any(resource.resource_type not in _RESOURCES for resource in request.resources):
        results = await each(_unknown_type, request.resources)
    else:
        told: dict[Asked, tuple[Result, int]] = {}
        room = AnswerBudget()
        results = await each(lambda resource: _told(ctx, resource, request, told, room), request.resources)
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


def _told(ctx: Context, resource: DescribeConfigsRequest.DescribeConfigsResource, request: DescribeConfigsRequest,
          told: dict[Asked, tuple[Result, int]], room: AnswerBudget) -> Result:
    """Return the result of a resource. A resource that is named twice is answered twice, as in Kafka, with the same object."""
    asked = (resource.resource_type, resource.resource_name, frozenset(resource.configuration_keys or ()))
    if asked not in told:
        result = _describe(ctx, resource, request)
        told[asked] = result, sum(map(_size, result.configs))
    result, size = told[asked]
    try:
        room.take(size)
    except KafkaError as refused:
        return Result(error_code=int(refused.code), error_message=refused.message, configs=[],
                      resource_type=resource.resource_type, resource_name=resource.resource_name)
    return result


def _size(row: Row) -> int:
    texts = [row.name, row.value, row.documentation, *(text for s in row.synonyms for text in (s.name, s.value))]
    return ROW * (1 + len(row.synonyms)) + sum(len(text or "") for text in texts)


def _unknown_type(resource: DescribeConfigsRequest.DescribeConfigsResource) -> Result:
    return Result(error_code=int(Err.INVALID_REQUEST), error_message=TEXTS[Err.INVALID_REQUEST], configs=[],
                  resource_type=resource.resource_type, resource_name=resource.resource_name)


def _describe(ctx: Context, resource: DescribeConfigsRequest.DescribeConfigsResource,
              request: DescribeConfigsRequest) -> Result:
    code, text, rows = Err.NONE, "", []
    try:
        found = _RESOURCES[resource.resource_type](ctx, resource.resource_name)
    except KafkaError as error:
        # An unknown topic is the one refusal that comes without a text.
        code, text = error.code, "" if error.code == Err.UNKNOWN_TOPIC_OR_PARTITION else error.message
    else:
        names = set(resource.configuration_keys or ())
        rows = [_row(config, value, entries, request, read_only) for config, value, entries, read_only in found
                if not names or config.name in names]
    return Result(error_code=int(code), error_message=text, resource_type=resource.resource_type,
                  resource_name=resource.resource_name, configs=rows)


Found = tuple[Config, Value, list[ConfigEntry], bool]     # configuration, typed value, the places that give one, read-only


def _topic(ctx: Context, name: str) -> list[Found]:
    check_name(name)
    image, broker = ctx.node.image, ctx.node.config
    if name not in image.topics:
        raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION)
    found: list[Found] = []
    for config in TOPIC_CONFIGS.values():
        entries = resolve_topic(image, broker, name, config)
        value = effective(config, entries)
        if entries and entries[0].source == DYNAMIC_TOPIC:      # shown as parsed, not as the client wrote it
            entries[0] = entries[0]._replace(value=to_text(value))
        if entries or not config.internal:
            found.append((config, value, entries, False))
    return found


def _group(ctx: Context, name: str) -> list[Found]:
    if not name:
        raise KafkaError(Err.INVALID_REQUEST, "Group name must not be empty")
    image, broker = ctx.node.image, ctx.node.config
    return [_given(config, image.configs.get((GROUP, name), {}), DYNAMIC_GROUP,
                   resolve_topic(image, broker, None, config) or [ConfigEntry(config.name, config.default_text, DEFAULT)])
            for config in GROUP_CONFIGS.values()]


def _metrics(ctx: Context, name: str) -> list[Found]:
    if not name:
        raise KafkaError(Err.INVALID_REQUEST, "Client metrics subscription name must not be empty")
    own = ctx.node.image.configs.get((CLIENT_METRICS, name), {})
    return [_given(config, own, DYNAMIC_METRICS, []) for config in METRICS_CONFIGS.values()]


def _given(config: Config, own: dict[str, str], source: int, otherwise: list[ConfigEntry]) -> Found:
    """Return a configuration with the value set on the resource itself, as parsed, before the entries of other places."""
    if config.name not in own:
        return config, effective(config, otherwise), otherwise, False
    value = config.parse(own[config.name])
    return config, value, [ConfigEntry(config.name, to_text(value), source), *otherwise], False


def _broker(ctx: Context, name: str) -> list[Found]:
    image, broker = ctx.node.image, ctx.node.config
    if not name:
        return [_known(key, value, DYNAMIC_DEFAULT_BROKER) for key, value in image.broker_configs(None).items()]
    _check_broker(ctx, name, " or empty string,")
    found: list[Found] = []
    for config in BROKER_CONFIGS.values():
        if config.name.startswith(OWN):
            continue
        entries = resolve_broker(image, broker, config)
        if not config.internal or (entries and entries[0].source != DEFAULT):
            found.append((config, broker_value(image, broker, config.name), entries, not config.dynamic))
    own = image.broker_configs(ctx.node.node_id)
    others = {key: value for key, value in (image.broker_configs(None) | own).items() if key not in BROKER_CONFIGS}
    return found + [_known(key, value, DYNAMIC_BROKER if key in own else DYNAMIC_DEFAULT_BROKER)
                    for key, value in others.items()]


def _known(name: str, value: str, source: int) -> Found:
    """Return a configuration as it was set. An unknown one is shown without its value, which may be a secret."""
    config = BROKER_CONFIGS.get(name) or Config(name, "UNKNOWN", None, "")
    return config, value, [ConfigEntry(name, value, source)], name not in BROKER_CONFIGS


def _check_broker(ctx: Context, name: str, alternative: str = "") -> None:
    named = integer(name)
    if named is None:
        raise KafkaError(Err.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if named != ctx.node.node_id:
        raise KafkaError(Err.INVALID_REQUEST, f"Unexpected broker id, expected {ctx.node.node_id}{alternative} but "
                         f"received {name}")


def _loggers(ctx: Context, name: str) -> list[Found]:
    if not name:
        raise KafkaError(Err.INVALID_REQUEST, "Broker id must not be empty")
    _check_broker(ctx, name)
    own = [known for known in logging.Logger.manager.loggerDict if known.startswith("minikafka")]
    return [(Config(known, "STRING", None, ""), level, [ConfigEntry(known, level, DYNAMIC_LOGGER)], True)
            for known in ["root", *sorted(own)]
            for level in [_level(logging.getLogger(known).getEffectiveLevel())]]


def _level(number: int) -> str:
    """Return Kafka's name of a level of Python's, or of the next lower one."""
    return next((name for known, name in LEVELS.items() if known <= number), "TRACE")


_RESOURCES: dict[int, Callable[[Context, str], list[Found]]] = {
    TOPIC_RESOURCE: _topic, BROKER_RESOURCE: _broker, BROKER_LOGGER: _loggers, CLIENT_METRICS: _metrics, GROUP: _group}


def _row(config: Config, value: Value, entries: list[ConfigEntry], request: DescribeConfigsRequest, read_only: bool) -> Row:
    synonyms = [Synonym(name=e.name, value=None if config.sensitive else e.value, source=e.source) for e in entries]
    return Row(name=config.name, value=None if config.sensitive else to_text(value), read_only=read_only,
               config_source=entries[0].source if entries else DEFAULT, is_sensitive=config.sensitive,
               synonyms=synonyms if request.include_synonyms else [], config_type=TYPE_IDS[config.type],
               documentation=config.documentation if request.include_documentation else None)
