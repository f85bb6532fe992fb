"""Wrong answers to the exercises of lab 3, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import hashlib
import math
import zlib
from collections import Counter

from solutions.right.lab03 import DAY, MASK, SEED, M, finished, hashed, hot_key, how_many, mixed, partition_of

# --- 3.3 --------------------------------------------------------------------------------------------------------------


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


# --- 3.6 --------------------------------------------------------------------------------------------------------------


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
        "takes the busiest key of the fullest partition": (of_the_fullest_partition, ""),
        "takes records without a key for one key": (counts_no_key_as_a_key, ""),
        "compares a key with the other keys": (compares_with_the_other_keys, ""),
        "takes a full partition for a hot key": (looks_at_the_fullest_partition_only, ""),
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
