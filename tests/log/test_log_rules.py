"""Rules of a log that seeds (tests/proof/small_worlds/test_lone_log.py) could miss, each asked directly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from uuid import UUID

import pytest

from minikafka.log import Log, LogConfig, build, checkpoint
from minikafka.log.checkpoint import replace as replace_file
from minikafka.log.cleaner import Cleaning, cleanable
from minikafka.log.markers import marker
from minikafka.sim.world.disk import Mount, SimDisk
from tests.log.kit import NOW, PATH, fill, idempotent, open_log, producers, some_batch, stored
from tests.log.memfs import Killed, MemFs
from tests.log.test_cleaner import COMPACT, put

LOG_FILE = f"{PATH}/{0:020d}.log"


def snapshots(fs: MemFs) -> list[str]:
    return sorted(name for name in fs.names if name.endswith(".snapshot"))


def transaction(log: Log, pid: int, commit: bool) -> None:
    """One record in a transaction, and its marker."""
    log.append_leader(some_batch(pid, 1, producer_id=pid, producer_epoch=0, base_sequence=0, transactional=True), 1, NOW)
    log.append_leader(marker(pid, 0, 0, commit, NOW), 1, NOW, origin="coordinator")


# --- snapshots (rule 46) ---------------------------------------------------------------------------------------


def test_rule_46_what_a_killed_write_left_behind_is_no_part_of_the_next() -> None:
    """Fails if a longer file that was written halfway, and never renamed, lends its end to the next one of that name."""
    fs = MemFs()
    left = fs.open("/file.tmp")
    left.pwrite(b"x" * 100, 0)
    left.close()
    replace_file(fs, "/file", b"short")
    assert bytes(fs.names["/file"].content) == b"short" and not fs.exists("/file.tmp")


def test_rule_46_a_cut_takes_the_snapshots_beyond_it() -> None:
    """Fails if one stays while no producer is known: it says that there is none, and is believed once the log is as long."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 2)
    log.roll(NOW)
    log.truncate(2)
    assert not snapshots(fs)
    log.append_leader(idempotent(7, 0, 0, 2), 1, NOW)
    log.roll(NOW)
    log.close()
    assert producers(open_log(fs, clean=True), whole=False) == producers(log, whole=False) != {}


# --- where a log ends (rules 23, 63, 64) ----------------------------------------------------------------------------------


def test_rule_64_a_new_beginning_is_a_cut() -> None:
    """Fails if a flush that began before counts after, or the recovery point stays where nothing is."""
    log = open_log(MemFs())
    fill(log, 3)
    log.flush()
    cleaning = log.truncations
    flush = log.start_flush()
    log.truncate_fully(2)
    assert (log.recovery_point, log.end_offset) == (2, 2) and log.truncations > cleaning
    flush.sync()
    log.finish_flush(flush)
    assert log.recovery_point == 2
    log.truncate_fully(1000)
    assert log.recovery_point == 1000


def test_rule_63_what_recovery_cut_off_is_gone_for_good() -> None:
    """Fails if the cut is not durable before the next append: a loss of power would bring it back behind that."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 2)
    log.flush()
    torn = fs.after_kill()
    whole = bytes(torn.names[LOG_FILE].content)
    torn.names[LOG_FILE].content[:] = torn.names[LOG_FILE].durable[:] = whole + whole[:30]
    open_log(torn)
    assert torn.names[LOG_FILE].durable == whole


def test_epochs_below_the_recovery_point_are_those_of_the_checkpoint() -> None:
    """Fails if recovery finds them in the batches: compaction has taken the first of an epoch, which would begin later."""
    leader, fs = open_log(MemFs()), MemFs()
    fill(leader, 2, epoch=1)
    fill(leader, 4, epoch=2, first=2)
    log = open_log(fs)
    for batch in stored(leader)[:2]:
        log.append_follower(batch)
    log.epochs.assign(2, 4)
    log.append_follower(stored(leader)[3])  # the first of epoch 2 is compacted
    log.flush()
    point = log.recovery_point
    log.append_follower(stored(leader)[4])
    assert open_log(fs.after_kill(), recovery_point=point).epochs.entries == [(1, 0), (2, 4)]


# --- its folder -----------------------------------------------------------------------------------------------------------


def test_a_flush_makes_a_name_durable_too_where_a_file_was_renamed_or_made() -> None:
    """Fails if the folder is not synced after a new epoch's checkpoint took the place of the old one, or after a roll."""
    log = open_log(MemFs())
    for epoch, rolls, folder in ((1, False, PATH), (1, False, ""), (2, False, PATH), (2, True, PATH)):
        if rolls:
            log.roll(NOW)
        log.append_leader(some_batch(log.end_offset, 1), epoch, NOW)
        flush = log.start_flush()
        assert flush.folder == folder and bool(flush.paths) == (folder != "" and not rolls)
        flush.sync()
        log.finish_flush(flush)


