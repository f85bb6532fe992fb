"""Committing offsets in every mode, and what is refused. All on both engines, by value."""

from __future__ import annotations

import kafka.errors
import pytest
from kafka import OffsetAndMetadata, TopicPartition
from kafka.admin import MemberToRemove

from .kit import LIBRARIES, PATIENCE, Record, admin_of, make_topic
from .members import MEMBERS

library = pytest.mark.parametrize("library", MEMBERS)


@pytest.fixture
def filled(cluster, name) -> str:
    """Two partitions with 20 records each."""
    make_topic(cluster, name, partitions=2)
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [
        Record(b"%d" % n, partition=p) for p in range(2) for n in range(20)])
    return name


def committed(cluster, group: str) -> dict[int, tuple[int, str]]:
    """Partition -> (offset, metadata) as the coordinator answers."""
    with admin_of(cluster) as admin:
        found = admin.list_group_offsets(group)[group]
    return {tp.partition: (value.offset, value.metadata) for tp, value in found.items()}


@library
def test_synchronous_commits_keep_offset_and_metadata(cluster, filled, members, library) -> None:
    """Fails if metadata is dropped, or an offset is answered before it is replicated and applied."""
    member = members.join(library, cluster.bootstrap, filled, filled)
    members.until(lambda: member.assignment() == [0, 1])
    member.commit({(filled, 0): (7, "seven"), (filled, 1): (0, "")})
    end = "\0" if library == "confluent" else ""  # librdkafka's binding sends the C string's end too
    assert committed(cluster, filled) == {0: (7, "seven" + end), 1: (0, "")}
    member.commit({(filled, 0): (3, "back again")})
    assert committed(cluster, filled) == {0: (3, "back again" + end), 1: (0, "")}


@library
def test_asynchronous_commits_arrive(cluster, filled, members, library) -> None:
    """Fails if the answer to a commit that nobody waits for is out of step with later ones."""
    member = members.join(library, cluster.bootstrap, filled, filled)
    members.until(lambda: member.assignment() == [0, 1])
    for offset in (1, 2, 3):
        member.commit({(filled, 1): (offset, "")}, wait=False)
    members.until(lambda: committed(cluster, filled) == {1: (3, "")})


@library
def test_automatic_commits_follow_what_was_handed_out(cluster, filled, members, library) -> None:
    """Fails if commits at the interval are refused in a stable group."""
    members.join(library, cluster.bootstrap, filled, filled, auto_commit=True)
    members.until(lambda: {p: o for p, (o, _) in committed(cluster, filled).items()} == {0: 20, 1: 20})
    assert len(members.records()) == 40


def test_an_unknown_group_has_no_offsets_and_no_error(cluster, filled, name) -> None:
    """Offset -1 without error for named partitions, nothing for all. Fails if GROUP_ID_NOT_FOUND is answered."""
    tp = TopicPartition(filled, 0)
    with admin_of(cluster) as admin:
        assert admin.list_group_offsets({name + "-unknown": [tp]}) == {
            name + "-unknown": {tp: OffsetAndMetadata(-1, "", -1)}}
        assert admin.list_group_offsets(name + "-unknown") == {name + "-unknown": {}}


def test_commits_from_outside_need_an_empty_group(cluster, filled, members) -> None:
    """UNKNOWN_MEMBER_ID while a member is there, accepted before and after. Fails if a stranger can move a group."""
    tp = TopicPartition(filled, 0)
    with admin_of(cluster) as admin:
        assert admin.alter_group_offsets(filled, {tp: OffsetAndMetadata(5, "outside", -1)}) == {
            tp: kafka.errors.NoError}
        assert committed(cluster, filled) == {0: (5, "outside")}
        member = members.join("confluent", cluster.bootstrap, filled, filled)
        members.until(lambda: member.assignment() == [0, 1])
        assert admin.alter_group_offsets(filled, {tp: OffsetAndMetadata(6, "", -1)}) == {
            tp: kafka.errors.UnknownMemberIdError}
        assert committed(cluster, filled) == {0: (5, "outside")}
        members.leave(member)
        cluster.wait(lambda: admin.describe_groups([filled])[filled]["group_state"] == "Empty", PATIENCE)
        assert admin.alter_group_offsets(filled, {tp: OffsetAndMetadata(6, "", -1)}) == {tp: kafka.errors.NoError}
    assert committed(cluster, filled) == {0: (6, "")}


def test_a_commit_for_an_unknown_topic_is_refused(cluster, filled) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION per partition; the other one counts. Fails if unknown topics get offsets."""
    good, bad = TopicPartition(filled, 0), TopicPartition(filled + "-unknown", 0)
    with admin_of(cluster) as admin:
        done = admin.alter_group_offsets(filled, {tp: OffsetAndMetadata(4, "", -1) for tp in (good, bad)})
    assert done == {good: kafka.errors.NoError, bad: kafka.errors.UnknownTopicOrPartitionError}
    assert committed(cluster, filled) == {0: (4, "")}


def test_metadata_that_is_too_long_is_refused(cluster, filled) -> None:
    """OFFSET_METADATA_TOO_LARGE beyond 4096. Fails if offset.metadata.max.bytes is not checked."""
    tp = TopicPartition(filled, 0)
    with admin_of(cluster) as admin:
        assert admin.alter_group_offsets(filled, {tp: OffsetAndMetadata(1, "x" * 4097, -1)}) == {
            tp: kafka.errors.OffsetMetadataTooLargeError}
        assert committed(cluster, filled) == {}
        assert admin.alter_group_offsets(filled, {tp: OffsetAndMetadata(1, "x" * 4096, -1)}) == {
            tp: kafka.errors.NoError}
    assert committed(cluster, filled) == {0: (1, "x" * 4096)}


def test_a_commit_of_a_former_generation_is_refused(cluster, filled, members) -> None:
    """A member thrown out after its session learns it when it commits: UNKNOWN_MEMBER_ID, as a CommitFailedError."""
    slow = members.join("kafka-python", cluster.bootstrap, filled, filled)
    members.until(lambda: slow.assignment() == [0, 1])
    with admin_of(cluster) as admin:
        (described,) = admin.describe_groups([filled])[filled]["members"]
        admin.remove_group_members(filled, [MemberToRemove(member_id=described["member_id"])])
        with pytest.raises(kafka.errors.CommitFailedError):
            slow.commit({(filled, 0): (20, "")})
    assert committed(cluster, filled) == {}
