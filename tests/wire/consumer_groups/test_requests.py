"""What ConsumerGroupHeartbeat refuses, with Kafka's texts (asked of Apache Kafka 4.3); a refused request leaves no group."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from minikafka.protocol.errors import Err
from tests.wire.consumer_groups.consumer_protocol import ConsumerGroupHeartbeat, Group, refusal
from tests.wire.raw import Raw

OWNS = [ConsumerGroupHeartbeat.TopicPartitions(topic_id=UUID(int=848), partitions=[0])]
OWNS_NOTHING = [ConsumerGroupHeartbeat.TopicPartitions(topic_id=UUID(int=848), partitions=[])]
NEITHER = "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
MEMBER, MUST_BE_EMPTY = "MemberId can't be empty.", "TopicPartitions must be empty when (re-)joining."
ASSIGNORS = "is not supported. Supported assignors: uniform, range."
BAD = [
    ({"group_id": ""}, "GroupId can't be empty."),
    ({"instance_id": ""}, "InstanceId can't be empty."),
    ({"rack_id": ""}, "RackId can't be empty."),
    ({"member_id": ""}, MEMBER),
    ({"member_id": "  "}, MEMBER),
    ({"member_id": "\0"}, MEMBER),
    ({"member_id": "", "member_epoch": 3}, MEMBER),
    ({"member_id": "", "member_epoch": -1}, MEMBER),
    ({"member_id": "", "member_epoch": -1, "version": 0}, MEMBER),
    ({"member_id": "", "member_epoch": 3, "version": 0}, MEMBER),
    ({"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
    ({"topic_partitions": None}, MUST_BE_EMPTY),
    ({"topic_partitions": OWNS}, MUST_BE_EMPTY),
    ({"topic_partitions": OWNS_NOTHING}, MUST_BE_EMPTY),
    ({"subscribed_topic_names": None}, NEITHER),
    ({"subscribed_topic_names": None, "version": 0}, NEITHER),
    ({"member_epoch": -2}, "InstanceId can't be null."),
    ({"member_epoch": -3}, "MemberEpoch is invalid."),
    ({"member_epoch": -2**31}, "MemberEpoch is invalid."),
]
REGEXES = [
    ("[", "missing closing ]"),
    ("(", "missing closing )"),
    ("(?=x)y", "invalid or unsupported Perl syntax"),
    ("*a", "missing argument to repetition operator"),
    (r"(a)\1", "invalid escape sequence"),
    ("a{2000}", "invalid repeat count"),
    ("a**", "invalid nested repetition operator"),
    ("[b-a]", "invalid character class range"),
    ("a{1,2000000000}", "invalid repeat count"),
    (r"\[{100000000}", "invalid repeat count"),
    (r"\C", "invalid escape sequence"),
    ("(?P<n>a)(?P<n>b)", "duplicate capture group name"),
    ("(?P<é>a)", "invalid named capture"),
]
TEXT_ALONE = ["[{100000000}]", r"\Q{100000000}\C\E", r"\{100000000}", r"a\\{3}", "a{099999999999}", "(?P<n>a)(?P<m>b)"]


def ask(group: Group, version: int = 1, **fields: Any) -> Any:
    """Return a valid first heartbeat, except for these fields."""
    sound = {"group_id": group.name, "member_id": "m", "member_epoch": 0, "topic_partitions": [],
             "rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["t"]}
    return group.ask(ConsumerGroupHeartbeat(**(sound | fields)), version)


@pytest.mark.parametrize(("fields", "text"), BAD, ids=lambda value: str(value)[:60] if isinstance(value, dict) else "")
def test_requests_that_make_no_sense(group: Group, fields: dict[str, Any], text: str) -> None:
    """INVALID_REQUEST with its text. Fails if a field is not checked, or the text is another."""
    assert refusal(ask(group, **fields)) == (Err.INVALID_REQUEST, text)
    assert group.describe().error_code == Err.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("assignor", ["nope", "", "RANGE"])
def test_assignors_that_there_are_not(group: Group, assignor: str) -> None:
    """Fails if an unknown assignor is taken at the first heartbeat or at a later one."""
    assert refusal(ask(group, server_assignor=assignor)) == (Err.UNSUPPORTED_ASSIGNOR, f"ServerAssignor {assignor} {ASSIGNORS}")
    assert group.describe().error_code == Err.GROUP_ID_NOT_FOUND
    assert ask(group).error_code == Err.NONE
    assert refusal(group.heartbeat("m", 2, server_assignor=assignor)) == (
        Err.UNSUPPORTED_ASSIGNOR, f"ServerAssignor {assignor} {ASSIGNORS}")


@pytest.mark.parametrize(("regex", "reason"), REGEXES)
def test_regular_expressions_that_are_none(group: Group, regex: str, reason: str) -> None:
    """Fails if an expression that is not RE2 is taken, or refused with another text than RE2/J's (I-REGEX-1)."""
    text = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {reason}."
    answer = ask(group, subscribed_topic_names=None, subscribed_topic_regex=regex)
    assert refusal(answer) == (Err.INVALID_REGULAR_EXPRESSION, text)
    assert group.describe().error_code == Err.GROUP_ID_NOT_FOUND
    assert ask(group).error_code == Err.NONE
    assert refusal(group.heartbeat("m", 2, subscribed_topic_regex=regex)) == (Err.INVALID_REGULAR_EXPRESSION, text)
    assert group.state() == ("Stable", 2, 2)


@pytest.mark.parametrize("regex", TEXT_ALONE)
def test_regular_expressions_that_look_like_none(group: Group, regex: str) -> None:
    """Fails if a number, an escape or a name is looked for in quoted text, in a class or behind a backslash."""
    assert ask(group, subscribed_topic_names=None, subscribed_topic_regex=regex).error_code == Err.NONE


@pytest.mark.parametrize("timeout_ms", [0, -5, 2**31 - 1])
def test_rebalance_timeouts_are_not_bounded(group: Group, timeout_ms: int) -> None:
    """Fails if any but -1 is refused."""
    answer = ask(group, rebalance_timeout_ms=timeout_ms)
    assert (answer.error_code, answer.member_epoch) == (Err.NONE, 2)


def test_the_wrong_broker_answers_not_coordinator(group: Group) -> None:
    """Fails if another broker than the coordinator takes a member."""
    here = f":{group.raw.socket.getpeername()[1]}"
    with Raw(next(a for a in group.bootstrap.split(",") if not a.endswith(here))) as other:
        sound = ConsumerGroupHeartbeat(group_id=group.name, member_id="m", member_epoch=0, topic_partitions=[],
                                       rebalance_timeout_ms=60_000, subscribed_topic_names=["t"])
        assert refusal(other.ask(sound, 1)) == (Err.NOT_COORDINATOR, None)
