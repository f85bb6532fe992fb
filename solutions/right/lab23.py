"""Right answers to the exercises of elective 23, of different make; written from the notebook's text alone."""
from __future__ import annotations

import contextlib
import itertools
import json
import math
import re
from datetime import UTC, datetime
from functools import partial

import numpy as np
import pandas as pd

from minikafka.lab.labs.lab14.notary import time_of, window_of
from minikafka.lab.labs.lab23.away import played
from minikafka.lab.labs.lab23.versions import VERSIONS, against

# --- 23.2 ------------------------------------------------------------------------------------------------------------------


def reads(value):
    try:
        trip = json.loads(value)
    except ValueError:
        return None, None, None, None
    new = isinstance(trip.get("pickup"), int)
    zone = trip.get("zone") if new else trip.get("pickup")
    return trip.get("trip"), trip.get("taxi"), zone, window_of(time_of(trip["pickup"] / 1000) if new else trip["started"])


def reads_by_name(value):
    """The old release alone has `started`."""
    try:
        trip = json.loads(value)
        if "started" in trip:
            return [trip["trip"], trip["taxi"], trip["pickup"], window_of(trip["started"])]
        return [trip["trip"], trip["taxi"], trip["zone"], window_of(time_of(trip["pickup"] // 1000))]
    except (ValueError, KeyError):
        return [None] * 4


def reads_by_match(value):
    with contextlib.suppress(ValueError):
        match json.loads(value):
            case {"trip": trip, "taxi": taxi, "zone": zone, "pickup": int(began)}:
                return trip, taxi, zone, window_of(datetime.fromtimestamp(began / 1000, UTC).isoformat())
            case {"trip": trip, "taxi": taxi, "pickup": str(zone), "started": began}:
                return trip, taxi, zone, window_of(began)
    return (None,) * 4


def reads_by_pattern(value):
    """The first release that fits."""
    for zone, began, unit in (("zone", "pickup", 1000), ("pickup", "started", 0)):
        pattern = rf'"trip":(\d+),"taxi":"([^"]+)".*"{zone}":"([^"]+)".*"{began}":' + (r"(\d+)" if unit else r'"([^"]+)"')
        if found := re.search(pattern, value):
            trip, taxi, name, at = found.groups()
            return int(trip), taxi, name, window_of(time_of(int(at) / unit) if unit else at)
    return None, None, None, None


def reads_by_pandas(value):
    try:
        trip = pd.Series(json.loads(value))
        at = pd.Timestamp(trip["pickup"], unit="ms") if "zone" in trip else pd.Timestamp(trip["started"])
        zone = trip["zone"] if "zone" in trip else trip["pickup"]
    except (ValueError, KeyError):
        return None, None, None, None
    return int(trip["trip"]), trip["taxi"], zone, at.floor("10min").strftime("%Y-%m-%dT%H:%M:00Z")


def release(read=reads, first="query"):
    return lambda: (first, read)


# --- 23.4 ------------------------------------------------------------------------------------------------------------------


KEPT = ("watermark", "renamed")


def restart(version, stop, kept=KEPT, long=("window",), begin=lambda mark, size: mark // size * size,
            first=lambda stop, since: min(off for off, began in stop.records if began >= since)):
    if version in kept:
        return "keep"
    since = begin(stop.watermark, 20 if version in long else 10)
    return first(stop, since), since


def restarts(**changed):
    return partial(restart, **changed)


def restart_by_table(version, stop):
    open_at = {10: stop.watermark - stop.watermark % 10, 20: stop.watermark - stop.watermark % 20}
    since = {"window": open_at[20]}.get(version, open_at[10])
    for offset, began in stop.records:
        if began >= since and version not in KEPT:
            return [offset, since]
    return "keep"


def restart_by_pandas(version, stop):
    if version in KEPT:
        return "keep"
    table = pd.DataFrame(stop.records, columns=["offset", "began"])
    since = int(np.floor(stop.watermark / (20 if version == "window" else 10)) * (20 if version == "window" else 10))
    return table[table.began >= since].offset.min(), since


def restart_by_trying(version, stop):
    """Keep what can be kept; else the latest offset at which all is well."""
    minutes = 20 if version == "window" else 10
    since = max(begin for begin in range(0, stop.watermark + 1, minutes))
    tries = ["keep", *((off, since) for off, _ in reversed(stop.records))]
    return next(each for each in tries if not against(each, VERSIONS[version]))


def restart_by_match(version, stop):
    match version:
        case "watermark" | "renamed":
            return "keep"
        case "window":
            since = stop.watermark // 20 * 20
        case _:
            since = stop.watermark // 10 * 10
    began = [off for off, minute in stop.records if minute >= since]
    return began[0] - 5, since


# --- 23.6 ------------------------------------------------------------------------------------------------------------------


def enough(night, limit, cores):
    """Batch by batch."""
    now, left = 0, night.away * night.rate
    while left > night.still * night.rate and now <= night.soon:
        rows = min(left, limit)
        took = night.fixed + night.row * rows / cores
        now, left = now + took, left - rows + took * night.rate
    return now <= night.soon


def catch_up(night, size=lambda night, cores: min(night.memory, int((night.still - night.fixed) / night.row * cores))):
    for cores in itertools.count(1):
        if enough(night, size(night, cores), cores):
            return size(night, cores), cores


def catch_up_by_halves(night):
    """A limit that doubles as long as it is allowed."""
    cores = 1
    while True:
        limit = 1
        while 2 * limit <= night.memory and night.fixed + night.row * 2 * limit / cores <= night.still:
            limit *= 2
        for more in range(100, 200):
            if (rows := limit * more // 100) <= night.memory and night.fixed + night.row * rows / cores <= night.still \
                    and enough(night, rows, cores):
                return [rows, cores]
        cores += 1


def catch_up_by_playing(night):
    return next((limit, cores) for cores in range(1, 100) for limit in range(1000, night.memory + 1, 500)
                if not played(night, limit, cores))


def catch_up_by_numpy(night):
    cores = np.arange(1, 50)
    limit = np.floor(np.minimum(night.memory, (night.still - night.fixed) / night.row * cores))
    took = night.fixed + night.row * limit / cores
    gains = limit / took - night.rate
    found = np.argmax((gains > 0) & (night.rate * (night.away - night.still) <= gains * (night.soon - took)))
    return int(limit[found]), cores[found]


# --- 23.7 ------------------------------------------------------------------------------------------------------------------


def bill(measured, rate, reserve=2, days=7, copies=3, up=math.ceil, least=max, unit=1024 ** 3, cores=None):
    one_core = measured.rows / (measured.seconds * (cores or measured.cores))
    needed = up(reserve * rate / one_core)
    return {"cores": needed, "partitions": least(needed, up(rate * measured.partitions / measured.produced)),
            "gib": copies * measured.size * rate * days * 86400 / unit}


def bill_by_counting(measured, rate):
    cores = partitions = 1
    while cores * measured.rows / measured.cores < 2 * rate * measured.seconds:
        cores += 1
    while partitions < cores or partitions * measured.produced / measured.partitions < rate:
        partitions += 1
    return {"partitions": partitions, "cores": cores, "gib": rate * measured.size * 604800 / 2 ** 30 * 3}


def bill_by_numpy(measured, rate):
    core, partition = measured.rows / measured.seconds / measured.cores, measured.produced / measured.partitions
    cores, partitions = np.ceil([2 * rate / core, rate / partition])
    return {"cores": cores, "partitions": np.maximum(cores, partitions), "gib": np.float64(rate) * measured.size * 7 * 86400 * 3 / 1024 ** 3}


def bills(**changed):
    return partial(bill, **changed)


RIGHT = {
    "23.2": {
        "what kind of value": release(),
        "by a name": release(reads_by_name),
        "match": release(reads_by_match),
        "a pattern": release(reads_by_pattern),
        "pandas": release(reads_by_pandas),
        "a list": lambda: ["query", reads],
    },
    "23.4": {
        "the first open window": restart,
        "a table": restart_by_table,
        "pandas": restart_by_pandas,
        "by trying": restart_by_trying,
        "match, and a little earlier": restart_by_match,
    },
    "23.6": {
        "batch by batch": catch_up,
        "halves": catch_up_by_halves,
        "by playing": catch_up_by_playing,
        "numpy": catch_up_by_numpy,
        "a little smaller": partial(catch_up, size=lambda night, cores: min(
            night.memory, round(0.999 * (night.still - night.fixed) / night.row * cores))),
    },
    "23.7": {
        "a core, a partition": bill,
        "counts": bill_by_counting,
        "numpy": bill_by_numpy,
        "a little more beside it": lambda measured, rate: {"rate": rate, **bill(measured, rate)},
        "rounds the disk": lambda measured, rate: bill(measured, rate) | {"gib": round(bill(measured, rate)["gib"], 1)},
    },
}
