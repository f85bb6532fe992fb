"""`python -m minikafka.lab.labs.lab08 history|case|pair N`: what a refusal of lab 8 is about, once more and whole.

`history` is one of exercise 8.2, `case` of 8.6, `pair` of 8.10. A refusal names the command as a cell: `%run -m ...`.

Invariants
  no other module imports this one: Python would warn a student of the second copy that runs
"""
from __future__ import annotations

import sys

from minikafka.lab.labs.lab08 import parted, traces
from minikafka.lab.labs.lab08.checks import histories


def history(number: int) -> str:
    """Return the promised and the readable record of each offset, a line each."""
    name, acknowledged, readable = histories()[number]
    promised, found = dict(acknowledged), dict(readable)
    return "\n".join([f"history {number}: {name}", *(
        f"offset {offset:3}   promised {promised.get(offset, '-')!s:<14} readable {found.get(offset, '-')}"
        for offset in sorted({*promised, *found}))])


SHOWN = {"history": history, "case": lambda number: traces.tell(traces.cases()[number]), "pair": parted.tell}

if __name__ == "__main__":
    print(SHOWN[sys.argv[1]](int(sys.argv[2])))
