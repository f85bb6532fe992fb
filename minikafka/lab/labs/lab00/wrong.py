"""Wrong solutions of lab 0, each by the mistake that it makes."""
from __future__ import annotations

from collections import Counter


def counts_from_one(records):
    counts = {}
    for record in records:
        counts[record.partition] = counts.get(record.partition, 1) + 1
    return counts


def last_offsets(records):
    return {record.partition: record.offset for record in records}


def in_all_three(records):
    return {partition: sum(record.partition == partition for record in records) for partition in range(3)}


def by_key(records):
    return dict(Counter(record.key for record in records))


def the_wrong_way_round(acknowledged, found):
    return sorted(set(found) - set(acknowledged))


def both_ways(acknowledged, found):
    return sorted(set(acknowledged) ^ set(found))


def by_offset_only(acknowledged, found):
    offsets = {offset for _, offset in found}
    return sorted(place for place in acknowledged if place[1] not in offsets)


def only_how_many(acknowledged, found):
    return len(acknowledged) - len(found)


def behind_the_last(acknowledged, found):
    last = dict(sorted(found))
    return sorted(place for place in acknowledged if place[1] > last.get(place[0], -1))


def as_they_come(acknowledged, found):
    return [place for place in acknowledged if place not in found]


WRONG = {
    "0.2": {
        "finds what was never promised": the_wrong_way_round,
        "counts what is in either list only": both_ways,
        "forgets that offsets begin at 0 in every partition": by_offset_only,
        "says how many, not which": only_how_many,
        "looks for a hole only at the end": behind_the_last,
        "does not sort them": as_they_come,
    },
    "0.4": {
        "begins to count at one": counts_from_one,
        "takes the last offset for the count": last_offsets,
        "knows three partitions only": in_all_three,
        "counts the trucks, not the partitions": by_key,
    },
}
