"""What is wrong with a request to a group: every fact that speaks against it, in no order.

    wrong = faults.of_heartbeat(group, member_id, instance_id, generation)     before the group is asked
    faults.judge("Heartbeat", wrong, answer)                                   it must be one of them; NONE if there is none

Which of several faults the answer names is Kafka's choice: tests/wire compares that with Kafka. Here each answer must be true,
and a request without a fault must be taken.

Owns: functions that return a set of errors. A group is of either kind; its members are seen by roster().
Source: KIP-345, KIP-394 (classic), KIP-848, KIP-1251 (consumer); rules 57 to 60, 848.
"""

from __future__ import annotations

from collections.abc import Iterable

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import Join, Sync
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import ConsumerGroupHeartbeat
from minikafka.broker.groups.consumer.reconciliation import UNRELEASED, UNREVOKED
from minikafka.broker.groups.group import ConsumerGroupSettings, GroupContext, OffsetCommit
from minikafka.proof.small_worlds.checks import that
from minikafka.protocol.errors import Err

AnyGroup = ClassicGroup | ConsumerGroup
Faults = set[Err]
EMPTY, PREPARING, COMPLETING, DEAD = "Empty", "PreparingRebalance", "CompletingRebalance", "Dead"
BROKEN = ("(", "[a")  # no regular expressions
JOINING, LEAVING, AWAY = 0, -1, -2  # member epochs
KNOWS_EPOCHS = 9  # the first version of OffsetCommit whose clients know member epochs


def judge(what: str, wrong: Faults, answer: Err) -> None:
    """Check that an answer is one of the faults, and NONE only if there is none."""
    fits = answer in wrong if wrong else answer is Err.NONE
    that("I12", fits, f"{what} is answered {answer.name}, and wrong with it is {wrong or None}")


def when(*facts: tuple[Err, object]) -> Faults:
    """Return the errors whose fact is true."""
    return {error for error, fact in facts if fact}


def roster(group: AnyGroup, classic_only: bool = True) -> tuple[dict[str, int], dict[str, str]]:
    """Return the members, each with the generation that its requests must have, and the static ones by instance id."""
    if isinstance(group, ClassicGroup):
        return {m.member_id: group.generation for m in group.members}, dict(group.members.static)
    members = group.state.members.items()
    return ({m: one.current.epoch for m, one in members if one.is_classic or not classic_only},
            {one.metadata.instance_id: m for m, one in members if one.metadata.instance_id is not None})


def of_member(group: AnyGroup, member_id: str, instance: str | None, classic_only: bool = True) -> Faults:
    """Return what is wrong with who sends a request (rule 59 for a static member)."""
    members, static = roster(group, classic_only)
    holder = member_id if instance is None else static.get(instance)
    return when((Err.FENCED_INSTANCE_ID, holder not in (None, member_id)),
                (Err.UNKNOWN_MEMBER_ID, holder is None or member_id not in members))


def of_generation(group: AnyGroup, member_id: str, generation: int) -> Faults:
    return when((Err.ILLEGAL_GENERATION, roster(group)[0].get(member_id, generation) != generation))


# --- requests of classic members ----------------------------------------------------------------------------------------


def of_heartbeat(group: AnyGroup, member_id: str, instance: str | None, generation: int) -> Faults:
    found = of_member(group, member_id, instance) | of_generation(group, member_id, generation)
    if isinstance(group, ClassicGroup):
        return found | when((Err.REBALANCE_IN_PROGRESS, group.state_name == PREPARING))
    me, state = group.state.members.get(member_id), group.state
    if found or me is None:
        return found
    lacks = {*state.targets.get(member_id, ())} - {*me.assigned}
    has_news = me.current.state == UNREVOKED or me.current.state == UNRELEASED and not lacks & state.taken(member_id)
    return when((Err.REBALANCE_IN_PROGRESS, me.current.epoch < state.epoch or has_news))


def of_sync(group: AnyGroup, request: Sync) -> Faults:
    found = of_member(group, request.member_id, request.instance_id)
    found |= of_generation(group, request.member_id, request.generation)
    if isinstance(group, ClassicGroup):
        kind, name, early = group.protocol_type, group.protocol, group.state_name == PREPARING
    elif found:
        return found
    else:
        me = group.state.members[request.member_id]
        kind, name = "consumer", me.metadata.classic.protocols[0].name  # type: ignore[union-attr]
        early = me.current.epoch < group.state.epoch and me.current.state != UNREVOKED
    pairs = (request.protocol_type, kind), (request.protocol_name, name)
    other = any(None not in pair and pair[0] != pair[1] for pair in pairs)
    return found | when((Err.REBALANCE_IN_PROGRESS, early), (Err.INCONSISTENT_GROUP_PROTOCOL, other and not found))


