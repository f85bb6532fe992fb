"""The preferred read replica: a leader sends a consumer to a follower in the consumer's own rack (KIP-392).

The leader chooses, since it alone knows how far each follower is. The follower then serves up to its own high
watermark, which is one fetch behind the leader's: the way is shorter, the record comes a little later.

Owns: choose(), the rule of Kafka's RackAwareReplicaSelector, and the followers it may choose from.
Invariants
  I-RACK-1  only a live member of the ISR that has the requested offset is suggested: a consumer that was sent to a follower
            without that offset would come back at once, be sent there again, and so on.
  I-RACK-2  a leader in the consumer's own rack suggests no other replica.

What Kafka does differently: the selector is any class on the broker's classpath, the leader being one of its choices.
Source: ReplicaManager.findPreferredReadReplica, RackAwareReplicaSelector, ReplicaView.comparator.
"""

from __future__ import annotations

from collections.abc import Mapping

from minikafka.broker.replication.replica import Replica


def choose(replica: Replica, offset: int, rack: str, racks: Mapping[int, str | None]) -> int | None:
    """Return the follower from which a consumer in `rack` should fetch `offset`; None if it should fetch from this leader.

    `racks` has the rack of each unfenced broker. Of several followers the one with the most records is chosen; then the one
    that was at the log's end last; then the one with the highest id.
    """
    if not rack or racks.get(replica.node_id) == rack:
        return None
    near = [f for f in followers_with(replica, offset) if racks.get(f) == rack]
    known = replica.followers
    return max(near, key=lambda f: (known[f].log_end_offset, known[f].last_caught_up_time, f), default=None)


def followers_with(replica: Replica, offset: int) -> list[int]:
    """Return the followers in the committed ISR whose log, as the leader knows it, contains or ends at `offset`."""
    return [f for f, known in replica.followers.items()
            if f in replica.isr.committed and known.log_start_offset <= offset <= known.log_end_offset]
