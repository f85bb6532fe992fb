"""I1 to I7, I10 and I11 in worlds that were tampered with: each must see what it is there for."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest

from minikafka.broker.replication.effects import HighWatermark
from minikafka.client.admin.admin import Admin
from minikafka.log.batch import BatchHeader, build
from minikafka.sim.world.world import CLIENTS
from tests.proof.invariants.kit import Kit


def after(tamper: Any, **watch: Any) -> Kit:
    """A run of twenty records, then `tamper(kit)`, then a look at everything."""

    async def story(kit: Kit) -> None:
        await kit.send(20)
        await kit.world.sleep(1.0)
        tamper(kit)
        kit.watch.look_at_everything()

    kit = Kit(**watch)
    kit.run(story)
    return kit


def cut(kit: Kit, node: int) -> None:
    """Make a replica end at offset 10, as a truncation does."""
    partition = kit.partition(node)
    partition.carry_out(partition.replica._cut(10))


def ids(kit: Kit) -> set[str]:
    return {violation.id for violation in kit.watch.violations}


def test_i1_a_log_end_beyond_the_bytes() -> None:
    """Fails if an end offset that no batch reaches goes unseen."""
    def tamper(kit: Kit) -> None:
        kit.partition(kit.followers()[0]).log.end_offset += 3

    assert "I1" in ids(after(tamper))


def test_i2_a_follower_knows_more_than_any_leader() -> None:
    """Fails if a follower's high watermark is not held against the truth."""
    async def story(kit: Kit) -> None:
        await kit.send(5)
        await kit.world.sleep(1.0)
        leader, follower = kit.partition(kit.leader()), kit.partition(kit.followers()[0])
        kit.world.hold_follower(kit.followers()[1])
        kit.env.spawn(kit.send(), "send")
        await kit.world.until(lambda: follower.log.end_offset == 6)
        assert leader.replica.high_watermark == 5
        follower.replica.high_watermark = 6
        kit.watch.look_at_everything()

    assert "I2" in Kit().run(story)


def test_i2_a_leader_that_leads_no_more_at_the_end_of_the_step() -> None:
    """Fails if a leader's high watermark counts only while it leads: a broker that catches up with the metadata may
    commit as the leader and follow another, all in one step."""
    async def story(kit: Kit) -> None:
        await kit.send(5)
        for node in kit.followers():
            kit.world.hold_follower(node)
        await kit.world.sleep(1.0)
        kit.env.spawn(kit.send(), "send")
        partition = kit.partition(kit.leader())
        await kit.world.until(lambda: partition.log.end_offset == 6)
        partition.replica.high_watermark = 6
        partition.carry_out([HighWatermark(6)])
        partition.replica.leader = kit.followers()[0]
        await kit.world.sleep(0.0)
        assert kit.watch.truths["t", 0].end == 6

    assert "I2" not in Kit(without=("I3", "I7")).run(story)


def test_i4_an_acknowledgement_ahead_of_the_high_watermark() -> None:
    """Fails if an acknowledgement of what is not committed goes unseen."""
    def tamper(kit: Kit) -> None:
        sent = kit.history.invoke("liar", "send", topic="t", partition=0, value="x", acks=-1)
        kit.history.ok(sent, partition=0, offset=20)
        kit.watch.sample()

    assert ids(after(tamper)) == {"I4"}


def test_i4_unclean_watches_take_note_of_the_loss_instead() -> None:
    """Fails if permitted losses are violations, or are not told: records 10 to 19 went."""
    def tamper(kit: Kit) -> None:
        for node in kit.world.brokers:
            cut(kit, node)

    kit = after(tamper, unclean=True)
    assert ids(kit) <= {"I1", "I2"} and [(loss.start, loss.end) for loss in kit.watch.losses] == [(10, 20)]


