"""Answers to the exercises of lab 3, from the text of its notebook alone (tools/notebooks/gate.py: what they are for)."""
from __future__ import annotations

import ctypes
import decimal
import fractions
import functools
import hashlib
import itertools
import math
import struct
import zlib
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


def not_in_32_bits(key, partitions):
    def mix(k):
        k *= M
        k ^= k >> 24
        return k * M
    h, whole = SEED ^ len(key), len(key) // 4 * 4
    for place in range(0, whole, 4):
        h = h * M ^ mix(int.from_bytes(key[place:place + 4], "little"))
    if key[whole:]:
        h = (h ^ int.from_bytes(key[whole:], "little")) * M
    h ^= h >> 13
    h *= M
    h ^= h >> 15
    return (h & 0x7FFFFFFF) % partitions


def signed(h):
    return h - 2 ** 32 if h >= 2 ** 31 else h


def wrong(top=lambda h: h & 0x7FFFFFFF, **lines):
    return lambda key, partitions: top(hashed(key, **lines)) % partitions


def multiplies_last(h):
    h = (h ^ h >> 13) ^ h >> 15
    return h * M & MASK


def leaves_in_the_loop(key, partitions):
    h = SEED ^ len(key)
    for place in range(0, len(key) // 4 * 4, 4):
        h = (h * M & MASK) ^ mixed(int.from_bytes(key[place:place + 4], "little"))
        return (finished(h) & 0x7FFFFFFF) % partitions


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


def hot_without_a_share(places, partitions):
    counts = Counter(key for _, key in places if key is not None)
    return counts.most_common(1)[0][0] if counts else None


def hot_share_of_keys(places, partitions):
    keys = [key for _, key in places if key is not None]
    key, many = Counter(keys).most_common(1)[0] if keys else (None, 0)
    return key if many > len(keys) / partitions else None


def hot_exact_share(places, partitions):
    counts = Counter(key for _, key in places if key is not None)
    key, many = counts.most_common(1)[0] if counts else (None, 0)
    return key if counts and many >= len(places) / partitions else None


def hot_none(places, partitions):
    key, many = Counter(key for _, key in places).most_common(1)[0] if places else (None, 0)
    return key if many > len(places) / partitions else None


def hot_in_the_full_partition(places, partitions):
    full = Counter(partition for partition, _ in places).most_common(1)
    if not full or full[0][1] <= len(places) / partitions:
        return None
    return Counter(key for partition, key in places if partition == full[0][0] and key is not None).most_common(1)[0][0]


def hot_if_the_partition_is_full(places, partitions):
    full = Counter(partition for partition, _ in places)
    keys = [key for partition, key in places if full[partition] > len(places) / partitions and key is not None]
    return Counter(keys).most_common(1)[0][0] if keys else None


def hot_not_empty(places, partitions):
    counts = Counter(key for _, key in places if key)
    key, many = counts.most_common(1)[0] if counts else (None, 0)
    return key if many > len(places) / partitions else None


def hot_first(places, partitions):
    counts = Counter(key for _, key in places if key is not None)
    for key, many in sorted(counts.items(), key=lambda item: item[1]):
        if many > len(places) / partitions:
            return key
    return None


def hot_early(places, partitions):
    counts = Counter()
    for _, key in places:
        counts[key] += key is not None
        if counts[key] > len(places) / partitions:
            return key
    return None


def hot_average(places, partitions):
    counts = Counter(key for _, key in places if key is not None)
    key, many = counts.most_common(1)[0] if counts else (None, 0)
    return key if counts and many > len(places) / len(counts) else None


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

WRONG = {
    "3.3": {
        "keeps the highest bit": (wrong(top=lambda h: h), r"highest bit"),
        "the highest bit is a sign": (wrong(top=signed), r"highest bit"),
        "takes the absolute value": (wrong(top=lambda h: abs(signed(h))), r"absolute|highest bit"),
        "forgets what is left over": (wrong(tail=False), r"left over"),
        "the other end first": (wrong(order="big"), r"little"),
        "numbers grow beyond 32 bits": (not_in_32_bits, r"32 bits"),
        "a checksum": (lambda key, partitions: zlib.crc32(key) % partitions, r"CRC|checksum"),
        "another start": (wrong(seed=0x9747B28D), r"first line|`h`|h = |start"),
        "Python's own hash": (lambda key, partitions: hash(key) % partitions, r"hash\(|another|each (start|process)|no key"),
        "another hash": (lambda key, partitions: hashlib.md5(key).digest()[0] % partitions, r"no key|another|first line"),
        "forgets the shift of a group": (wrong(mix=lambda k: k * M * M & MASK), r"group"),
        "multiplies a group once": (wrong(mix=lambda k: (k * M & MASK) ^ (k * M & MASK) >> 24), r"group"),
        "the end without its last shift": (wrong(finish=lambda h: (h ^ h >> 13) * M & MASK), r"last line|h >> 15"),
        "the end in another order": (wrong(finish=multiplies_last), r"last (two )?lines?|h >> 13|end"),
        "no end at all": (wrong(finish=lambda h: h), r"last (two )?lines?|h >> 13|end"),
        "the return in the loop": (leaves_in_the_loop, r"returned None.*`return`.* not reached|more than one group|second group"),
        "the hash, not the partition": (lambda key, partitions: hashed(key) & 0x7FFFFFFF, r"% partitions|remainder"),
        "from one on": (lambda key, partitions: partition_of(key, partitions) + 1, r"from 0|0 to|% partitions"),
    },
    "3.6": {
        "always the most frequent": (hot_without_a_share, r"fair share"),
        "a share of the records with a key": (hot_share_of_keys, r"without a key"),
        "exactly a fair share": (hot_exact_share, r"more than|exactly"),
        "no key is a key": (hot_none, r"without a key"),
        "the busiest of the fullest partition": (hot_in_the_full_partition, r"fair share"),
        "of any full partition": (hot_if_the_partition_is_full, r"fair share"),
        "no empty key": (hot_not_empty, r"empty"),
        "the least hot": (hot_first, r"hottest"),
        "the first that is hot": (hot_early, r"hottest"),
        "more than the average key": (hot_average, r"fair share"),
        "how many": (lambda places, partitions: Counter(k for _, k in places).most_common(1)[0][1] if places else 0, r"key"),
        "key and count": (lambda places, partitions: (hot_key(places, partitions), 5), r"key"),
        "True": (lambda places, partitions: hot_key(places, partitions) is not None, r"key"),
        "the empty text for none": (lambda places, partitions: hot_key(places, partitions) or "", r"None"),
        "the partition": (lambda places, n: next((p for p, key in places if key == hot_key(places, n)), None), r"key"),
    },
    "3.12": {
        "forgets the peak": (lambda d, p, w, r: max(1, math.ceil(d / DAY / min(w, r))), r"peak|busiest"),
        "rounds down": (lambda d, p, w, r: max(1, int(d * p / DAY / min(w, r))), r"too few|round"),
        "rounds to the nearest": (lambda d, p, w, r: max(1, round(d * p / DAY / min(w, r))), r"too few|round"),
        "forgets the readers": (lambda d, p, w, r: max(1, math.ceil(d * p / DAY / w)), r"read|consumer"),
        "forgets the producers": (lambda d, p, w, r: max(1, math.ceil(d * p / DAY / r)), r"writ|written|producer"),
        "the faster side": (lambda d, p, w, r: max(1, math.ceil(d * p / DAY / max(w, r))), r"slower|too few"),
        "both sides": (lambda d, p, w, r: max(1, math.ceil(d * p / DAY / w) + math.ceil(d * p / DAY / r)), r"least"),
        "one more than needed": (lambda d, p, w, r: 1 + int(d * p / DAY / min(w, r)), r"least"),
        "none for nothing": (lambda d, p, w, r: math.ceil(d * p / DAY / min(w, r)), r"at least 1|least 1"),
        "a day of 24 minutes": (lambda d, p, w, r: max(1, math.ceil(d * p / 1440 / min(w, r))), r"least"),
        "not rounded": (lambda d, p, w, r: max(1, d * p / DAY / min(w, r)), r"whole|round"),
        "a text": (lambda d, p, w, r: str(how_many(d, p, w, r)), r"number"),
        "divides by the peak": (lambda d, p, w, r: max(1, math.ceil(d / p / DAY / min(w, r))), r"peak|busiest|too few"),
        "rounds before the peak": (lambda d, p, w, r: max(1, math.ceil(math.ceil(d / DAY) * p / min(w, r))), r"1 is enough"),
    },
}
