"""A record batch as its bytes: which byte means what, in colour for the eye and in words for everybody.

    Dump(batch)            in a notebook: coloured bytes and a legend; printed: the same as text

Owns: the list of fields (`fields`), which follows minikafka/log/batch.py and minikafka/log/records.py byte by byte, and two
ways of showing it. Only for batches without compression: in compressed bytes a record has no place of its own.

Invariants
  I-HEX-1  the fields cover every byte of the batch once, in order
"""
from __future__ import annotations

import html
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import NamedTuple

from minikafka.lab.verdict import AS_IT_IS
from minikafka.log import BatchHeader
from minikafka.log.batch import HEADER_SIZE
from minikafka.log.records import VARLONG, read_varint

# Okabe-Ito's colours, light enough for black letters on both of JupyterLab's themes.
COLOURS = {"place": "#56b4e9", "frame": "#d9d9d9", "checksum": "#e69f00", "producer": "#cc79a7", "time": "#f0e442",
           "length": "#b3b3b3", "key": "#00c08b", "value": "#7fd4f5", "headers": "#ff9a56"}
ROW = 16


class Field(NamedTuple):
    """One field: bytes [start, end) of the batch, what kind it is (a key of COLOURS), and what it says."""

    name: str
    start: int
    end: int
    kind: str
    says: str


def moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, timezone.utc).strftime("%Y-%m-%d %H:%M:%S") if ms >= 0 else "none"


def fields(batch: bytes) -> list[Field]:
    """Return every field of a batch: the header's thirteen, then those of each record."""
    return [*_header(BatchHeader.parse(batch)), *_records(batch)]


def _header(header: BatchHeader) -> Iterator[Field]:
    widths = [("base offset", 8, "place", f"the first record is offset {header.base_offset}"),
              ("length", 4, "frame", f"{header.length} bytes follow this number"),
              ("leader epoch", 4, "place", f"who led when it was appended: {header.leader_epoch}"),
              ("magic", 1, "frame", f"version {header.magic} of the format"),
              ("crc", 4, "checksum", f"CRC-32C of all that follows: {header.crc:#010x}"),
              ("attributes", 2, "frame", "compression, kind of timestamp, transaction: " + f"{header.attributes:#06x}"),
              ("last offset delta", 4, "place", f"the last record is offset {header.last_offset}"),
              ("base timestamp", 8, "time", moment(header.base_timestamp)),
              ("max timestamp", 8, "time", moment(header.max_timestamp)),
              ("producer id", 8, "producer", f"{header.producer_id}"),
              ("producer epoch", 2, "producer", f"{header.producer_epoch}"),
              ("base sequence", 4, "producer", f"the producer's own count: {header.base_sequence}"),
              ("count", 4, "frame", f"{header.count} record(s)")]
    at = 0
    for name, width, kind, says in widths:
        yield Field(name, at, at + width, kind, says)
        at += width


def _records(batch: bytes) -> Iterator[Field]:
    header, at = BatchHeader.parse(batch), HEADER_SIZE
    if header.codec:
        yield Field("records", at, len(batch), "value", "compressed")
        return
    for number in range(header.count):
        for field in _record(batch, at, header):
            yield field._replace(name=f"record {number}: {field.name}")
        at = field.end


def _record(batch: bytes, at: int, header: BatchHeader) -> Iterator[Field]:
    def number(name: str, kind: str, says: str, last: int = 28) -> Iterator[Field]:
        nonlocal at, value
        start = at
        value, at = read_varint(batch, at, last)
        yield Field(name, start, at, kind, says.format(value))

    def text(name: str, kind: str, length: int) -> Iterator[Field]:
        nonlocal at
        if length > 0:
            yield Field(name, at, at + length, kind, repr(batch[at : at + length])[1:])
            at += length

    value = 0
    yield from number("length", "length", "{} bytes follow")
    yield Field("attributes", at, at + 1, "length", "none in use")
    at += 1
    yield from number("timestamp delta", "time", "{} ms after the base timestamp", VARLONG)
    yield from number("offset delta", "place", "base offset + {}")
    yield from number("key length", "length", "{} (-1: no key)")
    yield from text("key", "key", value)
    yield from number("value length", "length", "{} (-1: no value)")
    yield from text("value", "value", value)
    yield from number("headers", "length", "{} header(s)")
    for _ in range(value):
        yield from number("header name length", "length", "{}")
        yield from text("header name", "headers", value)
        yield from number("header value length", "length", "{}")
        yield from text("header value", "headers", value)


class Dump:
    """The bytes of one batch, to look at; `marked` positions are framed (a byte that was changed, say)."""

    def __init__(self, batch: bytes, marked: tuple[int, ...] = ()) -> None:
        self.batch, self.marked, self.fields = batch, marked, fields(batch)

    def legend(self) -> list[Field]:
        """Return the fields worth a line: those of the header and the first record, and for the other records only how
        many there are."""
        return [f for f in self.fields if ":" not in f.name or f.name.startswith("record 0:")]

    def rows(self) -> Iterator[tuple[int, bytes]]:
        return ((at, self.batch[at : at + ROW]) for at in range(0, len(self.batch), ROW))

    def __repr__(self) -> str:
        lines = [f"{at:04x}  {row.hex(' '):47}  {_letters(row)}" for at, row in self.rows()]
        lines += [""] + [f"{f.start:4}-{f.end - 1:<4} {f.name:28} {f.says}" for f in self.legend()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        kinds = [f for f in self.fields for _ in range(f.end - f.start)]
        lines = []
        for at, row in self.rows():
            cells = "".join(self._byte(at + i, byte, kinds[at + i]) for i, byte in enumerate(row))
            blank = "<td></td>" * (ROW - len(row))
            lines.append(f'<tr style="background: none"><td style="{PALE}">{at:04x}</td>{cells}{blank}'
                         f'<td style="{PALE}">{html.escape(_letters(row))}</td></tr>')
        legend = "".join(
            f'<tr style="background: none"><td style="{LEFT} background: {COLOURS[f.kind]}; color: black">'
            f'{f.start}–{f.end - 1}</td><td style="{LEFT}"><b>{html.escape(f.name)}</b></td>'
            f'<td style="{LEFT}">{html.escape(f.says)}</td></tr>' for f in self.legend())
        return (f'<div {AS_IT_IS} style="display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start"><table '
                'style="font: 15px monospace; border-spacing: 2px; border-collapse: separate; margin: 0">'
                f'{"".join(lines)}</table>'
                f'<table style="font-size: 13px; margin: 0">{legend}</table></div>')

    def _byte(self, at: int, byte: int, field: Field) -> str:
        frame = "outline: 3px solid #d55e00;" if at in self.marked else ""
        return (f'<td title="{html.escape(field.name)}" style="background: {COLOURS[field.kind]}; color: black; '
                f'padding: 1px 4px; {frame}">{byte:02x}</td>')


PALE = "text-align: left; padding: 1px 10px; opacity: 0.7; white-space: pre"
LEFT = "text-align: left; padding: 1px 10px;"


def _letters(row: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in row)
