"""A lone log that is cut at both ends, whose disk fails, that stops, is killed, and starts again.

    lone.truncate(5), lone.delete_records(3), lone.retain()       what a broker does with a log
    lone.restart(clean), lone.fail()                              how it ends, and begins again

Owns: what the model forgets, and what a start finds again.
Invariants: I-LMORTAL-1 a start after a stop or a kill finds everything, and remembers of each producer what a retry needs.
            I-LMORTAL-2 a log whose disk has failed does nothing any more.
"""

from __future__ import annotations

from minikafka.log import Log
from minikafka.proof.small_worlds.checks import same, that
from minikafka.proof.small_worlds.logs.log_rules import expired, look
from minikafka.proof.small_worlds.logs.lone_compacted_log import FOLDER, TOPIC, LoneCompactedLog
from minikafka.proof.small_worlds.logs.producer_rules import ProducerPast, row
from minikafka.protocol.errors import Err, KafkaError


class LoneMortalLog(LoneCompactedLog):
    """A log and its model, with all ways to lose a part of it."""

    # --- shortening -----------------------------------------------------------------------------------------------

    def truncate(self, offset: int) -> None:
        """Cut the end off, as a follower does; a flush that began before does not count."""
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
        self.producers.reload(self.start, self.end, set())
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
        """Stop, or be killed, and start."""
        if clean:
            self.log.close()
            self.all_closed()
            self.recovery_point = self.end
            if self.end > self.start:
                self.producers.snapshot()
        self.fs.open_files.clear()  # those of a process that was killed
        self.started(self.opened(clean), clean, None)

    def opened(self, clean: bool) -> Log:
        return Log.open(self.fs, FOLDER, self.config, now_ms=self.now, clean=clean,
                        topic_id=self.rng.choice((None, TOPIC)) if self.rules.history else TOPIC,
                        recovery_point=self.recovery_point, start_offset=self.start)

    def started(self, log: Log, clean: bool, swapped: int | None) -> None:
        """Compare a log that was opened with what the model knows."""
        self.log = log
        before = dict(self.producers.past)
        self.end = self.written_end  # of a gap at the end, which a truncation leaves, nothing is on disk
        if self.end < self.start:
            self.begin_at(self.start, self.start)
        self.high_watermark = min(self.high_watermark, self.end)
        walked = [] if clean else [base for base, after in zip(self.rules.bases, [*self.rules.bases[1:], 1 << 62])
                                   if after > self.recovery_point or base == swapped]
        if walked:
            self.producers.snapshots = {at: copy for at, copy in self.producers.snapshots.items() if at <= walked[0]}
        self.replay()
        if swapped is not None:  # its index is made anew, from where the replay begins
            since = max([self.start, *(at for at in self.producers.snapshots if at <= walked[0])])
            after = min((base for base in self.rules.bases if base > swapped), default=self.end)
            self.aborted = {last: one for last, one in self.aborted.items() if not swapped <= last < min(since, after)}
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


def needed(past: ProducerPast) -> tuple[int, int, int, int]:
    """Return what no start may forget of a producer: without it a retry would be written twice."""
    return past.epoch, past.opened, past.data[-1].last_sequence, past.data[-1].last
