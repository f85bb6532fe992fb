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


def main(arguments: list[str]) -> int:
    """Print what is asked for and return 0; say in one sentence what the command takes, and return 2."""
    try:
        what, number = arguments
        text = SHOWN[what](int("+" + number))  # a negative number is none: a list would count from its end
    except (ValueError, LookupError):
        print(f"usage: python -m minikafka.lab.labs.lab08 {'|'.join(SHOWN)} N: type the command as the check's refusal "
              "names it, with its number.", file=sys.stderr)
        return 2
    print(text)
    return 0


if __name__ == "__main__":
    if code := main(sys.argv[1:]):
        sys.exit(code)
