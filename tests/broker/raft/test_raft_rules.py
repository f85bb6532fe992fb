"""What the nodes of the quorum answer and when, by the number of the rule (4, 24, 34, 35, 36, 38, 39), and as KIP-595 says.

The courses of events are told by transcripts (tests/stories/raft, tests/stories/brokers a9, a10, r38, r39); what holds whatever
happens is asserted by the core and found by the seeds of proof/small_worlds/raft.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from minikafka.broker.raft.effects import (
    Effect,
    ElectionState,
    InvariantViolation,
    Reply,
    Send,
    Times,
    UpdateHighWatermark,
)
from minikafka.broker.raft.election import MOST_AHEAD
from minikafka.broker.raft.messages import (
    Answer,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    Fetch,
    FetchAnswer,
    Request,
    SnapshotId,
    Vote,
)
from minikafka.broker.raft.raft import Raft
from minikafka.broker.raft.roles import Follower, Leader, Prospective, Resigned, Unattached
from minikafka.broker.raft.state import QuorumState
from minikafka.proof.small_worlds.raft.disk import RaftDisk
from minikafka.protocol.errors import Err
from tests.broker.raft.by_hand import WorldByHand, parse

VOTERS, NO_STATE = (1, 2, 3), ElectionState()


def a_node(node_id: int = 1, election_state: ElectionState = NO_STATE, log: str = "") -> Raft:
    """A started core; `log` as in "1^ 1a"."""
    disk = RaftDisk()
    disk.append(parse(log))
    core = Raft(node_id, VOTERS, disk, Times(), Random(1), election_state)
    core.start(0.0)
    return core


def a_leader(log: str = "", epoch: int = 1) -> Raft:
    """Node 1 leads `epoch`, and its LeaderChange is appended and flushed."""
    core = a_node(election_state=ElectionState(epoch - 1), log=log)
    stand(core)
    core.on_response(asked(core, 2), answer(epoch, granted=True), 0.0)
    assert isinstance(core.state.role, Leader)
    core.state.log.append([(epoch, -1)])
    core.on_flushed(core.state.log.end_offset, 0.0)
    return core


def stand(core: Raft) -> list[Effect]:
    """The core's time is up, and node 2 gives it its pre-vote: the effects of becoming a candidate."""
    core.on_tick(core.state.role.deadline)
    return core.on_response(asked(core, 2), answer(core.state.epoch, granted=True), 0.0)


def asked(core: Raft, node: int) -> int:
    """The id of the request to `node` that is under way."""
    return next(id for id, (to, _) in core.outbox.pending.items() if to == node)


def a_follower(log: str = "1^", epoch: int = 1) -> tuple[Raft, Send]:
    """Node 1 follows 2; the Send is its first fetch."""
    core = a_node(election_state=ElectionState(epoch), log=log)
    core.on_request("begin", BeginQuorumEpoch(epoch, 2), 0.0)
    (fetch,) = only(core.on_flushed(core.state.log.end_offset, 0.0), Send)
    return core, fetch


def answer(epoch: int, leader: int = -1, granted: bool = False) -> Answer:
    return Answer(epoch, leader, granted=granted)


def only(effects: list[Effect], kind: type) -> list:
    return [effect for effect in effects if isinstance(effect, kind)]


def reply(effects: list[Effect]) -> object:
    (found,) = only(effects, Reply)
    return found.response


# --- rule 34 ------------------------------------------------------------------------------------------------------


def test_rule_34_a_vote_is_kept_for_as_long_as_its_epoch_lasts() -> None:
    """Fails if a node that loses its leader forgets whom it voted for: were it a voter again, it could vote twice."""
    observer = Raft(1, (2, 3, 4), RaftDisk(), Times(), Random(1), ElectionState(epoch=5, leader=2, voted=3))
    observer.start(0.0)
    observer.on_tick(observer.state.role.deadline)
    assert isinstance(observer.state.role, Unattached) and observer.state.election_state == ElectionState(epoch=5, voted=3)


# --- rules 4, 21 and 35: what is asked of a node, and the error in its answer -------------------------------------


def in_epoch(epoch: int) -> Raft:
    return a_node(election_state=ElectionState(epoch))


