"""Right answers to the exercises of lab 4, of different make; written from the notebook's text alone."""
import heapq
import random
from collections import defaultdict
from functools import partial, reduce
from itertools import cycle, zip_longest

import numpy as np
import pandas as pd
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

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


# 4.4: a member of a group


def member_by_names(bootstrap, group):
    return KafkaConsumer("rides", bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False)


def member_by_a_dictionary(bootstrap, group):
    settings = {"bootstrap_servers": [bootstrap], "group_id": group, "client_id": "mine", "max_poll_records": 5}
    settings.update(auto_offset_reset="earliest", enable_auto_commit=False)
    return KafkaConsumer("rides", **settings)


def member_that_subscribes_later(bootstrap, group):
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False)
    consumer.subscribe(["rides"])
    return consumer


def member_that_has_joined(bootstrap, group):
    consumer = member_by_names(bootstrap, group)
    consumer.poll(timeout_ms=2000, max_records=1)
    if consumer.assignment():
        consumer.seek_to_beginning()
    return consumer


class MyConsumer(KafkaConsumer):
    def __init__(self, bootstrap, group):
        super().__init__("rides", bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest",
                         enable_auto_commit=False, session_timeout_ms=8000, heartbeat_interval_ms=2000)


# 4.5: its loop


def loop_by_while(consumer, work):
    while True:
        batch = consumer.poll(timeout_ms=2000)
        if not batch:
            return
        for records in batch.values():
            for record in records:
                work(record)
        consumer.commit()


def loop_by_walrus(consumer, work):
    while batch := consumer.poll(2000):
        [work(record) for records in batch.values() for record in records]
        consumer.commit()


def loop_by_record(consumer, work):
    "Commits each record."
    for batch in iter(partial(consumer.poll, timeout_ms=2000), {}):
        for tp, records in batch.items():
            for record in records:
                work(record)
                consumer.commit({tp: OffsetAndMetadata(record.offset + 1, "", -1)})


def loop_by_few(consumer, work):
    "Asks for four at a time, and commits after the last, empty poll, too."
    more = True
    while more:
        batch = consumer.poll(timeout_ms=2000, max_records=4)
        more = bool(batch)
        for tp in batch:
            for record in batch[tp]:
                work(record)
        consumer.commit()


def loop_without_waiting(consumer, work):
    "Commits asynchronously, and once more before it ends."
    while batch := consumer.poll(timeout_ms=2000):
        for records in batch.values():
            list(map(work, records))
        consumer.commit_async()
    consumer.commit()
    return True


def loop_that_closes(consumer, work):
    try:
        loop_by_while(consumer, work)
    finally:
        consumer.close()


# 4.6: share the partitions out


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


# 4.9: the plan of a night


def plan_by_words():
    return {"members": 4, "group.protocol": "consumer", "session.timeout.ms": 6000, "max.poll.interval.ms": 10000}


def plan_in_another_order():
    return {"group.protocol": "consumer", "members": 4, "max.poll.interval.ms": 9500, "session.timeout.ms": 5000}


def plan_by_numpy():
    return {"members": np.int64(4), "group.protocol": "consumer", "session.timeout.ms": np.int32(5000), "max.poll.interval.ms": 10_000}


def plan_from_the_accidents(out=4, slow=8):
    return dict(zip(("members", "group.protocol", "session.timeout.ms", "max.poll.interval.ms"),
                    (4, "consumer", (out + 1) * 1000, (slow + 2) * 1000)))


def plan_over_the_defaults():
    plan = defaultdict(int, {"members": 4, "session.timeout.ms": 45_000, "max.poll.interval.ms": 300_000})
    plan |= {"group.protocol": "consumer", "session.timeout.ms": 6000, "max.poll.interval.ms": 9500}
    return plan


# 4.10: where to move the group


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
    "4.4": {
        "names": member_by_names,
        "a dictionary, and settings more": member_by_a_dictionary,
        "subscribes later": member_that_subscribes_later,
        "has polled once, and goes back": member_that_has_joined,
        "a class of one's own": MyConsumer,
    },
    "4.5": {
        "a loop without end, and a return": loop_by_while,
        "a walrus, the timeout by place": loop_by_walrus,
        "a commit for each record": loop_by_record,
        "four at a time": loop_by_few,
        "without waiting": loop_without_waiting,
        "closes": loop_that_closes,
    },
    "4.9": {
        "a dictionary": plan_by_words,
        "in another order": plan_in_another_order,
        "numpy's integers": plan_by_numpy,
        "from the lengths of the accidents": plan_from_the_accidents,
        "over the defaults": plan_over_the_defaults,
        "as texts, a capital letter": lambda: {name: str(value).capitalize() for name, value in plan_by_words().items()},
    },
    "4.6": {
        "slices of one list": share_by_slices,
        "a cycle of names": share_by_cycle,
        "blocks, the odd ones to the first": share_by_blocks,
        "always to who has least; tuples": share_by_heap,
        "a draw with a seed; sets; sorts the argument": share_by_draw,
        "numpy's words and integers": share_by_numpy,
        "Kafka's TopicPartition in a defaultdict, from behind": share_in_kafkas_words,
        "rows of as many as there are members": share_by_rows,
    },
    "4.10": {
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
