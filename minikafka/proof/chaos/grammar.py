"""Random requests within the grammar: every API and version, valid structure, values that nobody expects.

A request is made from its schema. Each field is either ordinary (a name that exists, a number that the last answers gave) or
odd (an extreme number, a name of 249 characters, null, not a number). Now and then one list of the request is huge, or the
same element a thousand times. What is learned from answers (ids of topics, members, producers) makes later requests reach deep.

Owns: the values, and the rule of what a hostile client leaves alone.
Invariants: no request does what rightly harms others: whoever may delete the probe client's topic, unregister a
              living broker or forbid all connections needs no fault of a broker. `spares` is that rule.
"""

from __future__ import annotations

import math
import struct
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from random import Random
from typing import Any
from uuid import UUID

from kafka.protocol.api_message import ApiMessage
from kafka.protocol.data_container import DataContainer

from minikafka.broker.config.group_and_metrics import GROUP_CONFIGS, METRICS_CONFIGS
from minikafka.broker.config.table import BROKER_CONFIGS, TOPIC_CONFIGS
from minikafka.log.batch import build
from minikafka.protocol.codec import REQUESTS

PROBE = "probe"  # the probe client's topic, group and name: hostile clients leave them alone
TOPICS = tuple(f"t{number}" for number in range(8))
INTERNAL = ("__consumer_offsets", "__transaction_state")
NUMBERS = (0, 1, -1, -2, 2, 3, 9, 100, 1000, 127, -128, 255, 32767, -32768, 65536, 10**6, 2**31 - 1, -(2**31),
           2**31 - 2, 2**53, 2**63 - 1, -(2**63), 2**63 - 2)
DOUBLES = (0.0, -0.0, 0.5, 1.0, 1e-300, 5e-324, 1e308, math.inf, -math.inf, math.nan, -1.0, 2.0**63)
NAMES = ("", "g", ".", "..", "a/b", "\0", "a b", "é", "\u202e", "%s%n{}", "\r\nERROR fake", "漢" * 83, "x" * 249, "y" * 250,
         "z" * 32767, "a.b_c", "a_b.c", *INTERNAL, "__cluster_metadata", "NaN", "-1", "1", "4", "1:2", "*")
VALUES = ("", "0", "1", "-1", "-2", "2147483647", "-2147483648", "2147483648", str(2**63 - 1), str(-(2**63)), "9" * 400, "NaN",
          "Infinity", "1e400", "0x1p3", "0x1.8p1", "1d", "1f", " 1 ", "true", "TRUE", "null", "compact", "delete", ",", "*",
          "compact,delete", "a,b," * 50, "v" * 32766, "9" * 32767, "0:1", "1:2,2:3", "(" * 5000, "é" * 9000, "0.5")
STATES = ("", "Stable", "Empty", "stable", "Ongoing", "consumer", "classic", "x")
PATTERNS = ("", "t.*", "(a+)+$", "(" * 3000, "[", "t0|t1", "\\p{L}+", "(?:" * 500 + ")" * 500, ".*" * 50, "a{1,2000000000}")
FEW_ODD = 0.02  # how probable an odd value is in a gentle request
NULLABLE, HUGE, SAME = 0.2, 0.02, 0.02  # how probable: null, one huge list in a request, one element many times
MOST = 20_000  # elements of a request
BROKERS = (1, 2, 3)
UNSAFE = ("connection", "message.max.bytes", "min.insync", "replica", "throttle", "listener", "session.timeout", "queued",
          "fetch.max", "offsets.retention", "socket", "request.max", "quota", "follower", "leader")
USUAL: dict[str, Sequence[int]] = {
    "max_wait_ms": (10,), "timeout_ms": (500,), "max_bytes": (1 << 20,), "partition_max_bytes": (1 << 18,), "acks": (-1, 1),
    "num_partitions": (1, 3, 30), "replication_factor": (1, 3), "count": range(1, 40), "session_timeout_ms": (6000,),
    "rebalance_timeout_ms": (1000,), "transaction_timeout_ms": (5000,), "current_leader_epoch": (-1,), "key_type": (0, 1),
    "resource_type": (2, 2, 2, 4, 16, 32), "timestamp": (-1, -2, -3, 5), "replica_id": (-1,), "fetch_offset": (0,),
    "config_operation": range(4), "session_epoch": (-1, 0, 1), "generation_id": range(-1, 5), "broker_ids": BROKERS,
    "replicas": BROKERS, "coordinator_epoch": (0,), "committed_leader_epoch": (-1,)}
MUTATING = {"CreateTopicsRequest", "DeleteTopicsRequest", "DeleteRecordsRequest", "CreatePartitionsRequest",
            "ElectLeadersRequest", "AlterPartitionReassignmentsRequest", "WriteTxnMarkersRequest", "AlterConfigsRequest",
            "OffsetDeleteRequest", "IncrementalAlterConfigsRequest", "AlterReplicaLogDirsRequest", "ProduceRequest",
            "DeleteGroupsRequest"}
