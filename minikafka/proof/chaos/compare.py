"""`python -m minikafka chaos --compare`: the same random requests (grammar.py) on one of our brokers and on one of Apache's.

    python -m minikafka chaos --compare --requests 500 --seed 7              all APIs that both serve
    python -m minikafka chaos --compare --requests 500 --apis 8,9,47         commits and deletions of offsets only
    python -m minikafka chaos --compare --requests 5000 --gentle             few odd values, no long lists: for hours

Differences are findings, not faults: some are meant (FIDELITY.md), one makes others (a topic that only one of them has made).
So a comparison goes in rounds, each with topics, groups and transactional ids of its own, and the first difference of a round is
looked at first.

Owns: the two brokers, what is sent to both, the counts by API, field and values.
"""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from kafka.protocol.admin import CreateTopicsRequest, DescribeProducersRequest, ListGroupsRequest, ListGroupsResponse
from kafka.protocol.metadata import FindCoordinatorRequest, FindCoordinatorResponse
from kafka.protocol.producer import InitProducerIdRequest, InitProducerIdResponse

import minikafka.broker.handlers  # noqa: F401  (fills the table)
from minikafka import Cluster
from minikafka.broker.server.registry import CLIENTS, HANDLERS
from minikafka.cluster import wire
from minikafka.proof.chaos.differences import Twins, differences, of_round
from minikafka.proof.chaos.grammar import Grammar
from minikafka.protocol.codec import RESPONSES, decode_response, encode_request
from minikafka.protocol.errors import Err, ProtocolError

