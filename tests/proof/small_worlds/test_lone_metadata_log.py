"""A voter's metadata log alone on a disk that dies: the next start finds what must not be forgotten (rules 36, 41, 63)."""

from __future__ import annotations

from minikafka.proof.small_worlds.logs.lone_metadata_log import LoneMetadataLog, voter_alone


def test_nothing_falls_in_many_lives() -> None:
    """Fails if a voter forgets what it flushed, keeps what a snapshot from its leader replaced, says that its log ends
    elsewhere than it does, or does not start."""
    assert [seed for seed in range(200) if voter_alone(seed)] == []


def test_a_life_depends_on_its_seed_alone() -> None:
    """Fails if the profile draws from anything but its seed."""
    def end(seed: int) -> tuple[object, ...]:
        log = LoneMetadataLog(seed)
        log.live()
        return log.now, log.written, log.disk.files()
    assert end(5) == end(5) != end(6)
