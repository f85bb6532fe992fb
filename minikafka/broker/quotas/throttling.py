"""Quotas at work: what each client has used of late, which limit is its own, and for how long it must wait.

Bytes are counted in a window that slides in pieces (11 of a second each, unless configured): while the rate over it is
above the limit, the answer goes out at once, but the client is not listened to for as long as the window would have to
grow for the rate to be right. Changes of topics draw on a bucket of tokens, which fills at the rate of the limit: who
found it empty is refused, or waits, according to the version of the request. Times are seconds, waits milliseconds.

Owns: the limits, and for each client that has one what it has used. Who is promised what: broker/quotas/limits.py.
Invariants: I-QUOTA-2 the limit that counts is the most specific: user with client id before user before client id, in
              each a name before the default; clients for whom the same user (or client id) counts share what they use.
            I-QUOTA-3 what the last window did not see is forgotten, so memory follows the clients of the last seconds.
What Kafka does differently: `request_percentage` and `connection_creation_rate`, which are kept and described here, are
enforced there; a metric exists for each rate. Everybody is the user ANONYMOUS here, as on a PLAINTEXT listener there.
Source: ClientQuotaManager, ControllerMutationQuotaManager, QuotaUtils, SampledStat, TokenBucket; KIP-13, KIP-55,
KIP-219 (the broker does the waiting), KIP-599 (changes of topics).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import floor
from typing import Generic, TypeAlias, TypeVar

from minikafka.broker.metadata.image import QuotaEntity
from minikafka.broker.quotas.limits import CLIENT_ID, CONSUMER_RATE, MUTATION_RATE, PRODUCER_RATE, USER
from minikafka.protocol.errors import Err, KafkaError

ANONYMOUS = "ANONYMOUS"
INT_MAX = 2**31 - 1
FEW = 100               # meters that are not worth a look
Who: TypeAlias = tuple[str | None, str | None]          # (user, client id) that use a limit together; None: whoever
Quotas: TypeAlias = Mapping[QuotaEntity, Mapping[str, float]]


@dataclass(frozen=True)
class Window:
    """How long usage is remembered: `samples` pieces of `seconds` each, the last of them still growing."""

    samples: int
    seconds: int


# --- which limit ------------------------------------------------------------------------------------------------------


def entities_of(user: str, client_id: str) -> list[tuple[QuotaEntity, Who]]:
    """What a limit may have been set for to be this client's, the most specific first, and who uses it with them."""
    mine, any_user, this, any_client = (USER, user), (USER, None), (CLIENT_ID, client_id), (CLIENT_ID, None)
    both, of_user, of_client = (user, client_id), (user, None), (None, client_id)
    order: list[tuple[QuotaEntity, Who]] = [
        ((this, mine), both), ((any_client, mine), both), ((mine,), of_user),
        ((this, any_user), both), ((any_client, any_user), both), ((any_user,), of_user),
        ((this,), of_client), ((any_client,), of_client)]
    return order if client_id else [pair for pair in order if pair[1] is of_user]


# --- how much was used ------------------------------------------------------------------------------------------------


