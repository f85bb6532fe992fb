"""Right answers to the exercises of lab 3, of different make; written from the notebook's text alone."""
from __future__ import annotations

import ctypes
import decimal
import fractions
import functools
import itertools
import math
import struct
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
from kafka.partitioner.default import murmur2

# --- 3.3 --------------------------------------------------------------------------------------------------------------------


M, SEED, MASK = 0x5BD1E995, 0x9747B28C, 0xFFFFFFFF


def mixed(k):
    k = k * M & MASK
    k ^= k >> 24
    return k * M & MASK


def finished(h):
    h ^= h >> 13
    h = h * M & MASK
    return h ^ h >> 15


def hashed(key, mix=mixed, order="little", tail=True, seed=SEED, finish=finished):
    """The recipe; each argument is a line of it that one may get wrong."""
    h = seed ^ len(key)
    whole = len(key) // 4 * 4
    for place in range(0, whole, 4):
        h = (h * M & MASK) ^ mix(int.from_bytes(key[place:place + 4], order))
    if tail and key[whole:]:
        h = (h ^ int.from_bytes(key[whole:], order)) * M & MASK
    return finish(h)


def partition_of(key, partitions):
    return (hashed(key) & 0x7FFFFFFF) % partitions


def by_struct(key, partitions):
    many, left = divmod(len(key), 4)
    h = SEED ^ len(key)
    for k in struct.unpack(f"<{many}I", key[:4 * many]):
        h = (h * M % 2 ** 32) ^ mixed(k)
    if left:
        h ^= struct.unpack("<I", key[4 * many:].ljust(4, b"\0"))[0]
        h = h * M % 2 ** 32
    return finished(h) % 2 ** 31 % partitions


def by_numpy(key, partitions):
    with np.errstate(over="ignore"):
        m, h = np.uint32(M), np.uint32(SEED ^ len(key))
        whole = len(key) // 4 * 4
        for k in np.frombuffer(key[:whole], dtype="<u4"):
            k = k * m
            k = k ^ (k >> np.uint32(24))
            h = (h * m) ^ (k * m)
        if key[whole:]:
            h = (h ^ np.uint32(int.from_bytes(key[whole:], "little"))) * m
        h = h ^ (h >> np.uint32(13))
        h = h * m
        h = h ^ (h >> np.uint32(15))
    return (h & np.uint32(0x7FFFFFFF)) % np.uint32(partitions)


def by_ctypes(key, partitions):
    h, rest = ctypes.c_uint32(SEED ^ len(key)), key
    while len(rest) >= 4:
        k = ctypes.c_uint32(rest[0] | rest[1] << 8 | rest[2] << 16 | rest[3] << 24)
        k.value *= M
        k.value ^= k.value >> 24
        k.value *= M
        h.value *= M
        h.value ^= k.value
        rest = rest[4:]
    if rest:
        h.value ^= sum(byte << 8 * place for place, byte in enumerate(rest))
        h.value *= M
    h.value ^= h.value >> 13
    h.value *= M
    h.value ^= h.value >> 15
    return (h.value & ~(1 << 31)) % partitions


def by_batches(key, partitions):
    h = SEED ^ len(key)
    for batch in itertools.batched(key, 4):
        number = int.from_bytes(bytes(batch), "little")
        h = ((h * M & MASK) ^ mixed(number)) if len(batch) == 4 else (h ^ number) * M & MASK
    h = finished(h)
    return (h - 2 ** 31 if h >= 2 ** 31 else h) % partitions


class Partitioner:
    def partition_of(self, key, partitions):
        return partition_of(bytes(key), partitions)


# --- 3.6 --------------------------------------------------------------------------------------------------------------------


def hot_key(places, partitions):
    counts = {}
    for _, key in places:
        if key is not None:
            counts[key] = counts.get(key, 0) + 1
    hottest, most = None, len(places) / partitions
    for key, many in counts.items():
        if many > most:
            hottest, most = key, many
    return hottest


def hot_by_counter(places, partitions):
    counts = Counter(key for _, key in places if key is not None)
    for key, many in counts.most_common(1):
        if many * partitions > len(places):
            return key
    return None


