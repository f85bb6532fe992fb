"""Every anomaly: the smallest history that has it, and one that almost has it.

Fails if a check no longer sees what it is for, sees it where it is not, or calls it by another name.
"""

from __future__ import annotations

import pytest

from minikafka.proof.history import NAMES

from .kit import COMMITTED, Told

HAS = {
    "lost-write": Told().send("a", 0).send("b", 1).final("b@1"),
    "lost-write, once read": Told().send("a", 0).poll("c", "a@0").final(""),
    "lost-write, read past": Told().send("a", 0).send("b", 1).send("c", 2).poll("c", "a@0 c@2"),
    "lost-write, read past by the second reader": Told().send("a", 0).send("b", 1).send("c", 2).send("d", 5).send("e", 7)
    .send("f", 10).poll("x", "d@5 e@7 f@10").poll("y", "a@0 c@2"),
    "lost-write, beyond what was deleted": Told().send("a", 0).send("b", 1).delete_records(None, 1).final("", start=2),
    "lost-write, beyond what was to be deleted": Told().send("a", 0).send("b", 1).delete_records(1).final("", start=2),
    "lost-write, acks=1": Told().send("a", 0, acks=1).final(""),
    "lost-write, committed": Told().txn("p:1", "a@0").final(""),
    "lost-write, offset unknown": Told().send("a", -1).final(""),
    "lost-write, compacted away for an aborted one": Told().fact("compacts", topic="t").send("a", 0)
    .txn("p:1", "b@1", commit=False).final(""),
    "lost-write, compacted away for one that was refused": Told().fact("compacts", topic="t").send("a", 0, key="k")
    .send(None, key="k", outcome="fail").final(""),
    "lost-write, compacted away for one that nobody saw": Told().fact("compacts", topic="t").send("a", 0, key="k")
    .send("b", key="k").final(""),
    "unseen": Told().send("a", 0).send("b", 1).final("a@0", outcome="info"),
    "duplicate": Told().send("a", 0).final("a@0 a@1"),
    "duplicate, never acknowledged": Told().send("a").final("a@0 a@1"),
    "inconsistent-offsets": Told().send("a").send("b").poll("c", "a@0").poll("d", "b@0"),
    "inconsistent-offsets, told": Told().send("a", 0).send("b").poll("c", "b@0"),
    "inconsistent-offsets, behind the first": Told().send("a", 1).send("b").poll("c", "b@1"),
    "unexpected": Told().send("a", 0).final("a@0 x@1"),
    "misplaced": Told().send("a").final("a@1:0", partition=1),
    "misplaced, in another topic": Told().send("a", topic="u").final("a@0"),
    "aborted-read": Told().txn("p:1", "a@0", commit=False).poll("c", "a@0", isolation=COMMITTED),
    "aborted-read, refused": Told().send("a", outcome="fail").poll("c", "a@0"),
    "poll-skip": Told().send("a", 0).send("b", 1).send("c", 2).poll("x", "a@0").poll("x", "c@2").final("a@0 b@1 c@2"),
    "poll-skip, after a seek": Told().send("a", 0).send("b", 1).seek("x", 0).poll("x", "b@1").final("a@0 b@1"),
    "poll-skip, as read_uncommitted shows": Told().send("a", 0).send("b", 1).send("c", 2).poll("x", "a@0")
    .poll("x", "c@2").final("a@0 b@1 c@2", isolation="read_uncommitted"),
    "int-poll-skip": Told().send("a", 0).send("b", 1).send("c", 2).poll("x", "a@0 c@2").final("a@0 b@1 c@2"),
    "nonmonotonic-poll": Told().send("a", 0).send("b", 1).poll("x", "a@0 b@1").poll("x", "a@0").final("a@0 b@1"),
    "nonmonotonic-poll, after a rebalance inside a poll": Told().send("a", 0).begin_poll("x").assign("x", 0).polled("x", "a@0")
    .poll("x", "a@0").final("a@0"),
    "nonmonotonic-poll, the same": Told().send("a", 0).poll("x", "a@0").poll("x", "a@0").final("a@0"),
    "int-nonmonotonic-poll": Told().send("a", 0).send("b", 1).poll("x", "b@1 a@0").final("a@0 b@1"),
    "int-nonmonotonic-poll, the same": Told().send("a", 0).poll("x", "a@0 a@0").final("a@0"),
    "nonmonotonic-send": Told().send("a", 1).send("b", 0).final("b@0 a@1"),
    "nonmonotonic-send, in flight": Told().begin_send("a").begin_send("b").acked("b", 0).acked("a", 1).final("b@0 a@1"),
    "nonmonotonic-send, between two": Told().send("a", 0).send("b", 2).send("c", 1).final("a@0 c@1 b@2"),
    "nonmonotonic-send, not idempotent": Told().send("a", 1, idempotent=False).send("b", 0, idempotent=False)
    .final("b@0 a@1"),
    "nonmonotonic-send, after two at once": Told().begin_send("a", idempotent=False).begin_send("b", idempotent=False)
    .acked("b", 2).acked("a", 0).send("c", 1, idempotent=False).final("a@0 c@1 b@2"),
    "precommitted-read": Told().begin_send("a", txn="p:1").acked("a", 0).poll("c", "a@0", isolation=COMMITTED)
    .end("p:1"),
    "precommitted-read, of an open one": Told().send("a", 0, txn="p:1").poll("c", "a@0", isolation=COMMITTED),
    "precommitted-read, an abort was asked for": Told().send("a", 0, txn="p:1").end("p:1", commit=False, outcome="info")
    .poll("c", "a@0", isolation=COMMITTED),
    "torn-txn": Told().txn("p:1", "a@0", "b@1:0", outcome="info").final("a@0").final("", partition=1),
    "repeated-copy": Told().txn("p:1", "a@0", sources=[7]).txn("p:2", "b@1", sources=[7]).final("a@0 b@1"),
    "repeated-copy, once in a transaction in doubt": Told().txn("p:1", "a@0", sources=[7], outcome="info")
    .txn("p:2", "b@1", sources=[7]).final("a@0 b@1"),
    "repeated-copy, read by nobody": Told().txn("p:1", "a@0", sources=[7]).txn("p:2", "b@1", sources=[7]),
    "missing-copy": Told().sources("x@7 y@8 z@9").txn("p:1", "a@0", "c@1", sources=[7, 9], offsets={"s-0": 10})
    .final("a@0 c@1"),
    "lost-commit": Told().commit("c", 5).commit("c", 9).committed(5),
    "lost-commit, none": Told().commit("c", 5).committed(-1),
    "lost-commit, moved back later": Told().commit("c", 5).commit("c", 9).committed(5).commit("c", 5),
    "phantom-commit": Told().commit("c", 5).committed(6),
    "phantom-commit, refused": Told().commit("c", 5).commit("c", 6, outcome="fail").committed(6),
    "phantom-commit, aborted": Told().commit("c", 5).txn("p:1", offsets={"t-0": 6}, commit=False).committed(6),
    "zombie-commit": Told().assign("c", 0).assign("d", 0).commit("d", 9).commit("c", 5),
    "group-skip": Told().send("a", 0).send("b", 1).poll("c", "a@0", group="g").commit("c", 2).final("a@0 b@1"),
    "group-skip, before the later of two commits": Told().send("a", 0).send("b", 1).poll("c", "a@0", group="g").commit("c", 1)
    .commit("c", 2).final("a@0 b@1"),
    "group-skip, between two members": Told().send("a", 0).send("b", 1).send("c", 2).poll("c", "a@0", group="g")
    .poll("d", "c@2", group="g").commit("d", 3).final("a@0 b@1 c@2"),
    "two-owners": Told().assign("c", 0, 1, generation=3).assign("d", 1, 2, generation=3),
    "two-owners, one of each protocol": Told().assign("c", 0, 1, generation=3, protocol="classic")
    .assign("d", 1, 2, generation=3, protocol="consumer"),
    "two-owners, of a former generation": Told().assign("c", 0, generation=3).assign("d", 1, generation=4)
    .assign("e", 0, generation=3),
    "two-owners, another partition was given up": Told().assign("c", 0, 1, generation=3).revoke("c", 0)
    .assign("d", 1, generation=3),
}

