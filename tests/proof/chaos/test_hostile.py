"""The hostile campaign: what it sends is within the grammar and spares others, and a short one finds nothing."""

from __future__ import annotations

from random import Random

import pytest
from kafka.protocol.admin import ListGroupsResponse

import minikafka.broker.handlers  # noqa: F401  (fills the table)
from minikafka.broker.server.registry import CLIENTS, HANDLERS
from minikafka.proof.chaos.grammar import BROKERS, INTERNAL, MOST, PROBE, Grammar, _texts
from minikafka.proof.chaos.hostile import Hostile
from minikafka.protocol.codec import decode_request, encode_request, is_long, parse_header


def test_every_request_is_within_the_grammar() -> None:
    """Fails if a request is made that the broker's strict reader refuses: then the handlers would never see it."""
    grammar, long = Grammar(Random(7)), 0
    for key, served in HANDLERS[CLIENTS].items():
        for version in {served.min, served.max}:
            frame = memoryview(encode_request(grammar.request(key, version), version, 7, "x"))[4:]
            request = decode_request(parse_header(frame), frame)
            assert not is_long(request, 6 * MOST)
            long += is_long(request, 1000)
            assert PROBE not in _texts(request)
    assert long


def test_gentle_requests_are_short() -> None:
    """Fails if a gentle request has a long list: a broker of Apache's that gets many of them runs out of memory."""
    grammar = Grammar(Random(7), gentle=True)
    for key, served in HANDLERS[CLIENTS].items():
        for version in range(served.min, served.max + 1):
            frame = memoryview(encode_request(grammar.request(key, version), version, 7, "x"))[4:]
            assert not is_long(decode_request(parse_header(frame), frame), 1000)


def test_others_are_spared() -> None:
    """Fails if a request unregisters a living broker or touches the coordinators' topics: that harms others rightly."""
    grammar = Grammar(Random(8))
    for _ in range(60):
        assert grammar.request(64, 0).broker_id not in BROKERS
        assert not set(INTERNAL) & set(_texts(grammar.request(20, 5)))


def test_what_is_learned_spares_the_ordinary_client() -> None:
    """Fails if its group, which ListGroups names, is used by others: a member that joins it makes its commits be refused."""
    grammar, named = Grammar(Random(8)), ListGroupsResponse.ListedGroup
    grammar.learn(ListGroupsResponse(groups=[named(group_id=group, protocol_type="") for group in (PROBE, "g")]))
    assert [*grammar.known["group_id"]] == ["g"]


@pytest.mark.soak
def test_a_short_campaign() -> None:
    """Fails if a broker ends, or keeps the probe client waiting, or writes an error into its log."""
    found = Hostile("minikafka", 2, 1, print).run()
    assert found.problems == [], found.summary()