MOST_READ = 500  # structs and lists of an answer
LEARNED = {"topic_id": "topic_id", "member_id": "member_id", "producer_id": "producer_id", "producer_epoch": "producer_epoch",
           "generation_id": "generation_id", "session_id": "session_id", "member_epoch": "member_epoch",
           "group_id": "group_id", "transactional_id": "transactional_id"}


class Grammar:
    """Makes requests; `spared` are the ids of the probe client's topics. `gentle`: with few odd values and no long lists, so
    that most requests are served, and any broker bears them for hours."""

    def __init__(self, rng: Random, spared: set[UUID] | None = None, gentle: bool = False) -> None:
        self.rng, self.spared, self.gentle, self.few_odd = rng, spared or set(), gentle, FEW_ODD
        self.mark = ""  # at the end of the names of topics, groups and so on
        self.known: dict[str, deque[Any]] = {name: deque(maxlen=30) for name in LEARNED}

    def begin(self, number: int) -> list[str]:
        """Use other names from now on, and forget what was learned; return the names of topics."""
        self.mark = f"-{number}"
        for known in self.known.values():
            known.clear()
        return self._topics()

    def _topics(self) -> list[str]:
        return [name + self.mark for name in TOPICS]

    def request(self, key: int, version: int) -> ApiMessage:
        """Return a random request that leaves the probe client alone."""
        while True:
            made = self._make(REQUESTS[key], version)
            if self._spares(made):
                return made

    def learn(self, answer: Any) -> None:
        """Take note of the ids in an answer."""
        for name, value in values(answer, LEARNED):
            if value not in (None, "", -1, 0, PROBE) and value not in self.spared:
                self.known[name].append(value)

    # --- one request ------------------------------------------------------------------------------------------------

    def _make(self, kind: Any, version: int) -> Any:
        self.kind, self.version, self.left = kind.name, version, MOST
        self.longest = 1 << 15  # of a text
        self.odd = self.few_odd if self.gentle else self.rng.choice((0.0, 0.03, 0.1, 0.3, 0.6))
        return kind(version=version, **self._fields(kind._struct))

    def _fields(self, struct_field: Any) -> dict[str, Any]:
        return {field.name: self._value(field) for field in struct_field._fields if field.for_version_q(self.version)}

    def _value(self, field: Any) -> Any:
        odd = self.rng.random() < self.odd
        if field.nullable_for_version_q(self.version) and self.rng.random() < (NULLABLE if not odd else 0.4):
            return None
        if field.is_array():
            return self._list(field, odd)
        if field.is_struct():
            return field.data_class(version=self.version, **self._fields(field))
        return self._simple(field.type_str, field.name, odd)

    def _list(self, field: Any, odd: bool) -> list[Any]:
        def one() -> Any:
            if field.is_struct_array():
                return field.array_of.data_class(version=self.version, **self._fields(field.array_of))
            return self._simple(field.array_of.type_str, field.name, odd and self.rng.random() < 0.5)

        chance = self.rng.random()
        count = self.rng.choice((0, 1, 1, 2, 3)) if not odd else self.rng.choice((0, 2, 30))
        if self.left > 100 and chance < HUGE + SAME and not self.gentle:
            count = min(self.left, self.rng.choice((200, 2000, MOST)))
            self.longest = 249 if count <= 2000 else 20
            if chance < SAME:
                left, self.left = self.left - count, MOST // count  # lists in the element are repeated with it
                element, self.left = one(), left
                return [element] * count
        made: list[Any] = []
        while len(made) < count and self.left > 0:
            self.left -= 1
            made.append(one())
        return made

    # --- values -----------------------------------------------------------------------------------------------------

    def _simple(self, kind: str, name: str, odd: bool) -> Any:
        rng = self.rng
        known = self.known.get({"topic_ids": "topic_id"}.get(name, name).removeprefix("v3_and_below_"))
        if known and not odd and rng.random() < 0.8:
            return rng.choice(known)
        if kind == "string":
            return self._text(name, odd)[: self.longest]
        if kind.startswith(("int", "uint")):
            return self._number(kind, name, odd)
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "float64":
            return rng.choice(DOUBLES)
        if kind == "uuid":
            return UUID(int=rng.choice((0, 1, 3, 2**128 - 1, rng.getrandbits(128))))
        if kind == "bitfield":
            return {rng.randrange(31)}
        return self._bytes(kind, name, odd) if self.longest > 249 else b""

    def _text(self, name: str, odd: bool) -> str:
        rng = self.rng
        if name in ("value",) or "value" in name:
            return rng.choice(VALUES)
        if "pattern" in name or "regex" in name:
            return rng.choice(PATTERNS)
        if odd:
            return rng.choice((*NAMES, f"n{rng.getrandbits(32)}"))
        if "state" in name or "types" in name:
            return rng.choice(STATES)
        if name in ("name", "configuration_keys") and "Config" in self.kind and rng.random() < 0.7:
            return rng.choice(CONFIG_NAMES)
        if name == "resource_name":
            return rng.choice((*self._topics(), "", "1", "2", "g1"))
        if name in ("topic", "name", "topics", "topic_name", "topic_names", "subscribed_topic_names"):
            return rng.choice(self._topics())
        fixed = {"protocol_type": "consumer", "mechanism": "PLAIN", "entity_type": rng.choice(("user", "client-id", "ip")),
                 "server_assignor": rng.choice(("uniform", "range")), "protocol_name": rng.choice(("range", "p")),
                 "key": rng.choice(("producer_byte_rate", "consumer_byte_rate", "request_percentage", "g1", "x1")),
                 "feature": rng.choice(("metadata.version", "group.version", "x")), "member_id": ""}
        if name in fixed:
            return fixed[name]
        return f"{name[:1]}{rng.randrange(4)}{self.mark}"  # groups g0 to g3, transactional ids t0 to t3

    def _number(self, kind: str, name: str, odd: bool) -> int:
        rng, bits = self.rng, int(kind.removeprefix("u").removeprefix("int"))
        low, high = (0, 2**bits) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
        if odd or rng.random() < 0.05:
            return rng.choice([number for number in NUMBERS if low <= number < high])
        if name == "producer_id" and self.mark:
            return -1  # those of other rounds are not alike on two engines
        return rng.choice(USUAL[name]) if name in USUAL else rng.randrange(4)

    def _bytes(self, kind: str, name: str, odd: bool) -> bytes:
        rng = self.rng
        if kind == "records":
            return self._records(odd)
        if name == "metadata":  # a consumer's subscription: version, topics, user data
            topics = [rng.choice(self._topics() if not odd else NAMES).encode()[:32767] for _ in range(rng.choice((1, 2, 500)))]
            listed = b"".join(struct.pack(">h", len(topic)) + topic for topic in topics)
            count = len(topics) if not odd else rng.choice((len(topics), -1, 2**31 - 1))
            return struct.pack(">hi", rng.choice((0, 1, 3, -1, 32767)), count) + listed + struct.pack(">i", -1)
        return rng.choice((b"", b"\0", b"\xff" * 3000, rng.randbytes(50)))

    def _records(self, odd: bool) -> bytes:
        rng = self.rng
        records = [(rng.choice((b"k", None, b"")), rng.choice((b"v", None, b"w" * 5000)), [])] * rng.choice((1, 1, 5, 2000))
        more: dict[str, Any] = {}
        if rng.random() < 0.4:
            more = {"producer_id": self._simple("int64", "producer_id", odd),
                    "producer_epoch": self._simple("int16", "producer_epoch", odd),
                    "base_sequence": self._number("int32", "base_sequence", odd), "transactional": rng.random() < 0.5}
        timestamp = rng.choice((1_700_000_000_000, 0, -1, 2**63 - 1, 1_900_000_000_000)) if odd else 1_790_000_000_000
        return build(records, timestamp_ms=timestamp, codec=rng.randrange(5), **more)

    # --- what is left alone -------------------------------------------------------------------------------------------

    def _spares(self, request: Any) -> bool:
        """Return whether a request does nothing that rightly harms the probe client."""
        name = request.name
        if name in MUTATING and any(text in INTERNAL for text in _texts(request)):
            return False
        if name == "UnregisterBrokerRequest":
            return request.broker_id not in BROKERS
        if name == "UpdateFeaturesRequest":
            known = any("version" in one.feature for one in request.feature_updates)
            return not known or self.version > 0 and bool(request.validate_only)
        if name == "AlterClientQuotasRequest" and not request.validate_only:
            return all(part.entity_type != "ip" and part.entity_name is not None
                       for entry in request.entries for part in entry.entity)
        if name in ("AlterConfigsRequest", "IncrementalAlterConfigsRequest") and not request.validate_only:
            on_brokers = [config.name for one in request.resources if one.resource_type == 4 for config in one.configs]
            safe = name == "IncrementalAlterConfigsRequest" and not any(word in one for one in on_brokers for word in UNSAFE)
            return safe or not on_brokers
        return True


CONFIG_NAMES = (*TOPIC_CONFIGS, *BROKER_CONFIGS, *GROUP_CONFIGS, *METRICS_CONFIGS)


def _texts(message: Any) -> Any:
    items = [message]
    while items:
        item = items.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, DataContainer):
            items += [getattr(item, field.name, None) for field in item._struct._fields]
        elif isinstance(item, list):
            items += item


def values(message: Any, names: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Give the fields of a message that are called so, wherever they are, with their values; of a huge message the first few."""
    items, left = [message], MOST_READ
    while items and (left := left - 1):
        item = items.pop()
        if isinstance(item, DataContainer):
            for field in item._struct._fields:
                value = getattr(item, field.name, None)
                if field.name in names:
                    yield field.name, value
                elif isinstance(value, DataContainer | list):
                    items.append(value)
        elif isinstance(item, list):
            items += item[:50]
