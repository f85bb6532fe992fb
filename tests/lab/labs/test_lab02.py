"""Lab 2: with another fault the figures are other ones; strict cells compare those of the text."""
from __future__ import annotations

import pytest

from minikafka.broker.server.live import LiveFs
from minikafka.lab.labs.lab02.experiment import (
    HOUR_MS,
    START_MS,
    a_log,
    flip,
    index_entries,
    last_batch,
    one_record_an_hour,
    reading,
    tear,
)
from minikafka.lab.labs.lab02.hexview import COLOURS, Dump, fields
from minikafka.log import Log, LogConfig, build

ROW = (b"truck-1", b"Front Street 1", [("by", b"dispatch")], 0)
ROWS = {"plain": [ROW], "many": [ROW] * 5, "null": [(None, None, [], 0), (b"", b"", [("h", None)], 3)]}


@pytest.fixture(scope="module")
def million(tmp_path_factory):
    log = a_log(tmp_path_factory.mktemp("million"), 1_000_000)
    yield log
    log.close()


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


def test_the_officers_figures():
    """Nothing after 49 hours of silence. Fails if retention deletes at the exact age, keeps the active segment, or gives an
    offset twice."""
    parcels = one_record_an_hour()
    assert (parcels.at(156).start, parcels.at(156).end) == (100, 109)
    assert (parcels.at(157).start, parcels.at(157).end, parcels.at(157).oldest) == (109, 109, None)
    assert "empty" in parcels._repr_html_() and "retention.ms = 48 h" in parcels._repr_html_()


@pytest.mark.parametrize("setting, hour, oldest", [
    ({"retention_hours": 24}, 108, 28), ({"record_bytes": 209_000}, 107, 52)])
def test_other_settings_other_ages(setting, hour, oldest):
    """Fails if the size of a record, or the retention, does not matter."""
    assert one_record_an_hour(**setting, silence=0).at(hour).oldest == oldest


def test_an_offset_in_the_middle_and_a_time_are_found_by_the_index(million):
    """Fails if a lookup in the middle of a long log scans, by offset or by time."""
    assert reading(million, 987_654).read == 9356
    assert million.offset_for_timestamp(START_MS + HOUR_MS)[:2] == (36_000, START_MS + HOUR_MS)


def test_a_sparser_index_costs_more(tmp_path):
    """Fails if index.interval.bytes changes nothing."""
    sparse = a_log(tmp_path, 100_000, LogConfig(index_interval_bytes=65536))
    assert len(index_entries(sparse)) < 50
    assert max(reading(sparse, offset).extra for offset in range(0, 100_000, 1000)) > 60_000
    sparse.close()


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_torn_tail_is_cut_and_nothing_else(tmp_path, part):
    """I-LOAD-1. Fails if recovery believes half a batch, or cuts a byte more than the tear; how much was torn is what is cut."""
    log = a_log(tmp_path, 1000)
    path = tmp_path / "positions-1000" / "00000000000000000000.log"
    log.close()
    whole = path.read_bytes()
    torn = tear(path, part)
    again = Log.open(LiveFs(), str(path.parent), LogConfig(), now_ms=START_MS)
    assert again.truncated_bytes == torn == max(8, int(2630 * part)) and again.end_offset == 1000
    again.close()
    assert path.read_bytes() == whole


def test_damage_in_the_middle_ends_the_log_there(tmp_path):
    """Fails if recovery skips a batch with a wrong checksum and goes on behind it."""
    log = a_log(tmp_path, 1000)
    path = tmp_path / "positions-1000" / "00000000000000000000.log"
    log.close()
    flip(path, 3 * 2630 + 1000)
    again = Log.open(LiveFs(), str(path.parent), LogConfig(), now_ms=START_MS)
    assert again.end_offset == 300 and last_batch(path.read_bytes())[0].last_offset == 299
    again.close()
