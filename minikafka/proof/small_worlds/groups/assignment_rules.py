"""What a target assignment of a consumer group must be: judged by what it is, not by how it is made.

    fair(members, counts, found, assignor)           raises RuleFallen where `found` breaks a rule

Owns: the rules of `uniform` and `range`.
Invariants: every partition of a subscribed topic has one member, and it subscribes to the topic.
            `uniform`: nobody has two partitions more than another who could take one of them.
            `uniform`: an assignment that is good stays; of a single topic, a member keeps its fair share.
            `range`: each topic in contiguous ranges, in order, the longer ones first.
Source: KIP-848 (uniform, range), KIP-54 and KIP-341 (what sticky means).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from functools import partial

from minikafka.broker.groups.consumer.assignors import MemberSubscription
from minikafka.broker.groups.consumer.reconciliation import TopicIdPartition
from minikafka.proof.small_worlds import checks
from minikafka.protocol.record_codec import Uuid

that, same = partial(checks.that, "I12"), partial(checks.same, "I12")
Members = Mapping[str, MemberSubscription]
Found = Mapping[str, Set[TopicIdPartition]]


def fair(members: Members, counts: Mapping[Uuid, int], found: Found, assignor: str) -> None:
    """Judge the assignment of an assignor to `members`, whose `target` is their last one."""
    wanted = {(topic, index) for topic, count in counts.items() for index in range(count)
              if any(topic in one.topics for one in members.values())}
    same("the partitions that have a member", Counter(p for m in members for p in found.get(m, ())), Counter(wanted))
    for m, one in members.items():
        that(all(topic in one.topics for topic, _ in found.get(m, ())), f"{m} is given what it does not subscribe to")
    if assignor == "range":
        _ranges(members, counts, found)
        return
    that(_even(members, found), "one member has two more than another that could take one")
    last = {m: {p for p in one.target if p in wanted and p[0] in one.topics} for m, one in members.items()}
    if {p for held in last.values() for p in held} == wanted and _even(members, last):
        same("an assignment that was good", {m: {*found.get(m, ())} for m in members}, last)
    if len({topic for topic, _ in wanted}) == 1:
        takers = [m for m, one in members.items() if any(topic in one.topics for topic, _ in wanted)]
        for m in takers:
            kept = len(last[m] & found.get(m, set()))
            that(kept >= min(len(last[m]), len(wanted) // len(takers)), f"{m} keeps {kept} of {len(last[m])}")


def _even(members: Members, found: Found) -> bool:
    """Return whether no partition could move to a member that has two fewer."""
    loads = {m: len(found.get(m, ())) for m in members}
    least: dict[Uuid, int] = {}
    for m, one in members.items():
        for topic in one.topics:
            least[topic] = min(least.get(topic, loads[m]), loads[m])
    return all(loads[m] - least[topic] < 2 for m in members for topic, _ in found.get(m, ()))


def _ranges(members: Members, counts: Mapping[Uuid, int], found: Found) -> None:
    static = sorted((one.instance_id, m) for m, one in members.items() if one.instance_id is not None)
    order = [m for _, m in static] + sorted(m for m, one in members.items() if one.instance_id is None)
    for topic, count in counts.items():
        parts = [sorted(index for t, index in found.get(m, ()) if t == topic) for m in order if topic in members[m].topics]
        if parts:
            same("the ranges in order", [index for part in parts for index in part], [*range(count)])
            sizes = [len(part) for part in parts]
            that(sizes == sorted(sizes, reverse=True) and sizes[0] - sizes[-1] < 2, f"ranges of {sizes} partitions")
