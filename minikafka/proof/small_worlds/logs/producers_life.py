"""One life of a partition's memory of producers, alone: batches and markers that fit and that do not, verifications, snapshots,
truncations, starts with damaged files. Every answer is judged by producer_rules.py.

    producers_alone(seed)          () if the memory kept its rules, else what it did
    ProducersLife(seed).live()     the same; raises RuleFallen

Owns: what happens when; the log as a list of batches.
Invariants: I-PLIFE-1 `check` changes nothing, also where it refuses.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from minikafka.log.batch import BatchHeader
from minikafka.log.markers import marker
from minikafka.log.producers import UNGUARDED, ProducerStates
from minikafka.proof.small_worlds.checks import fallen, same, that
from minikafka.proof.small_worlds.logs.producer_rules import ProducerRules, Waiting
from minikafka.proof.small_worlds.logs.seen import ABORT, COMMIT, EMPTY, MOST_SEQUENCE, SeenBatch
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.world.disk import Mount, SimDisk

FOLDER = "/data/t-0"
STEPS = 150
PRODUCERS = (7, 8, 9, 10)
OTHERS = ("00000000000000000003.log", "leader-epoch-checkpoint", "x.snapshot", "00000000000000000000.snapshot.old")


def producers_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(ProducersLife(seed).live)


class ProducersLife:
    """The life that a seed decides. `met`: how often each answer was given."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"{seed}:producers")
        self.fs = Mount(SimDisk())
        self.fs.mkdir(FOLDER)
        for name in OTHERS:
            self.fs.open(f"{FOLDER}/{name}").close()
        self.batches: list[SeenBatch] = []
        self.now, self.high_watermark, self.start, self.coordinator = 1_000_000, 0, 0, 3
        self.expires = self.rng.choice((5000, 20_000, 1 << 40))
        self.verifies = self.rng.random() < 0.5
        self.states, self.rules = ProducerStates(self.fs, FOLDER, "t-0"), ProducerRules()
        self.damaged: set[int] = set()  # snapshots
        self.met: Counter[str] = Counter()

    @property
    def end(self) -> int:
        return self.batches[-1].end if self.batches else self.start

    def live(self) -> None:
        """Play it. Raises RuleFallen."""
        steps = {self.send: 50, self.mark: 25, self.wait: 10, self.verify: 6, self.snapshot: 6, self.restart: 3, self.truncate: 4,
                 self.expire: 4, self.replicate: 12, self.drop: 2}
        for _ in range(STEPS):
            self.rng.choices([*steps], [*steps.values()])[0]()
            self.rules.judge(self.states)
            self.judge_transactions()
            self.judge_files()

    # --- batches --------------------------------------------------------------------------------------------------

    def send(self) -> None:
        """Send what a producer would send next, or a retry, or what does not fit."""
        rng, producer = self.rng, self.rng.choice(PRODUCERS)
        past = self.rules.past.get(producer)
        if past is None:
            epoch, sequence = rng.choice((0, 0, 5)), rng.choice((0, 0, 3, MOST_SEQUENCE - 1))
        else:
            epoch, sequence = past.epoch, past.data[-1].last_sequence + 1 if past.data else 0
            if past.data and rng.random() < 0.2:  # a retry of one that is remembered, or nearly
                old = rng.choice([batch for batch in past if not batch.ends])
                return self.come(old._replace(base=self.end, last=self.end + old.last - old.base + (rng.random() < 0.15),
                                              timestamp=self.now, known=True, epoch=rng.choice((epoch, old.epoch))))
            if rng.random() < 0.15:
                epoch, sequence = epoch + rng.choice((1, 1, -1, 0)), rng.choice((0, 0, sequence, 1))
        sequence = max(0, sequence + rng.choice((0,) * 12 + (1, -1, 2))) % (MOST_SEQUENCE + 1)
        transactional = past is not None and past.opened >= 0
        transactional ^= rng.random() < (0.1 if transactional else 0.5)
        last = self.end + rng.choice((0, 0, 1, 4))
        self.come(SeenBatch(self.end, last, self.now - rng.choice((0, 0, 3000)), 0, producer, epoch, sequence, transactional))

    def mark(self) -> None:
        """Send a marker: mostly for an open transaction, by the present coordinator, with the producer's epoch."""
        rng = self.rng
        opened = [producer for producer, past in self.rules.past.items() if past.opened >= 0]
        producer = rng.choice(opened) if opened and rng.random() < 0.8 else rng.choice(PRODUCERS)
        epoch = self.rules.past[producer].epoch if producer in self.rules.past else 0
        self.coordinator += rng.random() < 0.1
        ends = EMPTY if rng.random() < 0.05 and producer not in opened else rng.choice((COMMIT, ABORT))
        epoch = max(0, epoch + rng.choice((0, 0, 0, 1, -1)))
        self.come(SeenBatch(self.end, self.end, self.now, 0, producer, epoch, -1, True, ends,
                            self.coordinator - rng.choice((0, 0, 0, 1))))

    def come(self, batch: SeenBatch) -> None:
        """Let a batch arrive as it does in a log: find out whether it is a duplicate, check it, write it."""
        header, data = bytes_of(batch)
        if not batch.ends:
            duplicate, known = self.rules.duplicate(batch), self.states.find_duplicate(header)
            same("I-PPAST-1", f"the duplicate of {batch}",
                 known and (known.first_sequence, known.last_sequence, known.first_offset, known.last_offset, known.timestamp),
                 duplicate and (duplicate.sequence, duplicate.last_sequence, duplicate.base, duplicate.last, duplicate.timestamp))
            if duplicate is not None:
                self.met["DUPLICATE"] += 1
                return
        client = not batch.ends and self.rng.random() < 0.9
        guarded = self.verifies and self.rng.random() < 0.8
        held = [one.guard for waiting in self.rules.waiting.values() for one in waiting]
        guard = self.rng.choice([None, object(), *held, *held, *held]) if guarded else UNGUARDED
        wanted = Err.NONE if batch.ends == EMPTY else self.rules.refusal(batch, client, guard, guarded)
        found = Err.NONE if batch.ends == EMPTY else self.refusal(header, data, client, guard)
        same("I-PPAST-2", f"the answer to {batch}", found, wanted)
        self.rules.judge(self.states)  # I-PLIFE-1
        self.met[wanted.name] += 1
        if wanted is Err.NONE:
            same("I-PPAST-4", f"what {batch} ends", self.states.update(header, data), self.rules.note(batch))
            self.batches.append(batch)
            self.met[batch.ends or "data"] += 1

    def refusal(self, header: BatchHeader, data: bytes, client: bool, guard: object) -> Err:
        try:
            self.states.check(header, data, self.end, client, guard)
        except KafkaError as refused:
            return refused.code
        return Err.NONE

    def verify(self) -> None:
        """Let a batch wait for its verification (KIP-890)."""
        producer, from_zero = self.rng.choice(PRODUCERS), self.rng.random() < 0.5
        past = self.rules.past.get(producer)
        epoch = (past.epoch if past else 0) + self.rng.choice((0, 0, 0, 1, -1))
        sequence = self.rng.choice((0, 2, 4, past.data[-1].last_sequence + 1 if past and past.data else 0))
        guard = self.states.guard(producer, epoch, sequence, self.now, from_zero)
        self.rules.asks(producer, Waiting(guard, epoch, sequence, from_zero, self.now))
        same("I-PPAST-2", "all wait for one guard", {id(one.guard) for one in self.rules.waiting[producer]}, {id(guard)})

    # --- what passes ----------------------------------------------------------------------------------------------

    def wait(self) -> None:
        self.now += self.rng.choice((100, 1000, 5000))

    def expire(self) -> None:
        self.states.expire(self.now, self.expires)
        self.rules.expire(self.now, self.expires)

    def replicate(self) -> None:
        self.high_watermark = max(self.high_watermark, self.rng.randint(self.start, self.end))
        if self.rng.random() < 0.7:
            self.states.replicated(self.high_watermark)
            same("I-PPAST-4", "the transactions whose markers are not replicated", self.states.completed,
                 [one for one in self.rules.ended if one.last_offset >= self.high_watermark])

    def snapshot(self) -> None:
        self.states.take_snapshot()
        if self.rules.end not in self.rules.snapshots:
            self.damaged.discard(self.rules.end)
        self.rules.snapshot()

    def drop(self) -> None:
        """Let retention drop the oldest snapshots."""
        offset = self.rng.choice([self.start, *(batch.base for batch in self.batches[:10])])
        gone = [at for at in self.rules.snapshots if at < offset]
        self.states.drop_snapshots([*gone, offset + 1_000_000])
        self.rules.snapshots = {at: copy for at, copy in self.rules.snapshots.items() if at not in gone}

    # --- going back -----------------------------------------------------------------------------------------------

    def truncate(self) -> None:
        """Cut the end off, or nothing; or delete everything, and begin elsewhere."""
        if self.rng.random() < 0.1:
            self.start, self.batches = self.end + self.rng.choice((0, 5)), []
            self.high_watermark = self.start
        else:
            ends = [batch.end for batch in self.batches if batch.end >= self.high_watermark]
            offset = self.rng.choice([self.end, *ends[-12:]])
            self.batches = [batch for batch in self.batches if batch.end <= offset]
        self.reload()

    def restart(self) -> None:
        """Start again: snapshots may be damaged, and the oldest batches deleted."""
        for offset in sorted(set(self.rules.snapshots) - self.damaged):
            if self.rng.random() < 0.3:
                self.damage(f"{FOLDER}/{offset:020d}.snapshot")
                self.damaged.add(offset)
        if self.batches and self.rng.random() < 0.2:
            self.start = self.rng.choice(self.batches[: 1 + len(self.batches) // 4]).base
            self.high_watermark = max(self.high_watermark, self.start)
            self.batches = [batch for batch in self.batches if batch.base >= self.start]
        self.states = ProducerStates(self.fs, FOLDER, "t-0")
        self.reload()

    def damage(self, path: str) -> None:
        file, how = self.fs.open(path), self.rng.randrange(5)
        size = file.size()
        if how == 0:
            file.truncate(self.rng.randrange(size))
        elif how == 1:
            file.pwrite(b"\x01" * self.rng.choice((1, 52)), size)
        elif how == 2:
            file.pwrite(b"\x00\x02", 0)
        else:
            at = self.rng.randrange(2, size)
            file.pwrite(bytes([file.pread(1, at)[0] ^ 1 << self.rng.randrange(8)]), at)

    def reload(self) -> None:
        self.states.reload(self.start, self.end)
        self.rules.reload(self.start, self.end, self.damaged)
        self.rules.judge(self.states)
        self.met["a snapshot" if self.rules.end > self.start else "no snapshot"] += 1
        for batch in [batch for batch in self.batches if batch.base >= self.states.end]:
            self.states.update(*bytes_of(batch))
            self.rules.note(batch)

    # --- what is known --------------------------------------------------------------------------------------------

    def judge_transactions(self) -> None:
        """Check I-PPAST-4, and who may write to a transaction."""
        for high_watermark in (self.high_watermark, self.end):
            same("I-PPAST-4", "the last stable offset", self.states.last_stable_offset(high_watermark),
                 self.rules.stable(high_watermark))
        producer = self.rng.choice(PRODUCERS)
        epoch = self.rules.past[producer].epoch - self.rng.choice((0, 0, 1)) if producer in self.rules.past else 0
        held = [one.guard for waiting in self.rules.waiting.values() for one in waiting]
        for guard in (None, object(), *held):
            same("I-PPAST-2", f"whether {producer} may write", self.states.admits(producer, epoch, guard),
                 self.rules.admits(producer, epoch, guard))
        same("I-PPAST-2", "whether one is open", self.states.has_open(producer, epoch), self.rules.is_open(producer, epoch))

    def judge_files(self) -> None:
        """Check I-PPAST-5, of the newest snapshot; and that nothing else in the folder was touched."""
        names = {f"{offset:020d}.snapshot" for offset in self.rules.snapshots}
        same("I-PPAST-5", "the files", set(self.fs.listdir(FOLDER)), {*names, *OTHERS})
        same("I-PPAST-5", "the snapshots", self.states.snapshots, sorted(self.rules.snapshots))
        if names and max(self.rules.snapshots) not in self.damaged:
            newest = max(self.rules.snapshots)
            self.rules.judge_snapshot(newest, self.fs.read(f"{FOLDER}/{newest:020d}.snapshot"))


def bytes_of(batch: SeenBatch) -> tuple[BatchHeader, bytes]:
    """Return a batch as the log hands it on: its header, and for a marker its bytes."""
    that("I-PLIFE-1", batch.last >= batch.base, f"a batch without offsets: {batch}")
    if not batch.ends:
        flags = 0x10 * batch.transactional
        return BatchHeader(batch.base, 49, 0, 2, 0, flags, batch.last - batch.base, batch.timestamp, batch.timestamp,
                           batch.producer, batch.epoch, batch.sequence, batch.last - batch.base + 1), b""
    data = marker(batch.producer, batch.epoch, batch.coordinator, batch.ends == COMMIT, batch.timestamp)
    header = BatchHeader.parse(data)._replace(base_offset=batch.base)
    return header._replace(count=0) if batch.ends == EMPTY else header, data
