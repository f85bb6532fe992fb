"""What Kafka's rules say of brokers' registrations, heartbeats and silence: asked a second time, from a book of what was heard.

    book = BrokerBook(session_s, ...)
    error, wanted = book.registers(cluster, registration, offset, now)      the error or None, the cluster as it must follow
    answer, wanted = book.beats(cluster, heartbeat, offset, now)
    wanted = book.ticks(cluster, now)

Owns: when each broker was heard, how far it has read the metadata, since when it stops; when preferred leaders come back and
unclean elections are held.
Source: KIP-631, KIP-841, KIP-966; rules 29 to 33.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from minikafka.broker.controller.controller import Registration
from minikafka.broker.controller.heartbeats import BrokerHeartbeat
from minikafka.broker.metadata.records import NO_LEADER
from minikafka.broker.metadata.registrations import BrokerRegistration
from minikafka.proof.small_worlds.controller.cluster_seen import ClusterSeen, Place
from minikafka.proof.small_worlds.controller.election_rules import Wish, follows
from minikafka.protocol.errors import Err

NEVER = float("inf")
Heard = tuple[bool, bool, bool] | Err  # has it read its registration, is it fenced, may it exit


@dataclass
class BrokerHeard:
    """The news of one broker since its controller began, or since it registered."""

    at: float
    serves: bool
    has_read: int = -1  # of the metadata
    exits_after: int | None = None  # all others must have read this far before it exits


class BrokerBook:
    """The book of one controller; another one begins its own."""

    def __init__(self, cluster: ClusterSeen, cluster_id: str, session_s: float, balance_s: float | None, unclean_s: float,
                 idle_s: float, most_elections: int, now: float) -> None:
        self.cluster_id, self.session_s, self.most_elections = cluster_id, session_s, most_elections
        self.balance_s, self.unclean_s, self.idle_s = balance_s, unclean_s, idle_s
        self.balances_at = NEVER if balance_s is None else now + balance_s
        self.elects_at = now + unclean_s
        self.moves_at = now + idle_s
        self.heard = {broker: BrokerHeard(now, not one.fenced) for broker, one in cluster.brokers.items()}

    @property
    def next_deadline(self) -> float:
        silences = [one.at + self.session_s for one in self.heard.values() if one.serves]
        return min([*silences, self.balances_at, self.elects_at, self.moves_at])

    # --- registrations --------------------------------------------------------------------------------------------

    def registers(self, cluster: ClusterSeen, wanted: Registration, offset: int, now: float) -> tuple[Err | int, ClusterSeen]:
        """Return the refusal or the broker epoch, and what must follow."""
        known, heard = cluster.brokers.get(wanted.broker), self.heard.get(wanted.broker)
        again = known is not None and known.incarnation == wanted.incarnation
        if wanted.cluster_id != self.cluster_id:
            return Err.INCONSISTENT_CLUSTER_ID, cluster
        if heard is not None and heard.serves and now - heard.at < self.session_s and not again:
            return Err.DUPLICATE_BROKER_REGISTRATION, cluster
        able = {one.name: range(one.min_supported_version, one.max_supported_version + 1) for one in wanted.features}
        if any(level not in able.get(name, (0,)) for name, level in cluster.features.items()):
            return Err.UNSUPPORTED_VERSION, cluster
        after = cluster.draft()
        changed = 0
        if known is not None and not again:
            changed = leave(after, wanted.broker, lost=wanted.previous_epoch != known.epoch)
        offset += changed
        epoch = known.epoch if known is not None and again else offset
        after.brokers[wanted.broker] = BrokerRegistration(
            wanted.broker, epoch, wanted.incarnation, wanted.listeners, wanted.rack,
            known.fenced if known is not None and again else True,
            known is not None and again and known.in_controlled_shutdown, wanted.features, wanted.log_dirs, offset)
        self.heard[wanted.broker] = BrokerHeard(now, not after.brokers[wanted.broker].fenced)
        return epoch, after

    def unregisters(self, cluster: ClusterSeen, broker: int) -> tuple[Err | None, ClusterSeen]:
        """Return the refusal, if any, and what must follow."""
        if broker not in cluster.brokers:
            return Err.BROKER_ID_NOT_REGISTERED, cluster
        after = cluster.draft()
        leave(after, broker, lost=True)
        del after.brokers[broker], self.heard[broker]
        return None, after

    # --- heartbeats -----------------------------------------------------------------------------------------------

    def beats(self, cluster: ClusterSeen, beat: BrokerHeartbeat, offset: int, now: float) -> tuple[Heard, ClusterSeen]:
        """Return the answer to a heartbeat, and what must follow."""
        broker, heard = cluster.brokers.get(beat.broker), self.heard.get(beat.broker)
        if broker is None or heard is None or broker.epoch != beat.broker_epoch:
            return Err.STALE_BROKER_EPOCH, cluster
        after = cluster.draft()
        ready = beat.metadata_offset >= broker.registration_offset
        leads = any(p.leader == beat.broker for p in cluster.partitions.values())
        serves, exits = heard.serves, False
        if heard.exits_after is not None:
            exits = not leads and all(one.has_read >= heard.exits_after for one in self.heard.values()
                                      if one.serves and one.exits_after is None)
        elif heard.serves and beat.want_shut_down and leads and not beat.want_fence:
            stopping = leave(after, beat.broker) + (not broker.in_controlled_shutdown)
            after.brokers[beat.broker] = replace(broker, in_controlled_shutdown=True)
            heard.exits_after = offset + stopping - 1
        elif beat.want_shut_down:
            exits = True
        else:
            serves = (serves or ready) and not beat.want_fence
        serves = serves and not exits
        if exits or serves != heard.serves:
            self._begins_or_ends(after, beat.broker, serves)
        heard.at, heard.has_read, heard.serves = now, beat.metadata_offset, serves
        heard.exits_after = heard.exits_after if serves else None
        return (ready, not serves, exits), after

    @staticmethod
    def _begins_or_ends(after: ClusterSeen, broker: int, serves: bool) -> None:
        """Change what follows when a broker begins to serve, or is fenced."""
        if serves:
            elect(after, [place for place, p in after.partitions.items() if p.leader == NO_LEADER], coming=broker)
        else:
            leave(after, broker)
        after.brokers[broker] = replace(after.brokers[broker], fenced=not serves)

    # --- time -----------------------------------------------------------------------------------------------------

    def ticks(self, cluster: ClusterSeen, now: float) -> ClusterSeen:
        """Return what must follow the one thing that is due first."""
        after = cluster.draft()
        silent = sorted((one.at, broker) for broker, one in self.heard.items()
                        if one.serves and now - one.at >= self.session_s)
        if silent:
            broker = silent[0][1]
            self._begins_or_ends(after, broker, False)
            self.heard[broker].serves, self.heard[broker].exits_after = False, None
        elif self.balance_s is not None and self.balances_at <= now:
            self.balances_at = now + self.balance_s
            self._balance(cluster, after)
        elif self.elects_at <= now:
            self.elects_at = now + self.unclean_s
            elect(after, [place for place, p in cluster.partitions.items()
                          if p.leader == NO_LEADER and cluster.around(p.topic).unclean])
        elif self.moves_at <= now:
            self.moves_at = now + self.idle_s  # a record without effect
        return after

    def _balance(self, cluster: ClusterSeen, after: ClusterSeen) -> None:
        left = self.most_elections
        for place, p in cluster.partitions.items():
            better = follows(p, cluster.around(p.topic), Wish(preferred=True))
            if p.leader != p.replicas[0] and better != p and left > 0:
                after.partitions[place] = better
                left -= 1


def elect(after: ClusterSeen, places: Iterable[Place], leaving: int | None = None, coming: int | None = None,
          lost: bool = False) -> int:
    """Hold an election in each of these places; return how many partitions it changes."""
    changed = 0
    for place in places:
        before = after.partitions[place]
        around = after.around(before.topic, leaving, coming)
        wish = Wish(tuple(r for r in before.isr if r != leaving), anybody=around.unclean, without_data=leaving if lost else None)
        after.partitions[place] = follows(before, around, wish)
        changed += after.partitions[place] != before
    return changed


def leave(after: ClusterSeen, broker: int, lost: bool = False) -> int:
    """Take a broker out of every ISR and, if it has `lost` its data, every ELR; return how many partitions that changes."""
    return elect(after, [place for place, p in after.partitions.items() if broker in p.isr or lost and broker in p.elr],
                 leaving=broker, lost=lost)
