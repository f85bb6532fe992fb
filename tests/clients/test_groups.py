"""Consumer groups with three libraries: sharing, leaving, static members, what administration sees of them."""

from __future__ import annotations

import confluent_kafka
import kafka.errors
import pytest

from .kit import LIBRARIES, PATIENCE, Record, admin_of, make_topic
from .members import MEMBERS, Members


def shared(members: Members) -> bool:
    """Two members, two partitions each, none twice."""
    return sorted(map(len, members.assignments())) == [2, 2] and sorted(sum(members.assignments(), [])) == [0, 1, 2, 3]


library = pytest.mark.parametrize("library", MEMBERS)
PARTITIONS = 4
EACH = 25


@pytest.fixture
def filled(cluster, name) -> str:
    """Four partitions with 25 records each."""
    make_topic(cluster, name, partitions=PARTITIONS)
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [
        Record(b"%d" % n, partition=p) for p in range(PARTITIONS) for n in range(EACH)])
    return name


@library
def test_two_members_share_and_the_last_one_takes_over(cluster, filled, members, library) -> None:
    """Fails if a join does not rebalance the members that are there, or a leave does not give its partitions on."""
    first = members.join(library, cluster.bootstrap, filled, filled)
    members.until(lambda: first.assignment() == [0, 1, 2, 3])
    second = members.join(library, cluster.bootstrap, filled, filled)
    members.until(lambda: shared(members))
    members.leave(first)
    members.until(lambda: second.assignment() == [0, 1, 2, 3])
    members.until(lambda: {(r.partition, r.offset) for r in members.records()}
                  == {(p, n) for p in range(PARTITIONS) for n in range(EACH)})


@library
def test_what_administration_sees_of_a_group(cluster, filled, members, library) -> None:
    """Stable with a member, Empty after it left, Dead when unknown. Fails if states, protocol or host differ."""
    member = members.join(library, cluster.bootstrap, filled, filled)
    members.until(lambda: member.assignment() == [0, 1, 2, 3])
    with admin_of(cluster) as admin:
        cluster.wait(lambda: admin.describe_groups([filled])[filled]["group_state"] == "Stable", PATIENCE)
        group = admin.describe_groups([filled])[filled]
        assert (group["error"], group["protocol_type"], group["protocol_data"]) == (None, "consumer", {
            "kafka-python": "range", "confluent": "range", "aiokafka": "roundrobin"}[library])
        (described,) = group["members"]
        assert described["client_host"] == "/127.0.0.1"
        assert described["client_id"] and described["member_id"].startswith(described["client_id"] + "-")
        (topic,) = described["member_assignment"]["assigned_partitions"]
        assert (topic["topic"], sorted(topic["partitions"])) == (filled, [0, 1, 2, 3])
        (listed,) = [g for g in admin.list_groups() if g["group_id"] == filled]
        assert listed == {"group_id": filled, "protocol_type": "consumer", "group_state": "Stable",
                          "group_type": "classic"}
        members.leave(member)
        cluster.wait(lambda: admin.describe_groups([filled])[filled]["group_state"] == "Empty", PATIENCE)
        assert admin.describe_groups([filled])[filled]["members"] == []


def test_an_unknown_group_is_dead(cluster, name) -> None:
    """GROUP_ID_NOT_FOUND with state Dead and Kafka's text (DescribeGroups 6). Fails if another code is answered."""
    with admin_of(cluster) as admin:
        group = admin.describe_groups([name])[name]
    assert group["error"] == f"[Error 69] GroupIdNotFoundError: Group {name} not found."
    assert (group["group_state"], group["members"]) == ("Dead", [])


@library
def test_a_static_member_returns_without_a_rebalance(cluster, filled, members, library) -> None:
    """Fails if a static member's return makes a new generation for the others (KIP-345)."""
    stays = members.join(library, cluster.bootstrap, filled, filled, instance="a", session_ms=20_000)
    members.until(lambda: stays.assignment() == [0, 1, 2, 3])
    goes = members.join(library, cluster.bootstrap, filled, filled, instance="b", session_ms=20_000)
    members.until(lambda: shared(members))
    kept = stays.assignment()
    with admin_of(cluster) as admin:
        before = {m["group_instance_id"]: m["member_id"] for m in _described(admin, filled)}
        members.leave(goes)
        back = members.join(library, cluster.bootstrap, filled, filled, instance="b", session_ms=20_000)
        members.until(lambda: len(back.assignment()) == 2)
        after = {m["group_instance_id"]: m["member_id"] for m in _described(admin, filled)}
    assert stays.assignment() == kept
    assert sorted(kept + back.assignment()) == [0, 1, 2, 3]
    assert sorted(after) == sorted(before) == ["a", "b"]
    assert after["a"] == before["a"]


def test_a_second_member_with_the_same_instance_fences_the_first(cluster, filled, members) -> None:
    """FENCED_INSTANCE_ID for the older one. Fails if two members may live under one group.instance.id."""
    first = members.join("confluent", cluster.bootstrap, filled, filled, instance="a")
    members.until(lambda: first.assignment() == [0, 1, 2, 3])
    second = members.join("confluent", cluster.bootstrap, filled, filled, instance="a")
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        members.until(lambda: False)
    assert raised.value.args[0].code() == confluent_kafka.KafkaError._FATAL
    assert "Broker: Static consumer fenced by other consumer with same group.instance.id" in raised.value.args[0].str()
    members.all.remove(first)
    members.until(lambda: second.assignment() == [0, 1, 2, 3])


def test_a_member_that_dies_is_missed_after_its_session(cluster, filled, members) -> None:
    """Fails if sessions do not expire: a member that vanished without leaving keeps its partitions for ever."""
    stays = members.join("confluent", cluster.bootstrap, filled, filled, session_ms=2000)
    members.until(lambda: stays.assignment() == [0, 1, 2, 3])
    static = members.join("confluent", cluster.bootstrap, filled, filled, instance="gone", session_ms=2000)
    members.until(lambda: shared(members))
    members.leave(static)  # a static member says no goodbye
    members.until(lambda: stays.assignment() == [0, 1, 2, 3])


def test_a_session_timeout_out_of_bounds_is_refused(cluster, filled, members) -> None:
    """INVALID_SESSION_TIMEOUT below group.min.session.timeout.ms. Fails if the bounds are not checked."""
    with pytest.raises(kafka.errors.InvalidSessionTimeoutError):
        member = members.join("kafka-python", cluster.bootstrap, filled, filled, session_ms=950)
        members.until(lambda: bool(member.assignment()))


@library
def test_a_member_goes_on_where_the_group_committed(cluster, filled, members, library) -> None:
    """Fails if the committed offset is not what a new member starts from."""
    first = members.join(library, cluster.bootstrap, filled, filled)
    members.until(lambda: len(members.records()) == PARTITIONS * EACH)
    first.commit({(filled, p): (10 + p, "") for p in range(PARTITIONS)})
    members.leave(first)
    second = members.join(library, cluster.bootstrap, filled, filled)
    expected = [(p, n) for p in range(PARTITIONS) for n in range(10 + p, EACH)]
    members.until(lambda: len(members.seen[second]) >= len(expected))
    assert sorted((r.partition, r.offset) for r in members.seen[second]) == expected


def _described(admin, group: str) -> list[dict]:
    return admin.describe_groups([group])[group]["members"]
