"""Wrong solutions of lab 3, each by the mistake that it makes."""
from __future__ import annotations

import zlib
from collections import Counter
from math import ceil

# --- 3.3 ----------------------------------------------------------------------------------------------------------------

MASK = 0xFFFFFFFF


def hashed(key, order="little", tail=True, seed=0x9747B28C, mask=MASK):
    h = (seed ^ len(key)) & MASK
    whole = len(key) & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(key[i:i + 4], order) * 0x5BD1E995 & mask
        k = (k ^ k >> 24) * 0x5BD1E995 & mask
        h = h * 0x5BD1E995 & mask ^ k
    if tail and key[whole:]:
        h = (h ^ int.from_bytes(key[whole:], order)) * 0x5BD1E995 & mask
    h = (h ^ h >> 13) * 0x5BD1E995 & mask
    return h ^ h >> 15


def keeps_the_sign(key, partitions):
    return hashed(key) % partitions


def takes_the_absolute_value(key, partitions):
    h = hashed(key)
    return abs(h - (1 << 32) if h >> 31 else h) % partitions


def forgets_the_tail(key, partitions):
    return (hashed(key, tail=False) & 0x7FFFFFFF) % partitions


def big_endian(key, partitions):
    return (hashed(key, order="big") & 0x7FFFFFFF) % partitions


def numbers_grow(key, partitions):
    return (hashed(key, mask=(1 << 256) - 1) & 0x7FFFFFFF) % partitions


def checksum(key, partitions):
    return zlib.crc32(key) % partitions


# --- 3.6 ----------------------------------------------------------------------------------------------------------------

def always_names_one(places, partitions):
    return Counter(key for _, key in places if key is not None).most_common(1)[0][0]


def of_the_fullest_partition(places, partitions):
    fullest = Counter(p for p, _ in places).most_common(1)[0][0]
    return Counter(key for p, key in places if p == fullest).most_common(1)[0][0]


def counts_no_key_as_a_key(places, partitions):
    key, count = Counter(key for _, key in places).most_common(1)[0]
    return key if count * partitions > len(places) else None


def compares_with_the_other_keys(places, partitions):
    counts = Counter(key for _, key in places if key is not None)
    key, count = counts.most_common(1)[0]
    return key if count > 2 * sum(counts.values()) / len(counts) else None


def looks_at_the_fullest_partition_only(places, partitions):
    fullest, size = Counter(p for p, _ in places).most_common(1)[0]
    key = Counter(k for p, k in places if p == fullest and k is not None).most_common(1)[0][0]
    return key if size * partitions > 1.5 * len(places) else None


def takes_the_empty_text_for_no_key(places, partitions):
    key, count = (Counter(key for _, key in places if key).most_common(1) or [(None, 0)])[0]
    return key if count * partitions > len(places) else None


def calls_a_fair_share_hot(places, partitions):
    key, count = (Counter(key for _, key in places if key is not None).most_common(1) or [(None, 0)])[0]
    return key if count * partitions >= len(places) else None


# --- 3.12 ---------------------------------------------------------------------------------------------------------------

def forgets_the_peak(per_day, peak, written, read):
    return max(1, ceil(per_day / 86400 / min(written, read)))


def rounds_down(per_day, peak, written, read):
    return max(1, int(per_day * peak / 86400 / min(written, read)))


def forgets_the_readers(per_day, peak, written, read):
    return max(1, ceil(per_day * peak / 86400 / written))


def adds_writing_and_reading(per_day, peak, written, read):
    return max(1, ceil(per_day * peak / 86400 * (1 / written + 1 / read)))


def one_more_to_be_safe(per_day, peak, written, read):
    return int(per_day * peak / 86400 / min(written, read)) + 1


WRONG = {
    "3.3": {
        "does not drop the highest bit": keeps_the_sign,
        "takes the absolute value": takes_the_absolute_value,
        "forgets the bytes that are left over": forgets_the_tail,
        "reads the bytes in the wrong order": big_endian,
        "lets the numbers grow beyond 32 bits": numbers_grow,
        "takes a checksum for the hash": checksum,
    },
    "3.6": {
        "names a key where none is hot": always_names_one,
        "takes the busiest key of the fullest partition": of_the_fullest_partition,
        "takes records without a key for one key": counts_no_key_as_a_key,
        "compares a key with the other keys": compares_with_the_other_keys,
        "takes a full partition for a hot key": looks_at_the_fullest_partition_only,
        "takes the empty text for no key": takes_the_empty_text_for_no_key,
        "calls exactly a fair share hot": calls_a_fair_share_hot,
    },
    "3.12": {
        "forgets the peak": forgets_the_peak,
        "rounds down": rounds_down,
        "forgets the readers": forgets_the_readers,
        "adds writing and reading": adds_writing_and_reading,
        "takes one more than needed": one_more_to_be_safe,
    },
}
