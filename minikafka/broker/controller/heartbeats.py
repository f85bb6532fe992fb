"""Which brokers are alive: the controller's memory of heartbeats, and the four states of a broker's life.

            wants to unfence, caught up            leads something, wants to stop
   FENCED ------------------------> UNFENCED ------------------------> CONTROLLED_SHUTDOWN
      ^       session timed out       |   leads nothing, wants to stop        | leads nothing, and all brokers know
      +-------------------------------+----------> SHUTDOWN_NOW <-------------+

Owns: the time and metadata offset of each broker's last heartbeat. They are not in the log: a new controller starts with
every session fresh, so no broker is fenced because the old controller died.
Invariants: I-SESS-1 a broker is unfenced only after it replayed its own registration (rule 30).
            I-SESS-2 a broker may exit only when it leads no partition and every active broker knows that (rule 32).
Times are seconds of the monotonic clock. Source: BrokerHeartbeatManager; KIP-631, KIP-841.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

NEVER = float("inf")


class BrokerControlState(Enum):
    """The states above; SHUTDOWN_NOW is fenced too."""

    FENCED = 1
    UNFENCED = 2
    CONTROLLED_SHUTDOWN = 3
    SHUTDOWN_NOW = 4

    @property
    def fenced(self) -> bool:
        return self in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW)


@dataclass(frozen=True, slots=True)
class BrokerHeartbeat:
    """A sign of life of a broker, and what the broker wants."""

    broker: int
    broker_epoch: int
    metadata_offset: int                # how far it has replayed the metadata
    want_fence: bool = False
    want_shut_down: bool = False


class HeartbeatVerdict(NamedTuple):
    """The controller's decision about a heartbeat."""

    caught_up: bool                     # the broker has replayed its own registration
    fenced: bool
    should_shut_down: bool              # the broker may exit now


@dataclass
class BrokerHeartbeatState:
    """The content of the last heartbeat of one broker."""

    last_contact: float
    fenced: bool
    metadata_offset: int = -1
    shutdown_offset: int = -1           # offset that every active broker must reach before this one exits; -1: not stopping

    @property
    def state(self) -> BrokerControlState:
        if self.shutdown_offset >= 0:
            return BrokerControlState.CONTROLLED_SHUTDOWN
        return BrokerControlState.FENCED if self.fenced else BrokerControlState.UNFENCED


class Heartbeats:
    """The sessions by broker id; `timeout` in seconds (broker.session.timeout.ms)."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.sessions: dict[int, BrokerHeartbeatState] = {}

    def register(self, broker: int, fenced: bool, now: float) -> None:
        """Begin a broker's session: it has registered, or a new controller found its registration in the log."""
        self.sessions[broker] = BrokerHeartbeatState(now, fenced)

    def remove(self, broker: int) -> None:
        self.sessions.pop(broker, None)

    def touch(self, broker: int, fenced: bool, metadata_offset: int, now: float) -> None:
        """Note a heartbeat that was decided on: the broker is in contact, and fenced or not from now on."""
        session = self.sessions[broker]
        session.last_contact, session.fenced, session.metadata_offset = now, fenced, metadata_offset
        if fenced:
            session.shutdown_offset = -1

    def fence(self, broker: int) -> None:
        """Note that the broker's session timed out."""
        self.sessions[broker].fenced, self.sessions[broker].shutdown_offset = True, -1

    def start_shutdown(self, broker: int, offset: int) -> None:
        """Note that the broker may exit once every active broker has replayed the metadata up to `offset`."""
        if self.sessions[broker].shutdown_offset < 0:
            self.sessions[broker].shutdown_offset = offset

    def valid(self, broker: int, now: float) -> bool:
        """Return whether a broker is unfenced and its session has not timed out. The exact deadline counts as timed out:
        otherwise a timer at next_deadline() would find nothing to do and be set again at once."""
        session = self.sessions.get(broker)
        return session is not None and not session.fenced and now < session.last_contact + self.timeout

    def stale(self, now: float) -> int | None:
        """Return one broker whose session timed out, the longest silent first; None if there is none."""
        silent = [(s.last_contact, b) for b, s in self.sessions.items() if not s.fenced and not self.valid(b, now)]
        return min(silent)[1] if silent else None

    def next_deadline(self) -> float:
        """Return the time at which the next session times out if no heartbeat comes."""
        return min((s.last_contact + self.timeout for s in self.sessions.values() if not s.fenced), default=NEVER)

    def next_state(self, heard: BrokerHeartbeat, caught_up: bool, leads: bool) -> BrokerControlState:
        """Return the state of the broker after this heartbeat; `leads`: it leads at least one partition."""
        session = self.sessions[heard.broker]
        if session.state is BrokerControlState.CONTROLLED_SHUTDOWN:
            assert not leads, f"I-SESS-2 {heard} leads, and is about to exit"
            done = session.shutdown_offset <= self.lowest_active_offset()
            return BrokerControlState.SHUTDOWN_NOW if done else BrokerControlState.CONTROLLED_SHUTDOWN
        if session.state is BrokerControlState.FENCED:
            if heard.want_shut_down:
                return BrokerControlState.SHUTDOWN_NOW
            return BrokerControlState.UNFENCED if caught_up and not heard.want_fence else BrokerControlState.FENCED
        if heard.want_shut_down:
            return BrokerControlState.CONTROLLED_SHUTDOWN if leads and not heard.want_fence else BrokerControlState.SHUTDOWN_NOW
        return BrokerControlState.FENCED if heard.want_fence else BrokerControlState.UNFENCED

    def lowest_active_offset(self) -> float:
        """Return the offset up to which the slowest unfenced broker that is not stopping has replayed the metadata."""
        active = (s.metadata_offset for s in self.sessions.values() if s.state is BrokerControlState.UNFENCED)
        return min(active, default=NEVER)
