"""Rules of idempotent producers switched off (43, 44, 46, and 23 as far as it concerns them)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import minikafka.log.log as log_module
from minikafka.log.batch import Header
from minikafka.log.log import Log
from minikafka.log.producers import ProducerEntry, ProducerStates
from minikafka.sim.ablations.ablation import ablation, replaced


def nothing(*_: Any, **__: Any) -> None:
    """What is left of a function whose rule is off."""


@ablation("43", "a batch that is there already is appended again", falls="duplicate I11", script="r44_sequences")
@contextmanager
def no_duplicates_known() -> Iterator[None]:
    check = ProducerStates._check_sequence

    def lenient(self: ProducerStates, entry: ProducerEntry, header: Header, where: str) -> None:
        if header.base_sequence > entry.last_sequence or header.producer_epoch != entry.epoch:
            check(self, entry, header, where)

    with replaced(ProducerStates, "find_duplicate", nothing), replaced(ProducerStates, "_check_sequence", lenient):
        yield


@ablation("44", "any sequence number may follow", falls="nonmonotonic-send I11", script="r44_sequences")
def any_sequence() -> AbstractContextManager[object]:
    return replaced(ProducerStates, "_check_sequence", nothing)


@ablation("46", "followers keep no producer state", falls="duplicate I11",
          script="a17_producer_state")
def followers_forget() -> AbstractContextManager[object]:
    follow = Log.append_follower

    def forgetful(self: Log, data: Any, now_ms: int = 0) -> Any:
        info = follow(self, data, now_ms)
        self.producers.entries.clear()
        return info

    return replaced(Log, "append_follower", forgetful)


@ablation("46", "a broker that starts does not replay its log", falls="duplicate I11", script="a17_producer_state")
def no_replay() -> AbstractContextManager[object]:
    def only_snapshot(producers: ProducerStates, _: Any, start: int, end: int) -> None:
        producers.reload(start, end)
        producers.end = end

    return replaced(log_module, "replay_producers", only_snapshot)


@ablation("23", "truncation leaves the producer state as it is", falls="inconsistent-offsets lost-write I11",
          script="a17_producer_state")
def producers_outlive_truncation() -> AbstractContextManager[object]:
    return replaced(Log, "_rewind_producers", nothing)
