"""Answers to the exercises of lab 4, written from the notebook's text alone: right ones of different make, and wrong ones with their reason."""

import heapq
import random
from bisect import bisect_left
from collections import defaultdict
from functools import partial, reduce
from itertools import chain, cycle, zip_longest

import numpy as np
import pandas as pd
from kafka import TopicPartition

# 4.3: the lag of each partition


def lag_by_loop(ends, committed):
    lags = {}
    for number, end in ends.items():
        if number in committed:
            lags[number] = end - committed[number]
            if lags[number] < 0:
                lags[number] = 0
        else:
            lags[number] = None
    return lags


def lag_by_try(ends, committed):
    def one(number):
        try:
            return max(ends[number] - committed[number], 0)
        except KeyError:
            return None

    return dict(zip(ends, map(one, ends)))


def lag_by_numpy(ends, committed):
    known = np.array([number in committed for number in ends], dtype=bool)
    lags = np.clip(np.array(list(ends.values())) - np.array([committed.get(number, 0) for number in ends]), 0, None)
    return {number: lag if seen else None for number, lag, seen in zip(ends, lags, known)}


def lag_by_pandas(ends, committed):
    table = pd.DataFrame({"end": pd.Series(ends), "committed": pd.Series(committed, dtype="Int64")}).loc[list(ends)]
    lags = (table.end - table.committed).clip(lower=0).astype(object)
    return lags.where(table.committed.notna(), None).to_dict()


def lag_by_recursion(ends, committed):
    if not ends:
        return {}
    (number, end), *rest = ends.items()
    lag = None if committed.get(number) is None else max(0, end - committed[number])
    return {number: lag, **lag_by_recursion(dict(rest), committed)}


def lag_in_the_argument(ends, committed, unknown=None):
    for number in ends:
        ends[number] = max(0, ends[number] - committed[number]) if number in committed else unknown
    return ends


def lag_in_a_defaultdict(ends, committed):
    lags = defaultdict(lambda: None)
    for number in ends.keys() & committed.keys():
        lags[number] = sorted((0, ends[number] - committed[number]))[1]
    return {number: lags[number] for number in ends}


class Monitor:
    def __init__(self, unknown):
        self.unknown = unknown

    def __call__(self, ends, committed):
        return {number: self.unknown if number not in committed else max(0, ends[number] - committed[number]) for number in ends}


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


# 4.5: share the partitions out


def all_pairs(topics):
    return [(topic, number) for topic in topics for number in range(topics[topic])]


def share_by_slices(members, topics):
    names = sorted(members)
    return {name: all_pairs(topics)[place :: len(names)] for place, name in enumerate(names)}


def share_by_cycle(members, topics):
    shares = {name: [] for name in members}
    for pair, name in zip(all_pairs(topics), cycle(sorted(members))):
        shares[name].append(pair)
    return shares


def share_by_blocks(members, topics):
    pairs, shares = sorted(all_pairs(topics)), {}
    each, odd = divmod(len(pairs), len(members))
    begin = 0
    for place, name in enumerate(sorted(members)):
        end = begin + each + (place < odd)
        shares[name] = pairs[begin:end]
        begin = end
    return shares


def share_by_heap(members, topics):
    heap = sorted((0, name) for name in members)
    shares = dict.fromkeys(members, ())
    for pair in all_pairs(topics):
        load, name = heapq.heappop(heap)
        shares[name] += (pair,)
        heapq.heappush(heap, (load + 1, name))
    return shares


def share_by_draw(members, topics):
    pairs, dice = all_pairs(topics), random.Random(4)
    dice.shuffle(pairs)
    members.sort()
    return {name: set(pairs[place :: len(members)]) for place, name in enumerate(members)}


def share_by_numpy(members, topics):
    names = np.sort(np.array(members))
    numbers = np.concatenate([np.arange(count) for count in topics.values()])
    owner = np.resize(np.arange(len(names)), len(numbers))
    topic = np.repeat(list(topics), list(topics.values()))
    return {str(name): list(zip(topic[owner == place], numbers[owner == place])) for place, name in enumerate(names)}


