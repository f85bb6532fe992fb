"""Ways to spoil a clean history, each with the name under which it must be found.

A mutation changes the events in place and says True, or says False if this history offers it no hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from minikafka.proof.history.story import COMMITTED, HistoryTables, Op

Events = list[dict[str, Any]]
Mutation = Callable[[Events, Random], bool]
MUTATIONS: dict[str, Mutation] = {}


def caught_as(name: str) -> Callable[[Mutation], Mutation]:
    def register(mutation: Mutation) -> Mutation:
        MUTATIONS[name] = mutation
        return mutation
    return register


@caught_as("lost-write")
def lose(events: Events, rng: Random) -> bool:
    """A record that was acknowledged is nowhere."""
    send = _pick(rng, HistoryTables(events).acked)
    if send is not None:
        for records in _all_records(events):
            records[:] = [r for r in records if r[3] != send.get("value")]
    return send is not None


@caught_as("unseen")
def get_stuck(events: Events, rng: Random) -> bool:
    """The last reader of a partition stops before an acknowledged record, and nobody else had read it."""
    story = HistoryTables(events)
    send = _pick(rng, story.acked)
    if send is None:
        return False
    for records in _all_records(events):
        records[:] = [r for r in records if (r[0], r[1]) != send.tp or r[2] < send.offset]
    for final in story.finals[send.tp]:
        final.events[-1]["type"] = "info"
    return True


@caught_as("duplicate")
def append_twice(events: Events, rng: Random) -> bool:
    final = _pick(rng, _finals(events))
    if final is not None:
        final.append([*final[-1][:2], final[-1][2] + 1, rng.choice(final)[3]])
    return final is not None


@caught_as("inconsistent-offsets")
def two_truths(events: Events, rng: Random) -> bool:
    """Two records of the last read change places."""
    final = _pick(rng, (f for f in _finals(events) if len(f) > 1))
    if final is not None:
        one, other = rng.sample(range(len(final)), 2)
        final[one][3], final[other][3] = final[other][3], final[one][3]
    return final is not None and _told(events, final)


@caught_as("unexpected")
def from_nowhere(events: Events, rng: Random) -> bool:
    records = _pick(rng, (r for r in _all_records(events) if r))
    if records is not None:
        rng.choice(records)[3] = "from nowhere"
    return records is not None


@caught_as("misplaced")
def elsewhere(events: Events, rng: Random) -> bool:
    finals = list(_finals(events))
    if len(finals) < 2:
        return False
    one, other = rng.sample(finals, 2)  # of one topic or of two
    other.append([*other[-1][:2], other[-1][2] + 1, one[-1][3]])
    return True


@caught_as("aborted-read")
def read_aborted(events: Events, rng: Random) -> bool:
    story = HistoryTables(events)
    send = _pick(rng, (s for txn in story.txns if txn.outcome == "aborted" for s in txn.sends if s.ok))
    if send is not None:
        _fresh_poll(events, len(events), send)
    return send is not None


@caught_as("precommitted-read")
def read_too_early(events: Events, rng: Random) -> bool:
    story = HistoryTables(events)
    found = [(send, txn) for txn in story.txns for send in txn.sends if send.ok and txn.outcome == "committed"]
    choice = _pick(rng, found)
    if choice is not None:
        send, txn = choice
        assert txn.asked_to_commit is not None
        _fresh_poll(events, txn.asked_to_commit, send)
    return choice is not None


@caught_as("torn-txn")
def tear(events: Events, rng: Random) -> bool:
    """One record of a transaction of several is gone; if that was acknowledged it is lost, too."""
    finals = list(_finals(events))
    there = {record[3] for final in finals for record in final}
    txns = [shown for txn in HistoryTables(events).txns if len(shown := [s for s in txn.sends if s.get("value") in there]) > 1]
    shown = _pick(rng, txns)
    if shown is not None:
        gone = rng.choice(shown)
        for records in _all_records(events):
            records[:] = [r for r in records if r[3] != gone.get("value")]
    return shown is not None


@caught_as("repeated-copy")
def copy_again(events: Events, rng: Random) -> bool:
    """A later transaction copies what an earlier one had copied."""
    story = HistoryTables(events)
    copies = [(s, txn) for txn in story.txns if txn.outcome == "committed" for s in txn.sends if s.get("source")]
    pairs = [(a, b) for a, one in copies for b, other in copies if one is not other and a.at < b.at]
    choice = _pick(rng, pairs)
    if choice is not None:
        choice[1].events[0]["source"] = choice[0].get("source")
    return choice is not None


@caught_as("missing-copy")
def leave_out(events: Events, rng: Random) -> bool:
    """A record that was copied, between others, was not."""
    story = HistoryTables(events)
    shown = {record[3] for final in _finals(events) for record in final}
    copies = [s for s in story.sends if s.get("source") and s.get("value") in shown]
    sure = max((s.at for txn in story.txns if txn.outcome == "committed" for s in txn.sends if s in copies), default=0)
    choice = _pick(rng, (s for s in copies[1:] if s.at < sure))
    if choice is not None:
        events[:] = [e for e in events if e not in choice.events]
        for records in _all_records(events):
            records[:] = [r for r in records if r[3] != choice.get("value")]
    return choice is not None


@caught_as("poll-skip")
def skip(events: Events, rng: Random) -> bool:
    """A whole poll of a reader is missing, between two others of the same partition."""
    polls = [e for e in events if e["f"] == "poll" and e["type"] == "ok" and e["process"] == "careful" and e["records"]]
    middle = [(before, poll, after) for partition in (0, 1)
              for of in [[p for p in polls if p["records"][0][1] == partition]]
              for before, poll, after in zip(of, of[1:], of[2:])]
    choice = _pick(rng, middle)
    if choice is not None:
        choice[1]["records"].clear()
    return choice is not None


@caught_as("int-poll-skip")
def skip_inside(events: Events, rng: Random) -> bool:
    records = _pick(rng, (e["records"] for e in _polls(events, "careful") if len(e["records"]) > 2))
    if records is not None:
        del records[rng.randrange(1, len(records) - 1)]
    return records is not None


@caught_as("nonmonotonic-poll")
def once_more(events: Events, rng: Random) -> bool:
    records = _pick(rng, (e["records"] for e in _polls(events, "any") if e["records"]))
    if records is not None:
        op = {"process": "any", "f": "poll", "op": 10**6}
        events += [{**op, "type": "invoke"}, {**op, "type": "ok", "records": [records[0]]}]
    return records is not None


@caught_as("int-nonmonotonic-poll")
def back_inside(events: Events, rng: Random) -> bool:
    records = _pick(rng, (e["records"] for e in _polls(events, "any") if e["records"]))
    if records is not None:
        records.append(rng.choice(records))
    return records is not None


@caught_as("nonmonotonic-send")
def overtake(events: Events, rng: Random) -> bool:
    """Two acknowledgements of one producer change their offsets."""
    by_sender: dict[Any, list[Op]] = {}
    for send in HistoryTables(events).sends:
        if send.ok:
            by_sender.setdefault((send.process, send.tp), []).append(send)
    sends = _pick(rng, (s for s in by_sender.values() if len(s) > 1))
    if sends is not None:
        one, other = (op.events[-1] for op in rng.sample(sends, 2))
        one["offset"], other["offset"] = other["offset"], one["offset"]
    return sends is not None


@caught_as("lost-commit")
def forget(events: Events, rng: Random) -> bool:
    """At the end nobody knows of any commit."""
    commits = [c for c in HistoryTables(events).of["commit"] if c.ok and c.get("group") == "g"]
    if commits:
        op = {"process": "asker", "f": "committed", "group": "g", "op": 10**6}
        offsets = dict.fromkeys(commits[0].get("offsets"), -1)
        events += [{**op, "type": "invoke"}, {**op, "type": "ok", "offsets": offsets}]
    return bool(commits)


@caught_as("phantom-commit")
def invent(events: Events, rng: Random) -> bool:
    commits = [c for c in HistoryTables(events).of["commit"] if c.ok and c.get("group") == "g"]
    if commits:
        op = {"process": "asker", "f": "committed", "group": "g", "op": 10**6}
        offsets = dict.fromkeys(commits[0].get("offsets"), 999)
        events += [{**op, "type": "invoke"}, {**op, "type": "ok", "offsets": offsets}]
    return bool(commits)


@caught_as("zombie-commit")
def rise_again(events: Events, rng: Random) -> bool:
    """A member commits although the partition has gone to the other, who commits first."""
    for number, (process, f) in enumerate([("member-1", "assign"), ("member-2", "assign"), ("member-2", "commit"),
                                           ("member-1", "commit")]):
        op = {"process": process, "f": f, "group": "g", "op": 10**6 + number}
        if f == "commit":
            events += [{**op, "type": "invoke", "offsets": {"t-0": 1}}, {**op, "type": "ok"}]
        else:
            events.append({**op, "type": "ok", "partitions": [["t", 0]]})
    return True


@caught_as("group-skip")
def unread(events: Events, rng: Random) -> bool:
    """A record between two that the group was given is in none of its polls, though its commit is beyond."""
    story = HistoryTables(events)
    reached: dict[str, int] = {}
    for commit in story.of["commit"]:
        for name, offset in commit.get("offsets").items() if commit.ok and commit.get("group") == "g" else ():
            reached[name] = max(offset, reached.get(name, 0))
    polls = [e for e in events if e["f"] == "poll" and e["type"] == "ok" and e["process"].startswith("member")]
    given = sorted({tuple(r[1:3]) for poll in polls for r in poll["records"]})
    inner = [g for before, g in zip(given, given[1:]) if before[0] == g[0] and g[1] < reached.get(f"t-{g[0]}", 0)]
    choice = _pick(rng, inner)
    if choice is not None:
        for poll in polls:
            poll["records"][:] = [r for r in poll["records"] if tuple(r[1:3]) != choice]
    return choice is not None


@caught_as("two-owners")
def share(events: Events, rng: Random) -> bool:
    assign = _pick(rng, (e for e in events if e["f"] == "assign" and e["partitions"]))
    if assign is not None:
        events.append({**assign, "process": "member-3"})
    return assign is not None


# --- what they need ------------------------------------------------------------------------------------------------


def _pick(rng: Random, choices: Any) -> Any:
    listed = list(choices)
    return rng.choice(listed) if listed else None


def _all_records(events: Events) -> Iterator[list[Any]]:
    return (event["records"] for event in events if event.get("records"))


def _finals(events: Events) -> Iterator[list[Any]]:
    return (event["records"] for event in events if event["f"] == "final" and event.get("records"))


def _polls(events: Events, process: str) -> Iterator[dict[str, Any]]:
    return (e for e in events if e["f"] == "poll" and e["type"] == "ok" and e["process"] == process)


def _told(events: Events, final: list[Any]) -> bool:
    """Does anybody else say something of the places in `final`, so that there are two truths?"""
    story = HistoryTables(events)
    said = {(s.tp, s.offset, s.get("value")) for s in story.sends if s.ok}
    said |= {((r[0], r[1]), r[2], r[3]) for op in story.of["poll"] for r in op.get("records") or ()}
    mine = {((r[0], r[1]), r[2]): r[3] for r in final}
    return any(mine.get((tp, offset), value) != value for tp, offset, value in said)


def _fresh_poll(events: Events, at: int, send: Op) -> None:
    op = {"process": "fresh", "f": "poll", "op": 10**6, "isolation": COMMITTED}
    record = [*send.tp, send.offset, send.get("value")] if send.tp else []
    events[at:at] = [{**op, "type": "invoke"}, {**op, "type": "ok", "records": [record]}]
