"""A folder in which somebody renamed, copied, cut or added files: it opens, or it is refused by name; nothing else happens."""

from __future__ import annotations

import random

import pytest

from minikafka.log.segment import ALL_SUFFIXES, DamagedLog
from tests.broker.replication.test_replica_manager import Replicas, replicas
from tests.log.kit import NOW, PATH, fill, idempotent, open_log, stored
from tests.log.memfs import MemFs

STRAY = ("", "5", "x", "²", "-1", "0" * 19, "0" * 21, "9" * 20, f"{1 << 63:020d}", f"{1 << 32:020d}", f"{7:020d}", f"{30:020d}")

TAILS = (*ALL_SUFFIXES, ".snapshot", ".log.swap", ".log.cleaned", ".index.swap", ".log.deleted")


def files(fs: MemFs) -> dict[str, bytes]:
    return {name: fs.read(f"{PATH}/{name}") for name in fs.listdir(PATH)}


def put(fs: MemFs, name: str, data: bytes) -> None:
    fs.write_atomic(f"{PATH}/{name}", data)


def segments(fs: MemFs) -> dict[str, bytes]:
    return {name: data for name, data in files(fs).items() if name.endswith(".log")}


def a_log() -> MemFs:
    """Return a folder of some segments after a clean stop, with 41 batches."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 20)
    log.append_leader(idempotent(7, 0, 0), 1, NOW)
    fill(log, 20, epoch=1, first=20)
    log.close()
    return fs


def damage(fs: MemFs, rng: random.Random) -> None:
    """Do one of the things that people, scripts and disks do to a folder."""
    there = files(fs)
    name = rng.choice(sorted(there))
    data = there[name]
    stray = rng.choice(STRAY) + rng.choice(TAILS)
    match rng.randrange(6):
        case 0:
            put(fs, stray, data)
        case 1:
            fs.rename(f"{PATH}/{name}", f"{PATH}/{stray}")
        case 2:
            fs.remove(f"{PATH}/{name}")
        case 3:
            put(fs, name, data[: rng.randrange(len(data) + 1)])
        case 4:
            put(fs, name, data + rng.randbytes(rng.randrange(40)))
        case 5:
            put(fs, name, there[rng.choice(sorted(there))])


@pytest.mark.parametrize("clean", [True, False])
def test_any_folder_opens_or_is_refused_by_name(clean: bool) -> None:
    """Fails when a file in a folder makes the start raise anything but DamagedLog, or when what is refused loses a segment
    (I-LOAD-7)."""
    refused = 0
    for seed in range(150):
        rng = random.Random(seed)
        fs = a_log()
        for _ in range(rng.randint(1, 3)):
            damage(fs, rng)
        before, swapped = segments(fs).keys(), any(name.endswith(".swap") for name in files(fs))
        try:
            log = open_log(fs, clean=clean, recovery_point=rng.choice([0, 41, 82]))
        except DamagedLog:
            refused += 1
            assert before <= segments(fs).keys() or swapped, seed
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
        log.check()
        log.close()
    assert refused


def test_a_stray_segment_hides_no_record_and_costs_none() -> None:
    """Fails when a segment between others is opened with them, or deleted: in Kafka it is read from its first offset on."""
    fs = a_log()
    there = segments(fs)
    first = sorted(there)[1]
    put(fs, f"{7:020d}.log", there[first])
    with pytest.raises(DamagedLog, match=f"{7:020d}.log begins before that. Stop the broker, move"):
        open_log(fs, clean=True)
    fs.remove(f"{PATH}/{7:020d}.log")
    assert segments(fs) == there
    assert len(stored(open_log(fs, clean=True))) == 41


@replicas()
async def test_a_damaged_folder_takes_one_partition_offline(w: Replicas) -> None:
    """Fails when a damaged log ends the start of its broker, takes another partition with it, or is changed (I-LOGS-2)."""
    await w.create("other")
    node = w.followers[0]
    await w.send(b"x")
    await w.until(lambda: w.partition(node).log.end_offset == 1)
    folder = w.partition(node).log.path
    await w.world.stop(node)
    fs = w.disk(node)
    names = [f"{folder}/{at:020d}.log" for at in (0, 1)]
    data = fs.read(names[0])
    fs.write_atomic(names[0], data + data[:7] + b"\1" + data[8:])
    fs.write_atomic(names[1], data)
    before = [fs.read(name) for name in names]
    w.world.boot(node)
    await w.until(lambda: node in w.brokers and ("other", 0) in w.brokers[node].replicas.partitions)
    assert ("t", 0) not in w.brokers[node].replicas.partitions
    assert [fs.read(name) for name in names] == before
