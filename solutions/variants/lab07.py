"""Answers to the exercises of lab 7, written from the notebook's text alone: right ones of different make, and wrong ones with their reason."""

from collections import Counter, defaultdict
from functools import partial
from statistics import mean

import numpy as np
import pandas as pd

# 7.2: the latency


def latency_by_ifs(acks, near, far, isr):
    if acks == 0:
        return 0
    time = near + near
    if acks == "all":
        slowest = 0
        for broker in isr:
            if broker in far and far[broker] > slowest:
                slowest = far[broker]
        time += 2 * slowest
    return time


def latency_by_table(acks, near, far, isr):
    return {0: 0, 1: 2 * near, "all": 2 * (near + max([far[broker] for broker in far if broker in isr] or [0]))}[acks]


def latency_by_get(acks, near, far, isr):
    return bool(acks) * 2 * near + (acks == "all") * 2 * max(far.get(broker, 0) for broker in isr)


def latency_by_numpy(acks, near, far, isr):
    ways = np.array([0, *(far[broker] for broker in set(far) & set(isr))])
    return np.float64({0: 0, 1: 2 * near}.get(acks, 2 * near + 2 * ways.max()))


def latency_by_pandas(acks, near, far, isr):
    ways = pd.Series(far, dtype=float).reindex(isr).fillna(0)
    match acks:
        case 0:
            return 0.0
        case 1:
            return 2.0 * near
        case "all":
            return 2 * near + 2 * ways.max()


def latency_by_legs(acks, near, far, isr):
    legs = {0: [], 1: [near, near], "all": [near, max((far[b] for b in isr if b in far), default=0)] * 2}
    return sum(legs[acks])


def latency_by_eating(acks, near, far, isr):
    for broker in list(far):
        if broker not in isr:
            far.pop(broker)
    return 0 if not acks else 2 * near if acks == 1 else 2 * near + 2 * max(far.values(), default=0)


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


# 7.5: the account


def account_by_sets(acknowledged, readable):
    promised, there = set(acknowledged), set(readable)
    return {"lost": len(promised - there), "duplicates": len(readable) - len(there), "unpromised": len(there - promised)}


def account_by_counter(acknowledged, readable):
    found = Counter(readable)
    return dict(
        lost=sum(1 for value in acknowledged if not found[value]),
        duplicates=sum(times - 1 for times in found.values()),
        unpromised=sum(value not in acknowledged for value in found),
    )


def account_by_loop(acknowledged, readable):
    result = defaultdict(int, lost=0, duplicates=0, unpromised=0)
    seen = []
    for value in readable:
        if value in seen:
            result["duplicates"] += 1
        else:
            seen.append(value)
            result["unpromised"] += value not in acknowledged
    for value in acknowledged:
        result["lost"] += value not in seen
    return result


def account_by_pandas(acknowledged, readable):
    promised, there = pd.Series(acknowledged, dtype=object), pd.Series(readable, dtype=object)
    return {
        "lost": (~promised.isin(there)).sum(),
        "duplicates": there.duplicated().sum(),
        "unpromised": (~there.drop_duplicates().isin(promised)).sum(),
    }


def account_by_numpy(acknowledged, readable):
    there = np.unique(np.array(readable, dtype=object).astype(str))
    promised = np.array(acknowledged, dtype=object).astype(str)
    return {"lost": np.setdiff1d(promised, there).size, "duplicates": len(readable) - there.size,
            "unpromised": np.setdiff1d(there, promised).size}


def account_in_a_counter(acknowledged, readable):
    result = Counter(lost=0, duplicates=0, unpromised=0)
    rest = sorted(readable, key=str)
    result["duplicates"] = sum(a == b for a, b in zip(rest, rest[1:]))
    result["lost"] = len({*acknowledged}.difference(readable))
    result["unpromised"] = len({*readable}.difference(acknowledged))
    return result


def account_by_eating(acknowledged, readable):
    "Takes away from its arguments."
    copies = 0
    for value in list(readable):
        while readable.count(value) > 1:
            readable.remove(value)
            copies += 1
    both = [value for value in acknowledged if value in readable]
    return {"unpromised": len(readable) - len(both), "lost": len(acknowledged) - len(both), "duplicates": copies}


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


# 7.7: the failed node


