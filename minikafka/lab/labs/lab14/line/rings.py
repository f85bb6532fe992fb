"""What a team sees on its screens during a run, second by second, and which of a student's alarms ring.

    looks(line)                                  # a Glance for each second, as in watch.py
    rings(line, alarms)                          # (since, until, name), in the order in which they begin

Owns: nothing. Invariants: at each second `alarms` gets the looks until then, and no later one.
"""
from __future__ import annotations

from minikafka.lab.labs.lab14.alarms import Alarms, names
from minikafka.lab.labs.lab14.line.facts import PARTS, RunLine
from minikafka.lab.labs.lab14.watch import Glance


def looks(line: RunLine) -> list[Glance]:
    """Return what there was to see at each second of a run."""
    came = sorted((t, trip) for trip, t in line.counted.items() if trip in line.promised and trip in line.sent)
    newest, found, at = dict[int, float](), list[Glance](), 0
    for second in range(1, int(line.end) + 1):
        while at < len(came) and came[at][0] <= second:
            trip = came[at][1]
            part = line.promised[trip].part
            if part is not None:
                newest[part] = max(newest.get(part, 0.0), line.sent[trip])
            at += 1
        lag = line.at(line.readable, second) - line.done_until(second)
        age = max(second - newest.get(part, float(second)) for part in PARTS)
        found.append(Glance(second, max(0, lag), min(len(line.leader[part].at(second).isr) for part in PARTS), round(age, 1)))
    return found


def rings(line: RunLine, alarms: Alarms) -> list[tuple[float, float, str]]:
    """Return from when to when each alarm rang."""
    seen, found = looks(line), list[tuple[float, float, str]]()
    ringing: dict[str, int] = {}
    for number, look in enumerate(seen, 1):
        said = names(alarms(list(seen[:number])))
        for name in [name for name in ringing if name not in said]:
            found.append((ringing.pop(name), look.second, name))
        for name in said:
            ringing.setdefault(name, look.second)
    return sorted([*found, *((since, line.end, name) for name, since in ringing.items())])
