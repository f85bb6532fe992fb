"""The keeper of the doors: sees each frame between users and brokers, and compares what is served with the metadata.

A broker decides by the metadata that it has replayed, which is committed and may be old. So that is what it is judged by: the
keeper looks at each broker's image after every step, and evaluates the access lists by itself (of literal names and all hosts
only).

Owns: what each broker knew when, and which connection is whose.
Invariants
  I-AUTH-1  nothing is served that the metadata forbids: no record is sent to whoever may not read it at that moment; none is
            written by whoever might not write at any moment of the request; nobody logs in with a password or a token that was
            none of the user's, or had ended, at any moment of the login; nothing is served after the end of a login, which is
            no later than that of its token, or to another user on the same connection; nobody has to do with the delegation
            tokens of others, or with any after a login by one.
  I-AUTH-2  (life.py) nothing that was acknowledged is lost because a login ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from minikafka.broker.metadata.delegation_tokens import token_hmac
from minikafka.broker.metadata.image import MetadataImage
from minikafka.proof.small_worlds.doors.proofs import BEARER, ENDLESS, SKEW_MS, Proof
from minikafka.protocol.apis import CreateDelegationTokenRequest, DescribeDelegationTokenRequest
from minikafka.sim.world.hold import Message
from minikafka.sim.world.world import World

WRITE, READ, ALLOW, DENY = 4, 3, 3, 2
LOGIN = (SaslHandshakeRequest.API_KEY, SaslAuthenticateRequest.API_KEY)
SECRET = "behind all tokens"
Right = tuple[str, int, str]  # user, operation, topic


class ReplayedRights(NamedTuple):
    """The metadata that a broker had from a moment on: its access lists, and what it knows of its users' passwords and
    delegation tokens."""

    since: float
    acls: tuple[tuple[str, int, str, int], ...]  # user, operation, topic, permission
    keys: frozenset[tuple[str, bytes, int]]  # user, stored key or hmac, the end in ms since 1970

    def allows(self, right: Right) -> bool:
        about = {permission for *one, permission in self.acls if tuple(one) == right}
        return ALLOW in about and DENY not in about


class Visit:
    """One connection of a user: who logged in, with what, and when that login ends."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.proof = Proof(user, "")  # what the user tries
        self.key = b""  # what a broker knows of it
        self.begun, self.begun_ms = 0.0, 0  # the current login, and by the broker's wall clock
        self.by_token = False  # a delegation token
        self.ends: float | None = None
        self.asked: dict[int, tuple[float, Any]] = {}  # correlation id: when, and the request


class Keeper:
    """The keeper of one world. `fail` is called with the text of what should not have been served."""

    def __init__(self, world: World, fail: Callable[[str], None]) -> None:
        self.world, self.fail = world, fail
        self.visits: dict[object, Visit] = {}  # by the client's end of the connection
        self._known: dict[int, list[ReplayedRights]] = {}
        self._seen: dict[int, tuple[object, int]] = {}  # each broker's image, and its offset, at the last look
        self.holders: dict[bytes, set[str]] = {}  # the owner and the renewers of each delegation token, by its hmac
        self.jumped: dict[int, float] = {}  # when each broker's wall clock jumped last
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
        tokens = ((one.owner.removeprefix("User:"), token_hmac(SECRET, one.token_id), one.expiration_timestamp)
                  for one in image.tokens.values())
        keys = frozenset([*((user, one.stored_key, ENDLESS) for (user, _), one in image.scram.items()), *tokens])
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
                visit.begun, visit.begun_ms = now, self._wall_ms(message.dst)
            return
        self._look()
        asked, request = visit.asked.pop(message.correlation)
        if message.api_key not in LOGIN and visit.ends is not None and asked > visit.ends:
            self.fail(f"broker {message.src} serves {visit.user} {asked - visit.ends:.3f} s after the end of the login")
        judge = {SaslAuthenticateRequest.API_KEY: self._login, FetchRequest.API_KEY: self._fetch,
                 ProduceRequest.API_KEY: self._produce}.get(message.api_key, self._delegated)
        if message.api_key != SaslHandshakeRequest.API_KEY:
            judge(visit, message, asked, request)

    def _login(self, visit: Visit, message: Message, asked: float, request: Any) -> None:
        answer, proof, wall_ms = message.body, visit.proof, self._wall_ms(message.src)
        if answer.error_code or answer.auth_bytes and not bytes(answer.auth_bytes).startswith(b"v="):
            return
        what = f"broker {message.src} lets {proof.user} in"
        if proof.user != visit.user:
            self.fail(f"{what} on a connection of {visit.user}")
        keys = {key for known in self._since(message.src, visit.begun) for key in known.keys}
        ends = [end for *one, end in keys if one == [proof.user, visit.key]] if proof.mechanism != BEARER else [proof.ends_ms]
        if not ends:
            self.fail(f"{what} with a password or token that is none of the user's")
        elif self.jumped.get(message.src, -1.0) < visit.begun:
            if max(ends) + SKEW_MS * (proof.mechanism == BEARER) < visit.begun_ms:
                self.fail(f"{what} with a token that ended {visit.begun_ms - max(ends)} ms ago")
            if answer.session_lifetime_ms > max(0, max(ends) - wall_ms):
                self.fail(f"{what} for {answer.session_lifetime_ms} ms with a token that ends in {max(ends) - wall_ms} ms")
        visit.by_token = bool(proof.token_id)
        visit.ends = self.world.now() + answer.session_lifetime_ms / 1000

    def _wall_ms(self, node: Any) -> int:
        env = self.world.hosts[node].env
        return env.wall_ms() if env is not None else 0

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

    def _delegated(self, visit: Visit, message: Message, asked: float, request: Any) -> None:
        answer = message.body
        if answer.error_code:
            return
        if visit.by_token:
            self.fail(f"broker {message.src} serves {message.api.__name__} to {visit.user}, who logged in with a token")
        if message.api_key == CreateDelegationTokenRequest.API_KEY:
            self.holders[bytes(answer.hmac)] = {answer.principal_name, *(one.principal_name for one in request.renewers)}
            every = [{answer.principal_name}]
        elif message.api_key == DescribeDelegationTokenRequest.API_KEY:
            every = [{one.principal_name, *(renewer.principal_name for renewer in one.renewers)} for one in answer.tokens]
        else:
            every = [self.holders[bytes(request.hmac)]]
        if not all(visit.user in holders for holders in every):
            self.fail(f"broker {message.src} serves {message.api.__name__} to {visit.user} for a token of others")
