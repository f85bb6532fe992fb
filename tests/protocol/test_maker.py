"""Messages of our maker against kafka-python's own constructor: the same to whoever writes them."""

from __future__ import annotations

import random

import pytest
from kafka.protocol.api_message import ApiMessage

from minikafka.protocol.maker import maker
from minikafka.protocol.writer import pieces
from tests.protocol.test_reader import MESSAGES, random_value


@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.name)
def test_makes_what_the_constructor_makes(cls: type[ApiMessage]) -> None:
    """Fails if a field is lost, or if a field that was not given has another value than the schema's default (I-MAKE-1)."""
    rng, make = random.Random(cls.name), maker(cls)
    for version in range(cls.valid_versions[0], cls.max_version + 1):
        fields = {f.name: random_value(f, version, rng) for f in cls._struct._fields if f.for_version_q(version)}
        assert pieces(make(**fields), version) == pieces(cls(**fields), version)
    assert {f.name: getattr(make(), f.name) for f in cls._struct._fields} == {
        f.name: getattr(cls(), f.name) for f in cls._struct._fields}
