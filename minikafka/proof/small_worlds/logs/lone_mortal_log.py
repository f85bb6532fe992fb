"""A lone log that is cut at both ends, whose disk fails, that stops, is killed, and starts again.

    lone.truncate(5), lone.delete_records(3), lone.retain()       what a broker does with a log
    lone.restart(clean), lone.fail()                              how it ends between two steps, and begins again
    lone.die(live)                                                how it ends within a step, with the power or without

Owns: what the model forgets, and what a start finds again; the moments of death.
Invariants: I-LMORTAL-1 a start after a stop or a kill finds everything, and remembers of each producer what a retry needs.
            I-LMORTAL-2 a log whose disk has failed does nothing any more.
            I-LMORTAL-3 a start takes nothing that it has found for flushed, and another start changes nothing.
            I16 after a death within a change the log has the first batches, whole, of what was there before the change, or would
              be after it: all if the process died alone, and after a loss of power those below the recovery point.
            I11 then the log knows of producers and aborted transactions what its whole history says: indexes and snapshots only
              save the reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from minikafka.log import Log
from minikafka.log.producers import ProducerEntry
from minikafka.proof.small_worlds.checks import same, that
from minikafka.proof.small_worlds.logs.log_rules import expired, look
from minikafka.proof.small_worlds.logs.lone_log import FOLDER, TOPIC, LoneLog
from minikafka.proof.small_worlds.logs.producer_rules import ProducerPast, ProducerRules, row
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.world.disk import SimDisk


class LoneMortalLog(LoneLog):
    """A log and its model, with all ways to lose a part of it."""

    # --- shortening -----------------------------------------------------------------------------------------------

    def truncate(self, offset: int) -> None:
        """Cut the end off, as a follower does; a flush that began before does not count."""
        with self.becoming([batch for batch in self.rules.stored if batch.last < offset]):
            flush = self.log.start_flush() if self.rng.random() < 0.3 else None
            self.log.truncate(offset)
            if flush is not None:
                flush.sync()  # in a thread; it may be slow
        cut = offset < self.end or offset <= self.start
        if offset <= self.start:
            self.begin_at(offset, offset)
        elif offset < self.end:
            batch = next((batch for batch in self.rules.stored if batch.last >= offset), None)
            self.end = min(offset, batch.base) if batch is not None else self.end
            self.start = min(self.start, self.end)
            self.rules.cut(self.end)
            self.rules.bases = [base for base in self.rules.bases if base <= offset]
            self.recovery_point = min(self.recovery_point, self.end)
            self.rewind()
        self.high_watermark = min(self.high_watermark, self.end)
        if flush is not None:
            self.log.finish_flush(flush)
            if not cut:
                self.recovery_point = self.end

    def rewind(self) -> None:
        """Let the model forget the producers' batches beyond the end."""
        self.aborted = {last: one for last, one in self.aborted.items() if last < self.end}
        if self.producers.past:
            self.replay()
        else:  # as in Kafka: where no producer was known before, none is looked for
            self.producers.snapshots = {at: copy for at, copy in self.producers.snapshots.items() if at <= self.end}
            self.producers.end = self.end

    def replay(self) -> None:
        """Go through the batches from the newest snapshot on."""
        self.producers.reload(self.start, self.end)
        since = self.producers.end
        self.aborted = {last: one for last, one in self.aborted.items() if last < since}
        for batch in self.rules.stored:
            if batch.last >= since:
                ended = self.producers.note(batch)
                if ended is not None and ended.aborted:
                    self.aborted[batch.last] = row(ended)
        self.producers.end = max(self.producers.end, self.end)

    def delete_records(self, offset: int) -> None:
        """Raise the log's start."""
        try:
            self.log.advance_start(offset)
            found = Err.NONE
        except KafkaError as refused:
            found = refused.code
        same("I-LCLOG-2", f"the answer to DeleteRecords up to {offset}", found,
             Err.OFFSET_OUT_OF_RANGE if offset > self.end else Err.NONE)
        if offset <= self.end:
            self.start = max(self.start, offset)

    def retain(self) -> None:
        """Delete old segments."""
        segments = look(self.log, self.fs)
        count = expired(segments, self.config, self.start, self.now, self.high_watermark)
        same("I-LOOKS-6", "segments deleted", self.log.delete_old_segments(self.now, self.high_watermark), count)
        if count == len(segments):
            self.rolled()
        if count:
            self.met["retention"] += 1
            oldest = self.rules.bases[count]
            self.rules.bases = self.rules.bases[count:]
            self.rules.stored = [batch for batch in self.rules.stored if batch.base >= oldest]
            self.start = max(self.start, oldest)
            self.aborted = {last: one for last, one in self.aborted.items() if last >= oldest}
            self.producers.snapshots = {at: copy for at, copy in self.producers.snapshots.items() if at >= oldest}

    # --- starting -------------------------------------------------------------------------------------------------

    def lose_epochs(self) -> None:
        """Damage the file of leader epochs: the next start takes them from the batches."""
        good = self.fs.read(self.log.epochs.path)
        newest = self.log.epochs.latest
        bad = self.rng.choice((
            b"", good[:-1], b"1" + good[1:], b"0\n9" + good[3:], b"0\n0\n", b"0\n1\nx y\n", b"0\n2\n0 0\n0 5\n",
            b"0\n2\n%d 3\n%d 3\n" % (newest, newest + 1), b"0\n2\n%d 0\n%d 1\n" % (newest + 1, newest), b"\xff\n1\n0 0\n"))
        if bad == good or len(good.split(b"\n")[1]) > 1 or not self.rules.stored:
            return
        self.fs.write_atomic(self.log.epochs.path, bad)
        self.rules.epochs_from_batches()

    def fail(self) -> None:
        """Let the disk refuse to make something durable: the log does nothing more; a new process finds everything."""
        if self.recovery_point == self.end:
            return  # a flush would have nothing to do
        self.disk.failures["sync"] = 1
        calls = (self.log.flush, lambda: self.log.append_leader(b"", 0, 0), lambda: self.log.append_follower(b""),
                 lambda: self.log.read(self.start, 1, self.end), lambda: self.log.truncate(self.end),
                 lambda: self.log.roll(self.now), lambda: self.log.offset_for_timestamp(0), self.log.max_timestamp_offset,
                 lambda: self.log.delete_old_segments(self.now, self.end), self.log.start_flush)
        for call in calls:
            try:
                call()
                found = Err.NONE
            except KafkaError as refused:
                found = refused.code
            same("I-LMORTAL-2", "the answer of a log whose disk has failed", found, Err.KAFKA_STORAGE_ERROR)
        self.disk.failures["sync"] = 0
        that("I-LMORTAL-2", self.log.offline and self.fs.exists(f"{FOLDER}/disk-refused"), "the failure leaves no mark")
        self.log.close()
        self.all_closed()
        self.restart(False)

    def all_closed(self) -> None:
        still = sorted(file.path for file in self.fs.open_files if file.path.startswith(FOLDER))
        same("I-COUNTED-1", "files that are open", still, [])

    def restart(self, clean: bool) -> None:
        """Stop, or be killed, and start. Snapshots of producers may be damaged meanwhile."""
        if clean:
            self.log.close()
            self.all_closed()
            self.recovery_point = self.end
            if self.end > self.start:
                self.producers.snapshot()
        for offset in [] if self.straddled else sorted(set(self.producers.snapshots) - self.producers.damaged):
            if self.rng.random() < 0.1:
                self.damage(f"{FOLDER}/{offset:020d}.snapshot")
                self.producers.damaged.add(offset)
        self.fs.open_files.clear()  # those of a process that was killed
        self.started(self.opened(clean, self.recovery_point), clean)

    def damage(self, path: str) -> None:
        """Cut a file short, add to it, or flip a bit of it."""
        file, how = self.fs.open(path), self.rng.randrange(4)
        at = self.rng.randrange(file.size())
        if how == 0:
            file.truncate(at)
        elif how == 1:
            file.pwrite(b"\x01" * self.rng.choice((1, 52)), file.size())
        else:
            at = 1 if how == 2 else at
            file.pwrite(bytes([file.pread(1, at)[0] ^ 1 << self.rng.randrange(8)]), at)

    def opened(self, clean: bool, recovery_point: int) -> Log:
        return Log.open(self.fs, FOLDER, self.config, now_ms=self.now, clean=clean,
                        topic_id=self.rng.choice((None, TOPIC)) if self.rules.history else TOPIC,
                        recovery_point=recovery_point, start_offset=self.start)

    def started(self, log: Log, clean: bool) -> None:
        """Compare a log that was opened with what the model knows."""
        self.log = log
        before = dict(self.producers.past)
        self.end = self.written_end  # of a gap at the end, which a truncation leaves, nothing is on disk
        if self.end < self.start:
            self.begin_at(self.start, self.start)
        self.high_watermark = min(self.high_watermark, self.end)
        walked = [] if clean else [base for base, after in zip(self.rules.bases, [*self.rules.bases[1:], 1 << 62])
                                   if after > self.recovery_point]
        if walked:
            self.producers.snapshots = {at: copy for at, copy in self.producers.snapshots.items() if at <= walked[0]}
        self.replay()
        self.producers.expire(self.now, self.config.producer_id_expiration_ms)
        if self.end > self.start:
            self.producers.snapshot()
        self.recovery_point = self.end if clean else min(self.recovery_point, self.end)
        for producer, past in self.producers.past.items():
            old = before.get(producer)
            if old is not None and old.data and self.start <= min(old.data[-1].base, old.opened % (1 << 62)):
                same("I-LMORTAL-1", f"what is needed of producer {producer}", needed(past), needed(old))
        same("I-LMORTAL-1", "the topic's id", self.log.topic_id, TOPIC)
        self.met["clean start" if clean else "start after a kill"] += 1

    # --- dying within a step --------------------------------------------------------------------------------------

    def die(self, live: Callable[[], None]) -> None:
        """Die at one of the next changes of the disk, or because it refuses to make something durable, perhaps with the machine;
        start again, see that everything is right, and go on with it."""
        refuses = self.rng.random() < 0.2
        with killed_after(self.disk, 1 << 30 if refuses else self.rng.randrange(60)):
            live()
        if refuses:
            self.disk.failures["sync"] = 1
            with suppress(KafkaError):
                self.log.flush()
            self.disk.failures["sync"] = 0
        lost_power = self.lose_power(0.2 if refuses else 0.5)
        log, again = self.revived(lost_power)
        self.judge_survivors(log, lost_power or again)
        self.adopt(log)
        self.met["loss of power" if lost_power else "death"] += 1

    def lose_power(self, chance: float) -> bool:
        self.fs.open_files.clear()
        lost = self.rng.random() < chance
        if lost:
            self.disk.powerloss(self.rng)
        return lost

    def revived(self, lost_power: bool) -> tuple[Log, bool]:
        """Open the log by a recovery point that was checkpointed at some time; the disk may fail meanwhile, or the process die
        again, perhaps with the machine. Return also whether the power went."""
        point = self.rng.choice((self.recovery_point, self.rng.randint(0, self.recovery_point)))
        how = self.rng.randrange(6)
        if how < 2:
            self.disk.failures["sync"] = how
            with killed_after(self.disk, self.rng.randrange(12) if how == 0 else 1 << 30), suppress(OSError):
                self.opened(False, point)
            self.disk.failures["sync"] = 0
            lost_power |= self.lose_power(0.5)
        log = self.opened(False, point)
        same("I-LMORTAL-3", "the recovery point", log.recovery_point, min(point, log.end_offset))
        if how == 2:
            before = self.batches()
            log = self.opened(False, point)
            same("I-LMORTAL-3", "what a second start finds", self.batches(), before)
        return log, lost_power

    def batches(self) -> dict[str, bytes]:
        return {path: self.fs.read(path) for path in self.disk.files(FOLDER) if path.endswith(".log")}

    def judge_survivors(self, log: Log, lost_power: bool) -> None:
        """Check I16."""
        found = [batch for segment in look(log, self.fs) for batch in segment.batches]
        possible = [self.rules.stored, *([] if self.next is None else [self.next])]
        wrong = max(next((i for i, batch in enumerate(found) if one[i:i + 1] != [batch]), len(found)) for one in possible)
        that("I16", wrong == len(found), f"batch {wrong} is {found[wrong:wrong + 1]}, not one of "
                                         f"{[one[wrong:wrong + 1] for one in possible]}")
        durable = self.recovery_point if lost_power else self.end + 1000
        safe = min(max((batch.end for batch in one if batch.end <= durable), default=0) for one in possible)
        that("I16", log.end_offset >= safe, f"the log ends at {log.end_offset}, {safe} was safe")

    def adopt(self, log: Log) -> None:
        """Let the model be what is left."""
        self.log, self.next, self.end = log, None, log.end_offset
        found = [batch for segment in look(log, self.fs) for batch in segment.batches]
        self.rules.cut(self.end)
        known = {batch.base for batch in self.rules.history}
        for batch in found:
            if batch.base not in known:
                self.rules.appended(batch)
        self.rules.stored, self.rules.bases = found, [segment.base_offset for segment in log.segments]
        if self.config.compact:  # an epoch may begin later now: where the first of its batches that is left does
            epochs = [log.epochs.epoch_for_offset(batch.base) for batch in found]
            same("I-LOOKS-4", "the epochs of the batches", epochs, [batch.leader_epoch for batch in found])
            self.rules.epochs = list(log.epochs.entries)
        self.recovery_point, self.high_watermark = log.recovery_point, min(self.high_watermark, self.end)
        log.producers.drop_snapshots([at for at in log.producers.snapshots if at < self.end])
        log.producers.replicated(self.end)  # no start knows which markers are not replicated
        self.remember(log)

    def remember(self, log: Log) -> None:
        """Check I11, and let the model know what the log remembers."""
        truth, aborted = ProducerRules(), {}
        for batch in self.rules.history:
            ended = truth.note(batch)
            if ended is not None and ended.aborted:
                aborted[batch.last] = row(ended)
        self.aborted = {one.last_offset: one for one in log.aborted_transactions(0, self.end + 1)}
        if self.config.compact:  # a row without batches may be gone, and its first batch, too
            that("I11", self.aborted.keys() <= aborted.keys(), f"aborted are {self.aborted}, not {aborted}")
        else:
            same("I11", "the aborted transactions", self.aborted, aborted)
        same("I11", "the producers", sorted(log.producers.entries), sorted(truth.past))
        truth.past = {producer: remembered(past, log.producers.entries[producer], self.config.compact)
                      for producer, past in truth.past.items()}
        self.producers, truth.ended, truth.end = truth, [], self.end
        if self.end > self.start:
            truth.snapshot()


