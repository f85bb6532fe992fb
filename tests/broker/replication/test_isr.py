"""Which followers are in sync: one clock measures the stuck and the slow ones (rules 12 and 13)."""

from __future__ import annotations

from minikafka.broker.replication.isr import LONG_AGO, RemoteReplica

LAG = 10.0  # replica.lag.time.max.ms, in seconds


def fetched(follower: RemoteReplica, offset: int, leader_end: int, now: float) -> RemoteReplica:
    follower.fetched(offset, 0, 1, leader_end, now)
    return follower


def test_who_is_at_the_end_is_in_sync_however_quiet() -> None:
    """Fails if a topic that nobody writes to loses its followers, or one at the end was seen there at another moment."""
    follower = fetched(RemoteReplica(), 5, 5, 1.0)
    assert follower.caught_up(5, 1000.0, LAG)
    assert follower.caught_up(6, 11.0, LAG) and not follower.caught_up(6, 11.1, LAG)


def test_who_never_fetched_is_not_in_sync() -> None:
    """Fails if a follower of which nothing is known counts, or its first fetch from below the end is enough."""
    assert not RemoteReplica().caught_up(0, 0.0, LAG)
    assert not fetched(RemoteReplica(), 3, 5, 0.0).caught_up(5, 0.0, LAG)


def test_a_member_keeps_its_time_when_a_leader_begins() -> None:
    """Fails if the first fetch of a member of the ISR, from below the end, takes from it the whole time it has to catch up."""
    follower = fetched(RemoteReplica(last_caught_up_time=50.0), 3, 5, 51.0)
    assert follower.last_caught_up_time == 50.0


def test_a_steady_stream_is_followed_to_the_end_of_a_moment_ago() -> None:
    """Fails if a follower that reads, each time, up to where the log ended at its fetch before is called late; or if the time
    of this fetch, and not of the one before, is what it had caught up with."""
    follower = RemoteReplica()
    for second in range(60):
        fetched(follower, 10 * second, 10 * second + 10, float(second))
    assert follower.last_caught_up_time == 58.0 and follower.caught_up(601, 68.0, LAG)
    assert not follower.caught_up(601, 68.1, LAG)


def test_the_slow_follower_falls_behind_although_it_fetches() -> None:
    """Fails if fetching alone keeps a follower in the ISR (rule 13)."""
    follower = fetched(RemoteReplica(), 0, 0, 0.0)
    for second in range(1, 12):
        fetched(follower, second, 100 * second, float(second))
    assert follower.last_caught_up_time == 0.0 and not follower.caught_up(1200, 11.0, LAG)
    assert RemoteReplica().last_caught_up_time == LONG_AGO