def share_in_kafkas_words(members, topics):
    shares = defaultdict(list, {name: [] for name in members})
    for count, (topic, number) in enumerate(reversed(all_pairs(topics))):
        shares[sorted(members, reverse=True)[count % len(members)]].append(TopicPartition(topic, number))
    return shares


def share_by_rows(members, topics):
    rows = list(zip_longest(*[iter(all_pairs(topics))] * len(members)))
    return {name: [row[place] for row in rows if row[place]] for place, name in enumerate(sorted(members))}


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


# 4.11: where to move the group


def rewound_by_loop(logs, ends, since):
    places = {}
    for number, log in logs.items():
        places[number] = ends[number]
        for offset, timestamp in log:
            if timestamp >= since:
                places[number] = offset
                break
    return places


def rewound_by_min(logs, ends, since):
    return {number: min((offset for offset, stamp in log if stamp >= since), default=ends[number]) for number, log in logs.items()}


def rewound_by_next(logs, ends, since):
    return {number: next((record[0] for record in log if not record[1] < since), ends[number]) for number, log in logs.items()}


def rewound_by_pandas(logs, ends, since):
    def one(number):
        table = pd.DataFrame(logs[number], columns=["offset", "timestamp"])
        young = table[table.timestamp >= since]
        return ends[number] if young.empty else young.offset.min()

    return {number: one(number) for number in logs}


def rewound_by_numpy(logs, ends, since):
    def one(log, end):
        offsets, stamps = np.array(log, dtype=np.int64).reshape(-1, 2).T
        return np.append(offsets[stamps >= since], end)[0]

    return {number: one(log, ends[number]) for number, log in logs.items()}


def rewound_from_behind(logs, ends, since):
    places = dict(ends)
    for number in logs:
        while logs[number]:
            offset, stamp = logs[number].pop()
            if stamp >= since:
                places[number] = offset
    return places


def rewound_by_recursion(logs, ends, since):
    def first(log, end):
        return end if not log else log[0][0] if log[0][1] >= since else first(log[1:], end)

    return {number: first(logs[number], ends[number]) for number in ends}


def rewound_by_fold(logs, ends, since):
    def step(place, record):
        return min(place, record[0]) if record[1] >= since else place

    return {number: reduce(step, log, ends[number]) for number, log in logs.items()}


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


def lag_by_difference(ends, committed):
    lag = (pd.Series(ends, dtype=float) - pd.Series(committed, dtype=float)).clip(lower=0)
    return {partition: None if np.isnan(lag[partition]) else lag[partition] for partition in ends}



RIGHT = {
    "4.3": {
        "a loop": lag_by_loop,
        "an exception, zip and map": lag_by_try,
        "numpy, with numpy's integers": lag_by_numpy,
        "pandas": lag_by_pandas,
        "recursion": lag_by_recursion,
        "the argument itself, written over, and one parameter more": lag_in_the_argument,
        "a defaultdict on the way": lag_in_a_defaultdict,
        "an object that can be called": Monitor(None),
        "a partial function": partial(lag_in_the_argument, unknown=None),
        "the difference of two series": lag_by_difference,
    },
    "4.5": {
        "slices of one list": share_by_slices,
        "a cycle of names": share_by_cycle,
        "blocks, the odd ones to the first": share_by_blocks,
        "always to who has least; tuples": share_by_heap,
        "a draw with a seed; sets; sorts the argument": share_by_draw,
        "numpy's words and integers": share_by_numpy,
        "Kafka's TopicPartition in a defaultdict, from behind": share_in_kafkas_words,
        "rows of as many as there are members": share_by_rows,
    },
    "4.11": {
        "two loops": rewound_by_loop,
        "min with a default": rewound_by_min,
        "the first one of each log": rewound_by_next,
        "pandas, with numpy's integers": rewound_by_pandas,
        "numpy": rewound_by_numpy,
        "from behind, eating the argument": rewound_from_behind,
        "recursion": rewound_by_recursion,
        "a fold": rewound_by_fold,
    },
}

WRONG = {
    "4.3": {
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
    "4.5": {
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
    "4.11": {
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
