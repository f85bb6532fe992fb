"""Wrong answers to the exercises of lab 4, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from itertools import chain, cycle
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from solutions.right.lab04 import all_pairs, plan_by_words, share_by_slices


def _unknown_is_zero(ends: dict[int, int], committed: dict[int, int]) -> Any:
    return {p: max(0, end - committed[p]) if p in committed else 0 for p, end in ends.items()}


def _unknown_is_all(ends: dict[int, int], committed: dict[int, int]) -> Any:
    return {p: max(0, end - committed.get(p, 0)) for p, end in ends.items()}


def _negative(ends: dict[int, int], committed: dict[int, int]) -> Any:
    return {p: end - committed[p] if p in committed else None for p, end in ends.items()}


def _by_topic(members: list[str], topics: dict[str, int]) -> Any:
    shares: dict[str, list[tuple[str, int]]] = {member: [] for member in members}
    for topic, count in sorted(topics.items()):
        for p, member in zip(range(count), cycle(sorted(members))):
            shares[member].append((topic, p))
    return shares


def _last_old_one(logs: Any, ends: dict[int, int], since: int) -> Any:
    return {p: max((o for o, stamp in log if stamp < since), default=0) for p, log in logs.items()}


def _nothing_is_zero(logs: Any, ends: dict[int, int], since: int) -> Any:
    return {p: min((o for o, stamp in log if stamp >= since), default=0) for p, log in logs.items()}


def _later_only(logs: Any, ends: dict[int, int], since: int) -> Any:
    return {p: min((o for o, stamp in log if stamp > since + 40_000), default=ends[p]) for p, log in logs.items()}


# --- 4.3 --------------------------------------------------------------------------------------------------------------


def lag_of_the_committed(ends, committed):
    return {number: max(0, ends[number] - offset) for number, offset in committed.items()}


def lag_where_a_commit_of_0_is_none(ends, committed):
    return {number: max(0, end - committed[number]) if committed.get(number) else None for number, end in ends.items()}


def lag_where_no_lag_is_none(ends, committed):
    return {number: max(0, end - committed.get(number, end)) or None for number, end in ends.items()}


def lag_to_the_last_record(ends, committed):
    return {number: max(0, end - 1 - committed[number]) if number in committed else None for number, end in ends.items()}


def lag_the_wrong_way_round(ends, committed):
    return {number: max(0, committed[number] - end) if number in committed else None for number, end in ends.items()}


def lag_without_a_sign(ends, committed):
    return {number: abs(end - committed[number]) if number in committed else None for number, end in ends.items()}


def lag_as_one_sum(ends, committed):
    return sum(max(0, end - committed.get(number, end)) for number, end in ends.items())


def lag_that_is_a_word(ends, committed):
    return {number: max(0, end - committed[number]) if number in committed else "?" for number, end in ends.items()}


def lag_with_two_faults(ends, committed):
    "No partition without a commit, and a lag below 0."
    return {number: ends[number] - offset for number, offset in committed.items()}


# --- 4.4 --------------------------------------------------------------------------------------------------------------


def consumer_with(**changed):
    def make(bootstrap, group):
        settings = {"bootstrap_servers": bootstrap, "group_id": group, "auto_offset_reset": "earliest",
                    "enable_auto_commit": False, **changed}
        return KafkaConsumer("rides", **settings)

    return make


def member_of_no_group(bootstrap, group):
    return KafkaConsumer("rides", bootstrap_servers=bootstrap, auto_offset_reset="earliest")


def member_of_nothing(bootstrap, group):
    return KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False)


def member_by_hand(bootstrap, group):
    consumer = member_of_nothing(bootstrap, group)
    consumer.assign([TopicPartition("rides", 0), TopicPartition("rides", 1)])
    return consumer


def member_in_a_list(bootstrap, group):
    return [{"group_id": group}]


# --- 4.5 --------------------------------------------------------------------------------------------------------------


def loop_without_a_commit(consumer, work):
    while batch := consumer.poll(timeout_ms=2000):
        for records in batch.values():
            for record in records:
                work(record)


def loop_that_commits_first(consumer, work):
    while batch := consumer.poll(timeout_ms=2000):
        consumer.commit()
        for records in batch.values():
            for record in records:
                work(record)


def loop_that_commits_after_each_partition(consumer, work):
    while batch := consumer.poll(timeout_ms=2000):
        for records in batch.values():
            for record in records:
                work(record)
            consumer.commit()


def loop_that_commits_at_the_end(consumer, work):
    loop_without_a_commit(consumer, work)
    consumer.commit()


def loop_of_one_batch(consumer, work):
    for records in consumer.poll(timeout_ms=2000).values():
        for record in records:
            work(record)
    consumer.commit()


def loop_of_lists(consumer, work):
    while batch := consumer.poll(timeout_ms=2000):
        for records in batch.values():
            work(records)
        consumer.commit()


def loop_of_one_partition(consumer, work):
    while batch := consumer.poll(timeout_ms=2000):
        for record in batch.get(TopicPartition("rides", 0), []):
            work(record)
        consumer.commit()


def loop_that_works_twice(consumer, work):
    while batch := consumer.poll(timeout_ms=2000):
        for records in batch.values():
            for record in [*records, records[-1]]:
                work(record)
        consumer.commit()


def loop_over_partitions(consumer, work):
    while batch := consumer.poll(timeout_ms=2000):
        for record in batch:
            work(record)
        consumer.commit()


# --- 4.6 --------------------------------------------------------------------------------------------------------------


def share_in_the_order_of_arrival(members, topics):
    return {name: all_pairs(topics)[place :: len(members)] for place, name in enumerate(members)}


def share_topic_by_topic(members, topics):
    names = sorted(members)
    return {name: [(topic, number) for topic in topics for number in range(topics[topic])[place :: len(names)]]
            for place, name in enumerate(names)}


def share_counted_from_1(members, topics):
    pairs = [(topic, number + 1) for topic, number in all_pairs(topics)]
    return {name: pairs[place :: len(members)] for place, name in enumerate(sorted(members))}


def share_whole_topics(members, topics):
    names = sorted(members)
    return {name: all_pairs({topic: topics[topic] for topic in sorted(topics)[place :: len(names)]}) for place, name in enumerate(names)}


def share_without_the_odd_ones(members, topics):
    pairs = all_pairs(topics)
    each = len(pairs) // len(members)
    return {name: pairs[place * each : place * each + each] for place, name in enumerate(sorted(members))}


def share_with_the_odd_ones_to_the_last(members, topics):
    shares, pairs = share_without_the_odd_ones(members, topics), all_pairs(topics)
    return {**shares, max(members): shares[max(members)] + pairs[len(pairs) // len(members) * len(members) :]}


def share_everything_with_everybody(members, topics):
    return dict.fromkeys(members, all_pairs(topics))


def share_as_numbers(members, topics):
    return {name: len(pairs) for name, pairs in share_by_slices(members, topics).items()}


def share_as_words(members, topics):
    return {name: [f"{topic}-{number}" for topic, number in pairs] for name, pairs in share_by_slices(members, topics).items()}


def share_as_a_list(members, topics):
    return list(share_by_slices(members, topics).values())


def share_without_the_idle(members, topics):
    shares = defaultdict(list)
    for pair, name in zip(all_pairs(topics), cycle(sorted(members))):
        shares[name].append(pair)
    return shares


def share_by_length(members, topics):
    "Takes `topics` for lists of partitions."
    return share_by_slices(members, {topic: len(found) for topic, found in topics.items()})


def share_with_three_faults(members, topics):
    "The first member gets a partition of each topic, the others what is left without the last; in the order of arrival."
    first, *rest = members
    left = [(topic, number) for topic, number in all_pairs(topics) if number][:-1]
    return {first: [(topic, 0) for topic in topics], **{name: left[place :: len(rest)] for place, name in enumerate(rest)}}


# --- 4.9 --------------------------------------------------------------------------------------------------------------


def plan_with(**changed):
    return lambda: {**plan_by_words(), **{name.replace("_", "."): value for name, value in changed.items()}}


# --- 4.10 -------------------------------------------------------------------------------------------------------------


def rewound_to_places(logs, ends, since):
    "Places in the list, where offsets have gaps."
    return {number: next((place for place, (_, stamp) in enumerate(log) if stamp >= since), ends[number]) for number, log in logs.items()}


def rewound_past_the_exact_one(logs, ends, since):
    return {number: min((offset for offset, stamp in log if stamp > since), default=ends[number]) for number, log in logs.items()}


def rewound_by_halves(logs, ends, since):
    "As if the timestamps were in order."
    return {number: ([offset for offset, _ in log] + [ends[number]])[bisect_left([stamp for _, stamp in log], since)]
            for number, log in logs.items()}


def rewound_until_an_old_one(logs, ends, since):
    places = dict(ends)
    for number, log in logs.items():
        for offset, stamp in reversed(log):
            if stamp < since:
                break
            places[number] = offset
    return places


def rewound_behind_the_last_old_one(logs, ends, since):
    return {number: 1 + max((offset for offset, stamp in log if stamp < since), default=-1) for number, log in logs.items()}


def rewound_where_offset_0_is_none(logs, ends, since):
    return {number: min((offset for offset, stamp in log if stamp >= since), default=None) or ends[number] for number, log in logs.items()}


def rewound_where_there_is_one(logs, ends, since):
    found = {number: [offset for offset, stamp in log if stamp >= since] for number, log in logs.items()}
    return {number: offsets[0] for number, offsets in found.items() if offsets}


def rewound_to_none(logs, ends, since):
    return {number: next((offset for offset, stamp in log if stamp >= since), None) for number, log in logs.items()}


def rewound_behind_the_last_record(logs, ends, since):
    return {number: next((offset for offset, stamp in log if stamp >= since), log[-1][0] + 1 if log else 0) for number, log in logs.items()}


def rewound_by_the_count(logs, ends, since):
    return {number: ends[number] - sum(stamp >= since for _, stamp in log) for number, log in logs.items()}


def rewound_to_the_beginning(logs, ends, since):
    return {number: log[0][0] if log else ends[number] for number, log in logs.items()}


def rewound_to_the_youngest(logs, ends, since):
    return {number: max((offset for offset, stamp in log if stamp >= since), default=ends[number]) for number, log in logs.items()}


def rewound_by_one_place_for_all(logs, ends, since):
    young = [offset for offset, stamp in chain(*logs.values()) if stamp >= since]
    return {number: min(young, default=ends[number]) for number in logs}


WRONG = {
    "4.3": {
        "takes unknown for 0": (_unknown_is_zero, ""),
        "takes unknown for a commit of 0": (_unknown_is_all, ""),
        "goes below 0": (_negative, ""),
        "leaves out what was never committed": (lag_of_the_committed, r"missing"),
        "takes a commit of 0 for none": (lag_where_a_commit_of_0_is_none, r"from the committed offset 0\b"),
        "takes no lag for none": (lag_where_no_lag_is_none, r"said None, it is 0"),
        "counts to the last record, not to the end": (lag_to_the_last_record, r"said 9, it is 10: .* to the end 100"),
        "subtracts the wrong way round": (lag_the_wrong_way_round, r"from the committed offset 90 to the end 100"),
        "drops the sign": (lag_without_a_sign, r"newer"),
        "one sum for all": (lag_as_one_sum, r"dictionary"),
        "a word where nobody can know": (lag_that_is_a_word, r"it is None: nothing is committed"),
        "two faults: leaves partitions out, and goes below 0": (lag_with_two_faults, r"missing"),
    },
    "4.4": {
        "begins at the end": (consumer_with(auto_offset_reset="latest"), r"would begin at .* never see what is there"),
        "commits by itself": (consumer_with(enable_auto_commit=True), r"nobody has called commit"),
        "is in no group": (member_of_no_group, r"knows no member"),
        "is in a group of its own": (consumer_with(group_id="mine"), r"knows no member of the group that was asked for"),
        "reads no topic": (member_of_nothing, r"not subscribed to rides"),
        "takes its partitions by hand": (member_by_hand, r"not subscribed to rides"),
        "is no consumer": (member_in_a_list, r"a KafkaConsumer is wanted"),
    },
    "4.5": {
        "never commits": (loop_without_a_commit, r"committed is nothing"),
        "commits before the work": (loop_that_commits_first, r"if you die here"),
        "commits when one partition of two is done": (loop_that_commits_after_each_partition, r"had committed \d+ in rides-[01] when"),
        "commits once, at the end": (loop_that_commits_at_the_end, r"after 20 rides 0 were committed"),
        "reads one batch": (loop_of_one_batch, r"returned after 10 of 40"),
        "hands whole lists to work": (loop_of_lists, r"work\(\) takes one record"),
        "looks at one partition": (loop_of_one_partition, r"rides-1 offset 0 is left"),
        "works twice on the last of each batch": (loop_that_works_twice, r"worked on 2 times"),
        "goes over the keys": (loop_over_partitions, r"work\(\) takes one record"),
    },
    "4.9": {
        "Kafka's defaults": (plan_with(group_protocol="classic", session_timeout_ms=45_000, max_poll_interval_ms=300_000),
                             r"done after 3\d\d s; the deadline"),
        "gives up who is cut off for four seconds": (plan_with(session_timeout_ms=3000), r"10 rides were charged twice"),
        "gives up who works for eight seconds": (plan_with(max_poll_interval_ms=5000), r"10 rides were charged twice"),
        "waits for the hanging one for minutes": (plan_with(max_poll_interval_ms=300_000), r"rides-2: nobody for 30\d s"),
        "waits for the dead one for long": (plan_with(session_timeout_ms=45_000), r"done after \d\d s; the deadline"),
        "two members": (plan_with(members=2), r"rides were never done"),
        "three members": (plan_with(members=3), r"done after 4\d s; the deadline"),
        "four of the old protocol": (plan_with(group_protocol="classic"), r"done after 3\d s; the deadline"),
        "five of the old protocol": (plan_with(group_protocol="classic", members=5), r"5 members are paid, and 4 can"),
        "eight members": (plan_with(members=8), r"8 members are paid"),
        "seconds, not milliseconds": (plan_with(session_timeout_ms=6), r"session.timeout.ms is a whole number of milliseconds from 100"),
        "names of variables": (lambda: {name.replace(".", "_"): value for name, value in plan_by_words().items()},
                               r"has no 'group.protocol'; its entries are 'members', 'group_protocol'"),
        "one entry more": (lambda: {**plan_by_words(), "heartbeat.interval.ms": 100}, r"leave out 'heartbeat.interval.ms'"),
        "no protocol": (plan_with(group_protocol="kip-848"), r'group.protocol is "classic" or "consumer"'),
    },
    "4.6": {
        "deals each topic by itself": (_by_topic, ""),
        "deals in the order of arrival": (share_in_the_order_of_arrival, r"same members in another order"),
        "begins with the first member at every topic": (share_topic_by_topic, r"has \d+ partitions more"),
        "counts partitions from 1": (share_counted_from_1, r"nobody gets .*; there is no partition .* counted from 0"),
        "deals whole topics": (share_whole_topics, r"has \d+ partitions more"),
        "forgets the odd ones": (share_without_the_odd_ones, r"nobody gets"),
        "gives the odd ones to the last": (share_with_the_odd_ones_to_the_last, r"has \d+ partitions more"),
        "gives everything to everybody": (share_everything_with_everybody, r"given out 3 times"),
        "returns how many, not which": (share_as_numbers, r"list of pairs"),
        "returns words, not pairs": (share_as_words, r"'topic-0-0'; a list of pairs"),
        "returns a list of lists": (share_as_a_list, r"dictionary"),
        "leaves out members that get nothing": (share_without_the_idle, r"C\d is missing .* gets an empty list"),
        "takes a number for a list": (share_by_length, r"has no len"),
        "three faults: a partition for nobody, an uneven share, the order of arrival": (share_with_three_faults, r"nobody gets"),
    },
    "4.10": {
        "takes the last old record": (_last_old_one, ""),
        "begins at 0 where nothing is young": (_nothing_is_zero, ""),
        "begins too late": (_later_only, ""),
        "returns places in the list": (rewound_to_places, r"place in the list|would miss"),
        "skips the record that is exactly as old": (rewound_past_the_exact_one, r"would miss .* exactly `since`"),
        "searches as if timestamps were in order": (rewound_by_halves, r"would miss .* an older one, \d+, stands behind it"),
        "goes back to the first old one": (rewound_until_an_old_one, r"would miss .* an older one, \d+, stands behind it"),
        "begins behind the last old one": (rewound_behind_the_last_old_one, r"would miss .* an older one, \d+, stands behind it"),
        "takes offset 0 for nothing": (rewound_where_offset_0_is_none, r"would miss .* offset 0"),
        "leaves out partitions without a young record": (rewound_where_there_is_one, r"missing"),
        "None instead of the end": (rewound_to_none, r"None; an offset is wanted, and the end"),
        "behind the last record instead of the end": (rewound_behind_the_last_record, r"the place is the end, 3"),
        "counts the young ones": (rewound_by_the_count, r"would miss"),
        "always from the beginning": (rewound_to_the_beginning, r"no record is of `since` or later|older ones would come again"),
        "the youngest instead of the first": (rewound_to_the_youngest, r"would miss"),
        "one place for all partitions": (rewound_by_one_place_for_all, r"partition 0: .* the end, 45"),
    },
}
