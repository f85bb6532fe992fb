"""The small worlds: one part of the broker alone, with a clock and its events, every answer judged. A seed takes milliseconds.

    WORLDS["log"][0](seed)     () if the part kept its rules, else what it did

Owns: which worlds there are, and how many of their seeds go with one seed of whole clusters. The quorum alone is no less a
small world, but has faults and coverage of its own: proof/small_worlds/raft.
"""

from __future__ import annotations

from collections.abc import Callable

from minikafka.proof.small_worlds.controller.controller_life import controller_alone
from minikafka.proof.small_worlds.controller.lone_election import elections_alone
from minikafka.proof.small_worlds.groups.assignors_life import assignors_alone
from minikafka.proof.small_worlds.groups.group_life import classic_group_alone, consumer_group_alone, mixed_group_alone
from minikafka.proof.small_worlds.groups.offsets_life import offsets_alone
from minikafka.proof.small_worlds.logs import lone_batch, lone_metadata_log
from minikafka.proof.small_worlds.logs.log_life import log_alone, log_dying
from minikafka.proof.small_worlds.replication.fetch_session_life import fetch_sessions_alone
from minikafka.proof.small_worlds.replication.replica_life import replica_alone
from minikafka.proof.small_worlds.transactions.transaction_life import transaction_alone

WORLDS: dict[str, tuple[Callable[[int], tuple[str, ...]], ...]] = {
    "log": (log_alone, log_dying, lone_metadata_log.voter_alone, lone_batch.batch_alone),
    "group": (classic_group_alone, consumer_group_alone, mixed_group_alone, offsets_alone, assignors_alone),
    "controller": (controller_alone, elections_alone),
    "replica": (replica_alone, fetch_sessions_alone),
    "transaction": (transaction_alone,),
}
HELP = {"log": "small world: one log on one disk", "group": "small world: one group",
        "transaction": "small world: one transactional id", "controller": "small world: one controller",
        "replica": "small world: one replica, or the fetch sessions of one broker", "raft": "small world: one quorum"}
PER_CLUSTER = {"log": 3, "group": 2, "replica": 4, "controller": 3, "transaction": 5, "raft": 5}