def fail_in_a_row(room, acks):
    writer = room.writer(acks, rate=1000, count=1000)
    room.until_sent(writer, 333)
    room.cluster.kill(1)
    room.until_sent(writer, 1000)
    writer.finish()
    room.cluster.restart(1)
    return len(room.lost(writer))


def fail_with_names(room, acks, count=1000):
    node = 1
    sending = room.writer(acks, rate=count, count=count)
    room.until_sent(sending, n=count // 3)
    room.cluster.kill(node)
    room.until_sent(sending, n=count)
    sending.finish()
    room.cluster.restart(node)
    missing = 0
    for _ in room.lost(sending):
        missing += 1
    return missing


def fail_a_little_later(room, acks):
    writer = room.writer(acks, count=1000, rate=1000)
    for sent in range(50, 351, 50):
        room.until_sent(writer, sent)
    room.cluster.kill(1)
    room.until_sent(writer, 1000)
    writer.finish()
    room.cluster.restart(1)
    lost = room.lost(writer)
    return np.int64(len(set(lost)))


def fail_at_300(room, acks):
    writer = room.writer(acks, rate=1000, count=1000)
    steps = [partial(room.until_sent, writer, 300), partial(room.cluster.kill, 1), partial(room.until_sent, writer, 1000),
             writer.finish, partial(room.cluster.restart, 1)]
    for step in steps:
        step()
    return sum(1 for _ in room.lost(writer))


class Script:
    def __init__(self, share):
        self.share = share

    def __call__(self, room, acks):
        self.writer = room.writer(acks, rate=1000, count=1000)
        room.until_sent(self.writer, int(1000 * self.share))
        try:
            room.cluster.kill(1)
            room.until_sent(self.writer, 1000)
            self.writer.finish()
        finally:
            room.cluster.restart(1)
        return len([*room.lost(self.writer)])


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


# 7.10: choose


def good(need, row):
    return row.ms <= need.ms and row.lost <= need.lost and (row.notices or not need.notice)


def choose_by_sorted(need, table):
    for acks in sorted(table, key=lambda acks: table[acks].ms):
        if good(need, table[acks]):
            return acks
    return None


def choose_by_min(need, table):
    return min((acks for acks in table if good(need, table[acks])), key=lambda acks: table[acks].ms, default=None)


def choose_by_loop(need, table):
    best = None
    for acks, row in table.items():
        if row.ms > need.ms or row.lost > need.lost or (need.notice and not row.notices):
            continue
        if best is None or row.ms < table[best].ms:
            best = acks
    return best


def choose_by_pandas(need, table):
    rows = pd.DataFrame([(acks, row.ms, row.lost, row.notices) for acks, row in table.items()], columns=["acks", "ms", "lost", "notices"])
    rows = rows[(rows.ms <= need.ms) & (rows.lost <= need.lost) & (rows.notices | (not need.notice))]
    return None if rows.empty else rows.sort_values("ms").acks.iloc[0]


def choose_by_eating(need, table):
    while table:
        fastest = min(table, key=lambda acks: table[acks].ms)
        row = table.pop(fastest)
        if row.ms <= need.ms and row.lost <= need.lost and row.notices >= need.notice:
            return fastest


def choose_by_recursion(need, table):
    if not table:
        return None
    (ms, acks), *rest = sorted(((row.ms, acks) for acks, row in table.items()), key=lambda pair: pair[0])
    return acks if good(need, table[acks]) else choose_by_recursion(need, {other: table[other] for _, other in rest})


def choose_where_0_is_none(need, table):
    fitting = [acks for acks in table if good(need, table[acks])]
    return (min(fitting, key=lambda acks: table[acks].ms) if fitting else None) or None


def choose_in_the_tables_order(need, table):
    return next((acks for acks in table if good(need, table[acks])), None)


def choose_the_safest(need, table):
    return min((acks for acks in table if good(need, table[acks])), key=lambda acks: (table[acks].lost, -table[acks].ms), default=None)


def choose_without_notice(need, table):
    return min((a for a, row in table.items() if row.ms <= need.ms and row.lost <= need.lost), key=lambda a: table[a].ms, default=None)


def choose_with_equal_notice(need, table):
    return min((a for a, row in table.items() if row.ms <= need.ms and row.lost <= need.lost and row.notices == need.notice),
               key=lambda a: table[a].ms, default=None)


def choose_without_losses(need, table):
    return min((a for a, row in table.items() if row.ms <= need.ms and row.notices >= need.notice), key=lambda a: table[a].ms, default=None)


def choose_without_time(need, table):
    return min((a for a, row in table.items() if row.lost <= need.lost and row.notices >= need.notice),
               key=lambda a: table[a].ms, default=None)


def choose_below(need, table):
    return min((a for a, row in table.items() if row.ms < need.ms and row.lost < need.lost and row.notices >= need.notice),
               key=lambda a: table[a].ms, default=None)


def choose_the_row(need, table):
    return min((row for row in table.values() if good(need, row)), key=lambda row: row.ms, default=None)


def choose_something(need, table):
    "The best there is, where none fits."
    found = choose_by_min(need, table)
    return min(table, key=lambda acks: table[acks].lost) if found is None else found


def choose_two_of_three(need, table):
    def wishes(row):
        return (row.ms <= need.ms) + (row.lost <= need.lost) + (row.notices >= need.notice)

    return min((acks for acks in table if wishes(table[acks]) >= 2), key=lambda acks: table[acks].ms, default=None)


def choose_the_fastest_or_nothing(need, table):
    fastest = min(table, key=lambda acks: table[acks].ms)
    return fastest if good(need, table[fastest]) else None


def choose_with_two_faults(need, table):
    "Accepts losses, and takes the slowest."
    return max((a for a, row in table.items() if row.ms <= need.ms and row.notices >= need.notice), key=lambda a: table[a].ms, default=None)


RIGHT = {
    "7.2": {
        "ifs": latency_by_ifs,
        "a table": latency_by_table,
        "a sum of products": latency_by_get,
        "numpy's float": latency_by_numpy,
        "pandas and match": latency_by_pandas,
        "a list of legs": latency_by_legs,
        "eats the argument": latency_by_eating,
    },
    "7.5": {
        "sets": account_by_sets,
        "a Counter": account_by_counter,
        "loops, and a defaultdict": account_by_loop,
        "pandas' integers": account_by_pandas,
        "numpy": account_by_numpy,
        "returns a Counter": account_in_a_counter,
        "eats the arguments": account_by_eating,
    },
    "7.7": {
        "step by step": fail_in_a_row,
        "by name, with a parameter more": fail_with_names,
        "in steps to 350; numpy's integer": fail_a_little_later,
        "at 300, as a list of steps": fail_at_300,
        "an object that can be called": Script(1 / 3),
    },
    "7.10": {
        "sorted": choose_by_sorted,
        "min": choose_by_min,
        "a loop": choose_by_loop,
        "pandas": choose_by_pandas,
        "eats the table": choose_by_eating,
        "recursion": choose_by_recursion,
    },
}

WRONG = {
    "7.2": {
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
    "7.5": {
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
    "7.7": {
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
    "7.10": {
        "takes 0 for nothing": (choose_where_0_is_none, r"chose None; acks=0 satisfies all three"),
        "in the table's order": (choose_in_the_tables_order, r"satisfies all three wishes, and is faster"),
        "the safest": (choose_the_safest, r"satisfies all three wishes, and is faster"),
        "forgets to notice": (choose_without_notice, r"chose 0; it does not notice a failure, and must"),
        "must not notice either": (choose_with_equal_notice, r"(?s)chose None; acks=1 satisfies all three.*need not notice"),
        "forgets losses": (choose_without_losses, r"it may lose 700, 0 are allowed"),
        "forgets the time": (choose_without_time, r"it takes 42 ms, 10 are allowed"),
        "less than, not at most": (choose_below, r"chose None; acks=all satisfies all three"),
        "the row": (choose_the_row, r"return a key of the table"),
        "something where nothing fits": (choose_something, r"it takes 42 ms, 10 are allowed"),
        "two of three": (choose_two_of_three, r"it may lose 700, 0 are allowed"),
        "the fastest or nothing": (choose_the_fastest_or_nothing, r"chose None; acks=all satisfies all three"),
        "two faults: accepts losses, takes the slowest": (choose_with_two_faults, r"it may lose 700, 0 are allowed"),
    },
}
