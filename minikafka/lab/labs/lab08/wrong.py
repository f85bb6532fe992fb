"""Wrong solutions of lab 8, each by the mistake that it makes."""
from __future__ import annotations

LIMIT = 10.0


def ask_each(now, fetches, end, rule):
    """Return the members, by a rule over one follower's fetches."""
    return ["C", *(name for name in ("A", "D") if rule(now, [f for f in fetches if f.follower == name], end))]


def last_caught_up(fetches, *, previous=True, at=0):
    moment, before = 0.0, None
    for fetch in fetches:
        if fetch.offset >= fetch.leader_end + at:
            moment = fetch.t
        elif previous and before is not None and fetch.offset >= before.leader_end:
            moment = before.t
        before = fetch
    return moment


def at_the_end(fetches, end):
    return bool(fetches) and fetches[-1].offset == end


def by_count(now, fetches, end):
    """Ask how many records are missing: replica.lag.max.messages, as Kafka had it until 0.8."""
    return ask_each(now, fetches, end, lambda now, own, end: bool(own) and end - own[-1].offset <= 20)


def by_age(now, fetches, end):
    """Ask whether the newest record of the follower was written at most LIMIT seconds ago."""
    def rule(now, own, end):
        newest = own[-1].offset if own else 0
        written = next((f.t for f in fetches if f.leader_end >= newest), now)
        return at_the_end(own, end) or now - written <= LIMIT
    return ask_each(now, fetches, end, rule)


def by_last_fetch(now, fetches, end):
    """Ask only whether the follower has fetched lately."""
    return ask_each(now, fetches, end, lambda now, own, end: bool(own) and now - own[-1].t <= LIMIT)


def never_looks_again(now, fetches, end):
    """Judge at the time of the last fetch instead of now."""
    return ask_each(now, fetches, end, lambda now, own, end: not own or own[-1].t - last_caught_up(own) <= LIMIT)


def sharp(now, fetches, end):
    """Ask for less than the limit, where at most the limit is right."""
    return ask_each(now, fetches, end, lambda now, own, end: at_the_end(own, end) or now - last_caught_up(own) < LIMIT)


def end_of_now_only(now, fetches, end):
    return ask_each(now, fetches, end,
                    lambda now, own, end: at_the_end(own, end) or now - last_caught_up(own, previous=False) <= LIMIT)


def one_short_is_enough(now, fetches, end):
    return ask_each(now, fetches, end, lambda now, own, end: at_the_end(own, end) or now - last_caught_up(own, at=-1) <= LIMIT)


def nobody_writes(now, fetches, end):
    """Forget that a follower that has everything is in sync, however long it has been silent."""
    return ask_each(now, fetches, end, lambda now, own, end: now - last_caught_up(own) <= LIMIT)


RIGHT = {(1, False): (12, False, 0), (1, True): (12, True, 12), (2, False): (0, True, 0), (2, True): (0, True, 0)}


def replaced_ones_count_as_kept(acknowledged, readable):
    offsets = {offset for offset, _ in readable}
    return [(offset, value, None) for offset, value in acknowledged if offset not in offsets]


def by_value_only(acknowledged, readable):
    values, found = {value for _, value in readable}, dict(readable)
    return [(offset, value, found.get(offset)) for offset, value in acknowledged if value not in values]


def side_by_side(acknowledged, readable):
    """Compare the lists place by place, as if both began at 0 and had no holes."""
    padded = [value for _, value in readable] + [None] * len(acknowledged)
    return [(offset, value, there) for (offset, value), there in zip(acknowledged, padded) if there != value]


def only_the_end(acknowledged, readable):
    end = max((offset for offset, _ in readable), default=-1)
    return [(offset, value, None) for offset, value in acknowledged if offset > end]


def in_either_list_only(acknowledged, readable):
    found = dict(readable)
    return [(offset, value, found.get(offset)) for offset, value in set(acknowledged) ^ set(readable)]


WRONG = {
    "8.1": {
        "counts records": by_count,
        "takes the age of the newest record": by_age,
        "takes the last fetch for a sign of health": by_last_fetch,
        "does not look again as time passes": never_looks_again,
        "is one tick too strict": sharp,
        "knows only the end of now": end_of_now_only,
        "lets one record pass": one_short_is_enough,
        "throws out who has everything": nobody_writes,
    },
    "8.2": {
        "believes that acks=all cannot lose": RIGHT | {(1, True): (12, True, 0)},
        "lets min.insync.replicas=2 accept with one": RIGHT | {(2, True): (12, True, 12)},
        "thinks that nobody but the ISR may ever lead": RIGHT | {(2, False): (0, False, 0)},
        "thinks that the clean setting elects somebody": RIGHT | {(1, False): (12, True, 0)},
        "loses records that were never promised": RIGHT | {(2, True): (0, True, 12)},
    },
    "8.3": {
        "looks at offsets only": replaced_ones_count_as_kept,
        "looks at values only": by_value_only,
        "compares place by place": side_by_side,
        "looks only behind the end": only_the_end,
        "counts what was never promised": in_either_list_only,
    },
}
