"""What a check wants by its annotations, and whose file an error came from."""

from __future__ import annotations

import collections.abc
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

from minikafka.lab.trial import LIBRARIES, OURS, Trial
from minikafka.lab.wants import admits_nothing


@pytest.mark.parametrize("function", [typing.Callable, collections.abc.Callable], ids=["typing", "collections.abc"])
def test_a_wanted_function_may_return_none_if_its_annotation_allows_it(function: Any) -> None:
    """Fails if `Callable[..., None]` of one of the two modules is read as a function that must return something, or another as
    one that need not."""
    for returned in (None, Any, object, int | None, typing.Optional[str]):  # noqa: UP045
        assert admits_nothing(function[..., returned]), returned
        assert admits_nothing(function[[int], returned]), returned
    for returned in (int, str, list[None], tuple[int, None]):
        assert not admits_nothing(function[..., returned]), returned
    assert admits_nothing(function)


def test_a_file_is_ours_if_it_lies_in_our_folders() -> None:
    """Fails if a name that only begins like ours counts as ours: a student's `minikafka_mine.py` is the student's."""
    trial = Trial(lambda answer: answer, 1)
    for folder in (OURS, *LIBRARIES):
        assert not trial._theirs(f"{folder}/some.py")
        assert not trial._theirs(f"{folder}/deep/er/some.py")
        assert trial._theirs(f"{folder}_mine.py")
        assert trial._theirs(f"{folder}_mine/some.py")
    assert trial._theirs(str(Path(sys.prefix).anchor) + "home/student/helpers.py")
    assert not trial._theirs("<frozen importlib._bootstrap>")
    assert not trial._theirs(__file__), "the file of the check itself"
