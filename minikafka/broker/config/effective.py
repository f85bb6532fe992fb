"""Effective configuration: the value that a topic or broker uses, and the place that gave it.

A topic's value is the first of: set on the topic; set on this broker at run time; set for all brokers at run time;
in the broker's file; the default. The middle three are set under the names of the topic configuration's broker synonyms.

Owns: BrokerConfig (the broker's own file), the resolution above.
Invariants
  I-CFG-3  every refusal is in Kafka's words; an unknown broker name is refused with the nearest known one.
  I-CFG-4  topic_config() and describe() resolve by the same function, so what is shown is what is used.
  I-CFG-8  a value that is set but has no meaning here (another version wrote it) counts as not set: no setting of a client
           leaves a topic or a broker without a configuration.

Source: KafkaConfigSchema.resolveEffectiveTopicConfig, LogConfig.validate, DynamicBrokerConfig; KIP-226.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from itertools import dropwhile
from typing import Any, NamedTuple

from minikafka.broker.config.definition import Config, ConfigError, Value, plain
from minikafka.broker.config.table import BROKER_CONFIGS, TOPIC_CONFIGS
from minikafka.broker.metadata.image import MetadataImage
from minikafka.protocol.text import trim

# ConfigEntry.ConfigSource on the wire
DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT_BROKER, STATIC_BROKER, DEFAULT = 1, 2, 3, 4, 5
DYNAMIC_LOGGER, DYNAMIC_METRICS, DYNAMIC_GROUP = 6, 7, 8


class ConfigEntry(NamedTuple):
    """A value as it was written, and its source; `name` is the configuration that gave it, which may be a synonym."""

    name: str
    value: str | None
    source: int


class UnknownConfigError(ConfigError):
    """The refusal of a name that no configuration has; it suggests the nearest known name."""

    def __init__(self, name: str) -> None:
        near = difflib.get_close_matches(name, BROKER_CONFIGS, n=1, cutoff=0.0)
        Exception.__init__(self, f"Unknown configuration '{name}'. Did you mean '{near[0]}'?")


LISTENER_PREFIX = "listener.name."
_FILES = tuple(f"ssl.{kind}store.{what}" for kind in ("key", "trust") for what in ("type", "location"))
REAUTH = "connections.max.reauth.ms"
BEARER = "oauthbearer."  # before the settings of this mechanism
HANDLER = BEARER + "sasl.server.callback.handler.class"
_TOKENS = tuple(name for name in BROKER_CONFIGS if name.startswith("sasl.oauthbearer.") and BROKER_CONFIGS[name].effect == "read")
OF_LISTENERS = ("sasl.enabled.mechanisms", "ssl.client.auth", "ssl.allow.dn.changes", "ssl.allow.san.changes",
                REAUTH, HANDLER, *_FILES, *_TOKENS,
                *(BEARER + name for name in _TOKENS),
                *(f"{kind}.{what}" for kind in ("plain", "scram-sha-256", "scram-sha-512", "oauthbearer")
                  for what in ("sasl.jaas.config", REAUTH)))


def _without_mechanism(name: str) -> str:
    """Return the configuration that a listener's prefix, and that of a mechanism, make one of logins there."""
    short = _without_listener(name)
    return REAUTH if short.endswith(REAUTH) else one if (one := short.removeprefix(BEARER)) in _TOKENS else short


def _is_of_listener(name: str) -> bool:
    return name.startswith(LISTENER_PREFIX) and _without_listener(name).lower() in OF_LISTENERS


