"""The settings of a cluster: the engine by name, the preset, and configuration as Kafka writes it.

Owns the presets and the few settings that a small cluster needs. Everything else is Kafka's own default.
"""

from __future__ import annotations

from typing import Any

from .engine import Engine

# Kafka's own defaults ask for three brokers; its quick start lowers them in the same way for one.
REPLICATION_OF_INTERNAL_TOPICS = ("offsets.topic.replication.factor", "transaction.state.log.replication.factor")

PRESETS: dict[str | None, dict[str, str]] = {
    None: {},
    "class": {  # a failure shows within seconds instead of half a minute
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "1000",
        "replica.lag.time.max.ms": "10000",
        "group.initial.rebalance.delay.ms": "0",
    },
}


def make_engine(name: str) -> Engine:
    """Return the engine of that name. Raises ValueError for an unknown one."""
    if name == "minikafka":
        from .ours import Ours
        return Ours()
    if name == "apache":
        from .apache import Apache
        return Apache()
    raise ValueError(f'unknown engine {name!r}: there are "minikafka", "apache" and "sim"')


def preset_values(preset: str | None) -> dict[str, str]:
    """Return a preset's settings, printed when it changes anything. Raises ValueError for an unknown one."""
    if preset not in PRESETS:
        raise ValueError(f"unknown preset {preset!r}: there is {', '.join(repr(p) for p in PRESETS if p)}")
    if preset:
        print(f"preset {preset!r}:", ", ".join(f"{name}={value}" for name, value in PRESETS[preset].items()))
    return PRESETS[preset]


def as_text(config: dict[str, Any]) -> dict[str, str]:
    """Return settings as Kafka writes them: true and false in lower case, lists with commas."""
    def text(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return {name: text(value) for name, value in config.items()}


def internal_topics(brokers: int) -> dict[str, str]:
    """Return settings for the internal topics of a cluster of fewer than three brokers."""
    if brokers >= 3:
        return {}
    return {**dict.fromkeys(REPLICATION_OF_INTERNAL_TOPICS, str(brokers)), "transaction.state.log.min.isr": "1"}