@pytest.mark.parametrize("deleted", [True, False])
def test_i5_what_lies_before_the_start_of_a_log_is_no_part_of_it(deleted: bool) -> None:
    """Fails if a deposed leader's own records, which others were deleted on top of, count as its log: nobody reads
    them (as in seed 5318); or if they are not seen where nothing was deleted."""
    async def story(kit: Kit) -> None:
        old, admin = kit.leader(), Admin(kit.env, kit.world.bootstrap)
        for each in (*kit.followers(), CLIENTS):
            kit.world.cut(old, each)
        for number in range(3):
            kit.partition(old).append(build([(b"k", b"never replicated %d" % number)], timestamp_ms=kit.env.wall_ms()), 1)
        await kit.world.until(lambda: any(kit.partition(node).is_leader for node in kit.followers()))
        await kit.send(3)
        await kit.world.until(lambda: max(kit.partition(n).replica.high_watermark for n in kit.followers()) == 3)
        if deleted:
            await admin.delete_records(("t", 0), 3)
        else:
            for node in kit.world.brokers:
                kit.partition(node).replica.divergence = lambda offset, epoch: None
        kit.world.heal()
        await kit.world.until(lambda: len(kit.watch.cluster.states["t", 0].isr) == 3)
        theirs = kit.world.hosts[old].disk.names["/data/t-0/00000000000000000000.log"]
        assert theirs is not None and theirs.content.count(b"never replicated") == 3
        await kit.world.sleep(1.0)
        assert kit.partition(old).replica.high_watermark == 3

    assert Kit().run(story) == ([] if deleted else ["I5"])


def test_i7_two_leaders_in_one_epoch() -> None:
    """Fails if a second broker may lead in the same leader epoch."""
    def tamper(kit: Kit) -> None:
        node = kit.followers()[0]
        kit.partition(node).replica.leader = node

    assert "I7" in ids(after(tamper))


def test_i7_a_leader_epoch_goes_back() -> None:
    """Fails if a replica may return to an older leader epoch."""
    def tamper(kit: Kit) -> None:
        kit.partition(kit.followers()[0]).replica.leader_epoch -= 1

    assert ids(after(tamper)) == {"I7"}


def test_i7_the_metadata_changes_a_leader_within_its_epoch() -> None:
    """Fails if the controller may name another leader without a new leader epoch."""
    def tamper(kit: Kit) -> None:
        image = kit.watch.cluster.image
        assert image is not None
        state = image.topics["t"].partitions[0]
        image.topics["t"].partitions[0] = replace(state, leader=kit.followers()[0])
        image.offset += 1

    assert any("the leader changed" in str(violation) for violation in after(tamper).watch.violations)


@pytest.mark.parametrize("entries", [[(0, 0), (0, 5)], [(0, 0), (3, 50)], [(1, 5), (2, 4)]])
def test_i10_an_epoch_cache_that_makes_no_sense(entries: list[tuple[int, int]]) -> None:
    """Fails if the cache may be out of order, or beyond the log."""
    def tamper(kit: Kit) -> None:
        kit.partition(kit.followers()[0]).log.epochs.entries = entries

    assert "I10" in ids(after(tamper))


def test_i11_does_not_believe_a_batch_whose_checksum_is_wrong() -> None:
    """Fails if a bit that has flipped in the last copy that a permitted loss has left counts as a sequence; or if nothing
    is compared there any more."""
    def batch(number: int, at: int) -> tuple[BatchHeader, bytes]:
        data = bytearray(build([(b"k", b"v")], timestamp_ms=0, producer_id=7777, producer_epoch=0, base_sequence=number))
        struct.pack_into(">q", data, 0, at)
        return BatchHeader.parse(data), bytes(data)

    async def story(kit: Kit) -> None:
        await kit.send(1)
        (truth,) = [truth for key, truth in kit.watch.truths.items() if key[0] == "t"]
        (rule,) = [each for each in kit.watch.invariants if each.id == "I11"]
        truth.lost_from = 0
        _, raw = batch(1, 1)
        damaged = raw[:53] + bytes([raw[53] ^ 2]) + raw[54:]  # sequence 513
        rule.on_committed(truth, *batch(0, 0))
        rule.on_committed(truth, BatchHeader.parse(damaged), damaged)
        rule.on_committed(truth, *batch(2, 2))
        assert not kit.watch.violations
        rule.on_committed(truth, *batch(4, 3))

    assert Kit().run(story) == ["I11"]