def of_join(group: AnyGroup, request: Join, most: int) -> Faults:
    """Return what is wrong with a JoinGroup; `most` members may be in the group."""
    names = {name for name, _ in request.protocols}
    if isinstance(group, ClassicGroup):
        inside = [m.member_id for m in group.members if group.state_name != PREPARING or m.joining is not None]
        known = [{name for name, _ in m.protocols} for m in group.members]
        kind, fresh, pending = group.protocol_type, group.state_name == EMPTY, group.members.pending
    else:
        inside, kind, fresh, pending = [*group.state.members], "consumer", False, {}
        known = [{one.name for one in m.metadata.classic.protocols} for m in group.state.members.values() if m.metadata.classic]
    fits = request.protocol_type and names if fresh else request.protocol_type == kind and names.intersection(*known)
    found = when((Err.GROUP_MAX_SIZE_REACHED, not fresh and len(inside) >= most and request.member_id not in inside),
                 (Err.INCONSISTENT_GROUP_PROTOCOL, not fits),
                 (Err.MEMBER_ID_REQUIRED, not request.member_id and request.instance_id is None and request.must_return))
    if request.member_id in pending:
        return found | when((Err.UNKNOWN_SERVER_ERROR, request.instance_id is not None))
    if isinstance(group, ClassicGroup):
        return found | (of_member(group, request.member_id, request.instance_id) if request.member_id else set()) | when(
            (Err.UNKNOWN_MEMBER_ID, request.member_id and fresh))
    if request.member_id and request.instance_id is not None:
        found |= of_member(group, request.member_id, request.instance_id, classic_only=False)
    return found | when((Err.UNKNOWN_SERVER_ERROR, fits and len(request.protocols[0][1]) < 2))  # it cannot be read


# --- requests of members of the consumer protocol -----------------------------------------------------------------------


def of_any_beat(beat: ConsumerGroupHeartbeat, group_id: str, version: int, settings: ConsumerGroupSettings) -> Faults:
    """Return what is wrong with a ConsumerGroupHeartbeat in every group."""
    joins, needs_id = beat.epoch == JOINING, version >= 1 or beat.epoch == LEAVING or beat.epoch > JOINING
    blank = [text for text in (group_id, beat.instance_id, beat.rack_id) if text is not None and not text.strip()]
    incomplete = beat.rebalance_timeout_ms == -1 or beat.topics is None and beat.regex is None
    owns = beat.owned is None or beat.owned or beat.names_topics
    invalid = (blank or needs_id and not beat.member_id.strip() or joins and (incomplete or owns) or beat.epoch < AWAY
               or beat.epoch == AWAY and beat.instance_id is None)
    return when((Err.INVALID_REQUEST, invalid), (Err.UNSUPPORTED_ASSIGNOR, beat.assignor not in (None, *settings.assignors)))


def of_beat(group: ConsumerGroup, beat: ConsumerGroupHeartbeat, context: GroupContext) -> Faults:
    """Return what is wrong with a valid heartbeat of a member that joins or stays; a classic member gives its place at once."""
    members, static = group.state.members, roster(group, classic_only=False)[1]
    mine, holder = members.get(beat.member_id), static.get(beat.instance_id or "")
    found = when((Err.GROUP_MAX_SIZE_REACHED, mine is None and len(members) >= context.settings.max_size),
                 (Err.INVALID_REGULAR_EXPRESSION, beat.regex in BROKEN))
    if beat.epoch == JOINING and beat.instance_id is not None:
        released = holder is None or members[holder].current.epoch == AWAY or members[holder].is_classic
        return found | when((Err.UNRELEASED_INSTANCE_ID, not released))
    if beat.epoch != JOINING:
        found |= of_member(group, beat.member_id, beat.instance_id, classic_only=False)
    if mine is None or beat.epoch in (JOINING, mine.current.epoch):
        return found
    lost = beat.epoch == mine.current.previous_epoch < mine.current.epoch  # the answer with its present epoch
    fits = lost and beat.owned is not None and {*beat.owned} <= {*mine.assigned}
    return found | when((Err.FENCED_MEMBER_EPOCH, not fits))


def of_leaving(group: ConsumerGroup, beat: ConsumerGroupHeartbeat) -> Faults:
    return of_member(group, beat.member_id, beat.instance_id, classic_only=False)


# --- offsets ------------------------------------------------------------------------------------------------------------


def of_commit(group: AnyGroup, commit: OffsetCommit, partitions: Iterable[object] = ()) -> Faults:
    """Return what is wrong with an OffsetCommit (rules 60, 848). In a consumer group an old epoch will do for partitions that
    the member has had since then."""
    nameless = not commit.member_id and commit.instance_id is None
    producer = nameless and commit.transactional and (isinstance(group, ClassicGroup) or commit.generation == -1)
    if commit.generation < 0 and (group.is_empty or producer):
        return set()
    if isinstance(group, ClassicGroup):
        return (of_member(group, commit.member_id, commit.instance_id) | of_generation(group, commit.member_id, commit.generation)
                | when((Err.REBALANCE_IN_PROGRESS, group.state_name == COMPLETING and not commit.transactional)))
    member, epoch = group.state.members.get(commit.member_id), commit.generation
    if member is None:
        return {Err.UNKNOWN_MEMBER_ID}
    lenient, since = commit.transactional or member.is_classic, member.has
    kept = epoch < member.current.epoch and all(one in since and since[one] <= epoch for one in partitions)  # type: ignore[index]
    stale = Err.ILLEGAL_GENERATION if lenient else Err.STALE_MEMBER_EPOCH
    return when((Err.UNSUPPORTED_VERSION, not lenient and commit.version < KNOWS_EPOCHS),
                (stale, epoch != member.current.epoch and not kept))


def of_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> Faults:
    """Return what is wrong with an OffsetFetch."""
    member = group.state.members.get(member_id or "")
    if member is None:
        return when((Err.UNKNOWN_MEMBER_ID, member_id is not None or epoch >= 0))
    stale = Err.ILLEGAL_GENERATION if member.is_classic else Err.STALE_MEMBER_EPOCH
    return when((stale, epoch != member.current.epoch))
