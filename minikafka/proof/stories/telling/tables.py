"""The replicas of one partition as a table: the records of each, their leader epochs, and its high watermark.

    broker  role      epoch  HW  LEO  ISR    log
    1       leader        2   1    2  1 2    m1/1 | m2/2
    2       follower      2   1    1         m1/1 |
    3       dead                             m1/1

A record is its value and the leader epoch that wrote it, with a ! if its batch is damaged; the bar stands where the high
watermark does. What a dead broker has is read from its disk.

Owns: the layout, and the reading of a log as it lies on a disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from minikafka.log import batch as batches

HEAD = ("broker", "role", "epoch", "HW", "LEO", "ISR", "log")
NUMBERS = ("epoch", "HW", "LEO")


def replicas(world: Any, tp: str) -> list[str]:
    """Return the lines of the table of `tp` ("t-0"): every broker that has something of it."""
    rows = [row for node in world.brokers if (row := _row(world, node, tp))]
    return layout(HEAD, rows)


def layout(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return lines whose columns are as wide as their widest cell; numbers to the right."""
    lines = [tuple(head), *map(tuple, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    def cell(i: int, text: str) -> str:
        return text.rjust(widths[i]) if head[i] in NUMBERS else text.ljust(widths[i])
    return ["  ".join(cell(i, text) for i, text in enumerate(line)).rstrip() for line in lines]


def _row(world: Any, node: int, tp: str) -> tuple[str, ...] | None:
    topic, _, index = tp.rpartition("-")
    host = world.hosts[node]
    broker = world.broker(node)
    partition = broker.replicas.partitions.get((topic, int(index))) if broker is not None else None
    if partition is None:
        log = " ".join(text for _, text in stored(host.disk, tp))
        return (str(node), host.state, "", "", "", "", log) if log or broker is None else None
    core = partition.replica
    role = "leader" if core.is_leader else "follower" if core.leader >= 0 else "no leader"
    role += " (paused)" if host.state == "paused" else ""
    isr = " ".join(map(str, sorted(core.isr.committed))) if core.is_leader else ""
    if core.is_leader and core.isr.proposal is not None:
        isr += " -> " + " ".join(map(str, sorted(core.isr.proposal.members)))
    return (str(node), role, str(core.leader_epoch), str(core.high_watermark), str(partition.log.end_offset), isr,
            with_bar(list(stored(host.disk, tp)), core.high_watermark))


def with_bar(records: list[tuple[int, str]], high_watermark: int) -> str:
    """Return the records with a bar between those below and those from the high watermark on."""
    below = [text for offset, text in records if offset < high_watermark]
    above = [text for offset, text in records if offset >= high_watermark]
    return " ".join([*below, "|", *above]).strip()


def stored(disk: Any, tp: str) -> Iterator[tuple[int, str]]:
    """Return (offset, text) of every record of `tp` in the log files of a disk."""
    for path in disk.files(f"/data/{tp}"):
        if path.endswith(".log"):
            yield from _texts(bytes(disk.names[path].content))


def _texts(content: bytes) -> Iterator[tuple[int, str]]:
    for header, data in batches.batches(content):
        for record in batches.records(data):
            value = "marker" if header.is_control else bytes(record.value or b"").decode(errors="replace")
            yield record.offset, f"{value}/{header.leader_epoch}" + "!" * (not batches.crc_ok(data, 0, header))
