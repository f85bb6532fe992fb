"""Two elections among three controllers, of the quorum's state machine alone: with a voter's rule, and without a part of it.

    two_candidates()                 101 and 103 ask 102 for its vote at the same time
    short_log()                      103 was cut off, and asks for votes with a log that lacks a committed record

    gives(me, ask)                   what a broker's own voter answers, asked alone
    decides(ends, start, before)     up to where a broker's own leader has decided, asked alone

    with without("votes_twice"):     minikafka.proof.weakened: the voters of this process have lost one part of their rule
        two_candidates()

Owns: the two scenes, and the table of what each controller has in the end. The judge of that small world is switched off here:
it would stop a scene at the first wrong leader, before any harm can be seen.
"""
from __future__ import annotations

from random import Random
from typing import Any

import pandas as pd

from minikafka.broker.raft.effects import ElectionState, Reply, Times
from minikafka.broker.raft.messages import NOBODY, Vote
from minikafka.broker.raft.raft import Raft
from minikafka.broker.raft.roles import NEVER, Leader
from minikafka.proof.small_worlds.raft.disk import RaftDisk
from minikafka.proof.stories.telling.quorum_story import QuorumStory

Voter = dict[str, Any]                              # {"epoch": 7, "voted": None, "last_epoch": 6, "end": 40}; None: nobody
FIRST = 100                                         # controller 101 is node 1 of the small world
RECORDS = {0: "topic positions"}                    # the record that a scene appends, in words


def two_candidates() -> pd.DataFrame:
    """Let the timers of 101 and 103 end in the same moment; they do not reach each other."""
    room = _room()
    room.cut(1, 3)
    room.stand(1)
    room.stand(3)
    room.until(lambda: room.leads(1) or room.leads(3))
    room.passes(0.0005)                             # before a word of the winner has arrived
    return _table(room)


def short_log() -> pd.DataFrame:
    """Commit a record on 101 and 102 while 103 is cut off, kill 101, and let 103 ask 102 for its vote; 102 asks later."""
    room = _room()
    room.stand(1)
    room.until(lambda: min(room.high_watermark(n) for n in (1, 2, 3)) == 1)
    room.cut(1, 3)
    room.cut(2, 3)
    room.append(1)
    room.until(lambda: room.high_watermark(2) == 2)
    room.power_loss(1)
    room.join(2, 3)
    room.restart(2)                                 # it has forgotten that a leader lived, and may vote
    room.passes(0.1)
    room.stand(3)
    room.until(lambda: room.leads(3) or room.leads(2))
    room.passes(0.5)
    return _table(room)


def _room() -> QuorumStory:
    room = QuorumStory(9, False, {"voters": 3})
    for name in ("leads", "commits", "truncates", "appended", "persisted", "recovered"):
        setattr(room.world.oracle, name, _judges_nothing)
    room.start()
    return room


def _judges_nothing(*_: object) -> None:
    """Return, and judge nothing."""


def _table(room: QuorumStory) -> pd.DataFrame:
    rows: dict[str, tuple[Any, ...]] = {}
    for node in room.world.nodes.values():
        state = node.disk.read_election_state()
        role = node.core.state.role_name if node.core is not None else "killed"
        voted = str(FIRST + state.voted) if state.voted > 0 else "-"
        log = [f"{epoch}: {RECORDS.get(value, 'elected')}" for epoch, value in node.disk.entries]
        rows[f"controller {FIRST + node.id}"] = (role, state.epoch, voted, ", ".join(log))
    return pd.DataFrame.from_dict(rows, orient="index", columns=["role", "epoch", "voted for", "its log (epoch: record)"])


def gives(me: Voter, ask: Voter) -> bool:
    """Return whether controller 102, whose epoch, vote and log are `me`, gives its vote: the brokers' state machine is asked."""
    disk = RaftDisk()
    disk.append([(me["last_epoch"], 0)] * me["end"])
    voted = NOBODY if me["voted"] is None else me["voted"]
    core = Raft(102, (101, 102, 103), disk, Times(), Random(0), ElectionState(me["epoch"], NOBODY, voted))
    core.start(0.0)
    effects = core.on_request(None, Vote(ask["epoch"], ask["candidate"], ask["last_epoch"], ask["end"]), 0.0)
    return any(effect.response.granted for effect in effects if isinstance(effect, Reply))


def decides(ends: list[int], start: int, before: int) -> int:
    """Return the high watermark of controller 101, which leads the epoch that begins at `start`: the brokers' state machine is
    asked."""
    disk, voters = RaftDisk(), tuple(range(FIRST + 1, FIRST + 1 + len(ends)))
    disk.append([(1, 0)] * max(ends))
    core = Raft(voters[0], voters, disk, Times(), Random(0), ElectionState(1, voters[0], voters[0]))
    core.state.high_watermark = before
    core.replication.advance_as_leader(Leader(start, voters, voters[0], 2.0, NEVER, NEVER, dict(zip(voters, ends))), 0.0)
    return core.state.high_watermark