def leads_epoch_2() -> Raft:
    return a_leader(log="1^", epoch=2)


@pytest.mark.parametrize(("make", "request_", "error"), [
    *((lambda: in_epoch(3), request, Err.FENCED_LEADER_EPOCH)         # who is behind is told the newer epoch
      for request in (Vote(2, 2, 1, 1), BeginQuorumEpoch(2, 2), EndQuorumEpoch(2, 2, (1,)))),
    (a_node, Vote(1, 9, 0, 0), Err.INCONSISTENT_VOTER_SET),           # node 9 is no voter: it cannot be elected
    (lambda: a_node(node_id=4), Vote(1, 2, 0, 0), Err.INCONSISTENT_VOTER_SET),     # nor can node 4 vote
    (a_node, Vote(7, 2, 7, 9), Err.INVALID_REQUEST),                  # a candidate of epoch 7 has no record of it yet
    (a_node, Vote(7, 2, 6, 9), Err.NONE),
    (a_node, Vote(7, 2, 7, 9, True), Err.NONE),                       # one that asks for pre-votes would be of epoch 8
    (a_node, Vote(7, 2, 8, 9, True), Err.INVALID_REQUEST),
    (a_node, Vote(7, 2, -1, 9), Err.INVALID_REQUEST),
    (a_node, Vote(7, 2, 6, -1), Err.INVALID_REQUEST),
    *((lambda: in_epoch(1), kind(1 + ahead, 2, *rest), error)         # I-RAFT-14: beyond the last epoch is no election
      for ahead, error in ((MOST_AHEAD, Err.NONE), (MOST_AHEAD + 1, Err.INVALID_REQUEST))
      for kind, rest in ((Vote, (0, 0)), (BeginQuorumEpoch, ()), (EndQuorumEpoch, ((),)))),
    (leads_epoch_2, Fetch(1, 2, 2, 1, -1, 0.0), Err.FENCED_LEADER_EPOCH),
    (leads_epoch_2, Fetch(3, 2, 2, 1, -1, 0.0), Err.UNKNOWN_LEADER_EPOCH),
    *((leads_epoch_2, Fetch(2, 2, offset, epoch, -1, 0.0), Err.INVALID_REQUEST)    # places that cannot be
      for offset, epoch in ((-1, 0), (1, -1), (1, 3)))])
def test_which_requests_are_refused(make: Callable[[], Raft], request_: Request, error: Err) -> None:
    """Fails if a stale, strange or impossible request is believed, or counts as an acknowledgement; or if the answer does not
    tell the node's epoch."""
    core = make()
    told = reply(core.on_request("r", request_, 0.0))
    assert (told.error, told.epoch) == (error, core.state.epoch)
    assert core.state.high_watermark == 0 and 2 not in getattr(core.state.role, "acknowledged", ())


@pytest.mark.parametrize(("last_epoch", "last_offset", "granted"), [
    (1, 3, False), (2, 2, False), (2, 3, True), (2, 4, True), (3, 1, True)])
def test_rule_35_a_vote_goes_only_to_a_log_that_ends_no_earlier(last_epoch: int, last_offset: int, granted: bool) -> None:
    """Fails if the ends of the logs are not compared by epoch first, then by offset."""
    core = a_node(log="1^ 1a 2^")
    assert reply(core.on_request("v", Vote(7, 2, last_epoch, last_offset), 0.0)).granted is granted


# --- rules 4 and 36 -----------------------------------------------------------------------------------------------


def test_messages_of_a_former_leader_end_with_its_epoch() -> None:
    """Fails if a node commits by the word of the leader before, which may have been deposed for good reason."""
    core, fetch = a_follower()
    core.on_response(fetch.id, FetchAnswer(1, 2, high_watermark=2, records=b"1a"), 0.0)
    core.state.log.append(parse("1a"))
    core.on_request("b", BeginQuorumEpoch(2, 3), 0.0)
    assert not only(core.on_flushed(2, 0.0), UpdateHighWatermark) and core.state.high_watermark == 0


