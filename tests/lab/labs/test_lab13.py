"""Lab 13: the books of a checkpoint, and their picture."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from minikafka.lab.labs.lab13 import outage
from minikafka.lab.labs.lab13.books import CheckpointBatch, batches, moment, said
from minikafka.lab.labs.lab13.lanes import page, show
from minikafka.lab.labs.streaming import patience

NAMES = ["tea", "coffee", "tea", "juice"]


def checkpoint(folder: Path, ends: list[int], done: int) -> Path:
    """A checkpoint with a micro-batch for each end, of which `done` are marked as done."""
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True)
    for number, end in enumerate(ends):
        (folder / "offsets" / str(number)).write_text(f'v1\n{{}}\n{{"orders":{{"0":{end}}}}}')
        if number < done:
            (folder / "commits" / str(number)).write_text("v1\n{}")
    (folder / "offsets" / ".0.crc").write_bytes(b"\0")
    return folder


def test_the_books_of_a_checkpoint(tmp_path):
    """I-BOOKS-1. Fails if a batch without its commit counts as done, numbers are sorted as letters, or crc files are read."""
    ends = list(range(1, 13))
    found = batches(checkpoint(tmp_path, ends, 11))
    assert found[-1] == CheckpointBatch(11, {0: 12}, False) and [batch.ends[0] for batch in found] == ends
    assert all(batch.done for batch in found[:-1]) and batches(tmp_path / "none") == []


def test_the_picture_of_three_books(tmp_path):
    """I-LANES-1. Fails if a repeated row is not a box of its own, a batch begun looks done, or a letter is too small."""
    folder = checkpoint(tmp_path, [1, 3], 1)
    found = moment("crash", 4, 3, folder, {0: 1, 1: 2, 2: 2})
    assert said(found) == ("crash: log end 4; group 3; checkpoint 0: [0, 1) done, 1: [1, 3) begun; sink 5 rows, "
                           "more than once: [1, 2]")
    svg = page(found, NAMES, 2)
    assert svg.count("once more") == 2 and svg.count("offsets only") == 1 and svg.count("offsets, commits") == 1
    assert {float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)} == {14.0} and "var(" not in svg
    html = show([found, moment("then", 4, 3, folder, {0: 1})], NAMES).html()
    assert html.count("data-page=") == 2 and "moment 2 of 2: then" in html


def test_each_source_takes_the_options_of_a_patient_query():
    """Fails if an option of the connector's Java client is given to the Python source, which refuses what it cannot honour."""
    options = pytest.importorskip("minikafka.lab.spark.options")
    from minikafka.lab.spark.source import FORMAT
    for source in (FORMAT, "kafka"):
        given = {"kafka.bootstrap.servers": "none:1", "subscribe": "orders", **patience(source)}
        if source == FORMAT:
            assert options.SourceOptions.parse(given).wanted
    assert patience("kafka")["kafka.default.api.timeout.ms"] == "3000"


def test_which_choices_suit_the_two_services():
    """Fails if a demand of 13.7 is met by every choice, if only one choice is right, or if retention deletes sooner or later than
    the text says."""
    choices = [(hours, loud) for hours in (3, 48, 60) for loud in (True, False)]
    suits = {service: [choice for choice in choices if not outage.complaint(service, *choice)] for service in outage.DEMANDS}
    assert suits == {"bill": [(60, True)], "board": [(48, False), (60, False)]}
    assert outage.suffered(outage.WEEKEND, 48, True) == outage.AfterOutage(missing=12, stood=8, shown=0)
    told = {outage.complaint(service, *choice) for service in outage.DEMANDS for choice in choices}
    assert all(words in "\n".join(told) for words in ("no bill, and no error", "nobody knows", "stood still", "of the last"))
