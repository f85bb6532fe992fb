"""Three brokers, three users, no trust that lasts: rights, passwords and tokens change, logins end, clocks jump, brokers fall.

    doors(seed)     what fell, within some ten seconds or after healing; () if nothing did

The users log in on a listener of their own; an administrator, who may do everything, changes their rights and passwords, and
reads at the end what the brokers said is written.

Owns: the users, the administrator's changes, and the faults of the brokers.
Invariants: those of keeper.py; with every rule on nothing falls. A run that breaks off is reported like an invariant.
"""

from __future__ import annotations

import base64
from random import Random

from kafka.protocol.admin import AlterUserScramCredentialsRequest, CreateAclsRequest, DeleteAclsRequest
from kafka.protocol.api_message import ApiMessage

from minikafka.broker.server import jaas
from minikafka.client.admin.admin import Admin
from minikafka.client.connection import BrokerConnection, connect
from minikafka.client.consumer.read_all import read_all
from minikafka.proof.history import History
from minikafka.proof.small_worlds.doors.keeper import ALLOW, DENY, READ, SECRET, WRITE, Keeper, Visit
from minikafka.proof.small_worlds.doors.proofs import BEARER, ITERATIONS, NUMBER, SCRAM, SKEW_MS, Proof, salted
from minikafka.proof.small_worlds.doors.user import ask, create, log_in, read, write
from minikafka.protocol.apis import (
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from minikafka.protocol.errors import KafkaError
from minikafka.sim.world.host import host_name
from minikafka.sim.world.world import CLIENT_PORT, INTERNAL_PORT, World

USERS, TOPICS = ("ada", "bob", "eve"), ("t", "u")
DOORS, DOORS_PORT = "DOORS", 9094
ROUNDS, VISITS_OF_A_USER = 5, 2
CONFIG = {
    "broker.session.timeout.ms": 1000, "broker.heartbeat.interval.ms": 250, "replica.lag.time.max.ms": 1000,
    "connections.max.reauth.ms": 1200, "sasl.enabled.mechanisms": f"{SCRAM},{BEARER}", "super.users": "User:ANONYMOUS",
    "delegation.token.secret.key": SECRET, "delegation.token.expiry.time.ms": 1500,
    "delegation.token.expiry.check.interval.ms": 1000, "minikafka.allow.remote": "true",  # tokens that nobody has signed
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,{DOORS}:SASL_PLAINTEXT,INTERNAL:PLAINTEXT",
}
OF_DOORS = {f"listener.name.{DOORS.lower()}.oauthbearer.sasl.jaas.config":
            f'{jaas.BEARER} required unsecuredValidatorAllowableClockSkewMs="{SKEW_MS}";'}


def doors(seed: int) -> tuple[str, ...]:
    """Run one seed: the world of the rules about who may do what."""
    return DoorsLife(seed).live()


class DoorsLife:
    """One seed."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"{seed}:doors")
        self.world = World(seed, brokers=3, controllers=1, config=CONFIG)
        for host in self.world.hosts.values():
            if "broker" in host.config["process.roles"]:
                ports = {"PLAINTEXT": CLIENT_PORT, DOORS: DOORS_PORT, "INTERNAL": INTERNAL_PORT}
                listeners = ",".join(f"{name}://{host.name}:{port}" for name, port in ports.items())
                host.config = host.config.replaced({**OF_DOORS, "listeners": listeners})
        self.fallen: list[str] = []
        self.keeper = Keeper(self.world, lambda text: self.fallen.append(f"I-AUTH-1: {text}"))
        self.admin = Admin(self.world.client_env(), self.world.bootstrap, timeout=5.0)
        self.passwords = dict.fromkeys(USERS, 0)  # the number of each user's newest password
        self.tokens: list[Proof] = []  # delegation tokens
        self.acked: dict[str, list[str]] = {topic: [] for topic in TOPICS}
        self.stopped, self.count = False, 0

    def live(self) -> tuple[str, ...]:
        """Run the seed; return what `doors` returns."""
        try:
            self.world.run(self._story())
        except Exception as error:
            self.fallen.append(f"broke off: {error!r}")
        finally:
            self.world.close()
        return tuple(dict.fromkeys(self.fallen))

    async def _story(self) -> None:
        world, env = self.world, self.world.client_env()
        await world.start()
        for topic in TOPICS:
            await self.admin.create_topic(topic, 1, 3, {"min.insync.replicas": "2"})
        for user in USERS:
            await self._password(user)
            await self._right(user, self.rng.choice(TOPICS), self.rng.choice((READ, WRITE)), ALLOW)
        tasks = [env.spawn(self._visits(user), user) for user in USERS for _ in range(VISITS_OF_A_USER)]
        tasks.append(env.spawn(self._administer(), "boss"))
        for _ in range(ROUNDS):
            if self.fallen:
                break
            await world.sleep(self.rng.uniform(0.5, 1.5))
            self.rng.choice((self._kill, self._isolate, self._pause, self._jump))()
            await world.sleep(self.rng.uniform(0.2, 1.5))
            if self.rng.random() < 0.7:
                await world.mend()
        await world.mend()
        self.stopped = True
        for task in tasks:
            await task
        await self._read_everything()

    # --- users -------------------------------------------------------------------------------------------------------

    async def _visits(self, user: str) -> None:
        """Connect to one broker after another, each time with a password that is the newest one, as a rule, or with a token."""
        while not self.stopped:
            await self.world.sleep(self.rng.expovariate(5))
            node = self._leader() if self.rng.random() < 0.7 else self.rng.choice(self.world.brokers)
            try:
                to = await connect(self.world.client_env(), host_name(node), DOORS_PORT, node, user, 2.0)
            except (ConnectionError, TimeoutError):
                continue
            visit = self.keeper.visits[to.transport] = Visit(user)
            try:
                if await log_in(to, visit, self._proof(user), self._name("nonce")):
                    for _ in range(self.rng.randint(1, 20)):
                        await self._act(to, visit)
            except (ConnectionError, TimeoutError):
                pass
            to.close()

    def _leader(self) -> int:
        """Return the leader of a topic, as any broker names it; any broker if none leads."""
        node = self.rng.choice(self.world.brokers)
        broker = self.world.broker(node)
        found = broker.node.image.partition(self.rng.choice(TOPICS), 0) if broker is not None else None
        return found.leader if found is not None and found.leader > 0 else node

    async def _act(self, to: BrokerConnection, visit: Visit) -> None:
        user, topic, act = visit.user, self.rng.choice(TOPICS), self.rng.random()
        if act < 0.35:
            value = self._name(user)
            if await write(to, topic, value):
                self.acked[topic].append(value)
        elif act < 0.7:
            offset = self.rng.choice((0, max(0, len(self.acked[topic]) - 1), len(self.acked[topic])))
            await read(to, topic, offset, self.rng.choice((0, 300, 1500)))
        elif act < 0.8:
            await log_in(to, visit, self._proof(self._somebody(user)), self._name("nonce"))
        else:
            await self._delegate(to, user)
        await self.world.sleep(self.rng.expovariate(8))

    async def _delegate(self, to: BrokerConnection, user: str) -> None:
        """Ask for a delegation token, as a rule for oneself, or see those of others, or let one end earlier or later."""
        act, hmac = self.rng.random(), base64.b64decode(self.rng.choice(self.tokens).secret) if self.tokens else b""
        if act < 0.4 or not hmac:
            made = await create(to, self._somebody(user), self.rng.choice(USERS), self.rng.randint(200, 4000))
            self.tokens += [made] if made is not None else []
        elif act < 0.6:
            await ask(to, DescribeDelegationTokenRequest(owners=None), 3)
        elif act < 0.8:
            await ask(to, RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=self.rng.randint(200, 2000)), 2)
        else:
            await ask(to, ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=self.rng.randint(-500, 1000)), 2)

    def _somebody(self, user: str) -> str:
        return user if self.rng.random() < 0.8 else self.rng.choice(USERS)

    def _proof(self, user: str) -> Proof:
        """Return what this user shows: a password that is the newest one, as a rule, or a token that may have ended."""
        kind, newest, own = self.rng.random(), self.passwords[user], [one for one in self.tokens if one.user == user]
        if kind < 0.2:
            return Proof.bearer(user, self.world.client_env().wall_ms() + self.rng.randint(-500, 2500))
        if kind < 0.45 and own:
            return self.rng.choice(own[-3:])
        return Proof(user, f"{user} {newest if self.rng.random() < 0.7 else self.rng.randint(0, newest)}")

    def _name(self, what: str) -> str:
        self.count += 1
        return f"{what}{self.count}"

    # --- the administrator -------------------------------------------------------------------------------------------

    async def _administer(self) -> None:
        while not self.stopped:
            await self.world.sleep(self.rng.expovariate(6))
            user, topic, operation = self.rng.choice(USERS), self.rng.choice(TOPICS), self.rng.choice((READ, WRITE))
            act = self.rng.random()
            try:
                if act < 0.15:
                    await self._password(user)
                elif act < 0.2:
                    await self._no_password(user)
                elif act < 0.7:
                    await self._right(user, topic, operation, ALLOW)
                elif act < 0.75:
                    await self._right(user, topic, operation, DENY)
                else:
                    await self._no_right(user, topic, operation)
            except (ConnectionError, TimeoutError, KafkaError):
                pass  # it may have happened: the keeper looks at what the brokers know

    async def _password(self, user: str) -> None:
        self.passwords[user] += 1
        password, salt = f"{user} {self.passwords[user]}", f"{user} salt".encode()
        upsert = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
        await self._ask(AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsert(
            name=user, mechanism=NUMBER, iterations=ITERATIONS, salt=salt, salted_password=salted(password, salt))]), 0)

    async def _no_password(self, user: str) -> None:
        deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
        await self._ask(AlterUserScramCredentialsRequest(deletions=[deletion(name=user, mechanism=NUMBER)], upsertions=[]), 0)

    async def _right(self, user: str, topic: str, operation: int, permission: int) -> None:
        await self._ask(CreateAclsRequest(creations=[CreateAclsRequest.AclCreation(
            resource_type=2, resource_name=topic, resource_pattern_type=3, principal=f"User:{user}", host="*",
            operation=operation, permission_type=permission)]), 3)

    async def _no_right(self, user: str, topic: str, operation: int) -> None:
        await self._ask(DeleteAclsRequest(filters=[DeleteAclsRequest.DeleteAclsFilter(
            resource_type_filter=2, resource_name_filter=topic, pattern_type_filter=3, principal_filter=f"User:{user}",
            host_filter="*", operation=operation, permission_type=1)]), 3)

    async def _ask(self, request: ApiMessage, version: int) -> None:
        await self.admin.client.request(-1, request, version, 3.0)

    # --- faults, and the end -------------------------------------------------------------------------------------------

    def _kill(self) -> None:
        self.world.kill(self.rng.choice(self.world.brokers))

    def _isolate(self) -> None:
        """Cut a broker off from all others; users still reach it."""
        node = self.rng.choice(self.world.brokers)
        for other in self.world.nodes:
            if other != node:
                self.world.cut(node, other)

    def _pause(self) -> None:
        self.world.pause(self.rng.choice(self.world.alive))

    def _jump(self) -> None:
        """Move the wall clock of a node, by which tokens end."""
        node = self.rng.choice(self.world.nodes)
        self.world.jump_clock(node, self.rng.uniform(-1.5, 1.5))
        self.keeper.jumped[node] = self.world.now()

    async def _read_everything(self) -> None:
        """Look for each value whose write a broker has acknowledged (I-AUTH-2)."""
        for topic, values in self.acked.items():
            history = History(self.world.now)
            records = await read_all(self.world.client_env(), self.world.bootstrap, topic, 0, timeout=40.0, history=history)
            found = {record.value.decode() for record in records if record.value is not None}
            if lost := [value for value in values if value not in found]:
                self.fallen.append(f"I-AUTH-2: {topic} has lost {lost[0]} and {len(lost) - 1} others")