class BrokerConfig(Mapping[str, Any]):
    """The configurations in a broker's own file: typed values by Kafka's names, defaults included."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """Parse `values`, as read from the file; ConfigError names the first that is unknown or wrong."""
        self._written = dict(values or {})
        self.static = {name: text for name, text in self._written.items() if not _is_of_listener(name)}
        self._of_listeners = {name.lower(): text for name, text in self._written.items() if _is_of_listener(name)}
        number = self.static.get("node.id", self.static.get("broker.id"))       # as KafkaConfig.populateSynonyms
        if number is not None:
            self.static = {"node.id": number, "broker.id": number, **self.static}
        self._typed: dict[str, Value] = {name: config.default for name, config in BROKER_CONFIGS.items()}
        for name, text in self.static.items():
            if name not in BROKER_CONFIGS:
                raise UnknownConfigError(name)
            self._typed[name] = BROKER_CONFIGS[name].parse(text)

        for name, text in self._of_listeners.items():
            if (one := BROKER_CONFIGS.get(_without_mechanism(name))) is not None:
                one.parse(text)

    def __getitem__(self, name: str) -> Any:  # Any: by the name
        return self._typed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._typed)

    def __len__(self) -> int:
        return len(self._typed)

    def replaced(self, values: Mapping[str, str]) -> BrokerConfig:
        """Return the configuration of the same file with `values` in it; `static` alone lacks the lines of one listener."""
        return BrokerConfig({**self._written, **values})

    def of_listener(self, listener: str, name: str) -> str | None:
        """Return the text of `listener.name.LISTENER.NAME`; None if the file does not set it."""
        return self._of_listeners.get(f"{LISTENER_PREFIX}{listener}.{name}".lower())

    @property
    def without_effect(self) -> list[str]:
        """Return the names in the file that have no effect here and whose value differs from the default."""
        return [name for name in self.static
                if BROKER_CONFIGS[name].effect == "ignored" and self._typed[name] != BROKER_CONFIGS[name].default]

    @property
    def node_id(self) -> int:
        return self._typed["node.id"]

    @property
    def log_dir(self) -> str:
        """Return the folder of the partitions; there is one."""
        return (self._typed["log.dirs"] or self._typed["log.dir"])[0]

    @property
    def metadata_dir(self) -> str:
        """Return the folder that holds `__cluster_metadata-0`."""
        return self._typed["metadata.log.dir"] or self.log_dir


# --- topics ----------------------------------------------------------------------------------------------------

def validate_topic_configs(configs: Mapping[str, str], broker: BrokerConfig | None = None) -> None:
    """Raise ConfigError if Kafka refuses a topic's whole dynamic configuration, with the first reason found.

    `broker` gives the values that the topic leaves out: some rules compare two configurations.
    """
    for name in configs:
        if name not in TOPIC_CONFIGS:
            raise plain(f"Unknown topic config name: {name}")
    values = topic_defaults(broker) if broker else {n: c.default for n, c in TOPIC_CONFIGS.items()}
    for name, config in TOPIC_CONFIGS.items():
        if name in configs:
            values[name] = config.parse(configs[name])
    if values["remote.storage.enable"]:
        raise plain("Tiered Storage functionality is disabled in the broker. "
                    "Topic cannot be configured with remote log storage.")
    low, high = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if low > high:
        raise plain(f"conflict topic config setting min.compaction.lag.ms ({low}) > max.compaction.lag.ms ({high})")


def topic_defaults(broker: BrokerConfig) -> dict[str, Value]:
    """Return the typed configuration of a topic that sets nothing, without changes at run time."""
    return {name: effective(config, resolve_topic(MetadataImage(), broker, None, config))
            for name, config in TOPIC_CONFIGS.items()}


def topic_config(image: MetadataImage, broker: BrokerConfig, topic: str) -> dict[str, Any]:  # Any: by the name
    """Return the typed effective configuration of `topic` by Kafka's names, as this broker uses it."""
    return {name: topic_value(image, broker, topic, name) for name in TOPIC_CONFIGS}


def log_config(image: MetadataImage, broker: BrokerConfig, topic: str) -> dict[str, Any]:  # Any: by the name
    """Return topic_config() with names fit for keyword arguments: `segment_bytes`, `cleanup_policy`, ..."""
    values = {name.replace(".", "_"): value for name, value in topic_config(image, broker, topic).items()}
    small = values.pop("internal_segment_bytes")        # Kafka's own tests go below the lower limit this way
    return {**values, "segment_bytes": small} if small is not None else values


def topic_value(image: MetadataImage, broker: BrokerConfig, topic: str, name: str) -> Any:  # Any: by the name
    """Return one typed effective value of a topic."""
    config = TOPIC_CONFIGS[name]
    return effective(config, _set_for_topic(image, broker, topic, config))


def resolve_topic(image: MetadataImage, broker: BrokerConfig, topic: str | None, config: Config) -> list[ConfigEntry]:
    """Return an entry for every place that gives a value for `config`, as it was written there, the effective one first.

    As in Kafka, the defaults of the synonyms in coarser units are listed only if the first synonym is set.
    """
    names = [name for name, _ in config.synonyms]
    entries = _set_for_topic(image, broker, topic, config)
    first_is_set = any(entry.name == names[0] for entry in entries if entry.source != DYNAMIC_TOPIC)
    return entries + _defaults_of(names if first_is_set else names[:1])


