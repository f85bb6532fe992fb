"""Wrong answers to the exercises of lab 7, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

from collections import Counter
from statistics import mean

from solutions.right.lab07 import FLUSHES, a_dictionary, account_by_sets, fail_in_a_row, latency_by_ifs

# --- 7.2 --------------------------------------------------------------------------------------------------------------


def waits_for_nobodys_answer(acks, near, far, isr):
    return 2 * near + (2 * max((far[b] for b in isr if b in far), default=0) if acks == "all" else 0)


def latency_one_way_to_followers(acks, near, far, isr):
    return latency_by_ifs(acks, near, {broker: delay / 2 for broker, delay in far.items()}, isr)


def latency_of_the_sum(acks, near, far, isr):
    return 2 * near * bool(acks) + 2 * sum(far[broker] for broker in isr if broker in far) * (acks == "all")


def latency_of_all_replicas(acks, near, far, isr):
    return latency_by_ifs(acks, near, far, far)


def latency_of_the_nearest(acks, near, far, isr):
    return 2 * near * bool(acks) + 2 * min((far[broker] for broker in isr if broker in far), default=0) * (acks == "all")


def latency_of_the_mean(acks, near, far, isr):
    return 2 * near * bool(acks) + 2 * mean([far[broker] for broker in isr if broker in far] or [0]) * (acks == "all")


def latency_of_0_is_a_way(acks, near, far, isr):
    return near if acks == 0 else latency_by_ifs(acks, near, far, isr)


def latency_of_every_member(acks, near, far, isr):
    return 0 if acks == 0 else 2 * near + (2 * max(far[broker] for broker in isr) if acks == "all" else 0)


def latency_of_followers_at_least(acks, near, far, isr):
    return 0 if acks == 0 else 2 * near + (2 * max(far[broker] for broker in isr if broker in far) if acks == "all" else 0)


def latency_without_the_client(acks, near, far, isr):
    return 2 * max((far[broker] for broker in isr if broker in far), default=near) if acks == "all" else latency_by_ifs(acks, near, far, isr)


def latency_of_a_number(acks, near, far, isr):
    'Knows "all" as -1 only.'
    return latency_by_ifs("all" if acks == -1 else min(1, int(acks != 0)), near, far, isr)


def latency_of_1_waits_too(acks, near, far, isr):
    return latency_by_ifs("all" if acks == 1 else acks, near, far, isr)


def latency_one_way(acks, near, far, isr):
    return latency_by_ifs(acks, near, far, isr) / 2


def latency_with_two_faults(acks, near, far, isr):
    "Everybody, one after the other."
    return bool(acks) * 2 * near + (acks == "all") * 2 * sum(far.values())


# --- 7.4 --------------------------------------------------------------------------------------------------------------


def counts_places(acknowledged, readable):
    lost = sum(a != r for a, r in zip(acknowledged, readable)) + max(0, len(acknowledged) - len(readable))
    return {"lost": lost, "duplicates": len(readable) - len(set(readable)), "unpromised": len(set(readable) - set(acknowledged))}


def account_by_lengths(acknowledged, readable):
    missing = len(acknowledged) - len(readable)
    return {"lost": max(0, missing), "duplicates": 0, "unpromised": max(0, -missing)}


def account_of_values_twice(acknowledged, readable):
    "How many values are there more than once, not how many copies are too many."
    return {**account_by_sets(acknowledged, readable), "duplicates": sum(times > 1 for times in Counter(readable).values())}


def account_of_all_copies(acknowledged, readable):
    return {**account_by_sets(acknowledged, readable), "duplicates": sum(times for times in Counter(readable).values() if times > 1)}


def account_of_promised_copies(acknowledged, readable):
    found = Counter(readable)
    return {**account_by_sets(acknowledged, readable), "duplicates": sum(max(0, found[value] - 1) for value in acknowledged)}


def account_of_unpromised_copies(acknowledged, readable):
    return {**account_by_sets(acknowledged, readable), "unpromised": sum(value not in acknowledged for value in readable)}


def account_turned_round(acknowledged, readable):
    right = account_by_sets(acknowledged, readable)
    return {**right, "lost": right["unpromised"], "unpromised": right["lost"]}


def account_of_duplicates_as_lost(acknowledged, readable):
    "Takes each copy for the record of somebody else."
    return {**account_by_sets(acknowledged, readable), "lost": len(acknowledged) - len(readable)}


def account_as_sets(acknowledged, readable):
    promised, there = set(acknowledged), set(readable)
    return {"lost": promised - there, "duplicates": {v for v in there if readable.count(v) > 1}, "unpromised": there - promised}


def account_as_a_tuple(acknowledged, readable):
    return tuple(account_by_sets(acknowledged, readable).values())


def account_with_another_name(acknowledged, readable):
    right = account_by_sets(acknowledged, readable)
    return {"lost": right["lost"], "duplicate": right["duplicates"], "unpromised": right["unpromised"]}


def account_with_two_faults(acknowledged, readable):
    "Lost by lengths, and copies counted as unpromised."
    return {"lost": abs(len(acknowledged) - len(readable)), "duplicates": 0, "unpromised": len(readable) - len(acknowledged)}


# --- 7.6 --------------------------------------------------------------------------------------------------------------


def _story(room, acks, fault, at=300, count=1000):
    writer = room.writer(acks, rate=1000, count=count)
    room.until_sent(writer, at)
    fault(room.cluster)
    room.until_sent(writer, count)
    writer.finish()
    room.cluster.mend()
    return room, writer


def the_leader_retires(room, acks):
    room, writer = _story(room, acks, lambda cluster: cluster.stop(1))
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


def fail_without_the_rest(room, acks):
    "`finish` does not wait for what is not sent yet."
    writer = room.writer(acks, rate=1000, count=1000)
    room.until_sent(writer, 333)
    room.cluster.kill(1)
    writer.finish()
    room.cluster.restart(1)
    return len(room.lost(writer))


def fail_in_peace(room, acks):
    "A record a second: none is under way."
    writer = room.writer(acks, rate=10, count=300)
    room.until_sent(writer, 100)
    room.cluster.kill(1)
    room.until_sent(writer, 300)
    writer.finish()
    room.cluster.restart(1)
    return len(room.lost(writer))


def fail_back_before_finish(room, acks):
    writer = room.writer(acks, rate=1000, count=1000)
    room.until_sent(writer, 333)
    room.cluster.kill(1)
    room.until_sent(writer, 1000)
    room.cluster.restart(1)
    writer.finish()
    return len(room.lost(writer))


def fail_back_at_once(room, acks):
    writer = room.writer(acks, rate=1000, count=1000)
    room.until_sent(writer, 333)
    room.cluster.kill(1)
    room.cluster.restart(1)
    writer.finish()
    return len(room.lost(writer))


def fail_never(room, acks):
    writer = room.writer(acks, rate=1000, count=1000)
    room.until_sent(writer, 1000)
    writer.finish()
    return len(room.lost(writer))


def fail_never_back(room, acks):
    writer = room.writer(acks, rate=1000, count=1000)
    room.until_sent(writer, 333)
    room.cluster.kill(1)
    room.until_sent(writer, 1000)
    writer.finish()
    return len(room.lost(writer))


def fail_too_late(room, acks):
    writer = room.writer(acks, rate=1000, count=1000)
    room.until_sent(writer, 1000)
    writer.finish()
    room.cluster.kill(1)
    room.cluster.restart(1)
    return len(room.lost(writer))


def fail_too_early(room, acks):
    room.cluster.kill(1)
    writer = room.writer(acks, rate=1000, count=1000)
    writer.finish()
    room.cluster.restart(1)
    return len(room.lost(writer))


def fail_at_two_thirds(room, acks):
    writer = room.writer(acks, rate=1000, count=1000)
    room.until_sent(writer, 667)
    room.cluster.kill(1)
    writer.finish()
    room.cluster.restart(1)
    return len(room.lost(writer))


def fail_a_follower(room, acks):
    writer = room.writer(acks, rate=1000, count=1000)
    room.until_sent(writer, 333)
    room.cluster.kill(2)
    writer.finish()
    room.cluster.restart(2)
    return len(room.lost(writer))


def fail_with_one_mode(room, acks):
    return fail_in_a_row(room, 1)


def fail_and_list(room, acks):
    writer = room.writer(acks, rate=1000, count=1000)
    room.until_sent(writer, 333)
    room.cluster.kill(1)
    writer.finish()
    room.cluster.restart(1)
    return room.lost(writer)


def fail_and_count_the_rest(room, acks):
    return 1000 - fail_in_a_row(room, acks)


def fail_from_memory(room, acks):
    return {0: 9, 1: 6}.get(acks, 0)


def fail_with_two_faults(room, acks):
    "At two thirds, and back before `finish`."
    writer = room.writer(acks, rate=1000, count=1000)
    room.until_sent(writer, 667)
    room.cluster.kill(1)
    room.until_sent(writer, 1000)
    room.cluster.restart(1)
    writer.finish()
    return len(room.lost(writer))


# --- 7.8 --------------------------------------------------------------------------------------------------------------


def but(**others):
    return {**a_dictionary(), **others}


# --- 7.9 -------------------------------------------------------------------------------------------------------------------


def instead(old, new):
    assert old in FLUSHES
    return FLUSHES.replace(old, new)


SAFE = ', "acks": "all", "enable.idempotence": True'


WRONG = {
    "7.2": {
        "waits for an answer with acks=0": (waits_for_nobodys_answer, ""),
        "one way to the followers": (latency_one_way_to_followers, r"said 7 ms, it is 12 ms: .* one way and back"),
        "adds the followers up": (latency_of_the_sum, r"said 22 ms, it is 12 ms: .* at the same time"),
        "waits for all replicas": (latency_of_all_replicas, r"(?s)every follower in sync must have it.* broker 3: 50 ms one way   \(not in sync\)"),
        "the nearest follower": (latency_of_the_nearest, r"broker 3 is the farthest"),
        "the mean": (latency_of_the_mean, r"broker 3 is the farthest"),
        "acks=0 waits for the way": (latency_of_0_is_a_way, r"acks=0: .* nobody answers"),
        "looks for the leader among the followers": (latency_of_every_member, r"(?s)KeyError: 1.*isr=\[1, 2, 3\]"),
        "needs a follower": (latency_of_followers_at_least, r"(?s)max\(\) .*isr=\[1\]"),
        "forgets the client": (latency_without_the_client, r"said 10 ms, it is 12 ms: .* the client has its own way"),
        'knows no "all"': (latency_of_a_number, r"acks=all: you said 2 ms"),
        "acks=1 waits for followers": (latency_of_1_waits_too, r"acks=1: .* to the leader and back"),
        "one way": (latency_one_way, r"acks=1: you said 1 ms, .* and back"),
        "two faults: all replicas, added up": (latency_with_two_faults, r"at the same time"),
    },
    "7.4": {
        "compares place by place": (counts_places, ""),
        "lengths": (account_by_lengths, r"lost: you said 0, it is 1: c"),
        "values that are there twice": (account_of_values_twice, r"duplicates: you said 1, it is 2: a, a"),
        "all copies": (account_of_all_copies, r"duplicates: you said 2, it is 1: a"),
        "copies of what was promised": (account_of_promised_copies, r"duplicates: you said 0, it is 1: c"),
        "copies of what was not": (account_of_unpromised_copies, r"unpromised: you said 2, it is 1: c"),
        "turned round": (account_turned_round, r"lost: you said 0, it is 1: c"),
        "copies fill gaps": (account_of_duplicates_as_lost, r"lost: you said 0, it is 1: c"),
        "sets, not numbers": (account_as_sets, r"a number is wanted"),
        "a tuple": (account_as_a_tuple, r"a dictionary .* is wanted"),
        "another name": (account_with_another_name, r"has no 'duplicates'; its keys are"),
        "two faults: lengths, and copies as unpromised": (account_with_two_faults, r"lost: you said 0, it is 1: c"),
    },
    "7.6": {
        "stops the leader politely": (the_leader_retires, ""),
        "stops writing at the kill": (stops_writing_at_the_kill, ""),
        "takes what was not acknowledged for what is lost": (subtracts, ""),
        "finishes before the rest is sent": (fail_without_the_rest, r"sent 351 of its 1000 records"),
        "sends ten a second": (fail_in_peace, r"send a thousand a second"),
        "back before finish": (fail_back_before_finish, r"came back when \d+ records still waited"),
        "back at once": (fail_back_at_once, r"came back when \d+ records still waited"),
        "never": (fail_never, r"(?s)must be the kill -9 .*no fault"),
        "never back": (fail_never_back, r"is the broker that you killed back\?"),
        "killed when all is over": (fail_too_late, r"1000 of 1000 .* at about a third"),
        "killed before the first record": (fail_too_early, r" 0 of 1000 .* at about a third"),
        "at two thirds": (fail_at_two_thirds, r"701 of 1000 .* at about a third"),
        "kills a follower": (fail_a_follower, r"(?s)of the leader, broker 1.*kill 2"),
        "one mode": (fail_with_one_mode, r"the acks that you are given, 0; yours has 1"),
        "the values, not how many": (fail_and_list, r"a number is wanted"),
        "those that are there": (fail_and_count_the_rest, r"counted 991 lost, the check finds 9"),
        "from memory": (fail_from_memory, r"start one writer"),
        "two faults: too late, and back before finish": (fail_with_two_faults, r"701 of 1000 .* at about a third"),
    },
    "7.8": {
        "the safest for all": (dict.fromkeys(a_dictionary(), ("all", 100)), r"positions, .* within 202 ms, and 1 ms are allowed"),
        "the safest as it comes": (but(orders=("all", 0)), r"orders, with acks=all .* within 594 ms, and 300 ms are allowed"),
        "waits too long": (but(orders=("all", 300)), r"linger.ms=300: .* within 402 ms"),
        "waits too briefly": (but(orders=("all", 20)), r"linger.ms=20: .* within 594 ms"),
        "is content with the leader": (but(orders=(1, 100)), r"orders, .* isolated, .* 143 acknowledged records are gone"),
        "asks for no answer": (but(log=(0, 0)), r"log, .* cable is cut: 62 acknowledged records are gone"),
        "believes in the bids": (but(bids=(1, 0)), r"bids, .* isolated, .* 142 acknowledged"),
        "gives the orders up": (but(orders=None), r"orders: .* there is one"),
        "one service": ({"orders": ("all", 100)}, r"from 'positions', 'log', 'orders', 'bids'"),
        "the mode alone": (but(log=1), r"log: \(acks, linger.ms\) or None is wanted"),
        "acks as in the code": (but(orders=(-1, 100)), r"acks one of 0, 1, \"all\""),
        "seconds turned round": (but(log=(1, -5)), r"linger.ms 0 to 60,000"),
        "nothing": (lambda: None, ""),
    },
    "7.9": {
        "the client's defaults": (instead(SAFE, ""), r"twice in the log"),
        "acks=all alone": (instead(', "enable.idempotence": True', ""), r"twice in the log"),
        "is content with the leader": (instead(SAFE, ', "acks": 1'), r"printed, and not in the log"),
        "asks for no answer": (instead(SAFE, ', "acks": 0'), r"printed, and not in the log"),
        "does not try again": (instead('"enable.idempotence": True', '"retries": 0'), r"never printed|not in the log|nor in the log"),
        "gives up soon": (instead("True}", 'True, "message.timeout.ms": 2000}'), r"neither printed nor in the log"),
        "looks at the answers at the end": (instead("    producer.flush()\n", "producer.flush()\n"), r"none was printed"),
    },
}
