"""I8 and I9 in worlds whose metadata was tampered with; and what a loss of power may not take from a voter."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from minikafka.broker.raft.effects import ElectionState
from minikafka.broker.raft.wire import encode_election_state
from minikafka.proof.invariants.watch import Watch
from minikafka.sim.world.world import World
from tests.proof.invariants.kit import Kit

QUORUM_STATE = "/metadata/__cluster_metadata-0/quorum-state"


def violated(tamper: Any, at_end: bool = False) -> list[str]:
    async def story(kit: Kit) -> None:
        await kit.world.sleep(1.0)
        kit.watch.sample()
        tamper(kit)
        kit.watch.sample()
        if at_end:
            await kit.watch.at_end()

    return Kit().run(story)


def test_i8_two_leaders_in_one_epoch() -> None:
    """Fails if a second node may say that it leads the quorum's epoch."""
    def tamper(kit: Kit) -> None:
        controller = kit.world.controller()
        assert controller is not None
        other = next(n for n in kit.world.nodes if n != controller)
        epoch = kit.world.hosts[controller].broker.quorum.epoch
        kit.world.hosts[other].env.trace("raft", role="leader", epoch=epoch, leader=other)

    assert violated(tamper) == ["I8"]


def test_i8_a_vote_is_changed_on_disk() -> None:
    """Fails if a node may vote twice in an epoch, or forget an epoch."""
    def tamper(kit: Kit) -> None:
        for epoch, voted in ((9, 1), (9, 2), (8, 2)):
            data = encode_election_state(ElectionState(epoch, -1, voted), (1, 2, 3))
            kit.world.hosts[3].env.fs.write_atomic(QUORUM_STATE, data)
            kit.watch.sample()
        texts = [violation.text for violation in kit.watch.violations]
        assert any("voted of epoch 9 changed from 1 to 2" in text for text in texts)
        assert any("went back from 9 to 8" in text for text in texts)

    assert violated(tamper) == ["I8"]


def test_i8_committed_metadata_is_cut_off() -> None:
    """Fails if a node may drop what it knew to be committed."""
    def tamper(kit: Kit) -> None:
        kit.world.hosts[2].broker.quorum.log.log.truncate(3)

    assert violated(tamper) == ["I8"]


def test_i8_committed_without_a_majority() -> None:
    """Fails if the quorum's high watermark may be ahead of a majority of the logs."""
    def tamper(kit: Kit) -> None:
        raft = kit.world.hosts[kit.world.controller()].broker.quorum.raft
        raft.state.high_watermark += 5

    assert "I8" in violated(tamper)


def test_i8_counts_a_voter_whose_log_a_flipped_bit_hides() -> None:
    """Fails if of such a voter only what stands before the bit counts, or if of any other more counts than it has."""
    def of(spoiled: dict[int, None]) -> bool:
        watch = Watch(World(1))
        (rule,) = [each for each in watch.invariants if each.id == "I8"]
        watch.cluster.brokers = {1: SimpleNamespace(voters={1, 2, 3}, quorum=SimpleNamespace())}  # type: ignore[dict-item]
        rule._dark, rule.end = {1: (watch.cluster.brokers[1], 49), 2: (None, 31), 3: (None, 50)}, 50  # type: ignore[attr-defined]
        watch.keeper.spoiled = spoiled
        rule._majority()  # type: ignore[attr-defined]
        return bool(watch.violations)

    assert not of({2: None}) and of({3: None}) and of({})


def test_i8_logs_of_the_quorum_differ() -> None:
    """Fails if the committed bytes of two nodes are not compared."""
    async def story(kit: Kit) -> None:
        await kit.world.sleep(1.0)
        node = next(n for n in kit.world.nodes if n != kit.world.controller())
        await kit.world.stop(node)
        log = kit.world.hosts[node].disk.names["/metadata/__cluster_metadata-0/00000000000000000000.log"]
        assert log is not None
        log.content[15] ^= 1                           # the first batch's leader epoch, which its checksum spares
        kit.world.boot(node)
        await kit.world.sleep(0.5)

    assert "I8" in Kit().run(story)


def test_i9_an_image_is_ahead_of_the_quorum() -> None:
    """Fails if a broker may act on metadata that is not committed."""
    def tamper(kit: Kit) -> None:
        kit.world.hosts[2].broker.image.offset += 500

    assert violated(tamper) == ["I9"]


def test_i9_a_leader_outside_of_the_isr() -> None:
    """Fails if the metadata may name a leader that is not in sync."""
    def tamper(kit: Kit) -> None:
        image = kit.watch.cluster.image
        assert image is not None
        state = image.topics["t"].partitions[0]
        others = tuple(n for n in state.isr if n != state.leader)
        image.topics["t"].partitions[0] = replace(state, isr=others, elr=state.elr)
        image.offset += 1

    assert "I9" in violated(tamper)


def test_i9_images_of_one_offset_differ() -> None:
    """Fails if brokers that have replayed the same metadata may believe different things."""
    def tamper(kit: Kit) -> None:
        image = kit.world.hosts[3].broker.image
        image.configs[2, "t"] = {"retention.ms": "1"}

    assert violated(tamper, at_end=True) == ["I9"]


def test_a_vote_survives_a_loss_of_power_right_after_it() -> None:
    """Fails if the folder of quorum-state is not durable when the vote is: its own name must be synced too, or a loss
    of power takes vote and metadata log along (rule 34, A10)."""
    for seed in range(4):
        kit = Kit(seed)

        async def story(kit: Kit) -> None:
            for node in kit.world.nodes:
                kit.world.powerloss(node)
                kit.watch.sample()
                assert QUORUM_STATE in kit.world.hosts[node].disk.names
                await kit.world.mend()

        assert kit.run(story) == []
