"""A crash at any byte, at any step, by kill or by power failure: a prefix of whole batches is what is left."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from minikafka.log import Log, LogConfig
from tests.log.kit import CONFIG, NOW, PATH, fill, idempotent, open_log, producers, some_batch, stored
from tests.log.memfs import Killed, MemFs

LOG_FILE = f"{PATH}/{0:020d}.log"


def with_producers(log: Log, count: int) -> None:
    """Two idempotent producers and a plain one take turns, under leader epochs that grow."""
    for number in range(count):
        pid = number % 3 - 1
        batch = some_batch(number) if pid < 0 else idempotent(pid, 0, number // 3 * 2)
        log.append_leader(batch, number // 4, NOW + number)


def history(count: int) -> tuple[MemFs, list[bytes], list[dict], list[list]]:
    """A log of `count` batches; and batches, producers and epochs as they were after each of them."""
    fs = MemFs()
    log = open_log(fs)
    states, epochs = [producers(log)], [list(log.epochs.entries)]
    for number in range(count):
        pid = number % 3 - 1
        batch = some_batch(number) if pid < 0 else idempotent(pid, 0, number // 3 * 2)
        log.append_leader(batch, number // 4, NOW + number)
        states.append(producers(log))
        epochs.append(list(log.epochs.entries))
    return fs, stored(log), states, epochs


def test_cut_at_every_byte_leaves_a_prefix_of_whole_batches() -> None:
    """Fails if recovery keeps a torn batch, drops a whole one, or forgets to rebuild epochs or producer state."""
    fs, written, states, epochs = history(7)
    whole = fs.read(LOG_FILE)
    assert len(whole) == sum(map(len, written))  # one segment
    ends = [0]
    for batch in written:
        ends.append(ends[-1] + len(batch))
    for cut in range(len(whole) + 1):
        torn = fs.after_kill()
        torn.names[LOG_FILE].content[cut:] = b""
        log = open_log(torn)
        survivors = sum(1 for end in ends[1:] if end <= cut)
        assert stored(log) == written[:survivors], cut
        assert log.truncated_bytes == cut - ends[survivors]
        assert producers(log) == states[survivors]
        assert log.epochs.entries == epochs[survivors]
        assert log.size == ends[survivors] == torn.size(LOG_FILE)


def test_flipped_byte_ends_the_log_at_its_batch() -> None:
    """Fails if recovery does not check the checksum, or the offsets and magic that no checksum covers."""
    fs, written, *_ = history(3)
    start = len(written[0])
    for at in range(start, start + len(written[1])):
        if 12 <= at - start < 16:
            continue  # the leader epoch: no check can tell a wrong one
        torn = fs.after_kill()
        torn.names[LOG_FILE].content[at] ^= 0x40
        log = open_log(torn)
        assert stored(log) == written[:1], at - start


@pytest.mark.parametrize(("byte", "bit"), [(0, 0x80), (0, 1), (1, 1), (2, 1), (3, 1), (4, 0x80)])
def test_an_offset_too_far_away_ends_the_log(byte: int, bit: int) -> None:
    """Fails if a bit that flipped in the offset of the last batch, which no checksum covers, passes for a gap wider than
    a segment can be."""
    fs, written, *_ = history(3)
    torn = fs.after_kill()
    torn.names[LOG_FILE].content[sum(map(len, written[:2])) + byte] ^= bit
    log = open_log(torn)
    assert stored(log) == written[:2] and log.end_offset == 4


def test_leftovers_are_removed() -> None:
    """Fails if half-written files, or indexes whose log is gone, stay in the folder for ever."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 5)
    log.close()
    before = set(fs.names)
    for name in ("leader-epoch-checkpoint.tmp", f"{0:020d}.log.deleted", f"{99:020d}.index", f"{99:020d}.timeindex"):
        fs.open(f"{PATH}/{name}")
    assert open_log(fs, clean=True).end_offset == 10 and set(fs.names) == before


def test_bytes_behind_the_last_batch_of_a_segment_remove_all_later_ones() -> None:
    """Fails if recovery goes on after it has cut a segment, though the next one seems to follow (rule 63)."""
    fs, written, *_ = history(40)
    torn = fs.after_kill()
    logs = sorted(name for name in torn.names if name.endswith(".log"))
    torn.names[logs[1]].content += b"torn"
    log = open_log(torn)
    assert stored(log) == written[: len(stored(log))] and log.active.path(".log") == logs[1]
    assert not any(torn.exists(name) for name in logs[2:])