def needed(past: ProducerPast) -> tuple[int, int, int, int]:
    """Return what no start may forget of a producer: without it a retry would be written twice."""
    return past.epoch, past.opened, past.data[-1].last_sequence, past.data[-1].last


def remembered(past: ProducerPast, entry: ProducerEntry, compact: bool) -> ProducerPast:
    """Return the past as a log remembers it that was opened: the last of its batches at least, as old as the snapshot says.
    Compaction may have taken batches, and the last marker."""
    times = {one.last_offset: one.timestamp for one in entry.batches}
    last = past.data[-max(len(times), 1):]
    return ProducerPast(batch._replace(
        known=bool(batch.ends) or batch in last[-1:] or (batch.last in times if compact else batch in last),
        timestamp=times.get(batch.last, entry.last_timestamp),
        coordinator=entry.coordinator_epoch if compact and batch.ends else batch.coordinator) for batch in past)


class Died(Exception):
    """Death of the process or the machine, at a change of the disk."""


@contextmanager
def killed_after(disk: SimDisk, changes: int) -> Iterator[None]:
    """Let the process die after this number of changes of the disk, and leave the block there."""
    left = changes

    def change() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Died

    disk.on_change = change
    try:
        yield
    except Died:
        pass
    finally:
        disk.on_change = None