def hot_by_defaultdict(places, partitions):
    records = defaultdict(list)
    for partition, key in places:
        records[key].append(partition)
    records.pop(None, None)
    if not records:
        return None
    key = max(records, key=lambda each: len(records[each]))
    return key if len(records[key]) > len(places) / partitions else None


def hot_by_pandas(places, partitions):
    counts = pd.DataFrame(places, columns=["partition", "key"]).key.dropna().value_counts()
    return counts.index[0] if len(counts) and counts.iloc[0] > len(places) / partitions else None


def hot_by_groups(places, partitions):
    keys = sorted(key for _, key in places if key is not None)
    runs = [(len(list(group)), key) for key, group in itertools.groupby(keys)]
    hot = [run for run in runs if run[0] > fractions.Fraction(len(places), partitions)]
    return max(hot)[1] if hot else None


def hot_by_list_count(places, partitions):
    keys = [key for _, key in places if key is not None]
    hot = {key for key in keys if keys.count(key) > len(places) / partitions}
    return sorted(hot, key=keys.count)[-1] if hot else None


def hot_by_numpy(places, partitions):
    keys = [key for _, key in places if key is not None]
    if not keys:
        return None
    names, counts = np.unique(keys, return_counts=True)
    return names[counts.argmax()] if counts.max() > len(places) / partitions else None


# --- 3.12 -------------------------------------------------------------------------------------------------------------------


DAY = 86_400


def how_many(per_day, peak, written, read):
    return max(1, math.ceil(per_day / DAY * peak / min(written, read)))


def by_floor(per_day, peak, written, read):
    slow = min(written, read)
    return max(1, int(-(-per_day * peak // (DAY * slow))))


def by_counting(per_day, peak, written, read):
    partitions = 1
    while partitions * written * DAY < per_day * peak or partitions * read * DAY < per_day * peak:
        partitions += 1
    return partitions


def by_fractions(per_day, peak, written, read):
    busiest = fractions.Fraction(per_day) * fractions.Fraction(peak) / DAY
    return max(1, *(math.ceil(busiest / fractions.Fraction(side)) for side in (written, read)))


def by_decimals(per_day, peak, written, read):
    busiest = decimal.Decimal(per_day) * decimal.Decimal(peak) / DAY
    least = (busiest / decimal.Decimal(min(written, read))).to_integral_value(rounding=decimal.ROUND_CEILING)
    return int(max(1, least))


def by_halves(per_day, peak, written, read):
    low, high = 1, 2 ** 40
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if middle * min(written, read) * DAY >= per_day * peak else (middle + 1, high)
    return low


def by_ceil_of_numpy(per_day, peak, written, read):
    return np.maximum(1, np.ceil(peak * per_day / (24 * 60 * 60) / np.array([written, read]))).max()


RIGHT = {
    "3.3": {
        "the recipe": partition_of,
        "struct": by_struct,
        "numpy": by_numpy,
        "ctypes": by_ctypes,
        "itertools": by_batches if hasattr(itertools, "batched") else partition_of,
        "the library's own": lambda key, partitions: (murmur2(key) & 0x7FFFFFFF) % partitions,
        "a method": Partitioner().partition_of,
        "a partial": functools.partial(lambda function, key, partitions: function(key, partitions), partition_of),
    },
    "3.6": {
        "a loop": hot_key,
        "a Counter": hot_by_counter,
        "a defaultdict": hot_by_defaultdict,
        "pandas": hot_by_pandas,
        "groups": hot_by_groups,
        "list.count": hot_by_list_count,
        "numpy": hot_by_numpy,
    },
    "3.12": {
        "math.ceil": how_many,
        "whole numbers": by_floor,
        "one more, until it is enough": by_counting,
        "fractions": by_fractions,
        "decimals": by_decimals,
        "halves": by_halves,
        "numpy, a float": by_ceil_of_numpy,
        "side by side": lambda d, p, w, r: max(math.ceil(d * p / DAY / w), math.ceil(d * p / DAY / r), 1),
    },
}