# --- compaction (rule 66) --------------------------------------------------------------------------------------------


def test_a_swap_that_a_kill_interrupted_leaves_nothing_to_be_derived() -> None:
    """Fails if a start believes the indexes that it has just begun for a compacted segment: they are empty, and the row of an
    aborted transaction is lost."""
    fs = MemFs()
    config = replace(COMPACT, index_interval_bytes=1, segment_bytes=2000)
    log = open_log(fs, config)
    log.append_leader(some_batch(0, 1, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True), 0, NOW)
    for number in range(6):
        put(log, (b"k%d" % number, b"1"))
    log.append_leader(marker(7, 0, 0, False, NOW), 0, NOW, origin="coordinator")
    log.roll(NOW)
    put(log, (b"z", b"1"))
    log.flush()
    cleaning = Cleaning(log, cleanable(log, None, 7, NOW), NOW, 100)
    cleaned = log.segments[0]
    cleaned.rename(".swap")  # a compacted segment, killed before the last step
    again = open_log(fs.after_kill(), config, recovery_point=log.recovery_point)
    assert len(again.segments[0].index) == len(cleaned.index) > 3
    assert again.aborted_transactions(0, 9) == log.aborted_transactions(0, 9) != []
    cleaning.close()


def test_the_id_of_the_topic_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if each append waits for the disk once more: the id is written durably."""
    written: list[object] = []
    monkeypatch.setattr(checkpoint, "write_topic_id", lambda *arguments: written.append(arguments))
    fill(open_log(MemFs(), topic_id=UUID(int=3)), 4)
    assert len(written) == 1


def test_a_start_that_is_killed_while_it_makes_an_index_anew_forgets_no_aborted_transaction() -> None:
    """Fails if recovery empties the transaction index of a flushed segment before it has the rows again: the next start believes
    the index that is whole by then."""
    whole = MemFs()
    log = open_log(whole)
    transaction(log, 7, False)
    fill(log, 6, first=3)
    log.roll(NOW)
    fill(log, 1, first=20)
    log.flush(seal=True)
    told = log.aborted_transactions(0, 9)
    del whole.names[LOG_FILE.replace(".log", ".index")].content[-3:]
    for kill in range(1, 40):
        dying = whole.after_kill()
        dying.kill_at = (kill, 0.0)
        try:
            open_log(dying, recovery_point=log.recovery_point)
            break
        except Killed:
            pass
        assert open_log(dying.after_kill(), recovery_point=log.recovery_point).aborted_transactions(0, 9) == told != [], kill
    assert kill > 5


@pytest.mark.parametrize("end", [Log.close, Log.abandon])
def test_a_log_that_ends_holds_no_file(end: Callable[[Log], None]) -> None:
    """Fails if a partition that is deleted, or closed, keeps descriptors of its broker's."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 40)
    assert fs.open_files
    end(log)
    assert not fs.open_files


@pytest.mark.parametrize(("harm", "id"), [
    (lambda log: setattr(log, "recovery_point", 99), "I-SEGS-2"), (lambda log: setattr(log, "start_offset", 99), "I-LOG-1"),
    (lambda log: setattr(log, "end_offset", 1), "I-SEGS-1"),
    (lambda log: log.roll() or setattr(log.active, "base_offset", 1), "I-SEGS-1"),
    (lambda log: log.epochs.assign(7, 99), "I-EPOCH-2"), (lambda log: log.epochs._replace([(7, 3), (6, 4)]), "I-EPOCH-1"),
    (lambda log: log.active.index.append(0, 0) or log.active.index.append(0, 0), "I-INDEX-1")])
def test_a_log_asserts_its_invariants(harm: Callable[[Log], object], id: str) -> None:
    """Fails if check() passes a log whose start, end, segments, epochs or durable part cannot be."""
    log = Log.open(Mount(SimDisk()), "/t-0", LogConfig(), now_ms=NOW)
    log.append_leader(build([(b"k", b"v")] * 3, timestamp_ms=NOW), 1, NOW)
    log.check()
    with pytest.raises(AssertionError, match=id):
        harm(log)
        log.check()


