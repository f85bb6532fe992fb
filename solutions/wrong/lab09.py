"""Wrong answers to the exercises of lab 9, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import itertools
import math

from minikafka.lab.labs.lab09.checks import DUTIES, HEARTBEATS, OFFSETS
from solutions.right.lab09 import by_a_list, by_a_loop


def every_record(records, offset):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] <= offset:
            leader, epoch = record.get("leader", leader), epoch + 1
    return leader, epoch


def living_only(records, offset):
    leaders = [r["leader"] for r in records if "leader" in r and r["offset"] <= offset]
    return leaders[-1], sum(leader != -1 for leader in leaders) - 1


def last_living(records, offset):
    leaders = [r["leader"] for r in records if "leader" in r and r["offset"] <= offset]
    return next((leader for leader in reversed(leaders) if leader != -1), -1), len(leaders) - 1


def changes_only(records, offset):
    leaders = [r["leader"] for r in records if "leader" in r and r["offset"] <= offset]
    return leaders[-1], len(list(itertools.groupby(leaders))) - 1


# --- 9.3 --------------------------------------------------------------------------------------------------------------


def last_record(records, at):
    known = [r for r in records if r["offset"] <= at]
    return known[-1].get("leader", -1), len(known) - 1


def every_change_is_an_epoch(records, at):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] <= at:
            leader, epoch = record.get("leader", leader), epoch + 1
    return leader, epoch


def before_the_offset(records, at):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] < at and "leader" in record:
            leader, epoch = record["leader"], epoch + 1
    return leader, epoch


def first_of_the_isr(records, at):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] <= at:
            if "leader" in record:
                epoch += 1
                leader = record["leader"]
            elif leader not in record["isr"]:
                leader = record["isr"][0]
    return leader, epoch


def passes_over_the_gap(records, at):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] <= at and record.get("leader", -1) >= 0:
            leader, epoch = record["leader"], epoch + 1
    return leader, epoch


# --- 9.5 --------------------------------------------------------------------------------------------------------------


def half_may_die(voters):
    return voters // 2 + 1, voters // 2


# --- 9.8 --------------------------------------------------------------------------------------------------------------


def _letters(**changed):
    return "".join({**DUTIES, **{duty.replace("_", " "): place for duty, place in changed.items()}}.values())


def elected_by_heartbeats():
    return _letters(which_node_is_the_controller=HEARTBEATS)


def configurations_in_a_topic():
    return _letters(configurations=OFFSETS)


def brokers_are_told_by_heartbeats():
    return _letters(telling_brokers_what_has_changed=HEARTBEATS)


WRONG = {
    "9.3": {
        "looks at the last record only": (last_record, ""),
        "begins an epoch with each change": (every_change_is_an_epoch, ""),
        "leaves out the record at the offset": (before_the_offset, ""),
        "elects the first of the ISR by itself": (first_of_the_isr, ""),
        "does not count the time without a leader": (passes_over_the_gap, ""),
        "an epoch with each record": (every_record, r"only a record that names a leader"),
        "nobody begins no epoch": (living_only, r"or -1, begins|nobody leads"),
        "the last one who lived": (last_living, r"nobody leads"),
        "the same leader again begins no epoch": (changes_only, r"same leader again"),
        "the record at the offset is left out": (lambda records, offset: by_a_loop(records, offset - 1), r"at the offset counts"),
        "the end of the log": (lambda records, offset: by_a_loop(records, 10**9), r"later records"),
        "counts epochs from one": (lambda r, o: (by_a_list(r, o)[0], by_a_list(r, o)[1] + 1), r"first epoch is 0"),
        "the other way round": (lambda r, o: by_a_list(r, o)[::-1], r"leader comes first"),
        "the leader only": (lambda r, o: by_a_list(r, o)[0], r"leader, epoch|pair|two"),
        "the offset taken for a place": (lambda r, o: by_a_list(r[:o + 1], 10**9), r"offset|later"),
    },
    "9.5": {
        "lets half of them die": (half_may_die, ""),
        "half, rounded up": (lambda voters: (math.ceil(voters / 2), voters - math.ceil(voters / 2)), r"half|majority"),
        "all but one": (lambda voters: (voters - 1, 1), r"majority|half"),
        "all may die but one": (lambda voters: (voters // 2 + 1, voters - 1), r"die"),
        "a majority may die": (lambda voters: (voters // 2 + 1, voters // 2 + 1), r"die"),
        "the other way round": (lambda voters: ((voters - 1) // 2, voters // 2 + 1), r"majority|way round"),
        "one number": (lambda voters: voters // 2 + 1, r"pair"),
        "no whole number": (lambda voters: (voters / 2 + 1, voters / 2 - 1), r"whole|majority"),
        "knows three only": (lambda voters: (2, 1), r"majority"),
        "a text": (lambda voters: "2, 1", r"pair .* returned '2, 1'"),
    },
    "9.8": {
        "lets heartbeats elect the controller": (elected_by_heartbeats, ""),
        "keeps configurations in a topic of their own": (configurations_in_a_topic, ""),
        "tells brokers the changes in answers to heartbeats": (brokers_are_told_by_heartbeats, ""),
        "heartbeats are records": (lambda: "CBCCCDE", r"1|alive|heartbeat"),
        "the controller is a record": (lambda: "ACCCCDE", r"2|controller|elect"),
        "leaders are elected by vote": (lambda: "ABCBCDE", r"4|leader|vote|elect"),
        "everything is a heartbeat": (lambda: "AAAAAAA", r"2|controller|elect"),
        "groups stand in the metadata": (lambda: "ABCCCDC", r"7|group|offset"),
        "six letters": (lambda: "ABCCDE", r"seven|7"),
        "another letter": (lambda: "ABCCCDF", r"A to E|letter"),
        "a number": (lambda: 7, r"letters"),
        "None for the last": (lambda: [*"ABCCCD", None], r"seven letters .*None"),
    },
}
