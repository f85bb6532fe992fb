"""Sessions of brokers: when they end."""

from __future__ import annotations

import pytest

from minikafka.broker.controller.heartbeats import BrokerControlState, BrokerHeartbeat, Heartbeats


@pytest.mark.parametrize("contact", [0.0, 2.2349999999999746, 1e6 / 3])
def test_a_session_is_over_at_its_deadline(contact: float) -> None:
    """Fails if a timer set for `next_deadline` finds nothing to do there: it would be set again for no time at all,
    and the controller would spin until its clock moved on (for ever, where the clock waits for it)."""
    heartbeats = Heartbeats(3.0)
    heartbeats.register(1, False, contact)
    deadline = heartbeats.next_deadline()
    assert heartbeats.valid(1, contact) and heartbeats.stale(contact + 2.999) is None
    assert heartbeats.stale(deadline) == 1 and not heartbeats.valid(1, deadline)


def test_the_first_session_to_end_is_the_next_deadline() -> None:
    """Fails if a timer waits for the broker heard last, or for one that is fenced already."""
    heartbeats = Heartbeats(3.0)
    assert heartbeats.next_deadline() == float("inf")
    for broker, fenced, contact in ((1, False, 5.0), (2, False, 4.0), (3, True, 1.0)):
        heartbeats.register(broker, fenced, contact)
    assert heartbeats.next_deadline() == 7.0
    assert (heartbeats.stale(8.5), heartbeats.stale(6.9)) == (2, None)


def test_who_leads_does_not_stop() -> None:
    """Fails if a broker may exit while it leads a partition, whatever the others know (I-SESS-2)."""
    heartbeats, wish = Heartbeats(3.0), BrokerHeartbeat(1, 5, 100, want_shut_down=True)
    heartbeats.register(1, False, 0.0)
    heartbeats.start_shutdown(1, 50)
    assert heartbeats.next_state(wish, True, leads=True) is BrokerControlState.CONTROLLED_SHUTDOWN
    assert heartbeats.next_state(wish, True, leads=False) is BrokerControlState.SHUTDOWN_NOW


@pytest.mark.parametrize("how", ["told", "silent"])
def test_who_is_fenced_stops_no_longer(how: str) -> None:
    """Fails if a broker that was fenced while it stopped is taken for stopping when it comes back to life."""
    heartbeats = Heartbeats(3.0)
    heartbeats.register(1, False, 0.0)
    heartbeats.start_shutdown(1, 50)
    heartbeats.fence(1) if how == "silent" else heartbeats.touch(1, True, 60, 1.0)
    assert heartbeats.next_state(BrokerHeartbeat(1, 5, 100), True, leads=False) is BrokerControlState.UNFENCED
