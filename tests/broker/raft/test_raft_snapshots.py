"""Snapshots of the metadata (KIP-630, rule 41): who is sent to one, its pieces, and its errors.

That a snapshot is committed, and that only a follower loads one, is asserted in the core (I-RAFT-11, I-RAFT-12) and by the oracle
of proof/small_worlds/raft, whose seeds make and load snapshots at random.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from minikafka.broker.raft.effects import AppendSnapshot, Flush, LoadSnapshot, Send
from minikafka.broker.raft.messages import Fetch, FetchAnswer, FetchSnapshot, SnapshotAnswer, SnapshotId
from minikafka.broker.raft.raft import Raft
from minikafka.broker.raft.roles import Follower
from minikafka.protocol.errors import Err
from tests.broker.raft.by_hand import parse
from tests.broker.raft.test_raft_rules import a_follower, a_leader, only, reply

SNAPSHOT = SnapshotId(3, 2)
SNAPSHOT_BYTES = b"1^ 1a 2^"


def a_leader_with_a_snapshot() -> Raft:
    """Node 1 leads epoch 3; its log begins at 3, after 1^ 1a 2^, and goes on with 2b 3^."""
    core = a_leader("1^ 1a 2^ 2b", epoch=3)
    core.state.log.make_snapshot(3, keep=1)
    return core


def behind_within_an_epoch() -> Raft:
    core = a_leader("1^ 1a 1b", epoch=2)
    core.state.log.make_snapshot(2, keep=1)
    return core


@pytest.mark.parametrize(("make", "fetch", "snapshot"), [
    *((a_leader_with_a_snapshot, Fetch(3, 2, offset, last_epoch, -1, 0.5), SNAPSHOT)      # below the log, or of another history
      for offset, last_epoch in ((0, 0), (2, 1), (3, 1), (3, 3), (4, 1))),
    (behind_within_an_epoch, Fetch(2, 2, 1, 1, -1, 0.5), SnapshotId(2, 1)),               # one epoch on both sides of the start
    (a_leader_with_a_snapshot, Fetch(3, 2, 3, 2, -1, 0.5), None),                         # at the start of the log
    (a_leader_with_a_snapshot, Fetch(3, 2, 5, 3, -1, 0.0), None)])                        # in the log
def test_who_is_behind_or_beside_the_log_is_sent_to_the_snapshot(
    make: Callable[[], Raft], fetch: Fetch, snapshot: SnapshotId | None
) -> None:
    """Fails if such a fetch is answered with records, or counts; or if a follower must load a snapshot for nothing."""
    core = make()
    told = reply(core.on_request("f", fetch, 0.0))
    assert (told.snapshot, told.diverging) == (snapshot, None)
    assert (2 in core.state.role.acknowledged) == (snapshot is None)
    assert told.records_from in ((None,) if snapshot else (None, fetch.offset))


def test_who_needs_a_snapshot_is_sent_to_the_latest() -> None:
    """Fails if a replica is sent to an older snapshot, which may be deleted while it is fetched."""
    core = a_leader("1^ 1a 2^ 2b", epoch=3)
    core.state.log.make_snapshot(2, keep=2)
    core.state.log.make_snapshot(4, keep=2)
    assert core.state.log.start_offset == 2
    assert reply(core.on_request("f", Fetch(3, 2, 0, 0, -1, 0.5), 0.0)).snapshot == SnapshotId(4, 2)


@pytest.mark.parametrize(("snapshot", "position"), [(SNAPSHOT, 5), (SnapshotId(4, 3), 0)])
def test_a_piece_that_was_not_requested_is_not_stored(snapshot: SnapshotId, position: int) -> None:
    """Fails if a piece of another snapshot, or from another place, is put where the next one belongs."""
    core, fetch = a_follower(log="1^", epoch=3)
    (ask,) = only(core.on_response(fetch.id, FetchAnswer(3, 2, snapshot=SNAPSHOT), 0.0), Send)
    effects = core.on_response(ask.id, SnapshotAnswer(3, 2, Err.NONE, snapshot, 8, position, SNAPSHOT_BYTES[:3]), 0.1)
    assert [effect.request for effect in effects if isinstance(effect, Send)] == [ask.request] and len(effects) == 1


@pytest.mark.parametrize(("epoch", "snapshot", "position", "error"), [
    (3, SNAPSHOT, 0, Err.NONE), (3, SNAPSHOT, 3, Err.POSITION_OUT_OF_RANGE),
    (3, SNAPSHOT, -1, Err.POSITION_OUT_OF_RANGE), (3, SnapshotId(2, 1), 0, Err.SNAPSHOT_NOT_FOUND),
    (2, SNAPSHOT, 0, Err.FENCED_LEADER_EPOCH), (4, SNAPSHOT, 0, Err.UNKNOWN_LEADER_EPOCH)])  # fmt: skip
def test_errors_of_fetch_snapshot(epoch: int, snapshot: SnapshotId, position: int, error: Err) -> None:
    """Fails if a piece of a snapshot that is not there is promised, or a stale epoch is served."""
    told = reply(a_leader_with_a_snapshot().on_request("s", FetchSnapshot(epoch, 2, snapshot, position), 0.0))
    assert (told.error, told.snapshot) == (error, snapshot)
    assert told.size == (3 if snapshot == SNAPSHOT else 0)


def test_fetching_a_snapshot_shows_that_the_voter_lives() -> None:
    """Fails if a leader resigns while its only follower is busy loading a snapshot (rule 38)."""
    core = a_leader_with_a_snapshot()
    core.on_request("s", FetchSnapshot(3, 2, SNAPSHOT, 0), 2.0)
    core.on_tick(4.0)
    assert core.state.epoch_start_offset is not None


def test_a_follower_loads_a_snapshot_piece_by_piece() -> None:
    """Fails if a piece is skipped, the log is replaced before the last one, or the next fetch is not at its end."""
    core, fetch = a_follower(log="1^", epoch=3)
    (ask,) = only(core.on_response(fetch.id, FetchAnswer(3, 2, high_watermark=5, snapshot=SNAPSHOT), 0.0), Send)
    first, ask = core.on_response(ask.id, SnapshotAnswer(3, 2, Err.NONE, SNAPSHOT, 8, 0, SNAPSHOT_BYTES[:5]), 0.1)
    assert (first, ask.request) == (AppendSnapshot(SNAPSHOT, 0, SNAPSHOT_BYTES[:5]), FetchSnapshot(3, 1, SNAPSHOT, 5))
    effects = core.on_response(ask.id, SnapshotAnswer(3, 2, Err.NONE, SNAPSHOT, 8, 5, SNAPSHOT_BYTES[5:]), 0.2)
    assert effects == [AppendSnapshot(SNAPSHOT, 5, SNAPSHOT_BYTES[5:]), LoadSnapshot(SNAPSHOT), Flush()]
    core.state.log.add_snapshot(SNAPSHOT, tuple(parse(SNAPSHOT_BYTES.decode())))
    core.state.log.begin_at(SNAPSHOT)
    (fetch,) = only(core.on_flushed(3, 0.2), Send)
    assert (fetch.request.offset, fetch.request.last_fetched_epoch) == (3, 2)


def test_a_snapshot_that_is_gone_is_given_up() -> None:
    """Fails if a follower asks for ever for a snapshot that the leader has deleted, instead of for the latest."""
    core, fetch = a_follower(log="1^", epoch=3)
    (ask,) = only(core.on_response(fetch.id, FetchAnswer(3, 2, snapshot=SNAPSHOT), 0.0), Send)
    core.on_response(ask.id, SnapshotAnswer(3, 2, Err.SNAPSHOT_NOT_FOUND, SNAPSHOT), 0.0)
    (fetch,) = only(core.on_tick(0.05), Send)
    assert isinstance(core.state.role, Follower) and isinstance(fetch.request, Fetch)


def test_an_empty_piece_of_a_snapshot_ends_the_attempt() -> None:
    """Fails if a follower asks for the same piece again and again."""
    core, fetch = a_follower(log="1^", epoch=3)
    (ask,) = only(core.on_response(fetch.id, FetchAnswer(3, 2, snapshot=SNAPSHOT), 0.0), Send)
    (fetch,) = core.on_response(ask.id, SnapshotAnswer(3, 2, Err.NONE, SNAPSHOT, 8, 0, b""), 0.0)
    assert isinstance(fetch.request, Fetch)