def test_missing_segment_in_the_middle_ends_the_log() -> None:
    """Fails if a hole between segments is taken for a log."""
    fs, *_ = history(40)
    torn = fs.after_kill()
    logs = sorted(name for name in torn.names if name.endswith(".log"))
    torn.remove(logs[1])
    log = open_log(torn)
    assert log.active.path(".log") == logs[0]


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".snapshot"])
@pytest.mark.parametrize("damage", ["missing", "short", "wild"])
@pytest.mark.parametrize("clean", [True, False])
def test_derived_files_are_rebuilt(suffix: str, damage: str, clean: bool) -> None:
    """Fails if an index or snapshot is believed against its own order or checksum, or is needed at all."""
    fs, written, states, _ = history(30)
    torn = fs.after_kill()
    for name in [n for n in torn.names if n.endswith(suffix)]:
        if damage == "missing":
            torn.remove(name)
        elif damage == "short":
            del torn.names[name].content[-3:]
        else:
            torn.names[name].content[:] = bytes(reversed(torn.names[name].content))
    log = open_log(torn, clean=clean)
    assert stored(log) == written
    assert producers(log, whole=False) == {pid: (*s[:3], s[3][-1:]) for pid, s in states[-1].items()}


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_a_flipped_bit_in_an_index_misleads_nobody(suffix: str) -> None:
    """Fails if a reader is led past records by an entry that was right when it was written (I-INDEX-4)."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 14)
    written = stored(log)
    log.close()
    names = [name for name in fs.names if name.endswith(suffix)]
    assert len(names) == 2 and min(fs.size(name) for name in names) >= 24
    for name, bit in [(each, bit) for each in names for bit in range(8 * fs.size(each))]:
        flipped = fs.after_kill()
        flipped.names[name].content[bit // 8] ^= 1 << bit % 8
        again = open_log(flipped, clean=True)
        for number, batch in enumerate(written):
            assert again.read(2 * number, 1, again.end_offset) == batch, (name, bit, number)
            assert again.read(2 * number + 1, 300, again.end_offset).startswith(batch), (name, bit, number)
            assert again.offset_for_timestamp(NOW + number) == (2 * number, NOW + number, 0), (name, bit)
        assert again.max_timestamp_offset() == (26, NOW + 13, 0), (name, bit)
        assert stored(again) == written


def test_an_index_that_is_made_anew_leaves_a_damaged_batch_in_its_place() -> None:
    """Fails if mending an index cuts the log at a damaged batch, as recovery does, which had been flushed."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 14)
    written = stored(log)
    log.close()
    flipped = fs.after_kill()
    flipped.names[LOG_FILE].content[4 * len(written[0]) - 5] ^= 1  # in the fourth batch
    flipped.names[LOG_FILE.replace(".log", ".index")].content[4 * 8 + 3] ^= 1  # the sixth batch's last offset
    again = open_log(flipped, clean=True)
    assert again.end_offset == 28
    for number, batch in enumerate(written):
        found = again.read(2 * number, 1, again.end_offset)
        assert (found == batch) == (number != 3) and len(found) == len(batch), number


@pytest.mark.parametrize("content", [None, b"", b"0\n7\n0 0\n", b"nonsense", b"0\n2\n3 9\n2 12\n",
                                     b"0\n2\n0 0\n0 8\n", b"0\n2\n0 8\n1 8\n", b"0\n2\n0 8\n1 0\n"])
def test_lost_epoch_checkpoint_is_read_off_the_batches(content: bytes | None) -> None:
    """Fails if a torn leader-epoch-checkpoint leaves the cache empty or is taken at its word."""
    fs, _, _, epochs = history(30)
    torn = fs.after_kill()
    name = f"{PATH}/leader-epoch-checkpoint"
    if content is None:
        torn.remove(name)
    else:
        torn.names[name].content[:] = content
    log = open_log(torn, clean=True)
    assert log.epochs.entries == epochs[-1]


def test_clean_stop_reads_next_to_nothing() -> None:
    """Fails if a clean start walks the whole log again (or if close leaves no snapshot)."""
    fs = MemFs()
    log = open_log(fs, LogConfig(segment_bytes=1 << 20, index_interval_bytes=4096))
    with_producers(log, 400)
    expected = producers(log, whole=False)
    log.close()
    fs.reads = 0
    again = open_log(fs, log.config, clean=True)
    assert fs.reads < 10
    assert producers(again) == expected
    assert again.recovery_point == again.end_offset == 800


def test_clean_flag_is_believed_only_as_far_as_it_holds() -> None:
    """Fails if a torn tail is served because someone said the stop was clean (I-LOAD-4)."""
    fs, written, *_ = history(5)
    torn = fs.after_kill()
    del torn.names[LOG_FILE].content[-5:]
    log = open_log(torn, clean=True)
    assert stored(log) == written[:4]
    assert log.truncated_bytes > 0


