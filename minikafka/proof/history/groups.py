"""Consumer groups: commits that last, owners that are alone, and no record left unread behind a committed offset.

lost-commit     a group read an older offset than one committed and acknowledged before this read began, or none.
phantom-commit  a group read an offset that no member committed.
zombie-commit   a member's commit was accepted after the partition had gone to another member, which had committed too.
group-skip      no member was given a record that lies below an offset the group committed.
two-owners      two members were assigned one partition in one generation.
What Jepsen does differently: none of these; it reads offsets back only through polls. The names are ours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from . import tell
from .report import Evidence
from .story import COMMITTED, TP, HistoryTables, Op
from .transactions import split

Key = tuple[str, TP]  # group and partition


class Commit(NamedTuple):
    """One commit of one partition: it took effect between `at` and `end`; if not `sure`, perhaps never, perhaps later."""

    offset: int
    at: int
    end: int
    sure: bool
    op: Op


def lost_commit(story: HistoryTables) -> Iterator[Evidence]:
    """Judge a partition's offset as a register: a read returns the last write, or one made meanwhile."""
    registers = {key: _Register(commits) for key, commits in commits_of(story).items()}
    for key, offset, op in _offset_reads(story):
        register = registers.get(key)
        if register is None or not (late := register.newer_than(offset, op)):
            continue
        yield Evidence(f"{tell.reader(op)} read offset {offset} for {key[0]} of {tell.place(key[1])}, but "
                       f"{late.op.process} had committed {late.offset}", key[1], [*late.op.events, *op.events])


def phantom_commit(story: HistoryTables) -> Iterator[Evidence]:
    """Judge only groups whose commits are part of the history."""
    commits = commits_of(story)
    for key, offset, op in _offset_reads(story):
        known = commits.get(key)
        if known and offset >= 0 and not any(c.offset == offset and c.at < op.end for c in known):
            yield Evidence(f"{tell.reader(op)} read offset {offset} for {key[0]} of {tell.place(key[1])}, which was "
                           f"never committed", key[1], op.events)


class _Register:
    """The commits of one partition of one group."""

    def __init__(self, commits: list[Commit]) -> None:
        self.by_offset: dict[int, list[Commit]] = defaultdict(list)
        for commit in commits:
            self.by_offset[commit.offset].append(commit)
        self.sure = sorted((c for c in commits if c.sure), key=lambda commit: commit.end)
        self.ends = [commit.end for commit in self.sure]
        self.latest: list[Commit] = []  # of those that ended so far, the one that began last
        for commit in self.sure:
            self.latest.append(max([commit, *self.latest[-1:]], key=lambda c: c.at))

    def newer_than(self, offset: int, read: Op) -> Commit | None:
        """Return a commit that began after every commit of `offset` had ended, and ended before the read began."""
        before = bisect_left(self.ends, read.at)
        if before == 0:
            return None
        newest = self.latest[before - 1]
        fits = (c for c in self.by_offset.get(offset, ()) if c.at < read.end and (not c.sure or c.end >= newest.at))
        if offset >= 0 and offset not in self.by_offset or next(fits, None) is not None:
            return None  # an offset that was never committed is phantom-commit's business
        return newest


def commits_of(story: HistoryTables) -> dict[Key, list[Commit]]:
    """Return all commits that may have happened; those within a transaction happen with its commit."""
    found: dict[Key, list[Commit]] = defaultdict(list)
    gone = story.topics("delete-topic")
    for op in story.of["commit"]:
        txn = story.txn_of.get(op)
        if op.outcome == "fail" or txn is not None and txn.outcome == "aborted":
            continue
        sure, end = op.ok, op.end
        if txn is not None:
            sure, end = op.ok and txn.outcome == "committed", txn.committed_by or op.end
        for name, offset in (op.get("offsets") or {}).items():
            tp = split(name)
            if tp[0] not in gone:
                found[op.get("group"), tp].append(Commit(offset, op.at, end, sure, op))
    return found


def _offset_reads(story: HistoryTables) -> Iterator[tuple[Key, int, Op]]:
    for op in story.of["committed"]:
        if op.ok:
            for name, offset in (op.get("offsets") or {}).items():
                yield (op.get("group"), split(name)), -1 if offset is None else offset, op


