"""The trace: the events of one broker, from which pictures, checks and invariants learn what it did.

Layout of the file: uint32 (big endian) length, then one JSON object: t (monotonic seconds), w (wall milliseconds),
b (broker id), i (incarnation), n (sequence), k (kind) and the fields of the kind. One write call per event, so that a
killed broker leaves whole events and at most one torn tail.

Kinds, each written on change only (tp is "flights-0"; the metadata log is `__cluster_metadata-0` and has the same kinds):

    start{roles, listeners, voters, config}  stop  crash{error}                    a process; config: times in milliseconds
    raft{role, epoch, leader}                                                      this node in the metadata quorum
    vote{epoch, candidate}                                                         a vote that this node keeps on its disk
    broker{id, state}                                                              registered, fenced, unfenced, stopping, ...
    partition{tp, leader, epoch, partition_epoch, isr, replicas, elr}              what the active controller has committed
    role{tp, role, epoch, leader, isr, hw}                                         this replica; of leaders also replicas,
    settings{tp, min_isr, unclean}                                                 min_isr and unclean, again when they change
    isr{tp, isr, leader_epoch, partition_epoch, why}                               the leader's committed ISR
    behind{tp, epoch, follower, behind, check_in, every}                           the leader's stopwatch (partition.py)
    recover{tp, start, leo, epochs, truncated_bytes}                               a log as it was opened: [[epoch, start]]
    append{tp, base, last, epoch, count, bytes}  hw{tp, hw}          hw also has lso where a transaction is open; a leader's
                                                                     append in one: txn (producer id), marker (commit, abort)
    truncate{tp, from, to, records}  log_start{tp, start}  removed{tp}             records are gone; `removed`: the replica is
    compact{tp, clean, before, after}
    group{group, state, generation, members}  commit{group, tp, offset}            of a coordinator; a stable group also has
                                                                                   names and assignment by member id
    lag{ms}                                                                        nobody was served for so long (lag.py)
    transaction{id, state, ...}  fault{fault, ...}                                 a fault on command

What the cluster and watched clients add (b = 0) is listed in cluster/trace.py and cluster/watch.py.

Invariants: I-TRACE-1 (t, b, i, n) orders all events of a cluster; n has no gaps within an incarnation.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable

from minikafka.broker.server.env import Env

_LENGTH = struct.Struct(">I")
_encoded = json.JSONEncoder(separators=(",", ":"), default=str).encode  # json.dumps would make one for each event


class Tracer:
    """A function that writes an event: trace("hw", tp="flights-0", hw=42)."""

    def __init__(self, env: Env, broker: int, incarnation: str, write: Callable[[bytes], None]) -> None:
        self.env, self.broker, self.incarnation, self.write = env, broker, incarnation, write
        self.sequence = 0

    def __call__(self, kind: str, **fields: object) -> None:
        self.sequence += 1
        head = {
            "t": round(self.env.now(), 6),
            "w": self.env.wall_ms(),
            "b": self.broker,
            "i": self.incarnation,
            "n": self.sequence,
            "k": kind,
        }
        body = _encoded(head | fields).encode()
        self.write(_LENGTH.pack(len(body)) + body)
