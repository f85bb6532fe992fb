"""Wrong answers to the exercises of lab 5, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import json
from itertools import chain, groupby

from kafka import OffsetAndMetadata

from solutions.right.lab05 import MEMBER, once_by_set, sums_by_ifs, sums_by_table, zombies_by_loop

# --- 5.3 --------------------------------------------------------------------------------------------------------------


def _sums(processed, committed):
    return processed, committed, max(0, processed - committed), max(0, committed - processed)


def _right(policy, t):
    n = int(t * 10)
    return n, {"auto": int(t // 5) * 50, "sync per batch": n // 10 * 10, "sync per record": n,
               "before the work": n // 10 * 10 + 10}[policy]


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


# --- 5.5 --------------------------------------------------------------------------------------------------------------


def commits_in_the_middle(consumer, work):
    while batches := consumer.poll(timeout_ms=3000):
        for records in batches.values():
            for number, record in enumerate(records):
                work(record)
                if number == 0:
                    consumer.commit()


def commits_the_last_offset(consumer, work):
    while batches := consumer.poll(timeout_ms=3000):
        for partition, records in batches.items():
            for record in records:
                work(record)
            consumer.commit({partition: records[-1].offset})


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


# --- 5.7 --------------------------------------------------------------------------------------------------------------


def offsets_that_go_back(events):
    highest, found = -1, []
    for event in events:
        if event["k"] == "commit":
            if event["offset"] < highest:
                found.append(event)
            highest = max(highest, event["offset"])
    return found


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


# --- 5.8 --------------------------------------------------------------------------------------------------------------


def _first_by(records, name):
    seen, kept = set(), []
    for record in records:
        if name(record) not in seen:
            seen.add(name(record))
            kept.append(record)
    return kept


def by_partition_and_value(records):
    return _first_by(records, lambda r: (r.partition, r.value))


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


# --- 5.9 --------------------------------------------------------------------------------------------------------------


def policy_per(many):
    def loop(consumer, work):
        while batch := consumer.poll(timeout_ms=2000, max_records=many):
            for record in chain(*batch.values()):
                work(record)
            consumer.commit()

    return loop


def policy_that_never_commits(consumer, work):
    while batch := consumer.poll(timeout_ms=2000):
        for record in chain(*batch.values()):
            work(record)


def policy_before_the_work(consumer, work):
    while batch := consumer.poll(timeout_ms=2000, max_records=3):
        consumer.commit()
        for record in chain(*batch.values()):
            work(record)


def policy_of_its_own_offset(consumer, work):
    "Commits the offset of the ride that is done, not of the next one."
    while batch := consumer.poll(timeout_ms=2000, max_records=3):
        for tp, records in batch.items():
            for record in records:
                work(record)
            consumer.commit({tp: OffsetAndMetadata(records[-1].offset - 2, "", -1)})


def policy_of_the_position(consumer, work):
    "Commits the position after every third ride: the whole batch."
    while batch := consumer.poll(timeout_ms=2000):
        for place, record in enumerate(chain(*batch.values()), 1):
            work(record)
            if place % 3 == 0:
                consumer.commit()


def policy_of_one_batch(consumer, work):
    for record in chain(*consumer.poll(timeout_ms=2000).values()):
        work(record)
    consumer.commit()


# --- 5.10 -------------------------------------------------------------------------------------------------------------


def charge_naively(consumer, charge, set_aside):
    while batch := consumer.poll(timeout_ms=2000):
        for record in chain(*batch.values()):
            charge(json.loads(record.value))
        consumer.commit()


def charge_and_skip(consumer, charge, set_aside):
    while batch := consumer.poll(timeout_ms=2000):
        for record in chain(*batch.values()):
            try:
                ride = json.loads(record.value)
            except ValueError:
                continue
            charge(ride)
        consumer.commit()


def charge_or_set_aside_whatever_fails(consumer, charge, set_aside):
    while batch := consumer.poll(timeout_ms=2000):
        for record in chain(*batch.values()):
            try:
                charge(json.loads(record.value))
            except Exception:
                set_aside(record)
        consumer.commit()


def charge_what_is_json(consumer, charge, set_aside):
    "Forgets that bytes may be no text."
    while batch := consumer.poll(timeout_ms=2000):
        for record in chain(*batch.values()):
            try:
                ride = json.loads(record.value)
            except json.JSONDecodeError:
                set_aside(record)
                continue
            charge(ride)
        consumer.commit()


def charge_until_poison(consumer, charge, set_aside):
    "Leaves the rest of the batch when one record is poison."
    while batch := consumer.poll(timeout_ms=2000):
        try:
            for record in chain(*batch.values()):
                charge(json.loads(record.value))
        except ValueError:
            set_aside(record)
        consumer.commit()


def charge_and_swallow(consumer, charge, set_aside):
    while batch := consumer.poll(timeout_ms=2000):
        for record in chain(*batch.values()):
            try:
                ride = json.loads(record.value)
            except ValueError:
                set_aside(record)
                continue
            try:
                charge(ride)
            except ConnectionError:
                pass
        consumer.commit()


def charge_after_the_commit(consumer, charge, set_aside):
    while batch := consumer.poll(timeout_ms=2000):
        consumer.commit()
        for record in chain(*batch.values()):
            try:
                ride = json.loads(record.value)
            except ValueError:
                set_aside(record)
                continue
            charge(ride)


def charge_with_a_slip(consumer, charge, set_aside):
    while batch := consumer.poll(timeout_ms=2000):
        for record in chain(*batch.values()):
            charge(jason.loads(record.value))  # noqa: F821
        consumer.commit()


def charge_the_bytes(consumer, charge, set_aside):
    while batch := consumer.poll(timeout_ms=2000):
        for record in chain(*batch.values()):
            charge(record.value)
        consumer.commit()


WRONG = {
    "5.3": {
        "commits the last offset, not the next": (commits_the_last_not_the_next, ""),
        "thinks that a commit before the work loses nothing": (commit_before_is_harmless, ""),
        "thinks that auto-commit knows what was worked on": (auto_commits_what_is_done, ""),
        "counts whole batches as processed": (whole_batches_only, ""),
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
        "commits the position in the middle of a batch": (commits_in_the_middle, ""),
        "commits the last offset, not the next": (commits_the_last_offset, ""),
        "commits first": (loop_commit_first, r"10 of 26 records lost"),
        "commits in finally": (loop_commit_in_finally, r"(?s)10 of 26 records lost.*-- an error: work"),
        "goes on behind a record that failed": (loop_swallows, r"(?s)1 of 26 records lost.*-- an error: work"),
        "ends at a short batch": (loop_ends_at_a_short_batch, r"14 of 26 records never worked on, your loop returned"),
        "takes records from the consumer itself": (loop_by_records, r"this consumer gives its records by poll\(\) only"),
        "polls one batch ahead": (loop_one_ahead, r"2 of 26 records lost"),
        "commits after each list": (loop_commit_after_the_first_list, r"5 of 26 records lost"),
        "works on the first list only": (loop_first_list_only, r"13 of 26 records lost"),
        "works on the partitions' names": (loop_over_keys, r"one record at a time; your loop gives it a TopicPartition"),
        "works on whole lists": (loop_over_lists, r"one record at a time; your loop gives it a list"),
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
        "looks for offsets that go back": (offsets_that_go_back, ""),
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
        "takes equal values of a partition for one record": (by_partition_and_value, ""),
        "goes by the value": (once_by_value, r"is gone.* has the same value"),
        "goes by the offset": (once_by_offset, r"is gone.* has the same offset"),
        "keeps the last delivery": (once_the_last, r"order has changed"),
        "compares neighbours": (once_neighbours, r"is there twice"),
        "goes by a sum": (once_by_sum, r"is gone"),
        "glues digits together": (once_by_glued_digits, r"partition 1 offset 10 is gone"),
        "sorts": (once_sorted, r"order has changed"),
        "says the last one twice": (lambda records: [*dict.fromkeys(records), records[-1]], r"is there twice"),
        "adds a record that nobody delivered": (
            lambda records: [*dict.fromkeys(records), records[0]._replace(offset=999)], r"as they came; you have .*offset=999"),
        "returns names": (once_as_names, r"the records themselves, as they came; you have \(1, 0\)"),
        "returns values": (once_as_values, r"the records themselves, as they came; you have b"),
        "drops both twins": (once_without_all_twins, r"is gone, no delivery of it is left"),
        "two faults: goes by the offset, and sorts": (once_with_two_faults, r"is gone.* has the same offset"),
    },
    "5.9": {
        "a commit for each ride": (policy_per(1), r"1,0\d\d euros a month.* The commits cost most"),
        "a commit for each batch": (policy_per(10), r"1,4\d\d euros a month.* What comes twice costs most"),
        "every fifth": (policy_per(5), r"8\d\d euros a month"),
        "never commits": (policy_that_never_commits, r"\d,\d\d\d euros a month: 0 commits"),
        "commits before the work": (policy_before_the_work, r"never charged is the dearest"),
        "commits the position in the middle of a batch": (policy_of_the_position, r"never charged is the dearest"),
        "commits too low an offset": (policy_of_its_own_offset, r"What comes twice costs most"),
        "reads one batch": (policy_of_one_batch, r"90 of 100 rides were never charged"),
    },
    "5.10": {
        "charges whatever comes": (charge_naively, r"ended with UnicodeDecodeError after 8 charges; each restart"),
        "skips poison without a word": (charge_and_skip, r"neither charged nor in rides.dead"),
        "sets aside whatever fails": (charge_or_set_aside_whatever_fails, r"a ride that can be parsed was set aside"),
        "knows one of two kinds of poison": (charge_what_is_json, r"ended with UnicodeDecodeError"),
        "leaves the rest of the batch": (charge_until_poison, r"without any fault \d+ rides never charged"),
        "swallows what the bank says": (charge_and_swallow, r"1 ride never charged"),
        "commits before the work": (charge_after_the_commit, r"\d+ rides never charged"),
        "has a slip of its own": (charge_with_a_slip, r"your code raised NameError"),
        "charges bytes": (charge_the_bytes, r"charge\(\) takes a ride"),
    },
    "5.11": {
        "commits before the work": (MEMBER.replace("while going:\n", "while going:\n    batch = consumer.poll(timeout_ms=1000)\n"
                                                   "    consumer.commit()\n").replace("consumer.poll(timeout_ms=1000).values()",
                                                                                    "batch.values()"),
                                    r"was printed by neither run"),
        "never commits": (MEMBER.replace("    consumer.commit()\n", ""), r"has committed nothing of 60"),
        "begins at the end": (MEMBER.replace('"earliest"', '"latest"'), r"Where does a new group begin"),
        "does not end": (MEMBER.replace("going = False", "pass"), r"still running"),
        "ends when a poll brings nothing": (MEMBER.replace("while going:\n    for records in consumer.poll(timeout_ms=1000).values():",
                                                           "while batch := consumer.poll(timeout_ms=5):\n"
                                                           "    for records in batch.values():"), r"ended by itself after \d+ rides"),
        "charges the end": (MEMBER.replace(
            'if record.value == b"end":\n                going = False\n            else:', "if True:"), r"printed 'end'"),
        "prints more": (MEMBER.replace("print(record.value.decode())", "print('charged', record.value.decode())"),
                        r"printed 'charged ride-0'"),
        "is in no group": (MEMBER.replace("group_id=group, ", "").replace("    consumer.commit()\n", ""), r"has committed nothing of 60"),
    },
}