def test_an_answer_to_a_former_epoch_is_not_used() -> None:
    """Fails if records are appended from an answer that names a newer epoch than the one that they were asked in."""
    core, fetch = a_follower()
    effects = core.on_response(fetch.id, FetchAnswer(2, 3, high_watermark=2, records=b"1a"), 0.0)
    assert core.state.epoch == 2 and [type(effect).__name__ for effect in effects] == ["Persist", "RoleChanged", "Send"]


def test_rule_36_what_was_cut_off_is_flushed_no_more() -> None:
    """Fails if offsets that were flushed, and then cut off, still count: for a follower, or for a leader that appends there."""
    core, fetch = a_follower(log="1^ 1a 1b", epoch=2)
    core.on_response(fetch.id, FetchAnswer(2, 2, diverging=(1, 1)), 0.0)
    del core.state.log.entries[1:]
    assert core.state.flushed == 1
    stand(core)
    core.on_response(asked(core, 2), answer(core.state.epoch, granted=True), 0.0)
    core.state.log.append([(core.state.epoch, -1)])
    core.on_request("f2", Fetch(core.state.epoch, 2, 2, core.state.epoch, 0, 0.5), 0.0)
    assert isinstance(core.state.role, Leader) and core.state.high_watermark < 2
    assert UpdateHighWatermark(2) in core.on_flushed(2, 0.0)


# --- rule 38 ------------------------------------------------------------------------------------------------------


def test_rule_38_a_leader_without_a_majority_resigns() -> None:
    """Fails if a leader goes on for more than 1.5 fetch timeouts when only a minority fetches."""
    core = a_leader()
    core.on_request("f", Fetch(1, 4, 1, 1, -1, 0.5), 2.0)  # an observer is no majority
    core.on_tick(2.999)
    assert isinstance(core.state.role, Leader)
    effects = core.on_tick(3.0)
    assert isinstance(core.state.role, Resigned)
    assert [type(send.request) for send in only(effects, Send)] == [EndQuorumEpoch, EndQuorumEpoch]


def test_rule_38_every_fetch_of_a_majority_extends_the_term() -> None:
    """Fails if the check-quorum timer is not moved by a voter's fetch (with the leader itself: two of three)."""
    core = a_leader()
    core.on_request("f", Fetch(1, 2, 1, 1, -1, 0.5), 2.0)
    core.on_tick(4.9)
    assert isinstance(core.state.role, Leader)
    core.on_tick(5.0)
    assert isinstance(core.state.role, Resigned)


def test_rule_38_a_follower_stands_when_its_leader_is_silent() -> None:
    """Fails if a follower waits for longer than the fetch timeout and its random quarter, or less than the timeout."""
    core, fetch = a_follower()
    core.on_response(fetch.id, FetchAnswer(1, 2), 1.0)
    core.on_tick(2.99)
    assert isinstance(core.state.role, Follower)
    core.on_tick(3.51)
    assert isinstance(core.state.role, Prospective) and core.state.epoch == 1


def test_rule_38_errors_do_not_keep_a_leader_alive() -> None:
    """Fails if an answer with an error pushes back the fetch timeout."""
    core, fetch = a_follower()
    deadline = core.state.role.deadline
    core.on_response(fetch.id, FetchAnswer(1, -1, Err.NOT_LEADER_OR_FOLLOWER), 1.0)
    assert core.state.role.deadline == deadline


def test_rule_38_a_prospective_that_gives_its_vote_stands_back() -> None:
    """Fails if a node goes on asking for pre-votes though it has voted for another, which has an election timeout to win."""
    core = a_node(election_state=ElectionState(1))
    now = core.state.role.deadline
    core.on_tick(now)
    assert isinstance(core.state.role, Prospective)
    assert reply(core.on_request("v", Vote(epoch=1, candidate=3, last_epoch=0, last_offset=0), now)).granted
    assert isinstance(core.state.role, Unattached) and core.state.role.deadline > now


# --- rule 39 ------------------------------------------------------------------------------------------------------


