"""A log alone, and a voter's metadata log alone, on a disk that dies: whatever the moment, the next start finds what was written
(rules 36, 41, 63, 64, 66)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from minikafka.log import validate
from minikafka.proof.small_worlds.logs import lone_batch, lone_log
from minikafka.proof.small_worlds.logs.lone_log import LoneLog
from minikafka.proof.small_worlds.logs.lone_metadata_log import LoneMetadataLog, voter_alone
from minikafka.sim.world.disk import Mount
from minikafka.sim.world.replaced import replaced

# B3: a power failure took the end of one segment of a compacted log and left the next segment: recovery took the hole
# for one that compaction had left.
HOLES = (57, 189, 204, 240)
# B4: old batches that had been cut off came back behind new ones of the same size that were written over their like.
MIXTURES = (238, 673, 916, 1081, 1304, 1355, 1358)
# B5: the index of a truncated segment came back as it was before and pointed beyond the end of the log: it was empty then.
INDEXES = (2365,)
# B11: aborted transactions were forgotten: the index of them was not flushed with the active segment, and one that a start
# had filled again was not durable, while the segment counted as flushed.
ABORTS = (93, 160, 416)


@pytest.mark.parametrize("seed", [*HOLES, *MIXTURES, *INDEXES])
def test_what_was_found_once(seed: int) -> None:
    """Fails if one of the bugs that these seeds found is back."""
    LoneLog(seed).live()


@pytest.mark.parametrize("seed", ABORTS)
def test_aborted_transactions_are_remembered(seed: int) -> None:
    """Fails if a power failure takes rows of a transaction index that nobody derives again: read_committed would show
    what was aborted."""
    assert lone_log.log_of_producers(seed) == ()


@pytest.mark.parametrize(("alone", "seeds"), [(lone_log.log_alone, 60), (lone_log.log_truncated, 40), (voter_alone, 200),
                                              (lone_log.log_of_producers, 60), (lone_log.log_refused, 60)])
def test_nothing_falls_in_many_lives(alone: Callable[[int], object], seeds: int) -> None:
    """Fails if recovery loses what was durable, keeps what is torn or out of order, or a swap that was interrupted is neither
    finished nor undone; or if a voter keeps what a snapshot from its leader replaced, or does not know where its log ends."""
    assert [seed for seed in range(seeds) if alone(seed)] == []


def test_every_batch_is_taken_or_refused_as_it_was_made() -> None:
    """Fails if a sound batch is refused or altered, or a spoiled one taken or refused with another code; also if that went
    unnoticed."""
    assert [seed for seed in range(80) if lone_batch.batch_alone(seed)] == []
    for name in ("_check_header", "_check_counts", "_check_each", "_fix_times"):
        with replaced(validate, name, lambda *_: None):
            assert any(lone_batch.batch_alone(seed) for seed in range(60)), name


@pytest.mark.parametrize("kind", [LoneLog, LoneMetadataLog])
def test_a_life_depends_on_its_seed_alone(kind: type[LoneLog] | type[LoneMetadataLog]) -> None:
    """Fails if a life draws from anything but its seed."""
    def end(seed: int) -> dict[str, bytes]:
        life = kind(seed)
        life.live()
        return {path: Mount(life.disk).read(path) for path in life.disk.files()}
    assert end(5) == end(5) != end(6)