def _set_for_topic(image: MetadataImage, broker: BrokerConfig, topic: str | None, config: Config) -> list[ConfigEntry]:
    own = image.topic_configs(topic).get(config.name) if topic is not None else None
    on_brokers = _set_on_brokers(image, broker, [name for name, _ in config.synonyms])
    return [ConfigEntry(config.name, own, DYNAMIC_TOPIC), *on_brokers] if own is not None else on_brokers


def _set_on_brokers(image: MetadataImage, broker: BrokerConfig, names: list[str]) -> list[ConfigEntry]:
    node = broker["node.id"]
    places = [(image.broker_configs(node) if node is not None else {}, DYNAMIC_BROKER),
              (image.broker_configs(None), DYNAMIC_DEFAULT_BROKER), (broker.static, STATIC_BROKER)]
    return [ConfigEntry(name, values[name], source) for values, source in places for name in names if name in values]


def _defaults_of(names: list[str]) -> list[ConfigEntry]:
    configs = [BROKER_CONFIGS[name] for name in names]
    return [ConfigEntry(c.name, c.default_text, DEFAULT) for c in configs if c.default is not None]


def effective(config: Config, entries: list[ConfigEntry]) -> Value:
    """Return the typed value of the first entry that has a meaning, in the unit of `config`; else its default (I-CFG-8)."""
    for entry in entries:
        if entry.source == DEFAULT:
            break
        factor = 1 if entry.source == DYNAMIC_TOPIC else dict(config.synonyms).get(entry.name, 1)
        try:
            return config.parse(str(int(entry.value) * factor) if factor > 1 else unlimited(entry.name, entry.value))
        except (ConfigError, ValueError):
            continue
    return config.default


def unlimited(name: str, text: str) -> str:
    """Return the text of a value; for any negative log.retention.ms -1, as a broker (and no topic) reads it."""
    return "-1" if name == "log.retention.ms" and trim(text).startswith("-") else text


# --- brokers ---------------------------------------------------------------------------------------------------

def resolve_broker(image: MetadataImage, broker: BrokerConfig, config: Config) -> list[ConfigEntry]:
    """Return an entry for every place that gives a value for a broker's own `config`, the effective one first.

    As in Kafka, its other names, in other units, are listed too, except those before its own first value.
    """
    names = _spellings(config.name)
    entries = _set_on_brokers(image, broker, names) + _defaults_of(names)
    return list(dropwhile(lambda entry: entry.name != config.name, entries))


def broker_value(image: MetadataImage, broker: BrokerConfig, name: str) -> Any:  # Any: by the name
    """Return the present typed value of a broker's own configuration: from its file, or as altered since."""
    config = BROKER_CONFIGS[name]
    for entry in _set_on_brokers(image, broker, [name]):        # its names in other units are other configurations
        try:
            return config.parse(entry.value)
        except ConfigError:                                      # I-CFG-8
            continue
    return config.default


def listener_value(image: MetadataImage, broker: BrokerConfig, listener: str, name: str) -> Any:  # Any: by the name
    """Return the present typed value of a configuration for one listener: its own, else that of all."""
    texts = [entry.value for entry in _set_on_brokers(image, broker, [f"{LISTENER_PREFIX}{listener.lower()}.{name}"])]
    for text in (*texts, broker.of_listener(listener, name)):
        try:
            if text is not None:
                return BROKER_CONFIGS[name].parse(text)
        except ConfigError:                                      # I-CFG-8
            continue
    return broker_value(image, broker, name)


def mechanism_value(broker: BrokerConfig, listener: str, mechanism: str, name: str) -> Any:  # Any: by the name
    """Return the typed value of a configuration for logins by a mechanism at a listener, from the broker's file."""
    texts = (broker.of_listener(listener, one) for one in (f"{mechanism}.{name}", name))
    text = next((text for text in texts if text is not None), None)
    return broker[name] if text is None else BROKER_CONFIGS[name].parse(text)


def session_ms(broker: BrokerConfig, listener: str, mechanism: str) -> int:
    """Return how long a login by this mechanism lasts at a listener; 0: as long as its connection."""
    return max(0, mechanism_value(broker, listener, mechanism, "connections.max.reauth.ms"))


def _spellings(name: str) -> list[str]:
    """Return the names that mean the same as `name` in other units (log.retention.ms, .minutes, .hours), itself included."""
    for config in TOPIC_CONFIGS.values():
        names = [synonym for synonym, _ in config.synonyms]
        if name in names and not (config.name == "flush.ms" and name != names[0]):
            return names
    return [name]


