"""The comparison of answers: what is no difference is not told, what is one is; and two of our brokers answer alike."""

from __future__ import annotations

import json
from unittest.mock import patch
from uuid import UUID

import pytest
from kafka.protocol.consumer.group import OffsetCommitRequest, OffsetCommitResponse
from kafka.protocol.metadata import MetadataResponse

from minikafka.proof.chaos.command import main
from minikafka.proof.chaos.compare import Comparison, compare
from minikafka.proof.chaos.differences import Difference, Twins, differences, of_round

Topic = OffsetCommitResponse.OffsetCommitResponseTopic
Row = Topic.OffsetCommitResponsePartition
UNTIMED = (2, 3, 8, 9, 15, 16, 23, 32, 46, 47, 48, 60, 61, 65, 66, 69, 74, 75)
OURS, THEIRS = UUID(int=77), UUID(int=99)


def answer(*topics: tuple[str, list[tuple[int, int]]], throttle: int = 0) -> OffsetCommitResponse:
    def of(name: str, rows: list[tuple[int, int]]) -> Topic:
        return Topic(name=name, partitions=[Row(partition_index=index, error_code=code) for index, code in rows])

    return OffsetCommitResponse(throttle_time_ms=throttle, topics=[of(*topic) for topic in topics])


def told(ours: object, theirs: object) -> list[Difference]:
    return list(differences(ours, theirs, Twins()))


def test_order_and_what_is_not_compared_make_no_difference() -> None:
    """Fails if rows in another order, or a throttle time, are told (I-DIFF-1)."""
    one = answer(("a", [(0, 3), (1, 0)]), ("b", [(0, 0)]))
    other = answer(("b", [(0, 0)]), ("a", [(1, 0), (0, 3)]), throttle=9)
    assert told(one, other) == []


def test_a_row_is_compared_with_its_namesake() -> None:
    """Fails if one wrong code is told of another row, or of more than one."""
    one = answer(("a", [(0, 3), (1, 0)]), ("b", [(0, 0)]))
    other = answer(("b", [(0, 0)]), ("a", [(1, 0), (0, 100)]))
    assert told(one, other) == [Difference(".topics.partitions.error_code", 3, 100)]


def test_a_missing_row_is_shown() -> None:
    """Fails if a row that one engine leaves out, or an answer that does not come, is taken for equal."""
    (missing,) = told(answer(("a", [(0, 0), (0, 0)])), answer(("a", [(0, 0)])))
    assert (missing.path, missing.theirs) == (".topics.partitions", None)
    assert [d.theirs for d in told(answer(), "closed")] == ["closed"] and told("closed", "closed") == []


def test_ids_that_were_twins_are_twins_for_ever() -> None:
    """Fails if ids that engines make up are told, or if an id is taken for another topic's later, or is not put into requests."""
    topic = MetadataResponse.MetadataResponseTopic
    twins = Twins()

    def metadata(*ids: UUID) -> MetadataResponse:
        return MetadataResponse(topics=[topic(name=f"t{at}", topic_id=id) for at, id in enumerate(ids)])

    assert list(differences(metadata(OURS), metadata(THEIRS), twins)) == []
    assert list(differences(metadata(OURS, OURS), metadata(THEIRS, THEIRS), twins)) == []
    for wrong in (metadata(UUID(int=5)), metadata(THEIRS, UUID(int=5))):
        assert [d.path for d in differences(metadata(*[OURS] * len(wrong.topics)), wrong, twins)] == [".topics.topic_id"]
    assert [d.path for d in differences(metadata(UUID(int=6)), metadata(THEIRS), twins)] == [".topics.topic_id"]
    request = OffsetCommitRequest(topics=[OffsetCommitRequest.OffsetCommitRequestTopic(topic_id=OURS, partitions=[])])
    twins.translate(request)
    assert request.topics[0].topic_id == THEIRS
    assert told(metadata(UUID(int=0)), metadata(THEIRS)) != []


def test_rows_of_other_rounds_are_left_out() -> None:
    """Fails if what an earlier round has left on one engine is told in each later one; or if a name is left out that no round
    has made, or that this one has."""
    names = ["t1-2", "t1-12", "t1-1", "t1", "other-1"]
    left = of_round(answer(*[(name, []) for name in names]), "-2").topics
    assert [topic.name for topic in left] == ["t1-2", "t1", "other-1"]
    assert of_round("closed", "-2") == "closed"


def test_the_request_that_began_a_round_is_shown_first() -> None:
    """Fails if a difference that others may have made stands before one that came first."""
    found = Comparison(2)
    for kind, first in (("later", 0), ("first", 1)):
        key = (kind, ".path", "ours", "theirs")
        found.kinds[key], found.first[key], found.examples[key] = 5, first, "asked"
    assert [line.partition(".")[0] for line in found.summary().splitlines() if "theirs" in line] == ["first", "later"]


@pytest.mark.soak
@pytest.mark.slow
def test_two_of_our_brokers_answer_alike() -> None:
    """Fails if the comparison tells differences where there are none, or if what a broker answers depends on chance. Asked is
    only what does not depend on time: lists, descriptions, commits and deletions of offsets."""
    found = compare(150, 3, UNTIMED, engines=("minikafka", "minikafka"), show=lambda line: None)
    assert found.requests == 150 and found.examples == {}, found.summary()
    assert json.loads(found.json()) == {"requests": 150, "differences": []}


def test_unknown_apis_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a key that is none ends in a traceback."""
    with patch("minikafka.proof.chaos.compare._begin", return_value={3: (0, 13)}), patch("minikafka.proof.chaos.compare.Cluster"):
        assert main(["--compare", "--apis", "999"]) == 2
    assert "none of the APIs 999" in capsys.readouterr().err
