"""What the picture of a line says at a moment: a sentence, and a few words for each lane.

    at(line, 16.0).sentence, at(line, 16.0).values["sink"]

Owns: the words. Invariants: pure; a frame has a value for each name in NAMES.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from minikafka.lab.labs.lab14.line.facts import PARTS, LineBatch, RunLine, Struck
from minikafka.lab.picture.sentences.phrases import listed, offsets

NAMES = ("part 0", "part 1", "part 2", "sent", "log", "done", "sink", "spark", "wait")
ON_LINE = {                                     # a fault in a bar, and in a sentence; Spark's deaths are told apart
    "kill the producer": ("kill producer", "the producer is dead"),
    "kill the leader": ("kill {}", "broker {} is dead"),
    "kill a follower": ("kill {}", "broker {} is dead"),
    "cut off the leader": ("cut {}", "broker {} is cut off from the other brokers"),
    "slow a follower": ("slow {}", "broker {} copies slowly"),
    "lose the answers": ("mute {}", "no answer of broker {} reaches a client"),
    "leave alone and then burn the leader": ("burn {}", "no follower copies, and broker {} burns at the end"),
    "hold the followers": ("hold", "no follower copies"),
}


class LineFrame(NamedTuple):
    """One moment of a line."""

    t: float
    sentence: str
    values: dict[str, str]


def at(line: RunLine, t: float) -> LineFrame:
    """Return what there is to say at a moment."""
    batch = under_way(line, t)
    values: dict[str, Any] = {f"part {part}": _partition(line, part, t) for part in PARTS}
    values |= {"sent": sum(sent <= t for sent in line.sent.values()), "log": line.at(line.readable, t),
               "done": line.done_until(t), "sink": line.rows.at(t), "spark": _spark(line, batch, t),
               "wait": f"{line.waits[min(len(line.waits) - 1, max(0, round(t * 10)))][1]:.1f} s" if line.waits else ""}
    return LineFrame(t, _sentence(line, t, batch), {name: str(values[name]) for name in NAMES})


def under_way(line: RunLine, t: float) -> LineBatch | None:
    """Return the batch that was planned last."""
    return next((each for each in reversed(line.batches) if each.planned <= t), None)


def struck(fault: Struck, short: bool) -> str:
    """Return a fault in words; Spark's deaths have a lane of their own."""
    words = ON_LINE.get(fault.what)
    return (words[0 if short else 1].format(fault.broker or "?")) if words else fault.what


def _partition(line: RunLine, part: int, t: float) -> str:
    end, mark = line.log_end[part].at(t), line.readable[part].at(t)
    return f"{mark} of {end}" if mark < end else str(end)


def _spark(line: RunLine, batch: LineBatch | None, t: float) -> str:
    if not line.query.at(t):
        return "dead"
    if batch is None:
        return "no batch"
    state = "done" if batch.done is not None and batch.done <= t else "wrote" if batch.written is not None \
        and batch.written <= t else "reads"
    return f"batch {batch.number} {state}"


def _sentence(line: RunLine, t: float, batch: LineBatch | None) -> str:
    """Return what is wrong now, and what the batch reads."""
    parts = [part for part in PARTS if line.leader[part].at(t).leader is None] if t > 0 else []
    also = {part: line.leader[part].at(t).also for part in PARTS if line.leader[part].at(t).also}
    fault = line.struck.at(t)
    said = [struck(fault, short=False)] if fault is not None and fault.what in ON_LINE else []
    said += ["Spark is dead"] if not line.query.at(t) else []
    said += [f"nobody leads partition {listed(parts)}"] if parts else []
    said += [f"broker {listed(nodes)} still believes that it leads partition {part}" for part, nodes in also.items()]
    if not said and batch is not None and batch.read:
        read = ", ".join(f"{offsets(first, end)} of {part}" for part, (first, end) in sorted(batch.read.items()))
        said = [f"batch {batch.number} reads offsets {read.replace(' of ', ' of partition ', 1)}"]
    return "; ".join(said) or "nothing is wrong"