class Rate:
    """Bytes over a window."""

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
        """Whether there is nothing to remember any more."""
        over = floor(now * 1000) - self.window.samples * self.window.seconds * 1000
        self._pieces = [piece for piece in self._pieces if piece[1] > over]
        return not self._pieces

    def wait_ms(self, limit: float, now: float) -> int:
        """For how long the window must grow, with nothing new in it, for the rate to be within the limit."""
        if self.idle(now):
            return 0
        span = self._span(floor(now * 1000))
        excess = sum(piece[2] for piece in self._pieces) / (span / 1000) - limit
        return _rounded(excess / limit * span) if excess > 0 else 0

    def _span(self, ms: int) -> float:
        """How many milliseconds the pieces stand for: all whole pieces but one at least, used or not."""
        piece_ms, least = self.window.seconds * 1000, self.window.samples - 1
        elapsed = ms - self._pieces[0][0]
        return max(1, elapsed + max(0, least - elapsed // piece_ms) * piece_ms)


class Bucket:
    """Tokens for changes of topics: as many as the window is long at the most, and in debt while below zero."""

    def __init__(self, window: Window, now: float) -> None:
        self.window = window
        self._tokens: float | None = None           # None: as many as there can be
        self._limit = 0.0                           # as it was last
        self._at = now

    def _refill(self, limit: float, now: float) -> float:
        most = self.window.samples * self.window.seconds * limit
        filled = most if self._tokens is None else self._tokens + limit * (now - self._at)
        self._tokens, self._limit, self._at = min(most, filled), limit, now
        return self._tokens

    def take(self, tokens: float, limit: float, now: float) -> None:
        self._tokens = self._refill(limit, now) - tokens

    def idle(self, now: float) -> bool:
        """Whether it is full, like a new one."""
        return self._refill(self._limit, now) >= self.window.samples * self.window.seconds * self._limit

    def wait_ms(self, limit: float, now: float) -> int:
        """How long the debt takes to be paid off."""
        left = self._refill(limit, now)
        return _rounded(-left / limit * 1000) if left < 0 else 0


def _rounded(ms: float) -> int:
    return min(INT_MAX, floor(ms + 0.5))


Meter = TypeVar("Meter", Rate, Bucket)


class Metered(Generic[Meter]):
    """One quota: its limits, and a meter for each that a client of now falls under. Without limits it costs nothing."""

    def __init__(self, key: str, window: Window, meter: Callable[[Window, float], Meter]) -> None:
        self.key, self.window, self._new = key, window, meter
        self.limits: dict[QuotaEntity, float] = {}
        self._meters: dict[Who, Meter] = {}
        self._look_at = FEW

    def update(self, quotas: Quotas) -> None:
        self.limits = {entity: values[self.key] for entity, values in quotas.items() if self.key in values}

    def limit(self, client_id: str | None) -> tuple[Who, float] | None:
        """The limit of a client and who uses it, None if it has none (I-QUOTA-2)."""
        if not self.limits:
            return None
        found = (pair for pair in entities_of(ANONYMOUS, client_id or "") if pair[0] in self.limits)
        return next(((who, self.limits[entity]) for entity, who in found), None)

    def meter(self, who: Who, now: float) -> Meter:
        """What `who` has used."""
        if who not in self._meters:
            if len(self._meters) >= self._look_at:          # I-QUOTA-3
                self._meters = {w: m for w, m in self._meters.items() if not m.idle(now)}
                self._look_at = max(FEW, 2 * len(self._meters))
            self._meters[who] = self._new(self.window, now)
        return self._meters[who]


class Charge:
    """What one request pays for its changes of topics. `wait_ms` is how long its sender must wait afterwards."""

    def __init__(self, bucket: Bucket | None, limit: float, strict: bool, now: float) -> None:
        self._bucket, self._limit, self._strict, self._now = bucket, limit, strict, now
        self.wait_ms = 0

    def __call__(self, partitions: int) -> None:
        """Pay for so many. Strict: KafkaError if there is debt; what goes beyond the bucket's content makes debt."""
        if self._bucket is None:
            return
        if self._strict and (wait := self._bucket.wait_ms(self._limit, self._now)):
            self.wait_ms = wait
            raise KafkaError(Err.THROTTLING_QUOTA_EXCEEDED)
        self._bucket.take(partitions, self._limit, self._now)
        if not self._strict:
            self.wait_ms = self._bucket.wait_ms(self._limit, self._now)


FREE = Charge(None, 0, False, 0)


class ClientQuotas:
    """The quotas of one node: bytes for the clients that it leads partitions for, changes if it is the controller."""

    def __init__(self, bytes_: Window, changes: Window) -> None:
        self._produced = Metered(PRODUCER_RATE, bytes_, Rate)
        self._fetched = Metered(CONSUMER_RATE, bytes_, Rate)
        self._changes = Metered(MUTATION_RATE, changes, Bucket)

    def update(self, quotas: Quotas) -> None:
        """These are all the quotas that there are."""
        for quota in (self._produced, self._fetched, self._changes):
            quota.update(quotas)

    def produced(self, client_id: str | None, size: int, now: float) -> int:
        """A client has sent so many bytes: how long it must wait."""
        if (found := self._produced.limit(client_id)) is None:
            return 0
        rate = self._produced.meter(found[0], now)
        rate.add(size, now)
        return rate.wait_ms(found[1], now)

    def fetched(self, client_id: str | None, size: int, now: float) -> int:
        """A client shall be sent so many bytes: how long it must wait. If at all, it is sent nothing yet."""
        if (found := self._fetched.limit(client_id)) is None:
            return 0
        rate = self._fetched.meter(found[0], now)
        rate.add(size, now)
        wait = rate.wait_ms(found[1], now)
        if wait:
            rate.add(-size, now)
        return wait

    def most_fetched(self, client_id: str | None) -> int | None:
        """What a client can be sent at once that was sent nothing of late; more than that it would never get."""
        if (found := self._fetched.limit(client_id)) is None:
            return None
        window = self._fetched.window
        return int(min(INT_MAX, found[1] * (window.samples - 1) * window.seconds))

    def charge(self, client_id: str | None, strict: bool, now: float) -> Charge:
        """What a request of this client pays with."""
        if (found := self._changes.limit(client_id)) is None:
            return FREE
        return Charge(self._changes.meter(found[0], now), found[1], strict, now)