def test_segments_below_the_recovery_point_are_not_walked() -> None:
    """Fails if recovery ignores the recovery point, which would make a restart as slow as the log is long, or takes what it
    has found for flushed (rule 64)."""
    fs = MemFs()
    log = open_log(fs)
    with_producers(log, 60)
    log.flush()
    assert log.recovery_point == log.end_offset
    for flushed, after in ((log.segments[0], log.segments[1]), (log.segments[-2], log.active)):
        torn = fs.after_kill()
        torn.names[flushed.path(".log")].content[70] ^= 1  # nobody looks, as in Kafka
        for point in (after.base_offset, log.recovery_point):
            again = open_log(torn.after_kill(), recovery_point=point)
            assert (again.end_offset, again.recovery_point) == (log.end_offset, point)
        assert open_log(torn.after_kill(), recovery_point=0).end_offset == flushed.base_offset


def test_a_recovery_that_is_killed_leaves_no_half_of_the_epochs() -> None:
    """Fails if epochs that are read off the batches, because the checkpoint is torn, are written down one by one: half
    of them, left by a crash, would be believed, for what was flushed is not read again."""
    fs = MemFs()
    log = open_log(fs)
    for epoch in range(4):
        fill(log, 12, epoch)
    log.flush()
    flushed, epochs = log.recovery_point, log.epochs.entries
    fill(log, 2, 3)
    fs.names[f"{PATH}/leader-epoch-checkpoint"].content.clear()
    steps = 0
    while True:
        torn = fs.after_kill()
        steps += 1
        torn.kill_at = (steps, 1.0)
        try:
            open_log(torn, recovery_point=flushed)
        except Killed:
            assert open_log(torn.after_kill(), recovery_point=flushed).epochs.entries == epochs
        else:
            break
    assert steps > 3 and len(epochs) == 4


@pytest.mark.parametrize("start", range(1, 8))
def test_what_was_deleted_stays_deleted_though_a_kill_came_before_its_checkpoint(start: int) -> None:
    """Fails if batches come back whose epochs are forgotten (seed 8481)."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 8)
    log.append_leader(some_batch(8), 3, NOW)
    flush = log.start_flush()
    flush.sync()
    log.finish_flush(flush)
    log.advance_start(start)
    again = open_log(fs.after_kill(), recovery_point=log.recovery_point, clean=True)
    assert again.start_offset == start and again.epochs.entries == log.epochs.entries
    assert again.epochs.entries[0][1] == start and again.end_offset == log.end_offset


def test_a_log_of_which_only_an_epoch_is_left_opens() -> None:
    """Fails if a start needs a batch to compare the first epoch with: all records are deleted, and a power failure left the
    checkpoint of epochs as it was before."""
    fs, name = MemFs(), f"{PATH}/leader-epoch-checkpoint"
    log = open_log(fs)
    fill(log, 8, epoch=3)
    before = bytes(fs.read(name))
    log.roll(NOW)
    log.advance_start(log.end_offset)
    log.delete_old_segments(NOW, log.end_offset)
    assert [segment.size for segment in log.segments] == [0]
    failed = fs.after_kill()
    failed.names[name].content[:] = before
    again = open_log(failed, start_offset=16)
    assert (again.start_offset, again.end_offset, again.epochs.entries) == (16, 16, [(3, 16)])


def test_epochs_that_a_kill_left_are_flushed_after_recovery() -> None:
    """Fails if recovery takes a checkpoint that says the right thing for one that is on disk: it outlived the process,
    not yet a power failure, and the next flush moves the recovery point past its last epoch."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 4, epoch=1)
    log.flush()
    flushed = log.recovery_point
    fill(log, 4, epoch=2)
    killed, name = fs.after_kill(), f"{PATH}/leader-epoch-checkpoint"
    killed.names[name].durable = b""
    log = open_log(killed, recovery_point=flushed)
    log.flush()
    assert log.recovery_point > flushed and killed.names[name].durable == bytes(killed.names[name].content) != b""


def test_epochs_whose_first_batches_are_gone_outlive_a_damaged_index() -> None:
    """Fails if, after a clean stop, the batches of a segment that is walked again are believed rather than the
    checkpoint: compaction takes batches, and an epoch would seem to begin where the first that is left does."""
    leader, fs = open_log(MemFs()), MemFs()
    fill(leader, 4, epoch=1)
    fill(leader, 4, epoch=2, first=4)
    log = open_log(fs)
    for batch in stored(leader)[:4]:
        log.append_follower(batch)
    log.epochs.assign(2, 8)
    log.append_follower(stored(leader)[6])  # the first two of epoch 2 are compacted
    log.close()
    del fs.names[LOG_FILE.replace(".log", ".index")].content[-3:]
    again = open_log(fs, clean=True)
    assert (again.end_offset, again.epochs.entries) == (14, [(1, 0), (2, 8)])


