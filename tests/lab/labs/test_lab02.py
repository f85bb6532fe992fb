"""Lab 2: the bytes of a batch as the lab draws them. Strict cells compare the figures."""
from __future__ import annotations

import pytest

from minikafka.lab.labs.lab02.experiment import START_MS
from minikafka.lab.labs.lab02.hexview import COLOURS, Dump, fields
from minikafka.log import build

ROW = (b"truck-1", b"Front Street 1", [("by", b"dispatch")], 0)
ROWS = {"plain": [ROW], "many": [ROW] * 5, "null": [(None, None, [], 0), (b"", b"", [("h", None)], 3)]}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("codec", [0, 1])
def test_every_byte_of_a_batch_has_one_field(rows, codec):
    """I-HEX-1. Fails if a field of the header or of a record is left out, doubled or a byte too long, or has no colour."""
    batch = build(rows, timestamp_ms=START_MS, base_offset=7, leader_epoch=3, codec=codec)
    found = fields(batch)
    assert [f.start for f in found] == [0, *(f.end for f in found[:-1])] and found[-1].end == len(batch)
    assert all(f.end > f.start and f.kind in COLOURS for f in found)
    text, page = repr(Dump(batch)), Dump(batch)._repr_html_()
    assert "the first record is offset 7" in text and "the first record is offset 7" in page
    if not codec and rows[0][1]:
        assert batch[slice(*next((f.start, f.end) for f in found if f.name == "record 0: value"))] == ROW[1]