ALMOST = {
    "lost-write: refused": Told().send("a", outcome="fail").send("b", 0).final("b@0"),
    "lost-write: unknown": Told().send("a", outcome="info").send("b", 0).final("b@0"),
    "lost-write: acks=0": Told().send("a", 0, acks=0).final(""),
    "lost-write: aborted": Told().txn("p:1", "a@0", commit=False).final(""),
    "lost-write: unknown end": Told().txn("p:1", "a@0", outcome="info").final(""),
    "lost-write: sent after the last read": Told().send("a", 0).final("a@0").send("b", 1).poll("c", "b@1"),
    "lost-write: deleted": Told().send("a", 0).send("b", 1).fact("delete-records", topic="t", partition=0, offset=1)
    .final("b@1", start=1),
    "lost-write: deleted, and the answer told how much": Told().send("a", 0).send("b", 1).delete_records(None, 2)
    .final("", start=2),
    "lost-write: deleted, and the answer never came": Told().send("a", 0).send("b", 1).delete_records(None).final("", start=2),
    "lost-write: too old": Told().fact("retention", topic="t").send("a", 0).send("b", 1).final("b@1", start=1),
    "lost-write: compacted": Told().fact("compacts", topic="t").send("a", 0, key="k").send("b", 1, key="k")
    .final("b@1"),
    "lost-write: topic deleted": Told().send("a", 0).fact("delete-topic", topic="t").send("b", 0).final(""),
    "unseen: not acknowledged": Told().send("a", 0).send("b").final("a@0", outcome="info"),
    "unseen: a reader that was refused": Told().send("a", 0).poll("c", "a@0").final("", outcome="fail"),
    "duplicate: another value": Told().send("a", 0).send("b").final("a@0 b@1"),
    "duplicate: not idempotent": Told().send("a", 0, idempotent=False).final("a@0 a@1"),
    "duplicate: read twice": Told().send("a", 0).poll("c", "a@0").poll("d", "a@0").final("a@0"),
    "inconsistent-offsets: other partition": Told().send("a").send("b", partition=1).poll("c", "a@0")
    .poll("d", "b@1:0"),
    "unexpected: nobody tells of sends": Told().poll("c", "x@0"),
    "misplaced: the broker chose": Told().send("a", partition=None).final("a@1:0", partition=1),
    "aborted-read: read_uncommitted": Told().txn("p:1", "a@0", commit=False).poll("c", "a@0"),
    "aborted-read: unknown end": Told().txn("p:1", "a@0", outcome="info").poll("c", "a@0", isolation=COMMITTED),
    "aborted-read: unknown send": Told().send("a", outcome="info").poll("c", "a@0"),
    "poll-skip: a marker": Told().send("a", 0).send("b", 2).poll("x", "a@0").poll("x", "b@2").final("a@0 b@2"),
    "poll-skip: aborted": Told().txn("q:1", "b@1", by="q", commit=False).send("a", 0).send("c", 2)
    .poll("u", "a@0 b@1 c@2").poll("x", "a@0", isolation=COMMITTED).poll("x", "c@2", isolation=COMMITTED)
    .final("a@0 c@2"),
    "lost-write: compacted for one whose answer never came": Told().fact("compacts", topic="t").send("a", 0, key="k")
    .send("b", key="k").final("b@1"),
    "lost-write: compacted for a tombstone whose answer never came": Told().fact("compacts", topic="t").send("a", 0, key="k")
    .send(None, key="k", outcome="info").final(""),
    "poll-skip: after a seek": Told().send("a", 0).send("b", 1).send("c", 2).poll("x", "a@0").seek("x", 2)
    .poll("x", "c@2").final("a@0 b@1 c@2"),
    "poll-skip: after an assignment": Told().send("a", 0).send("b", 1).send("c", 2).poll("x", "a@0").assign("x", 0)
    .poll("x", "c@2").final("a@0 b@1 c@2"),
    "poll-skip: deleted": Told().send("a", 0).send("b", 1).send("c", 2).poll("y", "a@0 b@1 c@2").poll("x", "a@0")
    .fact("delete-records", topic="t", partition=0, offset=2).poll("x", "c@2").final("c@2", start=2),
    "poll-skip: deleted since": Told().send("a", 0).send("b", 2).poll("x", "a@0").poll("x", "b@2")
    .fact("delete-records", topic="t", partition=0, offset=3).final("", start=3),
    "poll-skip: compacted": Told().fact("compacts", topic="t").send("a", 0, key="k").send("b", 1, key="k")
    .send("c", 2, key="k").poll("y", "a@0 b@1 c@2").poll("x", "a@0").poll("x", "c@2").final("c@2"),
    "poll-skip: after a seek to the end": Told().send("a", 0).send("b", 1).send("c", 2).poll("x", "a@0").seek("x", -1)
    .poll("x", "c@2").final("a@0 b@1 c@2"),
    "int-poll-skip: a marker": Told().send("a", 0).send("b", 2).poll("x", "a@0 b@2").final("a@0 b@2"),
    "nonmonotonic-poll: after a seek": Told().send("a", 0).poll("x", "a@0").seek("x", 0).poll("x", "a@0").final("a@0"),
    "nonmonotonic-poll: after an assignment": Told().send("a", 0).poll("x", "a@0").assign("x", 0).poll("x", "a@0")
    .final("a@0"),
    "nonmonotonic-poll: after a rebalance inside the poll": Told().send("a", 0).poll("x", "a@0").begin_poll("x").revoke("x", 0)
    .assign("x", 0).polled("x", "a@0").final("a@0"),
    "nonmonotonic-poll: two readers": Told().send("a", 0).poll("x", "a@0").poll("y", "a@0").final("a@0"),
    "int-nonmonotonic-poll: two partitions": Told().send("a", 0).send("b", 0, partition=1).poll("x", "a@0 b@1:0")
    .final("a@0").final("b@1:0", partition=1),
    "nonmonotonic-send: two producers": Told().send("a", 1).send("b", 0, by="q").final("b@0 a@1"),
    "nonmonotonic-send: in flight, not idempotent": Told().begin_send("a", idempotent=False)
    .begin_send("b", idempotent=False).acked("b", 0).acked("a", 1).final("b@0 a@1"),
    "int-send-skip: allowed": Told().begin_send("a", txn="p:1").acked("a", 0).send("x", 1, by="q")
    .begin_send("b", txn="p:1").acked("b", 2).end("p:1").final("a@0 x@1 b@2"),
    "precommitted-read: at the same time": Told().txn("p:1", "a@0").poll("c", "a@0", isolation=COMMITTED).final("a@0"),
    "precommitted-read: read_uncommitted": Told().send("a", 0, txn="p:1").poll("c", "a@0").end("p:1").final("a@0"),
    "torn-txn: nothing there": Told().txn("p:1", "a@0", "b@1:0", outcome="info").final("").final("", partition=1),
    "torn-txn: all there": Told().txn("p:1", "a@0", "b@1:0", outcome="info").final("a@0").final("b@1:0", partition=1),
    "torn-txn: read before the end": Told().begin_send("a", txn="p:1").acked("a", 0).final("", partition=0)
    .send("b", 0, partition=1, txn="p:1").end("p:1").final("b@1:0", partition=1).final("a@0"),
    "torn-txn: not read since its end": Told().send("a", 0, txn="p:1").final("").send("b", 0, partition=1, txn="p:1")
    .end("p:1", outcome="info").final("b@1:0", partition=1),
    "torn-txn: one is in doubt": Told().send("a", 0, txn="p:1").send("b", partition=1, txn="p:1")
    .end("p:1", outcome="info").final("a@0").final("", partition=1),
    "torn-txn: open": Told().txn("p:1", "a@0", "b@1:0", outcome="info").final("a@0", isolation="read_uncommitted")
    .final("", partition=1),
    "torn-txn: one is too old": Told().fact("retention", topic="t").txn("p:1", "a@0", "b@1:0", outcome="info")
    .final("", start=1).final("b@1:0", partition=1),
    "torn-txn: one was deleted": Told().txn("p:1", "a@0", "b@1:0", outcome="info")
    .fact("delete-records", topic="t", partition=0, offset=1).final("", start=1).final("b@1:0", partition=1),
    "torn-txn: one reader did not get there": Told().txn("p:1", "a@0", "b@1:0", outcome="info")
    .final("", outcome="info").final("b@1:0", partition=1),
    "repeated-copy: the first aborted": Told().txn("p:1", "a@0", sources=[7], commit=False)
    .txn("p:2", "b@2", sources=[7]).final("b@2"),
    "missing-copy: not committed so far": Told().sources("x@7 y@8").txn("p:1", "a@0", sources=[7], offsets={"s-0": 8})
    .final("a@0"),
    "missing-copy: before the first": Told().sources("x@6 y@7").txn("p:1", "a@0", sources=[7], offsets={"s-0": 8})
    .final("a@0"),
    "missing-copy: aborted": Told().sources("x@7 y@8").txn("p:1", "a@0", sources=[7], offsets={"s-0": 8})
    .txn("p:2", "b@2", sources=[8], offsets={"s-0": 9}, commit=False).final("a@0"),
    "lost-commit: asked for before the first": Told().committed(-1).commit("c", 5),
    "lost-commit: the newer is in doubt": Told().commit("c", 5).commit("c", 9, outcome="info").committed(5)
    .committed(9),
    "lost-commit: the older is in doubt": Told().commit("c", 5, outcome="info").commit("c", 9).committed(5),
    "lost-commit: refused": Told().commit("c", 5).commit("c", 9, outcome="fail").committed(5),
    "lost-commit: moved back": Told().commit("c", 9).commit("c", 5).committed(5),
    "lost-commit: another group": Told().commit("c", 9).committed(-1, group="h"),
    "lost-commit: in a transaction in doubt": Told().commit("c", 5)
    .txn("p:1", offsets={"t-0": 9}, outcome="info").committed(5),
    "lost-commit: topic deleted": Told().commit("c", 9).fact("delete-topic", topic="t").committed(-1),
    "phantom-commit: in doubt": Told().commit("c", 5).commit("c", 6, outcome="info").committed(6),
    "zombie-commit: given back": Told().assign("c", 0).assign("d", 0).commit("d", 9).assign("c", 0).commit("c", 10),
    "zombie-commit: not yet used": Told().assign("c", 0).assign("d", 0).commit("c", 5).commit("d", 9),
    "zombie-commit: refused": Told().assign("c", 0).assign("d", 0).commit("d", 9).commit("c", 5, outcome="fail"),
    "zombie-commit: the other's was aborted": Told().assign("c", 0).assign("d", 0)
    .txn("d:1", by="d", offsets={"t-0": 9}, commit=False).commit("c", 5),
    "group-skip: given to the other member": Told().send("a", 0).send("b", 1).poll("c", "a@0", group="g")
    .poll("d", "b@1", group="g").commit("c", 2).final("a@0 b@1"),
    "group-skip: the commit is in doubt": Told().send("a", 0).send("b", 1).poll("c", "a@0", group="g")
    .commit("c", 2, outcome="info").final("a@0 b@1"),
    "group-skip: before its start": Told().send("a", 0).send("b", 1).poll("c", "b@1", group="g").commit("c", 2)
    .final("a@0 b@1"),
    "two-owners: given up": Told().assign("c", 0, 1, generation=3).revoke("c", 1).assign("d", 1, generation=3),
    "two-owners: a namesake": Told().assign("c", 0, generation=3, instance="i")
    .assign("d", 0, generation=3, instance="i"),
    "two-owners: the group began anew": Told().assign("c", 0, 1, generation=3, protocol="classic")
    .assign("c", generation=5, protocol="classic").assign("d", 1, 2, generation=3, protocol="consumer"),
    "two-owners: in turn": Told().assign("c", 0, 1, generation=3).assign("d", 1, 2, generation=4),
    "two-owners: a static member came back": Told().assign("c", 0, generation=3).revoke("c", 0)
    .assign("d", 0, generation=3),
}


@pytest.mark.parametrize("case", HAS)
def test_what_is_there_is_found(case: str) -> None:
    """The anomaly, and no other, is reported, with operations as evidence."""
    told = HAS[case]
    name = case.partition(",")[0]
    assert told.violated == [name]


@pytest.mark.parametrize("case", ALMOST)
def test_a_similar_history_has_no_anomaly(case: str) -> None:
    """Nothing is reported, and nothing left in doubt."""
    assert (ALMOST[case].violated, ALMOST[case].valid) == ([], True)


def test_every_anomaly_is_shown_and_almost_shown() -> None:
    """Fails when a check is new and has no history here (int-send-skip is counted, never a violation)."""
    names = set(NAMES)
    assert {case.partition(",")[0] for case in HAS} == names - {"int-send-skip"}
    assert {case.partition(":")[0] for case in ALMOST} == names
