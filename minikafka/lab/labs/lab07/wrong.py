"""Wrong solutions of lab 7, each by the mistake that it makes."""
from __future__ import annotations

# --- 7.2 ----------------------------------------------------------------------------------------------------------

def of_all_replicas(acks, near, far, isr):
    return 0 if acks == 0 else 2 * near + (2 * max(far.values()) if acks == "all" else 0)


def one_way_only(acks, near, far, isr):
    return 0 if acks == 0 else 2 * near + (max((far[b] for b in isr if b in far), default=0) if acks == "all" else 0)


def the_followers_one_after_the_other(acks, near, far, isr):
    return 0 if acks == 0 else 2 * near + (2 * sum(far[b] for b in isr if b in far) if acks == "all" else 0)


def the_fastest_is_enough(acks, near, far, isr):
    return 0 if acks == 0 else 2 * near + (2 * min((far[b] for b in isr if b in far), default=0) if acks == "all" else 0)


def waits_for_nobodys_answer(acks, near, far, isr):
    return 2 * near + (2 * max((far[b] for b in isr if b in far), default=0) if acks == "all" else 0)


# --- 7.5 ----------------------------------------------------------------------------------------------------------

def compares_counts(acknowledged, readable):
    return {"lost": max(0, len(acknowledged) - len(readable)), "duplicates": len(readable) - len(set(readable)),
            "unpromised": max(0, len(set(readable)) - len(acknowledged))}


def what_is_readable_and_not_promised_is_lost(acknowledged, readable):
    return {"lost": len(set(readable) - set(acknowledged)), "duplicates": len(readable) - len(set(readable)),
            "unpromised": len(set(acknowledged) - set(readable))}


def counts_places(acknowledged, readable):
    lost = sum(a != r for a, r in zip(acknowledged, readable)) + max(0, len(acknowledged) - len(readable))
    return {"lost": lost, "duplicates": len(readable) - len(set(readable)), "unpromised": len(set(readable) - set(acknowledged))}


def every_copy_of_a_double(acknowledged, readable):
    return {"lost": len(set(acknowledged) - set(readable)), "duplicates": sum(readable.count(v) > 1 for v in readable),
            "unpromised": len(set(readable) - set(acknowledged))}


# --- 7.7 ----------------------------------------------------------------------------------------------------------

def _story(room, acks, fault, at=300, count=1000):
    writer = room.writer(acks, rate=1000, count=count)
    room.until_sent(writer, at)
    fault(room.cluster)
    room.until_sent(writer, count)
    writer.finish()
    room.cluster.mend()
    return room, writer


def a_follower_dies(room, acks):
    room, writer = _story(room, acks, lambda cluster: cluster.kill(2))
    return len(room.lost(writer))


def the_leader_retires(room, acks):
    room, writer = _story(room, acks, lambda cluster: cluster.stop(1))
    return len(room.lost(writer))


def dies_when_all_is_over(room, acks):
    room, writer = _story(room, acks, lambda cluster: cluster.kill(1), at=1000)
    return len(room.lost(writer))


def stops_writing_at_the_kill(room, acks):
    writer = room.writer(acks, rate=1000, count=1000)
    room.until_sent(writer, 300)
    room.cluster.kill(1)
    writer.finish()
    room.cluster.restart(1)
    return len(room.lost(writer))


def subtracts(room, acks):
    room, writer = _story(room, acks, lambda cluster: cluster.kill(1))
    return writer.sent - len(writer.acked)


# --- 7.10 ---------------------------------------------------------------------------------------------------------

def safety_first(need, table):
    return "all"


def only_the_clock(need, table):
    return next((acks for acks, price in table.items() if price.ms <= need.ms), None)


def the_safest_that_is_in_time(need, table):
    fits = [acks for acks, price in table.items() if price.ms <= need.ms and (price.notices or not need.notice)]
    return min(fits, key=lambda acks: table[acks].lost) if fits else None


def forgets_to_notice(need, table):
    fits = [acks for acks, price in table.items() if price.ms <= need.ms and price.lost <= need.lost]
    return fits[0] if fits else None


def always_something(need, table):
    fits = [acks for acks, p in table.items() if p.ms <= need.ms and p.lost <= need.lost and (p.notices or not need.notice)]
    return fits[0] if fits else "all"


WRONG = {
    "7.2": {
        "waits for replicas that are out of sync": of_all_replicas,
        "forgets the follower's way back": one_way_only,
        "asks one follower after the other": the_followers_one_after_the_other,
        "one follower is enough": the_fastest_is_enough,
        "waits for an answer with acks=0": waits_for_nobodys_answer,
    },
    "7.5": {
        "compares counts": compares_counts,
        "mixes up lost and unpromised": what_is_readable_and_not_promised_is_lost,
        "compares place by place": counts_places,
        "counts every copy of a double": every_copy_of_a_double,
    },
    "7.7": {
        "kills a follower": a_follower_dies,
        "stops the leader politely": the_leader_retires,
        "kills the leader when all is written": dies_when_all_is_over,
        "stops writing at the kill": stops_writing_at_the_kill,
        "takes what was not acknowledged for what is lost": subtracts,
    },
    "7.10": {
        "always the safest": safety_first,
        "looks at the latency only": only_the_clock,
        "takes the safest that is in time, however much it loses": the_safest_that_is_in_time,
        "forgets that somebody must notice": forgets_to_notice,
        "cannot say no": always_something,
    },
}
