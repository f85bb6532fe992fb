"""Answers to the exercises of lab 5, written from the notebook's text alone: right ones of different make, and wrong ones with their reason."""

import math
from collections import OrderedDict, namedtuple
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial, reduce
from itertools import accumulate, chain, groupby

import numpy as np
import pandas as pd
from kafka import OffsetAndMetadata

# 5.3: the sums of a crash

Outcome = namedtuple("Outcome", "processed committed duplicates lost")


def sums_by_ifs(policy, t):
    processed = int(t * 10)
    if policy == "auto":
        committed = int(t // 5) * 50
    elif policy == "sync per batch":
        committed = processed // 10 * 10
    elif policy == "sync per record":
        committed = processed
    else:
        committed = processed // 10 * 10 + 10
    if committed > processed:
        return processed, committed, 0, committed - processed
    return processed, committed, processed - committed, 0


def sums_by_table(policy, t):
    done = math.floor(10 * t)
    noted = {
        "auto": lambda: 50 * math.floor(t / 5),
        "sync per batch": lambda: 10 * math.floor(t),
        "sync per record": lambda: done,
        "before the work": lambda: 10 * math.ceil(t),
    }[policy]()
    return Outcome(done, noted, max(0, done - noted), max(0, noted - done))


def sums_by_playing_it(policy, t):
    "Record by record, in hundredths of a second."
    clock, position, done, committed, noted = 0, 0, 0, 0, 0
    while True:
        if policy == "auto" and clock - noted >= 500:
            committed, noted = position, clock
        position += 10
        if policy == "before the work":
            committed = position
        for _ in range(10):
            if clock + 10 > t * 100:
                return [done, committed, max(0, done - committed), max(0, committed - done)]
            clock, done = clock + 10, done + 1
            if policy == "sync per record":
                committed = done
        if policy == "sync per batch":
            committed = position


def sums_by_numpy(policy, t):
    steps = np.array([50, 10, 1, 10])[["auto", "sync per batch", "sync per record", "before the work"].index(policy)]
    done = np.floor(t * 10).astype(int)
    noted = done // steps * steps + (10 if policy == "before the work" else 0)
    return tuple(np.array([done, noted, np.maximum(done - noted, 0), np.maximum(noted - done, 0)]))


def sums_by_match(policy, t, rate=10, batch=10, interval=5):
    done = int(Decimal(str(t)) * rate)
    match policy:
        case "auto":
            noted = done - done % (rate * interval)
        case "sync per batch":
            noted = done - done % batch
        case "sync per record":
            noted = done
        case "before the work":
            noted = done - done % batch + batch
    twice = done - noted
    return (done, noted, 0, -twice) if twice < 0 else (done, noted, twice, 0)


def sums_by_sets(policy, t):
    done = set(range(math.floor(t * 10)))
    step = {"auto": 50, "sync per record": 1}.get(policy, 10)
    noted = set(range(len(done) // step * step + 10 * (policy == "before the work")))
    return len(done), len(noted), len(done - noted), len(noted - done)


def sums_rounded(policy, t):
    "The record in hand counts as finished when half of it is done."
    return sums_by_ifs(policy, round(t * 10) / 10 + 0.001)


def sums_with_a_punctual_auto(policy, t):
    "Auto commits what is finished, every five seconds."
    done, noted, *rest = sums_by_ifs(policy, t)
    return (done, done - 1, 1, 0) if policy == "auto" else (done, noted, *rest)


def sums_with_a_position(policy, t):
    "Auto commits at every poll."
    done = int(t * 10)
    return (done, done // 10 * 10, done % 10, 0) if policy == "auto" else sums_by_ifs(policy, t)


def sums_with_a_batch_in_hand(policy, t):
    "The batch in work is already committed, and its rest counts as lost."
    done = int(t * 10)
    return (done, done // 10 * 10 + 10, 0, 10 - done % 10) if policy == "sync per batch" else sums_by_ifs(policy, t)


def sums_that_go_below_0(policy, t):
    done, noted, *_ = sums_by_ifs(policy, t)
    return done, noted, done - noted, noted - done


def sums_with_losses_as_duplicates(policy, t):
    done, noted, twice, lost = sums_by_ifs(policy, t)
    return done, noted, twice + lost, 0


def sums_before_the_work_without_the_batch(policy, t):
    return sums_by_ifs("sync per batch" if policy == "before the work" else policy, t)


def sums_with_the_record_in_hand(policy, t):
    "Sync per record repeats the record in hand."
    done, noted, twice, lost = sums_by_ifs(policy, t)
    return done, noted, twice + (policy == "sync per record"), lost


def sums_of_the_lost_rest(policy, t):
    "What auto had polled and not finished counts as lost."
    done, noted, twice, lost = sums_by_ifs(policy, t)
    return done, noted, twice, lost + (10 - done % 10 if policy == "auto" else 0)


def sums_without_the_losses(policy, t):
    return sums_by_ifs(policy, t)[:3]


def sums_as_a_dictionary(policy, t):
    return sums_by_table(policy, t)._asdict()


def sums_printed(policy, t):
    print(sums_by_ifs(policy, t))


def sums_of_one_number(policy, t):
    return sums_by_ifs(policy, t)[2]


def sums_with_two_faults(policy, t):
    "Counts the record in hand, and knows no losses."
    done, noted, twice, _ = sums_by_ifs(policy, t)
    return done + 1, noted, max(0, done + 1 - noted), 0


# 5.5: the loop


def loop_forever(consumer, work):
    while True:
        batch = consumer.poll(timeout_ms=3000)
        if not batch:
            return
        for records in batch.values():
            for record in records:
                work(record)
        consumer.commit()


def loop_walrus(consumer, work):
    while batch := consumer.poll(3000):
        for record in chain.from_iterable(batch.values()):
            work(record)
        consumer.commit()
    return True


def loop_recursive(consumer, work):
    batch = consumer.poll(timeout_ms=3000)
    if batch:
        for partition in batch:
            list(map(work, batch[partition]))
        consumer.commit()
        return loop_recursive(consumer, work)


def loop_with_iter(consumer, work):
    for batch in iter(partial(consumer.poll, timeout_ms=3000), {}):
        [work(record) for records in batch.values() for record in reversed(records)]
        consumer.commit()


def loop_commit_before_the_next_poll(consumer, work):
    batch = consumer.poll(timeout_ms=3000)
    while len(batch) > 0:
        while batch:
            _, records = batch.popitem()
            while records:
                work(records.pop(0))
        consumer.commit()
        batch = consumer.poll(timeout_ms=3000)


def loop_with_a_pool_that_waits(consumer, work):
    with ThreadPoolExecutor(3) as pool:
        while batch := consumer.poll(timeout_ms=3000):
            list(pool.map(work, sum(batch.values(), [])))
            consumer.commit()


def loop_with_offsets(consumer, work):
    "Says which offsets, as kafka-python allows."
    while True:
        batch = consumer.poll(timeout_ms=3000, max_records=10)
        if sum(map(len, batch.values())) == 0:
            break
        for records in batch.values():
            for record in records:
                work(record)
        consumer.commit({tp: OffsetAndMetadata(records[-1].offset + 1, "", -1) for tp, records in batch.items() if records})


def loop_commit_at_the_top(consumer, work):
    "Commits what it has worked on before it asks for more."
    while True:
        batch = consumer.poll(timeout_ms=3000)
        for record in chain(*batch.values()):
            work(record)
        consumer.commit()
        if not batch:
            consumer.close()
            break


def loop_that_tries_again(consumer, work):
    while batch := consumer.poll(timeout_ms=3000):
        for record in chain(*batch.values()):
            while True:
                try:
                    work(record)
                    break
                except Exception:
                    continue
        consumer.commit()


class Loop:
    def run(self, consumer, work):
        batch = True
        while batch:
            batch = consumer.poll(timeout_ms=3000)
            for tp in sorted(batch):
                for record in sorted(batch[tp], key=lambda record: record.offset):
                    work(record)
            if batch:
                consumer.commit()


def loop_commit_first(consumer, work):
    while batch := consumer.poll(timeout_ms=3000):
        consumer.commit()
        for records in batch.values():
            for record in records:
                work(record)


def loop_commit_in_finally(consumer, work):
    while batch := consumer.poll(timeout_ms=3000):
        try:
            for record in chain(*batch.values()):
                work(record)
        finally:
            consumer.commit()


def loop_swallows(consumer, work):
    "Goes on behind a record that failed."
    while batch := consumer.poll(timeout_ms=3000):
        for record in chain(*batch.values()):
            try:
                work(record)
            except Exception as error:
                print("skipped:", error)
        consumer.commit()


def loop_ends_at_a_short_batch(consumer, work):
    while True:
        batch = consumer.poll(timeout_ms=3000)
        for record in chain(*batch.values()):
            work(record)
        consumer.commit()
        if sum(map(len, batch.values())) < 10:
            return


def loop_by_records(consumer, work):
    for record in consumer:
        work(record)
        consumer.commit()


def loop_one_ahead(consumer, work):
    "Polls the next batch before it works on this one."
    batch = consumer.poll(timeout_ms=3000)
    while batch:
        after = consumer.poll(timeout_ms=3000)
        for record in chain(*batch.values()):
            work(record)
        consumer.commit()
        batch = after


def loop_commit_after_the_first_list(consumer, work):
    while batch := consumer.poll(timeout_ms=3000):
        for records in batch.values():
            for record in records:
                work(record)
            consumer.commit()


def loop_first_list_only(consumer, work):
    while batch := consumer.poll(timeout_ms=3000):
        for record in next(iter(batch.values())):
            work(record)
        consumer.commit()


def loop_over_keys(consumer, work):
    while batch := consumer.poll(timeout_ms=3000):
        for record in batch:
            work(record)
        consumer.commit()


def loop_over_lists(consumer, work):
    while batch := consumer.poll(timeout_ms=3000):
        for records in batch.values():
            work(records)
        consumer.commit()


def loop_once(consumer, work):
    for record in chain(*consumer.poll(timeout_ms=3000).values()):
        work(record)
    consumer.commit()


def loop_commit_at_the_end(consumer, work):
    while batch := consumer.poll(timeout_ms=3000):
        for record in chain(*batch.values()):
            work(record)
    consumer.commit()


def loop_never_commits(consumer, work):
    while batch := consumer.poll(timeout_ms=3000):
        for record in chain(*batch.values()):
            work(record)


def loop_every_second_batch(consumer, work):
    count = 0
    while batch := consumer.poll(timeout_ms=3000):
        for record in chain(*batch.values()):
            work(record)
        count += 1
        if count % 2 == 0:
            consumer.commit()
    consumer.commit()


def loop_commit_per_record(consumer, work):
    "With two partitions, the position is ahead of the work: this loses, and it costs a request for each record."
    while batch := consumer.poll(timeout_ms=3000):
        for record in chain(*batch.values()):
            work(record)
            consumer.commit()


def loop_commit_each_record_by_offset(consumer, work):
    "Loses nothing; a request for each record."
    while batch := consumer.poll(timeout_ms=3000):
        for tp, records in batch.items():
            for record in records:
                work(record)
                consumer.commit({tp: OffsetAndMetadata(record.offset + 1, "", -1)})


def loop_without_the_last(consumer, work):
    while batch := consumer.poll(timeout_ms=3000):
        for records in batch.values():
            for record in records[:-1]:
                work(record)
        consumer.commit()


def loop_never_ends(consumer, work):
    while True:
        batch = consumer.poll(timeout_ms=3000)
        for record in chain(*batch.values()):
            work(record)
        if batch:
            consumer.commit()


def loop_with_two_faults(consumer, work):
    "Commits before each record, one request each."
    while batch := consumer.poll(timeout_ms=3000):
        for record in chain(*batch.values()):
            consumer.commit()
            work(record)


# 5.7: zombies


def zombies_by_loop(events):
    refused, generation, members = [], None, []
    for event in events:
        if event["k"] == "generation":
            generation, members = event["generation"], event["members"]
        elif event["generation"] != generation or event["member"] not in members:
            refused.append(event)
    return refused


def zombies_by_accumulate(events):
    last = accumulate(events, lambda now, event: event if event["k"] == "generation" else now)
    return tuple(e for e, now in zip(events, last)
                 if e["k"] == "commit" and not (e["generation"] == now["generation"] and e["member"] in now["members"]))


def zombies_by_yield(events):
    now = {"generation": -1, "members": ()}
    for event in events:
        if event["k"] == "generation":
            now = event
        elif event["k"] == "commit" and (event["member"], event["generation"]) not in [(m, now["generation"]) for m in now["members"]]:
            yield event


def zombies_by_pairs(events):
    allowed, refused = set(), []
    for event in events:
        match event:
            case {"k": "generation", "generation": generation, "members": members}:
                allowed = {(member, generation) for member in members}
            case {"k": "commit", "member": member, "generation": generation} if (member, generation) not in allowed:
                refused += [dict(event)]
    return refused


def zombies_by_fold(events):
    def step(state, event):
        now, refused = state
        if event["k"] == "generation":
            return event, refused
        fits = event["member"] in now["members"] and event["generation"] == now["generation"]
        return now, refused if fits else refused + [event]

    return reduce(step, events, ({"generation": 0, "members": []}, []))[1]


def zombies_by_looking_back(events):
    def at(place):
        return [event for event in events[:place] if event["k"] == "generation"][-1]

    return [event for place, event in enumerate(events) if event["k"] == "commit"
            and (event["generation"] != at(place)["generation"] or event["member"] not in at(place)["members"])]


class Coordinator:
    def __init__(self):
        self.now = None

    def refuses(self, event):
        if event["k"] == "generation":
            self.now = event
            return False
        return self.now is None or event["generation"] != self.now["generation"] or event["member"] not in self.now["members"]

    @classmethod
    def all(cls, events):
        return list(filter(cls().refuses, events))


def zombies_by_generation(events):
    now, refused = None, []
    for event in events:
        if event["k"] == "generation":
            now = event["generation"]
        elif event["generation"] != now:
            refused.append(event)
    return refused


def zombies_by_member(events):
    now, refused = [], []
    for event in events:
        if event["k"] == "generation":
            now = event["members"]
        elif event["member"] not in now:
            refused.append(event)
    return refused


def zombies_who_fail_both(events):
    now, refused = None, []
    for event in events:
        if event["k"] == "generation":
            now = event
        elif event["generation"] != now["generation"] and event["member"] not in now["members"]:
            refused.append(event)
    return refused


def zombies_seen_from_the_end(events):
    last = [event for event in events if event["k"] == "generation"][-1]
    return [event for event in events if event["k"] == "commit"
            and (event["generation"] != last["generation"] or event["member"] not in last["members"])]


def zombies_with_a_long_memory(events):
    "Each member's own last generation; nobody is ever forgotten."
    known, refused = {}, []
    for event in events:
        if event["k"] == "generation":
            known |= dict.fromkeys(event["members"], event["generation"])
        elif known.get(event["member"]) != event["generation"]:
            refused.append(event)
    return refused


def zombies_older_only(events):
    "Refuses older generations; a newer one than the group's is accepted."
    now, refused = None, []
    for event in events:
        if event["k"] == "generation":
            now = event
        elif event["generation"] < now["generation"] or event["member"] not in now["members"]:
            refused.append(event)
    return refused


def zombies_accepted(events):
    refused = zombies_by_loop(events)
    return [event for event in events if event["k"] == "commit" and event not in refused]


def zombies_by_offset(events):
    return [event["offset"] for event in zombies_by_loop(events)]


def zombies_counted(events):
    return len(zombies_by_loop(events))


def zombies_the_first(events):
    "Returns inside of the loop."
    now = None
    for event in events:
        if event["k"] == "generation":
            now = event
        elif event["generation"] != now["generation"] or event["member"] not in now["members"]:
            return [event]
    return []


def zombies_that_go_back(events):
    "Takes a commit to a smaller offset for a zombie's."
    highest, refused = -1, zombies_by_loop(events)
    for event in events:
        if event["k"] == "commit":
            if event["offset"] < highest and event not in refused:
                refused.append(event)
            highest = max(highest, event["offset"])
    return refused


# 5.8: once


def once_by_set(records):
    seen, kept = set(), []
    for record in records:
        if (record.partition, record.offset) not in seen:
            seen.add((record.partition, record.offset))
            kept.append(record)
    return kept


def once_by_dict(records):
    first = {}
    for record in records:
        first.setdefault((record.partition, record.offset), record)
    return list(first.values())


def once_by_reversed_dict(records):
    "The first delivery comes last, and so it stays; then in the order of arrival."
    first = {(r.partition, r.offset): place for place, r in reversed(list(enumerate(records)))}
    return tuple(records[place] for place in sorted(first.values()))


def once_by_yield(records):
    seen = []
    for record in records:
        if [record.partition, record.offset] not in seen:
            seen.append([record.partition, record.offset])
            yield record


def once_by_pandas(records):
    table = pd.DataFrame({"partition": [r.partition for r in records], "offset": [r.offset for r in records], "record": records})
    return table.drop_duplicates(["partition", "offset"])["record"].tolist()


def once_by_numpy(records):
    names = np.array([(r.partition, r.offset) for r in records]).reshape(-1, 2)
    _, places = np.unique(names, axis=0, return_index=True)
    return [records[place] for place in sorted(places)]


def once_in_place(records):
    seen = set()
    for record in list(records):
        name = f"{record.partition}-{record.offset}"
        if name in seen:
            place = max(n for n, other in enumerate(records) if f"{other.partition}-{other.offset}" == name)
            del records[place]
        seen.add(name)
    return records


def once_by_filter(records):
    seen = OrderedDict()
    return filter(lambda record: seen.setdefault((record.partition, record.offset), id(record)) == id(record), records)


def once_by_value(records):
    return list({record.value: record for record in reversed(records)}.values())[::-1]


def once_by_offset(records):
    first = {}
    for record in records:
        first.setdefault(record.offset, record)
    return list(first.values())


def once_the_last(records):
    last = {}
    for record in records:
        last.pop((record.partition, record.offset), None)
        last[record.partition, record.offset] = record
    return list(last.values())


def once_neighbours(records):
    return [next(same) for _, same in groupby(records, key=lambda record: (record.partition, record.offset))]


def once_by_sum(records):
    first = {}
    for record in records:
        first.setdefault(record.partition + record.offset, record)
    return list(first.values())


def once_by_glued_digits(records):
    "Partition 1, offset 11 and partition 11, offset 1 have one name."
    first = {}
    for record in records:
        first.setdefault(f"{record.partition}{record.offset}", record)
    return list(first.values())


def once_sorted(records):
    return sorted(once_by_set(records), key=lambda record: (record.partition, record.offset))


def once_as_names(records):
    return list(dict.fromkeys((record.partition, record.offset) for record in records))


def once_as_values(records):
    return [record.value for record in once_by_set(records)]


def once_without_all_twins(records):
    names = [(record.partition, record.offset) for record in records]
    return [record for record, name in zip(records, names) if names.count(name) == 1]


def once_with_two_faults(records):
    "By offset alone, and in another order."
    return sorted(once_by_offset(records), key=lambda record: record.offset)


# 5.9: choose a policy


def choose_by_min(costs, duplicates_allowed):
    good = [row for row in costs if row["lost"] == 0 and row["duplicates"] <= duplicates_allowed]
    return min(good, key=lambda row: row["commit requests"])["policy"] if good else None


def choose_by_loop(costs, duplicates_allowed):
    best = None
    for row in costs:
        if row["lost"] or row["duplicates"] > duplicates_allowed:
            continue
        if best is None or row["commit requests"] < best["commit requests"]:
            best = row
    return best and best["policy"]


def choose_by_next(costs, duplicates_allowed):
    costs.sort(key=lambda row: row["commit requests"])
    return next((row["policy"] for row in costs if not row["lost"] and row["duplicates"] <= duplicates_allowed), None)


def choose_by_pandas(costs, duplicates_allowed):
    table = pd.DataFrame(costs)
    good = table[(table.lost == 0) & (table.duplicates <= duplicates_allowed)].sort_values("commit requests")
    return None if good.empty else good.policy.iloc[0]


def choose_by_numpy(costs, duplicates_allowed):
    lost, twice, price = (np.array([row[name] for row in costs]) for name in ("lost", "duplicates", "commit requests"))
    price = np.where((lost == 0) & (twice <= duplicates_allowed), price, np.inf)
    return None if np.isinf(price).all() else np.array([row["policy"] for row in costs])[price.argmin()]


def choose_by_recursion(costs, duplicates_allowed):
    if not costs:
        return None
    cheapest = min(costs, key=lambda row: row["commit requests"])
    if cheapest["lost"] == 0 and cheapest["duplicates"] <= duplicates_allowed:
        return cheapest["policy"]
    return choose_by_recursion([row for row in costs if row is not cheapest], duplicates_allowed)


def choose_by_dict(costs, duplicates_allowed):
    prices = {row["policy"]: row["commit requests"] for row in costs if row["lost"] == 0 and row["duplicates"] <= duplicates_allowed}
    return min(prices, key=prices.get, default=None)


def choose_whatever_is_lost(costs, duplicates_allowed):
    good = [row for row in costs if row["duplicates"] <= duplicates_allowed]
    return min(good, key=lambda row: row["commit requests"])["policy"] if good else None


def choose_below_the_bound(costs, duplicates_allowed):
    good = [row for row in costs if row["lost"] == 0 and row["duplicates"] < duplicates_allowed]
    return min(good, key=lambda row: row["commit requests"])["policy"] if good else None


def choose_where_0_is_no_bound(costs, duplicates_allowed):
    good = [row for row in costs if row["lost"] == 0 and (not duplicates_allowed or row["duplicates"] <= duplicates_allowed)]
    return min(good, key=lambda row: row["commit requests"])["policy"] if good else None


def choose_the_dearest(costs, duplicates_allowed):
    good = [row for row in costs if row["lost"] == 0 and row["duplicates"] <= duplicates_allowed]
    return max(good, key=lambda row: row["commit requests"])["policy"] if good else None


def choose_fewest_duplicates(costs, duplicates_allowed):
    good = [row for row in costs if row["lost"] == 0 and row["duplicates"] <= duplicates_allowed]
    return min(good, key=lambda row: row["duplicates"])["policy"] if good else None


def choose_without_a_way_out(costs, duplicates_allowed):
    good = [row for row in costs if row["lost"] == 0 and row["duplicates"] <= duplicates_allowed]
    return min(good, key=lambda row: row["commit requests"])["policy"]


def choose_the_cheapest_or_nothing(costs, duplicates_allowed):
    "Takes the cheapest first, and asks afterwards."
    cheapest = min(costs, key=lambda row: row["commit requests"])
    return cheapest["policy"] if cheapest["lost"] == 0 and cheapest["duplicates"] <= duplicates_allowed else None


def choose_the_first(costs, duplicates_allowed):
    return next((row["policy"] for row in costs if row["lost"] == 0 and row["duplicates"] <= duplicates_allowed), None)


def choose_the_row(costs, duplicates_allowed):
    good = [row for row in costs if row["lost"] == 0 and row["duplicates"] <= duplicates_allowed]
    return min(good, key=lambda row: row["commit requests"], default=None)


def choose_a_word_for_none(costs, duplicates_allowed):
    return choose_by_min(costs, duplicates_allowed) or "none"


def choose_with_two_faults(costs, duplicates_allowed):
    "Accepts losses, and takes the dearest."
    good = [row for row in costs if row["duplicates"] <= duplicates_allowed]
    return max(good, key=lambda row: (row["lost"], row["commit requests"]))["policy"] if good else None


def loop_that_closes(consumer, work):
    try:
        for batch in iter(lambda: consumer.poll(timeout_ms=3000), {}):
            for records in batch.values():
                list(map(work, records))
            consumer.commit()
    finally:
        consumer.close()



def once_by_highest(records):
    highest, first = {}, []
    for record in records:
        if record.offset > highest.get(record.partition, -1):
            highest[record.partition] = record.offset
            first.append(record)
    return first



RIGHT = {
    "5.3": {
        "ifs": sums_by_ifs,
        "a table of functions, and a named tuple": sums_by_table,
        "played record by record, and a list": sums_by_playing_it,
        "numpy's integers": sums_by_numpy,
        "match, Decimal, and parameters with defaults": sums_by_match,
        "sets": sums_by_sets,
    },
    "5.5": {
        "a loop without end, and a return": loop_forever,
        "the timeout by place; returns True": loop_walrus,
        "recursion": loop_recursive,
        "iter with a stop, each list from behind": loop_with_iter,
        "eats the lists": loop_commit_before_the_next_poll,
        "a pool that waits for all": loop_with_a_pool_that_waits,
        "says which offsets, and how many records": loop_with_offsets,
        "a method, in the order of partitions": Loop().run,
        "commits after the empty poll, too, and closes": loop_commit_at_the_top,
        "tries a record again": loop_that_tries_again,
        "closes whatever happens": loop_that_closes,
    },
    "5.7": {
        "a loop": zombies_by_loop,
        "accumulate, and a tuple": zombies_by_accumulate,
        "yield": zombies_by_yield,
        "pairs that are allowed; copies of the events": zombies_by_pairs,
        "a fold": zombies_by_fold,
        "looks back at every commit": zombies_by_looking_back,
        "a class and filter": Coordinator.all,
    },
    "5.8": {
        "a set": once_by_set,
        "setdefault": once_by_dict,
        "a dictionary of places; a tuple": once_by_reversed_dict,
        "yield": once_by_yield,
        "pandas": once_by_pandas,
        "numpy": once_by_numpy,
        "in the argument itself": once_in_place,
        "filter": once_by_filter,
        "the highest offset of each partition": once_by_highest,
    },
    "5.9": {
        "min": choose_by_min,
        "a loop": choose_by_loop,
        "sorts the argument; next": choose_by_next,
        "pandas": choose_by_pandas,
        "numpy's words": choose_by_numpy,
        "recursion": choose_by_recursion,
        "a dictionary of prices": choose_by_dict,
    },
}

WRONG = {
    "5.3": {
        "rounds the record in hand up": (sums_rounded, r"processed = 124, not 125 .*tenth of a second is over"),
        "auto commits at every record": (sums_with_a_punctual_auto, r"auto, .* committed = 100, not 123.* five seconds"),
        "auto commits at every poll": (sums_with_a_position, r"auto, .* committed = 100, not 120.* five seconds"),
        "sync per batch commits before the work": (sums_with_a_batch_in_hand, r"sync per batch, .* committed = 120, not 130.* when the ten records of a poll are done"),
        "numbers below 0": (sums_that_go_below_0, r"lost = 0, not -24"),
        "losses as duplicates": (sums_with_losses_as_duplicates, r"before the work, .* lost = 6, not 0; .*committed and not processed is lost"),
        "before the work without the batch in hand": (sums_before_the_work_without_the_batch, r"before the work, .* committed = 130, not 120"),
        "the record in hand comes twice": (sums_with_the_record_in_hand, r"sync per record, .* duplicates = 0, not 1"),
        "what is polled and not finished is lost": (sums_of_the_lost_rest, r"auto, .* lost = 0, not 6"),
        "three numbers": (sums_without_the_losses, r"four numbers are wanted"),
        "a dictionary": (sums_as_a_dictionary, r"tuple"),
        "printed": (sums_printed, r"return"),
        "one number": (sums_of_one_number, r"tuple"),
        "two faults: counts the record in hand, knows no losses": (sums_with_two_faults, r"lost = 6, not 0; .*committed and not processed is lost"),
    },
    "5.5": {
        "commits first": (loop_commit_first, r"10 of 26 records lost"),
        "commits in finally": (loop_commit_in_finally, r"(?s)10 of 26 records lost.*-- an error: work"),
        "goes on behind a record that failed": (loop_swallows, r"(?s)1 of 26 records lost.*-- an error: work"),
        "ends at a short batch": (loop_ends_at_a_short_batch, r"14 of 26 records never worked on, your loop returned"),
        "takes records from the consumer itself": (loop_by_records, r"a consumer gives its records by poll\(\) only"),
        "polls one batch ahead": (loop_one_ahead, r"2 of 26 records lost"),
        "commits after each list": (loop_commit_after_the_first_list, r"5 of 26 records lost"),
        "works on the first list only": (loop_first_list_only, r"13 of 26 records lost"),
        "works on the partitions' names": (loop_over_keys, r"one record; your loop gives it a TopicPartition"),
        "works on whole lists": (loop_over_lists, r"one record; your loop gives it a list"),
        "one poll": (loop_once, r"16 of 26 records never worked on, your loop returned"),
        "commits once, at the end": (loop_commit_at_the_end, r"came twice after one crash"),
        "never commits": (loop_never_commits, r"never commits"),
        "commits every second batch": (loop_every_second_batch, r"came twice after one crash"),
        "two faults: commits the position after every record": (loop_commit_per_record, r"9 of 26 records lost"),
        "commits every record by its offset": (loop_commit_each_record_by_offset, r"26 commits for 5 polls"),
        "leaves out each list's last": (loop_without_the_last, r"8 of 26 records lost"),
        "never ends": (loop_never_ends, r"brought nothing, and your loop polls on"),
        "two faults: commits before every record": (loop_with_two_faults, r"10 of 26 records lost"),
    },
    "5.7": {
        "asks for the generation only": (zombies_by_generation, r"C3 commits 40 as generation 3; .* generation 3, its members are C2"),
        "asks for the member only": (zombies_by_member, r"pass: C3 commits 20 as generation 3; the group is at generation 2, "),
        "refuses who fails both": (zombies_who_fail_both, r"let a stale commit pass"),
        "judges all by the last generation": (zombies_seen_from_the_end, r"pass: C2 commits 60 as generation 3; the group is at generation 2, "),
        "forgets no member": (zombies_with_a_long_memory, r"pass: C3 .* its members are C2"),
        "accepts a newer generation": (zombies_older_only, r"as generation 3; the group is at generation 2, "),
        "returns those that are accepted": (zombies_accepted, r"let a stale commit pass"),
        "returns offsets": (zombies_by_offset, r"the refused commits themselves.* you have 20"),
        "returns how many": (zombies_counted, r"a list is wanted"),
        "returns the first only": (zombies_the_first, r"let a stale commit pass"),
        "takes who goes back for a zombie": (zombies_that_go_back, r"refuse a commit that is in order"),
    },
    "5.8": {
        "goes by the value": (once_by_value, r"is gone.* has the same value"),
        "goes by the offset": (once_by_offset, r"is gone.* has the same offset"),
        "keeps the last delivery": (once_the_last, r"order has changed"),
        "compares neighbours": (once_neighbours, r"is there twice"),
        "goes by a sum": (once_by_sum, r"is gone"),
        "glues digits together": (once_by_glued_digits, r"partition 1 offset 10 is gone"),
        "sorts": (once_sorted, r"order has changed"),
        "returns names": (once_as_names, r"the records themselves; you have \(1, 0\)"),
        "returns values": (once_as_values, r"the records themselves; you have b"),
        "drops both twins": (once_without_all_twins, r"is gone, no delivery of it is left"),
        "two faults: goes by the offset, and sorts": (once_with_two_faults, r"is gone.* has the same offset"),
    },
    "5.9": {
        "does not mind losses": (choose_whatever_is_lost, r"it loses 6 records"),
        "less than the bound": (choose_below_the_bound, r"at most 0 .* None; .* loses nothing and repeats 0"),
        "takes a bound of 0 for none": (choose_where_0_is_no_bound, r"at most 0 .* it repeats 14"),
        "the dearest": (choose_the_dearest, r"67 commit requests instead of 93"),
        "the fewest duplicates": (choose_fewest_duplicates, r"9 commit requests instead of 67"),
        "no way out": (choose_without_a_way_out, r"your code raised ValueError: min\(\) "),
        "the cheapest or nothing": (choose_the_cheapest_or_nothing, r"said None; .* loses nothing and repeats 0"),
        "the first that is good enough": (choose_the_first, r"9 commit requests instead of 67"),
        "the row": (choose_the_row, r"return the name of a policy"),
        "a word for None": (choose_a_word_for_none, r"or None where none fits"),
        "two faults: accepts losses, takes the dearest": (choose_with_two_faults, r"it loses 6 records"),
    },
}
