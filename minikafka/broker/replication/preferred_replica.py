"""From which replica a consumer had better read: the leader sends it to a follower in its own rack (KIP-392).

Only the leader chooses, since only it knows how far each follower is. The follower then serves up to its own high
watermark, which trails the leader's by a fetch: a shorter way, paid for with a little delay.

Owns: choose(), the rule of Kafka's RackAwareReplicaSelector, and what it may choose from.
Invariants
  I-RACK-1  only a member of the ISR that lives and has the offset asked for is suggested: a consumer that was sent to a
            laggard would come back at once, be sent there again, and so on.
  I-RACK-2  a leader in the consumer's rack suggests nobody.

What Kafka does differently: the selector is any class on the broker's classpath, the leader being one of its choices.
Source: ReplicaManager.findPreferredReadReplica, RackAwareReplicaSelector, ReplicaView.comparator.
"""

from __future__ import annotations

from collections.abc import Mapping

from minikafka.broker.replication.replica import Replica


def choose(replica: Replica, offset: int, rack: str, racks: Mapping[int, str | None]) -> int | None:
    """The follower that a consumer in `rack` should fetch `offset` from; None if it should stay with this leader.

    `racks` are those of the unfenced brokers. Of several the one with most records; then the one that was at the log's
    end last; then the highest id.
    """
    if not replica.is_leader or not rack or racks.get(replica.node_id) == rack:
        return None
    near = [f for f in followers_with(replica, offset) if racks.get(f) == rack]
    known = replica.followers
    return max(near, key=lambda f: (known[f].log_end_offset, known[f].last_caught_up_time, f), default=None)


def followers_with(replica: Replica, offset: int) -> list[int]:
    """The followers in the committed ISR whose log, as the leader knows it, reaches from below `offset` up to it."""
    return [f for f, known in replica.followers.items()
            if f in replica.isr.committed and known.log_start_offset <= offset <= known.log_end_offset]
