"""The keeper of the doors: sees each frame between users and brokers, and compares what is served with the metadata.

A broker decides by the metadata that it has replayed, which is committed and may be old. So that is what it is judged by: the
keeper looks at each broker's image after every step, and evaluates the access lists by itself (of literal names and all hosts
only).

Owns: what each broker knew when, and which connection is whose.
Invariants
  I-AUTH-1  nothing is served that the metadata forbids: no record is sent to whoever may not read it at that moment; none is
            written by whoever might not write at any moment of the request; nobody logs in with a password that was none of
            the user's at any moment of the login; nothing is served after the end of a login, or to another user on the same
            connection.
  I-AUTH-2  (life.py) nothing that was acknowledged is lost because a login ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from minikafka.broker.metadata.image import MetadataImage
from minikafka.sim.world.hold import Message
from minikafka.sim.world.world import World

WRITE, READ, ALLOW, DENY = 4, 3, 3, 2
LOGIN = (SaslHandshakeRequest.API_KEY, SaslAuthenticateRequest.API_KEY)
Right = tuple[str, int, str]  # user, operation, topic


class ReplayedRights(NamedTuple):
    """The metadata that a broker had from a moment on: its access lists and its users' stored keys."""

    since: float
    acls: tuple[tuple[str, int, str, int], ...]  # user, operation, topic, permission
    keys: frozenset[tuple[str, bytes]]

    def allows(self, right: Right) -> bool:
        about = {permission for *one, permission in self.acls if tuple(one) == right}
        return ALLOW in about and DENY not in about


class Visit:
    """One connection of a user: who logged in, with which stored key, and when that login ends."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.key = b""  # of the password that the user tries
        self.trying = user
        self.begun = 0.0  # the current login
        self.ends: float | None = None
        self.asked: dict[int, tuple[float, Any]] = {}  # correlation id: when, and the request


class Keeper:
    """The keeper of one world. `fail` is called with the text of what should not have been served."""

    def __init__(self, world: World, fail: Callable[[str], None]) -> None:
        self.world, self.fail = world, fail
        self.visits: dict[object, Visit] = {}  # by the client's end of the connection
        self._known: dict[int, list[ReplayedRights]] = {}
        self._seen: dict[int, tuple[object, int]] = {}  # each broker's image, and its offset, at the last look
        world.after_step.append(self._look)
        world.tap(self._frame)

    def _look(self) -> None:
        for node in self.world.brokers:
            if (broker := self.world.broker(node)) is None:
                continue
            image = broker.node.image
            if self._seen.get(node) != (image, image.offset):
                self._seen[node] = image, image.offset
                self._note(node, image)

    def _note(self, node: int, image: MetadataImage) -> None:
        acls = tuple((one.principal.removeprefix("User:"), one.operation, one.resource_name, one.permission_type)
                     for one in image.acls.values())
        keys = frozenset((user, one.stored_key) for (user, _), one in image.scram.items())
        known = self._known.setdefault(node, [])
        if not known or (known[-1].acls, known[-1].keys) != (acls, keys):
            known.append(ReplayedRights(self.world.now(), acls, keys))

    def _since(self, node: int, begun: float) -> Iterator[ReplayedRights]:
        """Yield what a broker knew at any moment since then, the newest first."""
        for known in reversed(self._known.get(node, [])):
            yield known
            if known.since < begun:
                return

    # --- frames ------------------------------------------------------------------------------------------------------

    def _frame(self, message: Message) -> None:
        end: Any = message.transport if not message.is_response else message.transport.other
        if (visit := self.visits.get(end)) is None:
            return
        now = self.world.now()
        if not message.is_response:
            visit.asked[message.correlation] = (now, message.body)
            if message.api_key == SaslHandshakeRequest.API_KEY:
                visit.begun = now
            return
        self._look()
        asked, request = visit.asked.pop(message.correlation)
        if message.api_key not in LOGIN and visit.ends is not None and asked > visit.ends:
            self.fail(f"broker {message.src} serves {visit.user} {asked - visit.ends:.3f} s after the end of the login")
        judge = {SaslAuthenticateRequest.API_KEY: self._login, FetchRequest.API_KEY: self._fetch,
                 ProduceRequest.API_KEY: self._produce}.get(message.api_key)
        if judge is not None:
            judge(visit, message, asked, request)

    def _login(self, visit: Visit, message: Message, asked: float, request: Any) -> None:
        answer = message.body
        if answer.error_code or not bytes(answer.auth_bytes).startswith(b"v="):
            return
        if visit.trying != visit.user:
            self.fail(f"broker {message.src} lets {visit.trying} in on a connection of {visit.user}")
        if not any((visit.trying, visit.key) in known.keys for known in self._since(message.src, visit.begun)):
            self.fail(f"broker {message.src} lets {visit.trying} in with a password that is none of the user's")
        visit.ends = self.world.now() + answer.session_lifetime_ms / 1000

    def _fetch(self, visit: Visit, message: Message, asked: float, request: Any) -> None:
        for topic in message.body.responses:
            right, known = (visit.user, READ, topic.topic), self._known[message.src][-1]
            if any(p.records for p in topic.partitions) and not known.allows(right):
                self.fail(f"broker {message.src} sends records of {topic.topic} to {visit.user}, who may not read them")

    def _produce(self, visit: Visit, message: Message, asked: float, request: Any) -> None:
        for topic in message.body.responses:
            right = (visit.user, WRITE, topic.name)
            written = any(not p.error_code for p in topic.partition_responses)
            if written and not any(known.allows(right) for known in self._since(message.src, asked)):
                self.fail(f"broker {message.src} writes to {topic.name} for {visit.user}, who may not write there")
