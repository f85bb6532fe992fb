"""Rules of producer state switched off (43 to 46, 51, 53, and 23 as far as it concerns producers)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import minikafka.log.log as log_module
from minikafka.log import validate
from minikafka.log.batch import BatchHeader
from minikafka.log.log import Log
from minikafka.log.producers import ProducerEntry, ProducerStates
from minikafka.proof.ablations.ablation import ablation
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.world.replaced import replaced


def nothing(*_: Any, **__: Any) -> None:
    """Do nothing: it takes the place of a function whose rule is off."""


@ablation("43", "a batch that is there already is appended again", falls="duplicate I11", script="r44_sequences")
@contextmanager
def no_duplicates_known() -> Iterator[None]:
    check = ProducerStates._check_sequence

    def lenient(self: ProducerStates, entry: ProducerEntry, header: BatchHeader, where: str) -> None:
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


@ablation("45", "a batch of a former epoch is taken if its sequence fits", falls="duplicate I11", script="r45_former_epoch")
def former_epochs_write() -> AbstractContextManager[object]:
    check = ProducerStates._check_entry

    def lenient(self: ProducerStates, entry: ProducerEntry, header: BatchHeader, batch: Any, where: str,
                sequence: bool) -> None:
        if header.producer_epoch >= entry.epoch:
            check(self, entry, header, batch, where, sequence)
        elif sequence and not header.is_control:
            self._check_sequence(entry, header, where)

    return replaced(ProducerStates, "_check_entry", lenient)


@ablation("53", "a batch may leave the open transaction of its producer out", falls="aborted-read",
          script="r53_unmarked_record")
def unmarked_records() -> AbstractContextManager[object]:
    check = ProducerStates._check_entry

    def lenient(self: ProducerStates, *batch: Any) -> None:
        try:
            check(self, *batch)
        except KafkaError as refused:
            if refused.code is not Err.INVALID_TXN_STATE:
                raise

    return replaced(ProducerStates, "_check_entry", lenient)


@ablation("51", "a marker is taken from any coordinator, however old", falls="I13 aborted-read torn-txn",
          script="r51_zombie_coordinator")
def any_coordinator_marks() -> AbstractContextManager[object]:
    return replaced(ProducerStates, "_check_coordinator", nothing)


@ablation("51", "a leader takes control records from clients", falls="I13 aborted-read torn-txn",
          script="r51_forged_marker")
def clients_mark() -> AbstractContextManager[object]:
    check = validate._check_counts

    def lenient(header: BatchHeader, partition: str) -> None:
        if not header.is_control:
            check(header, partition)

    return replaced(validate, "_check_counts", lenient)