def test_rule_39_everybody_else_gives_it_to_a_log_that_ends_no_earlier() -> None:
    """Fails if the vote given in this epoch, a candidacy or a lost leader hinders it, or the logs are not compared."""
    voted = a_node(election_state=ElectionState(1, voted=2), log="1^ 1a")
    prospective, candidate = a_follower("1^ 1a")[0], a_node()
    prospective.on_tick(prospective.state.role.deadline)
    stand(candidate)
    resigned = a_node(election_state=ElectionState(1, leader=1, voted=1), log="1^ 1a")
    for core in (voted, prospective, candidate, resigned):
        assert reply(core.on_request("p", Vote(1, 3, 1, 9, pre_vote=True), 0.0)).granted
    for core in (voted, prospective, resigned):
        assert not reply(core.on_request("p", Vote(1, 3, 1, 1, pre_vote=True), 0.0)).granted


def test_rule_39_a_prospective_is_found_by_its_leader() -> None:
    """Fails if a node that lost sight of its leader for a while does not follow it again when it is told of it."""
    core, _ = a_follower()
    core.on_tick(now := core.state.role.deadline)
    assert isinstance(core.state.role, Prospective)
    core.on_request("b", BeginQuorumEpoch(1, 2), now)
    assert isinstance(core.state.role, Follower) and core.state.role.leader == 2


# --- what a node asserts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [FetchAnswer(1, 2, diverging=(1, 1)), FetchAnswer(1, 2, snapshot=SnapshotId(1, 1)),
                                  BeginQuorumEpoch(1, 3)], ids=["truncate", "snapshot", "another leader"])
def test_rule_24_a_leader_that_takes_back_what_is_committed_stops_the_node(said: FetchAnswer | BeginQuorumEpoch) -> None:
    """Fails if a follower drops committed records because its leader asks for it, or follows two leaders of one epoch."""
    core, fetch = a_follower("1^ 1a")
    core.on_response(fetch.id, FetchAnswer(1, 2, high_watermark=2), 0.0)
    assert core.state.high_watermark == 2
    with pytest.raises(InvariantViolation):
        core.on_request("b", said, 0.0) if isinstance(said, BeginQuorumEpoch) else core.on_response(
            core.outbox.last_id, said, 0.0)


def a_candidate() -> Raft:
    core = a_node()
    stand(core)
    return core


@pytest.mark.parametrize(("make", "harm", "id"), [
    (a_leader, lambda core, state: setattr(state, "high_watermark", 99), "I-RAFT-6"),
    (a_leader, lambda core, state: setattr(state, "flushed", 99), "I-RAFT-3"),
    (a_leader, lambda core, state: setattr(state, "election_state", ElectionState(1, 1, 2)), "I-RAFT-4 a leader"),
    (a_leader, lambda core, state: setattr(state, "election_state", ElectionState(2, 1, 1)), "I-RAFT-16 the last record"),
    (a_leader, lambda core, state: setattr(state.role, "start_offset", 7), "I-RAFT-16 a leader knows"),
    (a_candidate, lambda core, state: setattr(state, "election_state", ElectionState(1, voted=2)), "I-RAFT-4 a candidate"),
    (lambda: a_follower()[0], lambda core, state: setattr(state.role, "leader", 3), "I-RAFT-8"),
    (a_candidate, lambda core, state: core.outbox.pending.update({99: core.outbox.pending[asked(core, 3)]}), "I-RAFT-15 one"),
    (a_candidate, lambda core, state: setattr(state, "election_state", ElectionState(2, voted=1)), "I-RAFT-15 no request")])
def test_a_node_asserts_its_invariants(make: Callable[[], Raft], harm: Callable[[Raft, QuorumState], object], id: str) -> None:
    """Fails if check() passes a node whose log, role, vote or requests cannot be, or does not pass a healthy one."""
    core = make()
    core.check()
    harm(core, core.state)
    with pytest.raises(AssertionError, match=id):
        core.check()


def test_an_idle_quorum_is_quiet() -> None:
    """Fails if the idle cost grows: per follower two fetches a second and their answers, no more."""
    world, sent = WorldByHand(3), Counter[type]()
    world.on_effect = lambda node, effect: sent.update([type(effect)])
    for id in (1, 2, 3):
        world.start(id)
    world.pass_time(3.0)
    sent.clear()
    world.pass_time(10.0)
    assert sent[Reply] > 10 and sent[Send] + sent[Reply] <= 2 * 2 * 10 * 2 + 4 and set(sent) == {Send, Reply}
