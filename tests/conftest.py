"""Engines under test: every test that takes `cluster` runs on our brokers and on Apache Kafka, the judge.

Markers: `apache` for every test on Apache's brokers; those without `judge_fast` also get `judge`, the long half:

    pytest -m "not judge"    our engine, and the fast part on Apache          (make test)
    pytest -m judge          the rest on Apache                               (make judge)
    pytest -m apache         all of it on Apache

Without Apache's jars its half is skipped with that reason; the closing lines count what ran and what did not.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from minikafka import Cluster
from minikafka.jars import KAFKA

ENGINES = ("minikafka", "apache")
NO_JARS = "Apache Kafka's jars are not in the cache (`make apache` fetches them)"

# Fast times for tests, on both engines alike. Rebalances without delay; a dead broker is noticed after three seconds.
SETTINGS = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 5000,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1000,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.assignment.interval.ms": 0,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.num.partitions": 4,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
    "auto.create.topics.enable": False,
    "auto.leader.rebalance.enable": False,  # no leader moves, and no coordinator, but by a test's own doing
    "min.insync.replicas": 2,
}

_numbers = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write transcripts anew instead of comparing them")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--rewrite"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "judge_fast: the part on Apache Kafka that `make test` runs too")


@pytest.hookimpl(tryfirst=True)  # before pytest itself selects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and callspec.params.get("engine") == "apache":
            item.add_marker("apache")
            if item.get_closest_marker("judge_fast") is None:
                item.add_marker("judge")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [r for outcome in ("passed", "failed", "skipped") for r in terminalreporter.getreports(outcome)
               if "apache" in r.keywords and (r.when == "call" or r.outcome == "skipped")]
    if reports:
        skipped = [r for r in reports if r.outcome == "skipped"]
        terminalreporter.write_line(f"on Apache Kafka: {len(reports) - len(skipped)} ran, {len(skipped)} skipped")
        for reason, group in itertools.groupby(sorted(str(r.longrepr[2]) for r in skipped)):
            terminalreporter.write_line(f"    skipped on Apache Kafka: {len(list(group))} x {reason}")


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """The engine's name; a test that takes only this starts a cluster of its own."""
    if request.param == "apache" and not KAFKA.present:
        pytest.skip(NO_JARS)
    return str(request.param)


@pytest.fixture(scope="session")
def clusters() -> Iterator[dict[str, Cluster]]:
    """By engine. Kept when a file goes over to the other engine: Apache's brokers take ten seconds to start."""
    started: dict[str, Cluster] = {}
    yield started
    with ExitStack() as closing:
        for cluster in started.values():
            closing.callback(cluster.close)


@pytest.fixture(scope="session")
def running(engine: str, clusters: dict[str, Cluster]) -> Cluster:
    """Three brokers for the whole run; take `cluster` instead."""
    if engine not in clusters:
        clusters[engine] = Cluster(brokers=3, engine=engine, config=SETTINGS)
    return clusters[engine]


@pytest.fixture
def cluster(running: Cluster) -> Iterator[Cluster]:
    """Three healthy brokers. What a test breaks is mended after it; a broker that died unasked fails it."""
    yield running
    running.mend()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses, for topics and groups."""
    readable = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.originalname.removeprefix("test_"))
    return f"{readable}-{next(_numbers)}"
