"""Configurations of groups and of client metrics subscriptions, by value as Apache Kafka 4.3 gives them; both engines.

Nothing here depends on what they steer, which is why ours has them although it serves neither kind of group.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import SETTINGS
from tests.wire.conftest import describe_configs
from tests.wire.raw import Raw
from tests.wire.test_alter_configs import APPEND, DELETE, SET, Change, incremental, legacy, listed, shown

METRICS, GROUP = 16, 32
SESSION, RESET = "consumer.session.timeout.ms", "share.auto.offset.reset"
RESETS = "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
INTERVAL = "interval must be between 100 and 3600000 (1 hour)"


@pytest.mark.parametrize(("kind", "name", "change", "code", "text"), [
    (GROUP, "", (SESSION, SET, "50000"), 42, "Default group resources are not allowed."),
    (GROUP, "g", (SESSION, SET, " 50000 "), 0, None),
    (GROUP, "g", ("nope", SET, "1"), 40, "Unknown group config name: nope"),
    (GROUP, "g", ("nope", DELETE, None), 0, None),
    (GROUP, "g", (SESSION, SET, None), 42, f"Null value not supported for : {SESSION}"),
    (GROUP, "g", (SESSION, APPEND, "1"), 40, f"Can't APPEND to key {SESSION} because its type is not LIST."),
    (GROUP, "g", (SESSION, 9, "1"), -1, None),
    (GROUP, "g", (SESSION, SET, "x"), 40, f"Invalid value x for configuration {SESSION}: Not a number of type INT"),
    (GROUP, "g", (SESSION, SET, "0"), 40, f"Invalid value 0 for configuration {SESSION}: Value must be at least 1"),
    (GROUP, "g", (SESSION, SET, "1"), 40,
     f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms"),
    (GROUP, "g", (SESSION, SET, "60001"), 40,
     f"{SESSION} must be less than or equal to group.consumer.max.session.timeout.ms"),
    (GROUP, "g", ("share.delivery.count.limit", SET, "1"), 40,
     "Invalid value 1 for configuration share.delivery.count.limit: Value must be at least 2"),
    (GROUP, "g", ("share.delivery.count.limit", SET, "100"), 40,
     "share.delivery.count.limit must be less than or equal to group.share.max.delivery.count.limit"),
    (GROUP, "g", ("streams.num.standby.replicas", SET, "3"), 40,
     "streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas"),
    (GROUP, "g", ("streams.initial.rebalance.delay.ms", SET, "2147483647"), 0, None),
    (GROUP, "g", ("share.isolation.level", SET, "x"), 40, "Invalid value x for configuration share.isolation.level: "
     "String must be one of: read_committed, read_uncommitted"),
    (GROUP, "g", (RESET, SET, "by_duration:P1DT2H3M4.5S"), 0, None),
    (GROUP, "g", (RESET, SET, "by_duration:-PT1H"), 40, f"Invalid value by_duration:-PT1H for configuration {RESET}: "
     f"Invalid value `by_duration:-PT1H` for configuration {RESET}. {RESETS}"),
    (METRICS, "", ("metrics", SET, "*"), 42, "Subscription name can't be empty"),
    (METRICS, "s", ("metrics", SET, "a,b"), 0, None),
    (METRICS, "s", ("metrics", APPEND, "a"), 40, "Can't APPEND to key metrics because its type is not LIST."),
    (METRICS, "s", ("metrics", SET, "a,,b"), 40, "Configuration 'metrics' values must not be empty."),
    (METRICS, "s", ("nope", SET, "1"), 42, "Unknown client metrics configuration: nope"),
    (METRICS, "s", ("interval.ms", SET, "99"), 42, f"Invalid value 99 for interval.ms, {INTERVAL}"),
    (METRICS, "s", ("interval.ms", SET, "x"), 40,
     "Invalid value x for configuration interval.ms: Not a number of type INT"),
    (METRICS, "s", ("match", SET, " client_id = a.* , client_source_port=1"), 0, None),
    (METRICS, "s", ("match", SET, "client_id=("), 40, "Illegal client matching pattern: client_id=("),
    (METRICS, "s", ("match", SET, "nobody=a"), 40, "Illegal client matching pattern: nobody=a"),
    (METRICS, "s", ("match", SET, "client_id=a=b"), 40, "Illegal client matching pattern: client_id=a=b"),
])
def test_changes(cluster: Any, kind: int, name: str, change: Change, code: int, text: str | None) -> None:
    """Fails if a check is missing, comes in another order, or has another text (broker/config/group_and_metrics.py)."""
    with Raw(cluster.bootstrap) as raw:
        assert incremental(raw, (kind, name, [change]), check=True) == [(kind, name, code, text)]


def described(raw: Raw, kind: int, name: str) -> tuple[int, str, dict[str, tuple[str, int]]]:
    """The error, and the value and type of every configuration."""
    (result,) = describe_configs(raw, (kind, name))
    return result.error_code, result.error_message, {c.name: (c.value, c.config_type) for c in result.configs}


def test_defaults(cluster: Any) -> None:
    """Fails if a name is missing, or a group's default is not its broker's."""
    int_, text, boolean, words = 3, 2, 1, 7
    every = {"assignment.interval.ms": ("1000", int_), "heartbeat.interval.ms": ("5000", int_),
             "session.timeout.ms": ("45000", int_)}
    with Raw(cluster.bootstrap) as raw:
        assert described(raw, METRICS, "s") == (0, "", {
            "interval.ms": ("300000", int_), "match": ("", words), "metrics": ("", words)})
        assert described(raw, GROUP, "g") == (0, "", {
            **{f"{kind}.{name}": row for kind in ("consumer", "share", "streams") for name, row in every.items()},
            **{name: (str(SETTINGS[f"group.{name}"]), int_) for name in (
                "consumer.assignment.interval.ms", "consumer.heartbeat.interval.ms")},
            "share.record.lock.duration.ms": ("30000", int_), "share.delivery.count.limit": ("5", int_),
            "share.partition.max.record.locks": ("2000", int_), RESET: ("latest", text),
            "share.isolation.level": ("read_uncommitted", text), "share.renew.acknowledge.enable": ("true", boolean),
            "streams.num.standby.replicas": ("0", int_), "streams.initial.rebalance.delay.ms": ("3000", int_)})
        assert described(raw, METRICS, "") == (42, "Client metrics subscription name must not be empty", {})
        assert described(raw, GROUP, "") == (42, "Group name must not be empty", {})


def named(raw: Raw, name: str) -> list[int]:
    """Return the types under which a resource of this name is listed. The cluster has those of other tests too."""
    code, resources = listed(raw, METRICS, GROUP)
    assert code == 0
    return [kind for kind, other in resources if other == name]


def test_what_was_set_is_shown_and_listed_until_it_is_deleted(cluster: Any, name: str) -> None:
    """Fails if a value is shown as it was typed, hides where else it could come from, or its resource is not listed."""
    with Raw(cluster.bootstrap) as raw:
        incremental(raw, (GROUP, name, [(SESSION, SET, "50000")]), (METRICS, name, [("metrics", SET, "a , b")]))
        group = ("50000", 8, [(SESSION, "50000", 8), (f"group.{SESSION}", "45000", 5)])
        cluster.wait(lambda: shown(raw, GROUP, name, SESSION) == group, timeout=60)
        cluster.wait(lambda: shown(raw, METRICS, name, "metrics") == ("a,b", 7, [("metrics", "a,b", 7)]), timeout=60)
        cluster.wait(lambda: named(raw, name) == [GROUP, METRICS], timeout=60)
        assert legacy(raw, (METRICS, name, {}), (GROUP, name, {})) == [(METRICS, name, 0, None), (GROUP, name, 0, None)]
        cluster.wait(lambda: named(raw, name) == [], timeout=60)
        cluster.wait(lambda: shown(raw, GROUP, name, SESSION) == ("45000", 5, group[2][1:]), timeout=60)
        cluster.wait(lambda: shown(raw, METRICS, name, "metrics") == ("", 5, []), timeout=60)