_THREADS = ("background.threads", "num.io.threads", "num.network.threads", "num.recovery.threads.per.data.dir",
            "num.replica.fetchers")
_ONE_BROKERS = ("listeners", "listener.security.protocol.map", "cordoned.log.dirs", "principal.builder.class")
_LOGINS = ("ssl.", "sasl.")            # those that are dynamic are one broker's, too; so is what is set for one listener, but for
_EVERYWHERE = ("max.connections", "max.connection.creation.rate", "num.network.threads")
_INTERVALS = tuple(f"group.{kind}.assignment.interval.ms" for kind in ("consumer", "share", "streams"))
MEBIBYTE = 1 << 20
_REQUIRED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "log.retention.ms": (lambda ms: ms != 0, "must be unlimited (-1) or, greater than or equal to 1"),
    "log.roll.ms": (lambda ms: ms >= 1, "must be greater than or equal to 1"),
    "log.roll.jitter.ms": (lambda ms: ms >= 0, "must be greater than or equal to 0"),
    "log.cleaner.dedupe.buffer.size": (lambda size: size >= MEBIBYTE, "must be at least 1MB per cleaner thread."),
    "max.connections.per.ip": (lambda n: n > 0, "can be set to zero only if max.connections.per.ip.overrides property is "
                               "set."),
}


def validate_broker_configs(configs: Mapping[str, str], everywhere: bool,
                            present: Callable[[str], Any]) -> None:  # Any: by the name
    """Raise ConfigError if broker configurations are read-only at run time or wrong; `present` returns a present value.

    `everywhere`: they are to be the default of all brokers. Unknown names are allowed, as in Kafka: they may be a plug-in's.
    """
    known = {name: config for name in configs if (config := BROKER_CONFIGS.get(_without_listener(name))) is not None}
    single = sorted(name for name, config in known.items()
                    if everywhere and (name in _ONE_BROKERS or config.dynamic and name.startswith(_LOGINS)
                                       or name.startswith(LISTENER_PREFIX) and config.name not in _EVERYWHERE))
    fixed = sorted(name for name, config in known.items() if not config.dynamic)
    if single:
        raise plain("Cannot update these configs at default cluster level, broker id must be specified: "
                    f"[{', '.join(single)}]")
    if fixed:
        raise plain(f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    if files := sorted((name for name in configs if name in _FILES), reverse=True):
        raise plain("These security configs can be dynamically updated only per-listener using the listener prefix: "
                    f"[{', '.join(files)}]")
    values = {name: config.parse(configs[name]) for name, config in known.items()}
    for name, value in values.items():
        holds, text = _REQUIRED.get(name, (lambda _: True, ""))
        if not holds(value):
            raise plain(f"requirement failed: {name} {text}")
        if value == 0 and _without_listener(name) in ("max.connections", "max.connection.creation.rate"):
            raise _invalid(f"Invalid {_without_listener(name)} 0")
        if name in _INTERVALS and value > present(longest := name.replace(".assignment", ".max.assignment")):
            raise plain(f"{name} must be less than or equal to {longest}")
    for name in (name for name in _THREADS if name in values):
        _check_step(name, values[name], present(name))
    if "log.cleaner.threads" in values:
        _check_cleaners(values["log.cleaner.threads"], present("log.cleaner.threads"))


def _without_listener(name: str) -> str:
    """Return the configuration that `listener.name.NAME.` makes one of this listener."""
    return name.split(".", 3)[-1] if name.startswith(LISTENER_PREFIX) else name


def _check_cleaners(value: int, present: int) -> None:
    """Raise ConfigError if the number of cleaners would more than double, or is 0 (Kafka divides by it). Here it is always 1."""
    if value == 0:
        raise plain("/ by zero")
    if value > 2 * present:
        raise _invalid(f"Log cleaner threads cannot be increased to more than double the current value {present}")


def _invalid(text: str) -> ConfigError:
    return plain(f"Invalid value org.apache.kafka.common.config.ConfigException: {text} for configuration Invalid dynamic "
                 "configuration")


def _check_step(name: str, value: int, present: int) -> None:
    """Raise ConfigError if a pool of threads would more than double or halve. There are no such pools here; the rule
    stays because a client that alters these configurations must get Kafka's refusal."""
    if present // 2 <= value <= 2 * present:
        return
    limit = "be at least half" if value < present else "not be greater than double"
    raise _invalid(f"Dynamic thread count update validation failed for {name}={value}, value should {limit} the current value "
                   f"{present}")
