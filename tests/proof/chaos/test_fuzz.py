"""The campaign of frames: its command, and that each kind of problem is noticed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minikafka.__main__ import main
from minikafka.broker.server.registry import CLIENTS, HANDLERS
from minikafka.proof.chaos import frames, fuzz
from minikafka.proof.chaos.one_broker import OneBroker, RawClient

LIST_GROUPS = 16


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if fewer frames are sent than were asked for, or a problem ends with status 0."""
    monkeypatch.setattr(fuzz, "VARIANTS", 1)
    assert main(["chaos", "--frames", "500", "--jobs", "2", "--seed", "5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["frames"] >= 500 and told["problems"] == []
    monkeypatch.setattr(fuzz, "piece", lambda kind, seed, variants: fuzz.Frames(problems=[f"{kind} {seed}"]))
    assert main(["chaos", "--frames", "1", "--jobs", "1", "--seed", "5"]) == 1
    assert "PROBLEM   spoiled 5000000" in capsys.readouterr().out


def test_a_piece_is_repeated_by_its_seed() -> None:
    """Fails if a piece depends on anything but its kind and its seed (I-FRAMES-2)."""
    assert fuzz.piece("spoiled", 7, 1) == fuzz.piece("spoiled", 7, 1) != fuzz.piece("spoiled", 8, 1)


def test_an_exception_of_a_handler_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if what the broker's log tells of goes unnoticed."""
    def poisoned(*_: Any) -> None:
        raise ValueError("poison")
    table = HANDLERS[CLIENTS]
    monkeypatch.setitem(table, LIST_GROUPS, table[LIST_GROUPS]._replace(handler=poisoned))
    assert "poison" in str(fuzz.piece("absurd", 1, 1).problems)


def test_a_broker_that_ends_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if the end of the broker goes unnoticed, or that it does not serve any more."""
    serves = fuzz._serves

    async def end(world: OneBroker) -> None:
        world.kill(1)
        await serves(world)
    monkeypatch.setattr(fuzz, "_serves", end)
    assert len(fuzz.piece("absurd", 1, 1).problems) == 1


def test_a_record_that_was_appended_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a batch that is taken goes unnoticed."""
    monkeypatch.setattr(frames, "BAD_BATCH", frames._BATCH)
    [problem] = fuzz.piece("absurd", 1, 3).problems
    assert "a record was appended" in problem


def test_a_second_answer_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a frame that is answered twice goes unnoticed."""
    send = RawClient.send_frame
    monkeypatch.setattr(RawClient, "send_frame", lambda client, body: [send(client, body) for _ in range(2)])
    assert "answered twice" in str(fuzz.piece("absurd", 1, 1).problems)
