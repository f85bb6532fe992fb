"""Engines under test: every test that takes `cluster` runs on our brokers and on Apache Kafka, the judge.

Markers: `apache` for what needs Apache Kafka's jars, and `judge` too where its brokers run. Of a test that is marked
`judge_first` the half on our brokers gets `soak`.

    pytest -m "not judge and not soak and not proof"    on our brokers                                             (make test)
    pytest -m "proof and not judge and not soak"        the same: seeds, nights, a browser, the labs on Spark      (make proof)
    pytest -m judge                                     on Apache's                                                (make judge)

Without Apache's jars its half is skipped with that reason; the closing lines count what ran and what did not.
"""

from __future__ import annotations

import gc
import itertools
import re
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from minikafka import Cluster
from minikafka.machine.jars import CONNECTOR, KAFKA
from minikafka.machine.java import NoJava
from tests.schedule import LongestFirst, write_durations

ENGINES = ("minikafka", "apache")
NO_JARS = "Apache Kafka's jars are not in the cache (`make apache` fetches them)"

# A slow machine is no finding: hypothesis times nothing.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")

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

# `make quick` has all of tests/ but these, and but what takes a cluster or is marked as slow: a new room's tests are in it.
NOT_QUICK = frozenset(Path(__file__).parent / name for name in (
    "broker/security", "client", "clients", "cluster", "lab", "setup", "sim/test_determinism.py", "wire", "proof/weakened",
    "proof/chaos", "proof/invariants", "proof/raft", "proof/test_campaign.py", "proof/test_campaign_seeds.py",
    "proof/test_damage.py", "proof/test_struck_clients.py"))
SLOW = ("slow", "soak", "spark", "browser")

_numbers = itertools.count(1)
_started: dict[str, Cluster] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write transcripts anew instead of comparing them")
    parser.addoption("--quick", action="store_true", help="only units, laws, scenarios and one live smoke test (`make quick`)")
    parser.addoption("--durations-to", type=Path, metavar="FILE", help="write what each file of tests took (tests/schedule.py)")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--rewrite"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "judge_first: the half on our brokers is in `make long`; `make judge` has the other")
    config.addinivalue_line("markers", "ours_first: the half on Apache Kafka is in `make long`; CI has the other")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what `--quick` leaves out whole, so that it is not even imported."""
    return True if config.getoption("--quick") and collection_path in NOT_QUICK else None


def is_quick(item: pytest.Item) -> bool:
    """Return whether a test belongs to `--quick`: no cluster of three brokers, nothing marked as slow."""
    return "engine" not in getattr(item, "fixturenames", ()) and not any(map(item.get_closest_marker, SLOW))


@pytest.hookimpl(tryfirst=True)  # before pytest itself selects by marker
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        config.hook.pytest_deselected(items=[item for item in items if not is_quick(item)])
        items[:] = filter(is_quick, items)
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and callspec.params.get("engine") == "apache":
            item.add_marker("apache")
            item.add_marker("judge")
            first = "ours_first"
        else:
            first = "judge_first"
        if item.get_closest_marker(first):
            item.add_marker("soak")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Collect without the garbage collector: the objects that pytest makes of the tests live to the end. The tests run with a
    collector that looks as seldom as that of a broker."""
    gc.disable()
    import_share(session.config)
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)
        gc.enable()


def import_share(config: pytest.Config) -> None:
    """Let each worker of a whole run import other files first, so that pytest rewrites the asserts of each file only once."""
    worker = getattr(config, "workerinput", None)
    if worker is None or "tests" not in config.args or config.getoption("--quick"):
        return
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    for path in files[int(worker["workerid"].removeprefix("gw"))::worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # collecting the file says what is wrong with it
            import_module(".".join(path.relative_to(config.rootpath).with_suffix("").parts))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongestFirst | None:
    """Distribute the tests as tests/schedule.py says, wherever whole files go to workers."""
    return LongestFirst(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    everything = [r for part in terminalreporter.stats.values() for r in part if isinstance(r, pytest.TestReport)]
    if wanted := terminalreporter.config.getoption("--durations-to"):
        write_durations(everything, wanted)
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
    yield _started
    with ExitStack() as closing:
        for engine in list(_started):
            closing.callback(_started.pop(engine).close)


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


def own_cluster(brokers: int, **options: Any) -> Any:
    """Return a fixture: a cluster that the tests of one file share."""
    @pytest.fixture(scope="module")
    def started(engine: str) -> Iterator[Cluster]:
        with Cluster(brokers=brokers, engine=engine, **options) as cluster:
            yield cluster
    return started


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark session for all tests of a worker (a JVM takes seconds to start); no test stops it."""
    from minikafka.lab.spark import spark_session
    try:
        session = spark_session(connector=CONNECTOR.present)
    except NoJava as missing:
        pytest.skip(str(missing))
    yield session
    session.stop()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses, for topics and groups."""
    readable = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.originalname.removeprefix("test_"))
    return f"{readable}-{next(_numbers)}"