# --- found by logs alone ----------------------------------------------------------------------------------------------


def at(offset: int, value: bytes = b"v") -> bytes:
    return build([(b"k", value)], base_offset=offset, leader_epoch=0, timestamp_ms=NOW)


def test_a_roll_after_a_truncation_into_a_gap_leaves_no_hole() -> None:
    """Fails if a follower of a compacted log loses flushed records: it was truncated within a gap that compaction had left at
    its leader, then began a new segment, and was killed. Recovery took the gap for a hole, and dropped all that followed."""
    disk = SimDisk()
    log = Log.open(Mount(disk), "/data/t-0", LogConfig(cleanup_policy="compact"), now_ms=NOW)
    log.append_follower(at(0) + at(1) + at(5), NOW)
    log.truncate(4)
    assert log.end_offset == 4
    log.roll(NOW)
    log.append_follower(at(4) + at(5), NOW)
    log.flush()
    again = Log.open(Mount(disk), "/data/t-0", LogConfig(cleanup_policy="compact"), now_ms=NOW, recovery_point=6)
    assert (again.end_offset, again.truncated_bytes) == (6, 0)
    assert again.read(2, 1000, 6) == at(4) + at(5)


def test_a_read_of_few_bytes_gives_no_batch_that_is_larger() -> None:
    """Fails if a log that was opened gives a whole batch where fewer bytes than a header were wanted, and none was needed."""
    disk, config = SimDisk(), LogConfig(index_interval_bytes=100)  # the second batch is the last, and has an entry of its own
    log = Log.open(Mount(disk), "/data/t-0", config, now_ms=NOW)
    for _ in range(2):
        log.append_leader(at(0), 0, NOW)
    log.roll(NOW)
    log.close()
    log = Log.open(Mount(disk), "/data/t-0", config, now_ms=NOW, clean=True)
    assert [log.read(offset, 10, 2, min_one=False) for offset in range(2)] == [b"", b""]
    assert log.read(1, 10, 2) == log.read(1, len(at(0)), 2) != b""


def test_a_time_index_that_a_loss_of_power_took_hides_no_record() -> None:
    """Fails if a start looks for the highest timestamp behind the last entry of the offset index only, which outlived that of the
    time index: a segment's end was flushed, and after that its indexes were written, not synced."""
    fs = MemFs()
    log = open_log(fs, LogConfig(index_interval_bytes=1))
    for time in (NOW + 5, NOW, NOW):
        log.append_leader(build([(b"k", b"v")], timestamp_ms=time), 0, NOW)
    log.flush()
    log.roll(NOW)
    fs.names[LOG_FILE.replace(".log", ".timeindex")].content.clear()
    again = open_log(fs.after_kill(), LogConfig(index_interval_bytes=1), recovery_point=3)
    assert again.offset_for_timestamp(NOW + 1) == again.max_timestamp_offset() == (0, NOW + 5, 0)


def test_a_restart_does_not_change_where_index_entries_stand() -> None:
    """Fails if a start, which scans equal timestamps from the first of them, counts bytes from there for the next index entry."""
    def indexed(restart: bool) -> list[int]:
        fs = MemFs()
        log = open_log(fs, LogConfig(index_interval_bytes=300))
        for _ in range(30):
            log.append_leader(build([(b"k", b"v" * 50)], timestamp_ms=NOW), 0, NOW)
            if restart:
                log.close()
                log = open_log(fs, LogConfig(index_interval_bytes=300), clean=True, recovery_point=log.recovery_point)
        return list(log.segments[0].index.values)

    assert indexed(restart=True) == indexed(restart=False) != []


def test_rule_67_what_a_failed_start_could_not_make_durable_is_written_again() -> None:
    """Fails if a start whose fsync failed leaves no mark: the next one takes the pages in the cache for durable (I-LOAD-6)."""
    fs = MemFs()
    fill(open_log(fs), 3)
    fs = fs.after_kill()
    fs.disk.failures["sync"] = 1
    with pytest.raises(OSError, match="sync"):
        open_log(fs)
    log = open_log(fs.after_kill())
    log.flush()
    assert log.recovery_point == 6
    dark = log.fs.power_cut(Random(0))  # type: ignore[attr-defined]
    assert open_log(dark, recovery_point=6).end_offset == 6