def test_epochs_of_an_undone_truncation_are_not_believed() -> None:
    """Fails if recovery keeps checkpointed epochs that the surviving batches contradict: power fails after a
    truncation and an append in a new epoch; the epoch file has survived, the truncation has not (the disk lied)."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 4, epoch=1)
    log.flush()
    before = bytes(fs.names[LOG_FILE].durable)
    log.truncate(4)
    fill(log, 1, epoch=3)
    assert log.epochs.entries == [(1, 0), (3, 4)]
    dark = fs.after_kill()
    dark.names[LOG_FILE].content[:] = before
    log = open_log(dark, recovery_point=log.recovery_point)
    assert (log.end_offset, log.epochs.entries) == (8, [(1, 0)])


def test_truncation_killed_at_every_step_leaves_no_hole() -> None:
    """Fails if truncation deletes segments from the middle outwards: what was flushed is not checked again after a
    crash, so a hole there would be served (I-SEGS-3); or if, after the next start, a power failure may bring back
    what is gone (I-LOAD-5)."""
    steps = 0
    while True:
        fs = MemFs()
        log = open_log(fs)
        fill(log, 40)
        log.flush()
        written, flushed = stored(log), log.recovery_point
        steps += 1
        fs.kill_at = (fs.steps + steps, 0.5)
        try:
            log.truncate(10)
        except Killed:
            left = fs.after_kill()
            again = open_log(left, recovery_point=flushed)
            assert stored(again) == written[: len(stored(again))] and again.end_offset >= 10
            assert _logs(left.durable_names) == _logs(left.names), steps
        else:
            break
    assert steps > 12


def _logs(names: Iterable[str]) -> set[str]:
    return {name for name in names if name.endswith(".log")}


def test_a_new_log_waits_for_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a log is synced when it is made: thousands of partitions may be made at once."""
    synced: list[str] = []
    monkeypatch.setattr(MemFs, "sync_dir", lambda self, path: synced.append(path))
    fs = MemFs()
    fill(open_log(fs), 3)
    assert synced == []
    open_log(fs.after_kill())
    assert synced == [PATH]


def test_what_recovery_deletes_does_not_come_back() -> None:
    """Fails if a segment behind a torn one may come back from a power failure, behind what is appended after the
    recovery (I-LOAD-5)."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 40)
    log.flush()
    fs = fs.after_kill()
    fs.names[LOG_FILE].content[-1:] = b""
    assert open_log(fs).truncated_bytes and _logs(fs.durable_names) == {LOG_FILE}


def test_truncation_is_durable_before_the_next_flush_counts() -> None:
    """Fails if segments that a truncation removed or shortened may come back from a power failure although what was
    appended after it has been written or flushed: the names and the shortened file are durable at once."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 40)
    log.flush()
    log.truncate(9)
    assert sorted(n for n in fs.durable_names if n.endswith(".log")) == [LOG_FILE]
    assert fs.names[LOG_FILE].durable == bytes(fs.names[LOG_FILE].content)


def test_indexes_that_have_more_than_their_log_are_made_anew() -> None:
    """B5. Fails if indexes are believed whose truncation a loss of power has undone: the log would be empty."""
    fs, config = MemFs(), replace(CONFIG, index_interval_bytes=1)
    log = open_log(fs, config)
    fill(log, 6)
    log.active.seal()
    names = [LOG_FILE.replace(".log", suffix) for suffix in (".index", ".timeindex")]
    before = [fs.read(name) for name in names]
    log.truncate(10)
    for name, data in zip(names, before, strict=True):
        fs.names[name].content[:] = data
    again = open_log(fs.after_kill(), config, clean=True)
    assert (again.end_offset, stored(again)) == (10, stored(log)) and len(stored(log)) == 5


def test_config_of_the_tests_makes_many_segments() -> None:
    """Fails if the tests above stop testing rolls."""
    log = open_log(MemFs())
    fill(log, 40)
    assert len(log.segments) > 3 and len(log.segments[0].index) > 2 and CONFIG.segment_bytes < 2000


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("seed", range(10))
def test_flush_messages_bounds_what_a_power_failure_takes(every: int, seed: int) -> None:
    """flush.messages. Fails when a log does not sync by itself before that many records hang on the page cache alone."""
    fs = MemFs()
    log = open_log(fs, replace(CONFIG, flush_messages=every))
    for number in range(7):
        log.append_leader(some_batch(number, count=1), 0, NOW)
    again = open_log(fs.power_cut(random.Random(seed)))
    assert again.end_offset > 7 - every
