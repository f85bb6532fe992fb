"""Quotas at work: how much each client used in the last seconds, which limit counts for it, and how long it must wait.

Bytes are counted in a window that slides in pieces (11 of a second each, unless configured). A client whose rate over the
window is above the limit gets its answer at once, but then the broker reads nothing from it for a while: for as long as the
window must grow until the rate has fallen to the limit. Changes of topics take tokens from a bucket that fills at the rate of
the limit. If the bucket is empty, the version of the request decides: the request is refused, or its client waits.
Times are seconds, waits milliseconds.

Owns: the limits, and the usage of clients. Altering the limits: broker/quotas/limits.py.
Invariants: I-QUOTA-2 the limit that counts is the most specific: user with client id before user before client id, and in each
              of these a name before the default. Clients for which the limit of one user (or client id) counts share it.
            I-QUOTA-3 usage before the last window is forgotten, so memory follows the clients of the last seconds.
            I-QUOTA-4 while any client has a limit, the usage of all clients is counted.
What Kafka does differently: `request_percentage` and `connection_creation_rate`, which are kept and described here, are
enforced there; a metric exists for each rate.
Source: ClientQuotaManager, ControllerMutationQuotaManager, QuotaUtils, SampledStat, TokenBucket; KIP-13, KIP-55,
KIP-219 (the broker does the waiting), KIP-599 (changes of topics).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import floor, inf
from typing import Generic, TypeAlias, TypeVar

from minikafka.broker.metadata.image import QuotaEntity
from minikafka.broker.quotas.limits import CLIENT_ID, CONSUMER_RATE, MUTATION_RATE, PRODUCER_RATE, USER
from minikafka.protocol.errors import Err, KafkaError

ANONYMOUS = "ANONYMOUS"
INT_MAX = 2**31 - 1
FEW = 100               # up to this number of meters, no search for idle ones
Sharers: TypeAlias = tuple[str | None, str | None]      # (user, client id) of the clients that share a limit; None: any
Quotas: TypeAlias = Mapping[QuotaEntity, Mapping[str, float]]


@dataclass(frozen=True)
class Window:
    """The time for which usage is remembered: `samples` pieces of `seconds` each; the last piece is still growing."""

    samples: int
    seconds: int


# --- which limit ------------------------------------------------------------------------------------------------------


def entities_of(user: str, client_id: str) -> list[tuple[QuotaEntity, Sharers]]:
    """Return the entities whose limit may count for this client, the most specific first, each with the clients that share
    that limit."""
    mine, any_user, this, any_client = (USER, user), (USER, None), (CLIENT_ID, client_id), (CLIENT_ID, None)
    both, of_user, of_client = (user, client_id), (user, None), (None, client_id)
    order: list[tuple[QuotaEntity, Sharers]] = [
        ((this, mine), both), ((any_client, mine), both), ((mine,), of_user),
        ((this, any_user), both), ((any_client, any_user), both), ((any_user,), of_user),
        ((this,), of_client), ((any_client,), of_client)]
    return order if client_id else [pair for pair in order if pair[1] is of_user]


# --- how much was used ------------------------------------------------------------------------------------------------


class Rate:
    """A count of bytes over a window."""

    def __init__(self, window: Window, now: float) -> None:
        self.window = window
        self._pieces: list[list[float]] = []        # [began at, last use, sum], in ms and bytes; the oldest first

    def add(self, value: float, now: float) -> None:
        ms = floor(now * 1000)
        if not self._pieces or ms - self._pieces[-1][0] >= self.window.seconds * 1000:
            self._pieces.append([ms, ms, 0.0])
            del self._pieces[:-self.window.samples - 1]     # one may stick out of the window
        self._pieces[-1][1:] = ms, self._pieces[-1][2] + value

    def idle(self, now: float) -> bool:
        """Return whether the window has no usage any more."""
        over = floor(now * 1000) - self.window.samples * self.window.seconds * 1000
        self._pieces = [piece for piece in self._pieces if piece[1] > over]
        return not self._pieces

    def wait_ms(self, limit: float, now: float) -> int:
        """Return the time in ms that the window must grow, with no new usage, for the rate to be within the limit."""
        if self.idle(now):
            return 0
        span = self._span(floor(now * 1000))
        excess = sum(piece[2] for piece in self._pieces) / (span / 1000) - limit
        return _rounded(excess / limit * span) if excess > 0 else 0

    def _span(self, ms: int) -> float:
        """Return the milliseconds that the rate is taken over: at least all whole pieces but one, used or not."""
        piece_ms, least = self.window.seconds * 1000, self.window.samples - 1
        elapsed = ms - self._pieces[0][0]
        return max(1, elapsed + max(0, least - elapsed // piece_ms) * piece_ms)


class Bucket:
    """A bucket of tokens for changes of topics: at most what the limit gives in one window; below zero they are a debt."""

    def __init__(self, window: Window, now: float) -> None:
        self.window = window
        self._tokens: float | None = None           # None: the bucket is full
        self._limit = 0.0                           # at the last refill
        self._at = now

    def _refill(self, limit: float, now: float) -> float:
        most = self.window.samples * self.window.seconds * limit
        filled = most if self._tokens is None else self._tokens + limit * (now - self._at)
        self._tokens, self._limit, self._at = min(most, filled), limit, now
        return self._tokens

    def take(self, tokens: float, limit: float, now: float) -> None:
        self._tokens = self._refill(limit, now) - tokens

    def idle(self, now: float) -> bool:
        """Return whether the bucket is full, like a new one."""
        return self._refill(self._limit, now) >= self.window.samples * self.window.seconds * self._limit

    def wait_ms(self, limit: float, now: float) -> int:
        """Return the time in ms until the debt is paid off."""
        left = self._refill(limit, now)
        return _rounded(-left / limit * 1000) if left < 0 else 0


def _rounded(ms: float) -> int:
    """Return a wait as a response names it; with a very small limit it is infinite."""
    return floor(min(INT_MAX, ms + 0.5))


Meter = TypeVar("Meter", Rate, Bucket)


class Metered(Generic[Meter]):
    """One quota: its limits, and a meter for each limit that a recent client shares. Without limits it costs nothing."""

    def __init__(self, key: str, window: Window, meter: Callable[[Window, float], Meter]) -> None:
        self.key, self.window, self._new = key, window, meter
        self.limits: dict[QuotaEntity, float] = {}
        self._meters: dict[Sharers, Meter] = {}
        self._look_at = FEW

    def update(self, quotas: Quotas) -> None:
        self.limits = {entity: values[self.key] for entity, values in quotas.items() if self.key in values}

    def limit(self, client_id: str | None, user: str) -> tuple[Sharers, float] | None:
        """Return the limit that counts for a client and the clients that share it; None if it has no limit (I-QUOTA-2)."""
        if not self.limits:
            return None
        found = (pair for pair in entities_of(user, client_id or "") if pair[0] in self.limits)
        return next(((sharers, self.limits[entity]) for entity, sharers in found), None)

    def share(self, client_id: str | None, user: str) -> tuple[Sharers, float] | None:
        """Return what `limit` does; while any client has a limit, an infinite one for a client that has none: what it uses counts
        as soon as it is limited. Each such client has its own meter, by the kinds of entities that have limits."""
        found = self.limit(client_id, user)
        if found is not None or not self.limits:
            return found
        kinds = {kind for entity in self.limits for kind, _ in entity}
        return (user if USER in kinds else None, client_id or "" if CLIENT_ID in kinds else None), inf

    def meter(self, sharers: Sharers, now: float) -> Meter:
        """Return the meter of the clients that share a limit."""
        if sharers not in self._meters:
            if len(self._meters) >= self._look_at:          # I-QUOTA-3
                self._meters = {key: meter for key, meter in self._meters.items() if not meter.idle(now)}
                self._look_at = max(FEW, 2 * len(self._meters))
            self._meters[sharers] = self._new(self.window, now)
        return self._meters[sharers]


class Charge:
    """The payment of one request for its changes of topics. `wait_ms`: how long the client must wait afterwards."""

    def __init__(self, bucket: Bucket | None, limit: float, strict: bool, now: float) -> None:
        self._bucket, self._limit, self._strict, self._now = bucket, limit, strict, now
        self._taken = 0
        self.wait_ms = 0

    def __call__(self, partitions: int) -> None:
        """Take a token for each partition; more than the bucket has makes a debt. Strict: KafkaError if there is a debt
        already."""
        if self._bucket is None:
            return
        if self._strict and (wait := self._bucket.wait_ms(self._limit, self._now)):
            self.wait_ms = wait
            raise KafkaError(Err.THROTTLING_QUOTA_EXCEEDED)
        self._bucket.take(partitions, self._limit, self._now)
        self._taken += partitions
        if not self._strict:
            self.wait_ms = self._bucket.wait_ms(self._limit, self._now)

    def refund(self) -> None:
        """Give back what was taken: the changes were not made."""
        if self._bucket is not None and self._taken:
            self._bucket.take(-self._taken, self._limit, self._now)
        self._taken = 0


FREE = Charge(None, 0, False, 0)


class ClientQuotas:
    """The quotas of one node: bytes that clients send to it and fetch from it, and changes of topics if it is the
    controller."""

    def __init__(self, bytes_: Window, changes: Window) -> None:
        self._produced = Metered(PRODUCER_RATE, bytes_, Rate)
        self._fetched = Metered(CONSUMER_RATE, bytes_, Rate)
        self._changes = Metered(MUTATION_RATE, changes, Bucket)

    def update(self, quotas: Quotas) -> None:
        """Take over all quotas of the cluster; those that are not in `quotas` are gone."""
        for quota in (self._produced, self._fetched, self._changes):
            quota.update(quotas)

    def limits_producer(self, client_id: str | None, user: str = ANONYMOUS) -> bool:
        """Return whether a limit counts for what a client sends."""
        return self._produced.limit(client_id, user) is not None

    def produced(self, client_id: str | None, size: int, now: float, user: str = ANONYMOUS) -> int:
        """Charge `size` bytes that a client has sent; return the throttle time in ms."""
        if (found := self._produced.share(client_id, user)) is None:
            return 0
        rate = self._produced.meter(found[0], now)
        rate.add(size, now)
        return rate.wait_ms(found[1], now)

    def fetched(self, client_id: str | None, size: int, now: float, user: str = ANONYMOUS) -> int:
        """Charge `size` fetched bytes; return the throttle time in ms. If it is positive, the bytes are not charged and must
        not be sent."""
        if (found := self._fetched.share(client_id, user)) is None:
            return 0
        rate = self._fetched.meter(found[0], now)
        rate.add(size, now)
        wait = rate.wait_ms(found[1], now)
        if wait:
            rate.add(-size, now)
        return wait

    def most_fetched(self, client_id: str | None, user: str = ANONYMOUS) -> int | None:
        """Return the size of the largest response that the quota of an idle client allows; None without a quota."""
        if (found := self._fetched.limit(client_id, user)) is None:
            return None
        window = self._fetched.window
        return int(min(INT_MAX, found[1] * (window.samples - 1) * window.seconds))

    def charge(self, client_id: str | None, strict: bool, now: float, user: str = ANONYMOUS) -> Charge:
        """Return the payment of one request of this client."""
        if (found := self._changes.limit(client_id, user)) is None:
            return FREE
        return Charge(self._changes.meter(found[0], now), found[1], strict, now)
