"""Operations in words, one line each: the evidence a terminal shows."""

from __future__ import annotations

from .story import TP, Op


def at(op: Op) -> str:
    """Return when it ended, in seconds of the history's clock."""
    return f"t={op.events[-1].get('t', 0):.3f}"


def place(tp: TP | None, offset: int | None = None) -> str:
    """Return topic-0@17."""
    return (f"{tp[0]}-{tp[1]}" if tp else "?") + ("" if offset is None else f"@{offset}")


def send(op: Op) -> str:
    """Return the sender, the value and the answer."""
    outcome = {"ok": f"acked at {op.get('offset')}", "fail": "refused", "info": "unknown"}[op.outcome]
    acks = op.get("acks", -1)
    how = f", acks={acks}" if acks not in (-1, "all") else ""
    return f"{op.process} sent {op.get('value')!r} to {place(op.tp)} ({outcome}{how}, {at(op)})"


def reader(op: Op) -> str:
    """Return the reader."""
    return f"{op.process}{'' if op.f == 'poll' else ' (final)'} {at(op)}"