PATIENCE_S = 5.0  # for one answer
SETTINGS = {"auto.create.topics.enable": False, "offsets.topic.num.partitions": 1, "offsets.topic.replication.factor": 1,
            "transaction.state.log.num.partitions": 1, "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1, "group.initial.rebalance.delay.ms": 0}
API_VERSIONS, UNREGISTER_BROKER = 18, 64
GROUP, TRANSACTION = 0, 1
LONGEST, LONGEST_SHOWN, LONGEST_REQUEST = 160, 1000, 30_000  # characters of a value; of an example that is shown, or kept
ROUND = 100  # requests
Kind = tuple[str, str, str, str]  # request, path of the field, what ours has there, what theirs has


@dataclass
class Comparison:
    """The result of a comparison: requests sent; of each kind of difference how many, how many rounds began with it, and the
    first request that showed it."""

    requests: int = 0
    kinds: Counter[Kind] = field(default_factory=Counter)
    first: Counter[Kind] = field(default_factory=Counter)
    examples: dict[Kind, str] = field(default_factory=dict)

    def json(self) -> str:
        """Return one line for machines: the requests, and a row for each kind of difference."""
        rows = [(*kind, count, self.first[kind], self.examples[kind]) for kind, count in self.kinds.items()]
        return json.dumps({"requests": self.requests, "differences": rows})

    def summary(self) -> str:
        """Return the lines for a person: what most rounds began with comes first."""
        lines = [f"{name}{path}: ours {ours}, theirs {theirs} ({self.kinds[kind]} times, first in {self.first[kind]} rounds)\n"
                 f"    {self.examples[kind]:.{LONGEST_SHOWN}}"
                 for kind in sorted(self.kinds, key=lambda kind: -self.first[kind]) for name, path, ours, theirs in (kind,)]
        return "\n".join([*lines, f"{self.requests:,} requests, {len(lines)} kinds of differences"])


def compare(requests: int, seed: int, apis: Collection[int] = (), engines: tuple[str, str] = ("minikafka", "apache"),
            show: Callable[[str], None] = print, gentle: bool = False) -> Comparison:
    """Send requests to both engines, and return where the answers differ. `apis`: their keys; none for all. `gentle`: see
    Grammar. Raises ValueError for keys that neither or only one of them knows, ClusterError if a broker cannot be started."""
    with (Cluster(brokers=1, engine=engines[0], config=SETTINGS) as one,
          Cluster(brokers=1, engine=engines[1], config=SETTINGS) as two):
        served = [_begin(cluster) for cluster in (one, two)]
        common = {key: (max(served[0][key][0], served[1][key][0]), min(served[0][key][1], served[1][key][1]))
                  for key in served[0].keys() & served[1].keys() & HANDLERS[CLIENTS].keys() - {API_VERSIONS, UNREGISTER_BROKER}
                  if not apis or key in apis}
        if not common:
            raise ValueError(f"none of the APIs {', '.join(map(str, apis))} is served by both: 3 is Metadata, 8 OffsetCommit")
        show(f"{len(common)} APIs that both serve")
        grammar = Grammar(Random(seed), gentle=gentle)
        return _compare(_Line(one.bootstrap), _Line(two.bootstrap), common, requests, grammar, one.wait)


def _compare(ours: _Line, theirs: _Line, served: dict[int, tuple[int, int]], requests: int, grammar: Grammar,
             wait: Callable[..., Any]) -> Comparison:
    found, twins, alike = Comparison(), Twins(), True
    for number in range(requests):
        if number % ROUND == 0:
            names, alike = grammar.begin(number // ROUND), True
            for line in (ours, theirs):
                _make_topics(line, names, wait)
        request, version = _example_for(served, grammar)
        example = f"v{version} {request!r:.{LONGEST_REQUEST}}"
        first = of_round(ours.request(request, version), grammar.mark)
        twins.translate(request)
        second = of_round(theirs.request(request, version), grammar.mark)
        found.requests += 1
        if not isinstance(first, str):
            grammar.learn(first)
        for path, one, other in differences(first, second, twins):
            kind = (type(request).__name__, path, _kind(path, one), _kind(path, other))
            found.kinds[kind] += 1
            found.first[kind] += alike
            found.examples.setdefault(kind, f"{one!r:.{LONGEST}} and {other!r:.{LONGEST}}, request {example}")
            alike = False
    return found


def _example_for(served: dict[int, tuple[int, int]], grammar: Grammar) -> tuple[Any, int]:
    """Return a random request that is answered, and its version. Kafka does not answer a JoinGroup that names a protocol twice,
    nor an AddPartitionsToTxn of no transaction."""
    while True:
        key = grammar.rng.choice(sorted(served))
        version = grammar.rng.randint(*served[key])
        request = grammar.request(key, version)
        names = [each.name for each in getattr(request, "protocols", None) or ()]
        silent = getattr(request, "acks", -1) == 0 or len({*names}) < len(names)
        if not silent and getattr(request, "transactions", None) != []:
            return request, version


def _make_topics(line: _Line, names: Sequence[str], wait: Callable[..., Any]) -> None:
    """Create the first three of these topics, and wait until the broker serves their partitions."""
    made, partitions_of = CreateTopicsRequest.CreatableTopic, DescribeProducersRequest.TopicRequest
    counts = dict(zip(names, (1, 3, 1), strict=False))
    topics = [made(name=name, num_partitions=count, replication_factor=1) for name, count in counts.items()]
    line.request(CreateTopicsRequest(topics=topics, timeout_ms=30000), 7)
    question = DescribeProducersRequest(topics=[partitions_of(name=name, partition_indexes=list(range(count)))
                                                for name, count in counts.items()])
    wait(lambda: not any(each.error_code for topic in line.request(question, 0).topics for each in topic.partitions), 30)


def _begin(cluster: Cluster) -> dict[int, tuple[int, int]]:
    """Wait until a group and a transaction could be served; return the APIs with their versions."""
    with wire.WireConnection(cluster.address(cluster.ids[0]), 60) as connection:
        cluster.wait(lambda: _coordinates(connection), 60)
        return dict(connection.versions)


def _coordinates(connection: wire.WireConnection) -> bool:
    """Return whether the broker has made and read the logs of groups and transactions; the first question lets it make them."""
    for kind in (GROUP, TRANSACTION):
        answer = connection.ask(FindCoordinatorRequest(key="g", key_type=kind), FindCoordinatorResponse, 2)
        if answer.error_code:
            return False
    groups = connection.ask(ListGroupsRequest(), ListGroupsResponse, 2)
    request = InitProducerIdRequest(transactional_id="first", transaction_timeout_ms=5000)
    return not groups.error_code and not connection.ask(request, InitProducerIdResponse, 1).error_code


class _Line:
    """A connection to a broker, made anew when it was closed or kept us waiting."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.address = host, int(port)
        self.socket: socket.socket | None = None

    def request(self, request: Any, version: int) -> Any:
        """Return the answer; or "no answer", "closed", or "unreadable"."""
        try:
            if self.socket is None:
                self.socket = socket.create_connection(self.address, timeout=PATIENCE_S)
            self.socket.sendall(encode_request(request, version, 7, "compare"))
            return decode_response(RESPONSES[request.API_KEY], version, memoryview(wire.read_frame(self.socket)))
        except TimeoutError:
            return self._hang_up("no answer")
        except OSError:
            return self._hang_up("closed")
        except ProtocolError:
            return self._hang_up("unreadable")

    def _hang_up(self, why: str) -> str:
        if self.socket is not None:
            self.socket.close()
            self.socket = None
        return why


def _kind(path: str, value: Any) -> str:
    """Return what differences of one kind have in common: the name of an error code, a boolean, or only the type of a value."""
    if path.endswith("error_code") and isinstance(value, int):
        return Err(value).name if value in set(Err) else str(value)
    return str(value) if isinstance(value, bool) else type(value).__name__
