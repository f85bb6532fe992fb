"""Rules of a log that a small change could break unnoticed by its random schedules (test_log_random.py), each asked directly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest

from minikafka.log import Log, checkpoint
from minikafka.log.checkpoint import replace as replace_file
from minikafka.log.cleaner import Cleaning, cleanable
from minikafka.log.markers import marker
from minikafka.log.transaction_index import AbortedTransaction, TransactionIndex
from tests.log.kit import NOW, PATH, fill, idempotent, open_log, producers, some_batch, stored
from tests.log.memfs import Killed, MemFs
from tests.log.test_cleaner import COMPACT, put, roll

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


def test_epochs_beyond_the_end_are_no_epochs_of_the_log() -> None:
    """Fails if a start believes an epoch that the checkpoint has, and no record."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 2, epoch=1)
    log.epochs.assign(2, 4)
    log.close()
    assert open_log(fs, clean=True).epochs.entries == [(1, 0)]


@pytest.mark.parametrize("clean_stop", [True, False])
def test_rule_64_nothing_is_flushed_beyond_the_end(clean_stop: bool) -> None:
    """Fails if a recovery point from before a cut is believed."""
    fs = MemFs()
    fill(open_log(fs), 2)
    assert open_log(fs.after_kill(), recovery_point=100, clean=clean_stop).recovery_point == 4


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


def test_a_file_of_another_name_is_no_segment() -> None:
    """Fails if a file that somebody has put into a partition's folder keeps the log from opening, or is removed."""
    fs = MemFs()
    log = open_log(fs)
    fill(log, 3)
    before = stored(log)
    log.close()
    fs.open(f"{PATH}/notes.log").pwrite(b"not a segment", 0)
    assert stored(open_log(fs)) == before and fs.exists(f"{PATH}/notes.log")


# --- compaction (rule 66) --------------------------------------------------------------------------------------------


def test_a_swap_that_a_kill_interrupted_leaves_nothing_to_be_derived() -> None:
    """Fails if a start believes the indexes that it has just begun for a compacted segment: they are empty, and the row of an
    aborted transaction is lost."""
    fs = MemFs()
    config = replace(COMPACT, index_interval_bytes=1, segment_bytes=2000)
    log = open_log(fs, config)
    put(log, (b"a", b"1"), producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    for number in range(6):
        put(log, (b"k%d" % number, b"1"))
    log.append_leader(marker(7, 0, 0, False, NOW), 0, NOW, origin="coordinator")
    roll(log)
    put(log, (b"z", b"1"))
    log.flush()
    cleaning = Cleaning(log, cleanable(log, None, 7, NOW), NOW, 100)
    cleaned = log.segments[0]
    cleaned.rename(".swap")  # a compacted segment, killed before the last step
    again = open_log(fs.after_kill(), config, recovery_point=log.recovery_point)
    assert len(again.segments[0].index) == len(cleaned.index) > 3
    assert again.aborted_transactions(0, 9) == log.aborted_transactions(0, 9) != []
    cleaning.close()


def test_rows_that_a_replay_has_found_are_durable_at_once() -> None:
    """Fails if a loss of power may take what was written anew into the index of a segment that counts as flushed."""
    fs = MemFs()
    index = TransactionIndex(fs, "/data/0.txnindex", 0)
    fs.mkdir("/data")
    index.agree([AbortedTransaction(7, 0, 3, 4)])
    assert fs.durable_names["/data/0.txnindex"].durable == bytes(fs.names["/data/0.txnindex"].content) != b""


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
