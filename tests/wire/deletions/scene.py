"""The scene of one cell: a topic, a group and a transactional id that nobody else uses, and what is left of them.

Its text has no name, producer id or offset of an internal topic, so that it is the same at each run.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from typing import Any

from kafka.protocol.admin.groups import ListGroupsRequest
from kafka.protocol.admin.transactions import DescribeTransactionsRequest
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import OffsetFetchRequest

from minikafka.protocol.codec import RESPONSES, decode_response, encode_request
from minikafka.protocol.errors import Err
from tests.requests import commit, list_offsets, topic
from tests.wire.conftest import Place, coordinator, place
from tests.wire.consumer_groups.consumer_protocol import Group, until
from tests.wire.raw import PATIENCE, QUIET, Raw
from tests.wire.test_alter_configs import DELETE, SET, incremental
from tests.wire.test_transactions import TRANSACTION, Desk, Reader, patiently

Setting = tuple[Raw, int, str, str]     # whom to ask, type and name of a resource, name of its configuration


class Scene:
    """One cell. `members`: those of the group that an administrator removes, as (member id, instance id). `settings`: those of
    groups and brokers that an administrator removes. `expected`: the lines of its transcript, none while it is written."""

    def __init__(self, cluster: Any, name: str, closing: ExitStack, expected: list[str], leader: int = 1) -> None:
        self.cluster, self.name, self.closing, self.expected = cluster, name, closing, expected
        self.replicas = [leader, *(node for node in (1, 2, 3) if node != leader)]
        self.lines: list[str] = []
        self.members: list[tuple[str, str | None]] = []
        self.settings: list[Setting] = []
        self.make_topic()

    def make_topic(self) -> None:
        with Raw(self.cluster.plan.nodes[1].address) as raw:
            raw.create(topic(self.name, assign=[(0, self.replicas)], max_message_bytes="2000"))
        self.find_leader()

    def find_leader(self) -> None:
        """Take the topic as every broker knows it now."""
        self.at: Place = place(self.cluster, self.name)
        self.closing.callback(self.at.raw.socket.close)

    # --- who takes part, each at its first use -------------------------------------------------------------------------

    @cached_property
    def group(self) -> Group:
        made = Group(self.cluster.bootstrap, self.name)
        self.closing.callback(made.close)
        made.topics[self.at.id] = self.name
        return made

    @cached_property
    def _transactions(self) -> Raw:
        raw = self.closing.enter_context(coordinator(self.at, self.name, TRANSACTION))
        asked = DescribeTransactionsRequest(transactional_ids=[self.name])
        until(lambda: raw.ask(asked, 0).transaction_states[0].error_code == Err.TRANSACTIONAL_ID_NOT_FOUND)   # it is loaded
        assert patiently(Desk(self.name, raw, self.at).init)[0] == "NONE"
        return raw

    @property
    def desk(self) -> Desk:
        """The transactional id; requests to the leader go to the one that leads now."""
        return Desk(self.name, self._transactions, self.at)

    @property
    def reader(self) -> Reader:
        """The group, for commits inside of transactions."""
        return Reader(self.desk, self.group.raw)

    def set(self, raw: Raw, kind: int, resource: str, key: str, value: int) -> None:
        """Set a configuration of a group or of brokers; it is removed at the end of the test, if nobody does before."""
        self.settings.append((raw, kind, resource, key))
        self.closing.callback(self.remove, self.settings[-1])
        ((*_, error, text),) = incremental(raw, (kind, resource, [(key, SET, str(value))]))
        assert error == 0, text

    def remove(self, setting: Setting) -> int:
        raw, kind, resource, key = setting
        return int(incremental(raw, (kind, resource, [(key, DELETE, None)]))[0][2])

    def wait(self, raw: Raw, request: ApiMessage, version: int) -> Waiting:
        """Send a request that the broker keeps."""
        return Waiting(self.another(raw), request, version)

    def patience(self) -> float:
        """Return how long an answer may take that perhaps does not come: long if it is expected to come."""
        expected = self.expected[len(self.lines):]
        return 4 * QUIET if not expected else QUIET if expected[0].endswith("still waits") else PATIENCE

    def another(self, raw: Raw) -> Raw:
        """Return a second connection to the same broker, for a request that waits."""
        host, port = raw.socket.getpeername()[:2]
        return self.closing.enter_context(Raw(f"{host}:{port}"))

    # --- the transcript -- ----------------------------------------------------------------------------------------------------

    def tell(self, what: str, *answers: Any) -> None:
        """Add a line to the transcript."""
        self.lines.append(self.line(what, *answers))

    def line(self, what: str, *answers: Any) -> str:
        text = " ".join(answer if isinstance(answer, str) else Err(answer).name for answer in answers)
        return f"{what}: {text}".replace(self.name, "t")

    def tell_soon(self, what: str, ask: Callable[[], Any]) -> None:
        """Add a line as soon as the answer is what is expected; without an expectation, when it has not changed for a while."""
        wanted = self.expected[len(self.lines):][:1]
        started = calm = time.monotonic()
        last = ask()
        while time.monotonic() < (started + PATIENCE if wanted else calm + 4 * QUIET):
            if [self.line(what, last)] == wanted:
                break
            time.sleep(0.05)
            now = ask()
            calm, last = (calm if now == last else time.monotonic()), now
        self.lines.append(self.line(what, last))

    def left(self) -> list[str]:
        """Return what there is now of the topic, the group and the transaction; only of what took part."""
        lines = [f"    topic: {self._topic()}"]
        if "group" in self.__dict__:
            lines += [f"    group: {self._group()}", f"    offset: {self._offset()}"]
        if "_transactions" in self.__dict__:
            lines.append(f"    transaction: {self.transaction() or 'none'}")
        return [line.replace(self.name, "t") for line in lines]

    def transaction(self) -> str | None:
        """Return state, epoch and topics of the transactional id; None if it is unknown."""
        (found,) = self._transactions.ask(DescribeTransactionsRequest(transactional_ids=[self.name]), 0).transaction_states
        names = ", ".join(topic.topic for topic in found.topics) or "nothing"
        return f"{found.transaction_state}, epoch {found.producer_epoch}, of {names}" if found.error_code == 0 else None

    def _topic(self) -> str:
        first, last, stable = (self._list_offsets(when, isolation) for when, isolation in ((-2, 0), (-1, 0), (-1, 1)))
        return first if first == last == stable and not first.isdigit() else f"from {first} to {last}, stable to {stable}"

    def _list_offsets(self, when: int, isolation: int) -> str:
        found = self.at.raw.ask(list_offsets(self.name, when, isolation_level=isolation), 7).topics[0].partitions[0]
        return str(found.offset) if found.error_code == 0 else Err(found.error_code).name

    def _group(self) -> str:
        answer = self.group.ask(ListGroupsRequest(states_filter=[], types_filter=[]), 5)
        return next((f"{row.group_state}, {row.group_type}" for row in answer.groups if row.group_id == self.name), "none")

    def _offset(self) -> str:
        kind = OffsetFetchRequest.OffsetFetchRequestTopic
        asked = OffsetFetchRequest(group_id=self.name, topics=[kind(name=self.name, partition_indexes=[0])], require_stable=True)
        found = self.group.ask(asked, 7).topics[0].partitions[0]
        return str(found.committed_offset) if found.error_code == 0 else Err(found.error_code).name

    # --- requests that several works make ------------------------------------------------------------------------------

    def commit(self, offset: int, member: str = "", generation: int = -1) -> int:
        request = commit(self.name, self.name, offset, generation_id_or_member_epoch=generation, member_id=member)
        return int(self.group.ask(request, 9).topics[0].partitions[0].error_code)


class Waiting:
    """A request that the broker keeps, on a connection of its own."""

    def __init__(self, raw: Raw, request: ApiMessage, version: int) -> None:
        self.raw, self.kind, self.version = raw, type(request), version
        self.raw.send(encode_request(request, version, 1, "raw"))

    def is_over(self, patience: float) -> bool:
        """Return whether the answer comes within `patience` seconds although nothing else happens."""
        self.raw.socket.settimeout(patience)
        try:
            return self.raw.socket.recv(1, socket.MSG_PEEK) is not None
        except TimeoutError:
            return False
        finally:
            self.raw.socket.settimeout(PATIENCE)

    def answer(self) -> Any:
        frame = self.raw.receive()
        assert frame is not None
        return decode_response(RESPONSES[self.kind.API_KEY], self.version, memoryview(frame))


def named(text: str) -> str:
    """Return a transcript's file name for a deletion."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
