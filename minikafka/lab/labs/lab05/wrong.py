"""Wrong solutions of lab 5, each by the mistake that it makes."""
from __future__ import annotations

# --- 5.3 -------------------------------------------------------------------------------------------------------------

def _sums(processed, committed):
    return processed, committed, max(0, processed - committed), max(0, committed - processed)


def _right(policy, t):
    n = int(t * 10)
    return n, {"auto": int(t // 5) * 50, "sync per batch": n // 10 * 10, "sync per record": n,
               "before the work": n // 10 * 10 + 10}[policy]


def auto_at_every_poll(policy, t):
    n, committed = _right(policy, t)
    return _sums(n, n // 10 * 10 if policy == "auto" else committed)


def commits_the_last_not_the_next(policy, t):
    n, committed = _right(policy, t)
    return _sums(n, committed - 1 if policy == "sync per record" else committed)


def commit_before_is_harmless(policy, t):
    n, committed = _right(policy, t)
    return n, committed, max(0, n - committed), 0


def auto_commits_what_is_done(policy, t):
    n, committed = _right(policy, t)
    return _sums(n, n if policy == "auto" else committed)


def whole_batches_only(policy, t):
    n, committed = _right(policy, t)
    return _sums(n // 10 * 10, committed)


# --- 5.5 -------------------------------------------------------------------------------------------------------------

def commits_first(consumer, work):
    while batches := consumer.poll(timeout_ms=3000):
        consumer.commit()
        for records in batches.values():
            for record in records:
                work(record)


def commits_once_at_the_end(consumer, work):
    while batches := consumer.poll(timeout_ms=3000):
        for records in batches.values():
            for record in records:
                work(record)
    consumer.commit()


def never_commits(consumer, work):
    while batches := consumer.poll(timeout_ms=3000):
        for records in batches.values():
            for record in records:
                work(record)


def commits_in_the_middle(consumer, work):
    while batches := consumer.poll(timeout_ms=3000):
        for records in batches.values():
            for number, record in enumerate(records):
                work(record)
                if number == 0:
                    consumer.commit()


def commits_each_record(consumer, work):
    while batches := consumer.poll(timeout_ms=3000):
        for partition, records in batches.items():
            for record in records:
                work(record)
                consumer.commit({partition: record.offset + 1})


def commits_the_last_offset(consumer, work):
    while batches := consumer.poll(timeout_ms=3000):
        for partition, records in batches.items():
            for record in records:
                work(record)
            consumer.commit({partition: records[-1].offset})


def one_batch_only(consumer, work):
    for records in consumer.poll(timeout_ms=3000).values():
        for record in records:
            work(record)
    consumer.commit()


def commits_after_each_list(consumer, work):
    while batches := consumer.poll(timeout_ms=3000):
        for records in batches.values():
            for record in records:
                work(record)
            consumer.commit()


def works_on_the_first_list_only(consumer, work):
    while batches := consumer.poll(timeout_ms=3000):
        for record in next(iter(batches.values())):
            work(record)
        consumer.commit()


def polls_for_ever(consumer, work):
    while True:
        for records in consumer.poll(timeout_ms=3000).values():
            for record in records:
                work(record)
        consumer.commit()


# --- 5.7 -------------------------------------------------------------------------------------------------------------

def _walk(events, refuse):
    generation, members, found = None, [], []
    for event in events:
        if event["k"] == "generation":
            generation, members = event["generation"], event["members"]
        elif refuse(event, generation, members):
            found.append(event)
    return found


def older_generations_only(events):
    return _walk(events, lambda e, generation, members: e["generation"] < generation)


def strangers_only(events):
    return _walk(events, lambda e, generation, members: e["member"] not in members)


def both_must_be_wrong(events):
    return _walk(events, lambda e, generation, members: e["member"] not in members and e["generation"] != generation)


def by_the_last_generation(events):
    last = [e for e in events if e["k"] == "generation"][-1]
    return [e for e in events if e["k"] == "commit"
            and (e["generation"] != last["generation"] or e["member"] not in last["members"])]


def offsets_that_go_back(events):
    highest, found = -1, []
    for event in events:
        if event["k"] == "commit":
            if event["offset"] < highest:
                found.append(event)
            highest = max(highest, event["offset"])
    return found


# --- 5.8 -------------------------------------------------------------------------------------------------------------

def _first_by(records, name):
    seen, kept = set(), []
    for record in records:
        if name(record) not in seen:
            seen.add(name(record))
            kept.append(record)
    return kept


def by_value(records):
    return _first_by(records, lambda r: r.value)


def by_offset_only(records):
    return _first_by(records, lambda r: r.offset)


def by_partition_and_value(records):
    return _first_by(records, lambda r: (r.partition, r.value))


def neighbours_only(records):
    return [r for n, r in enumerate(records) if n == 0 or (r.partition, r.offset) != records[n - 1][1:3]]


def sorted_by_place(records):
    return sorted({(r.partition, r.offset): r for r in records}.values(), key=lambda r: (r.partition, r.offset))


# --- 5.9 -------------------------------------------------------------------------------------------------------------

def fewest_duplicates(costs, allowed):
    fit = [row for row in costs if row["lost"] == 0 and row["duplicates"] <= allowed]
    return min(fit, key=lambda row: row["duplicates"])["policy"] if fit else None


def forgets_the_losses(costs, allowed):
    fit = [row for row in costs if row["duplicates"] <= allowed]
    return min(fit, key=lambda row: row["commit requests"])["policy"] if fit else None


def strictly_fewer(costs, allowed):
    fit = [row for row in costs if row["lost"] == 0 and row["duplicates"] < allowed]
    return min(fit, key=lambda row: row["commit requests"])["policy"] if fit else None


def always_something(costs, allowed):
    fit = [row for row in costs if row["lost"] == 0 and row["duplicates"] <= allowed] or costs
    return min(fit, key=lambda row: row["commit requests"])["policy"]


WRONG = {
    "5.3": {
        "thinks that auto-commit commits at every poll": auto_at_every_poll,
        "commits the last offset, not the next": commits_the_last_not_the_next,
        "thinks that a commit before the work loses nothing": commit_before_is_harmless,
        "thinks that auto-commit knows what was worked on": auto_commits_what_is_done,
        "counts whole batches as processed": whole_batches_only,
    },
    "5.5": {
        "commits before the work": commits_first,
        "commits once, at the end": commits_once_at_the_end,
        "never commits": never_commits,
        "commits the position in the middle of a batch": commits_in_the_middle,
        "commits each record": commits_each_record,
        "commits the last offset, not the next": commits_the_last_offset,
        "stops after one batch": one_batch_only,
        "commits all partitions after the list of one": commits_after_each_list,
        "works on one partition, commits all": works_on_the_first_list_only,
        "polls for ever": polls_for_ever,
    },
    "5.7": {
        "refuses older generations only": older_generations_only,
        "looks at the member only": strangers_only,
        "refuses only if both are wrong": both_must_be_wrong,
        "judges by the last generation of all": by_the_last_generation,
        "looks for offsets that go back": offsets_that_go_back,
    },
    "5.8": {
        "takes equal values for one record": by_value,
        "forgets that offsets begin at 0 in every partition": by_offset_only,
        "takes equal values of a partition for one record": by_partition_and_value,
        "drops a repetition only if it comes at once": neighbours_only,
        "sorts, and so changes the order": sorted_by_place,
    },
    "5.9": {
        "takes the fewest duplicates, at any price": fewest_duplicates,
        "forgets the losses": forgets_the_losses,
        "takes `at most` for `fewer than`": strictly_fewer,
        "names a policy where none fits": always_something,
    },
}
