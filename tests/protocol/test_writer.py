"""Our writer against kafka-python's: the same bytes."""

from __future__ import annotations

import pytest
from kafka.protocol.api_message import ApiMessage

from minikafka.protocol.errors import TextTooLong
from minikafka.protocol.reader import MAX_STRING
from minikafka.protocol.writer import _simple_writer, pieces, uvarint
from tests.protocol.test_reader import MESSAGES, body, samples


@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.name)
def test_writes_what_kafka_python_writes(cls: type[ApiMessage]) -> None:
    """Fails if any field of any version is written at another place, with another type, another null or another tag."""
    for version, message in samples(cls):
        assert b"".join(pieces(message, version)) == body(message, version)
    low, high = cls.valid_versions
    for version in range(low, high + 1):
        plain = cls(version=version)
        try:
            expected = body(plain, version)
        except (TypeError, ValueError, AttributeError):
            continue  # a field without a default
        assert b"".join(pieces(plain, version)) == expected


@pytest.mark.parametrize("flexible", [False, True])
def test_a_string_has_a_longest_length(flexible: bool) -> None:
    """Fails if a text is written that no client reads, or if its bytes are not what is counted (I-WRITE-2)."""
    write = _simple_writer("string", flexible)
    for text in ("x" * MAX_STRING, "\u00e9" * (MAX_STRING // 2), ""):
        found: list[bytes] = []
        write(text, found.append)
        assert b"".join(found).endswith(text.encode())
        with pytest.raises(TextTooLong):
            write(text + "\u00e9" * (MAX_STRING // 2 + 1), found.append)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 16383, 16384, 2**21, 2**28, 2**31 - 1])
def test_varints_are_read_back(value: int) -> None:
    from minikafka.protocol.reader import read_uvarint

    assert read_uvarint(memoryview(uvarint(value)), 0) == (value, len(uvarint(value)))