def zombie_commit(story: HistoryTables) -> Iterator[Evidence]:
    """Judge where assignments are part of the history."""
    assigned: dict[Key, dict[str, Op]] = defaultdict(dict)  # the last assignment to each member
    committed: dict[Key, Op] = {}  # the last acknowledged commit
    moments = [(op.at, 1, op) for op in story.of["commit"] if op.ok]
    moments += [(op.end, 2, op) for op in story.of["commit"] if op.ok and op.get("txn") is None]
    moments += [(op.end, 0, op) for op in story.of["assign"] if op.get("group") is not None]
    for _, kind, op in sorted(moments, key=lambda moment: moment[:2]):
        if kind == 0:
            for topic, partition in op.get("partitions") or ():
                assigned[op.get("group"), (topic, partition)][op.process] = op
            continue
        for name in op.get("offsets") or {}:
            key = op.get("group"), split(name)
            if kind == 2:
                committed[key] = op
            elif (other := committed.get(key)) is not None and _taken(assigned[key], op, other):
                yield Evidence(f"{op.process} committed {op.get('offsets')[name]} for {key[0]} of {name} "
                               f"({tell.at(op)}), which had gone to {other.process}, who had committed", key[1],
                               [*other.events, *op.events])


def _taken(assigned: dict[str, Op], op: Op, other: Op) -> bool:
    """Return whether the partition was last given to `other`'s member, after it was given to `op`'s."""
    mine, theirs = assigned.get(op.process), assigned.get(other.process)
    return mine is not None and theirs is not None and mine.end < theirs.end < other.at and op.process != other.process


def group_skip(story: HistoryTables) -> Iterator[Evidence]:
    """Judge from the first record that the group was given on. Groups that seek are left out."""
    seekers = {op.process for op in story.of["seek"]}
    left_out = story.topics("compacts") | story.topics("delete-topic") | story.topics("retention")
    given: dict[Key, set[int]] = defaultdict(set)
    isolation: dict[str, str] = {}
    for op in story.of["poll"]:
        group = op.get("group")
        if group is not None:
            isolation[group] = story.isolation(op)
            for topic, partition, offset, _ in op.get("records") or ():
                given[group, (topic, partition)].add(offset)
    seeking = {op.get("group") for op in story.of["poll"] if op.process in seekers}
    for (group, tp), commits in commits_of(story).items():
        had = given.get((group, tp))
        sure = [commit for commit in commits if commit.sure]
        if not had or not sure or group in seeking or tp[0] in left_out:
            continue
        reached, start = max(sure, key=lambda commit: commit.offset), max(min(had), story.deleted_below(tp))
        for offset in sorted(story.known(tp, isolation.get(group, COMMITTED))):
            if start <= offset < reached.offset and offset not in had:
                value = next(iter(story.seen[tp][offset]))
                yield Evidence(f"{group} committed {reached.offset} of {tell.place(tp)}, and no member was given "
                               f"{value!r} at {offset}", tp, reached.op.events)


class GroupLives:
    """Numbers the lives of each group, told apart by generations that begin anew for members of another protocol."""

    def __init__(self) -> None:
        self.highest: dict[str, tuple[int, str | None, int]] = {}  # generation, protocol of that member, number of the life

    def of(self, assign: Op) -> int:
        """Return the number of the life in which a member was assigned its partitions."""
        generation, protocol = assign.get("generation"), assign.get("protocol")
        highest, by, life = self.highest.get(assign.get("group"), (generation, protocol, 0))
        if generation < highest and protocol != by:
            highest, by, life = generation, protocol, life + 1
        if generation >= highest:
            self.highest[assign.get("group")] = generation, protocol, life
        return life


def two_owners(story: HistoryTables) -> Iterator[Evidence]:
    """Judge where assignments tell their generation. A member that gave a partition up may have a successor in the same one: a
    static member that comes back gets its predecessor's share without a rebalance (KIP-345). So does the younger of two
    of one name (`instance`): the elder is fenced, and learns of it later. A group that goes over to the other protocol while it
    is empty counts its generations anew."""
    owner: dict[tuple[str, int, int, TP], Op] = {}
    lives = GroupLives()
    for op in sorted([*story.of["assign"], *story.of["revoke"]], key=lambda op: op.at):
        group, generation = op.get("group"), op.get("generation")
        if op.f == "assign" and generation is None:
            continue
        life = lives.of(op) if op.f == "assign" else 0
        for topic, partition in op.get("partitions") or ():
            tp = topic, partition
            if op.f == "revoke":
                for held in [held for held, by in owner.items() if held[-1] == tp and by.process == op.process]:
                    del owner[held]
                continue
            other = owner.setdefault((group, life, generation, tp), op)
            namesake = op.get("instance") is not None and op.get("instance") == other.get("instance")
            if other.process != op.process and not namesake:
                yield Evidence(f"{tell.place(tp)} was given to {other.process} and to {op.process} in generation "
                               f"{generation} of {group}", tp, [*other.events, *op.events])
