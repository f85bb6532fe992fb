"""Offsets as a student's code gives them to a client of ours, in the simulated world or on paper.

Owns: the sentence for offsets in another form.
"""
from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from kafka import TopicPartition

from minikafka.lab.wants import kind

FORM = '{TopicPartition("orders", 0): OffsetAndMetadata(8, "", -1)}'


def next_offsets(call: str, offsets: Any, numbers: bool = False) -> dict[TopicPartition, int]:
    """Return the offset for each partition, given as OffsetAndMetadata; with `numbers` also as a number. Raises TypeError with a
    sentence that names the call and the form.
    """
    wanted = f"{call}() takes {FORM}; your code"
    if not isinstance(offsets, Mapping):
        raise TypeError(f"{wanted} gives it {kind(offsets)}")
    found = {}
    for place, told in offsets.items():
        offset = getattr(told, "offset", told if numbers else None)
        if not isinstance(place, TopicPartition):
            raise TypeError(f"{wanted} names a partition by {kind(place)}")
        if not isinstance(offset, Integral) or isinstance(offset, bool):
            raise TypeError(f"{wanted} gives {kind(getattr(told, 'offset', told))} for an offset")
        found[place] = int(offset)
    return found
