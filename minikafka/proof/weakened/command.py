"""`python -m minikafka sim ablate [RULE or NAME ...]`: rules switched off, and the seed that shows each.

A story shows a rule at the story's own seed. In a world the command looks for the first seed at which something falls that the
table names; `--record` writes that seed into the table.

Owns: what is printed, and the seeds in rules.tsv.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from minikafka.proof.weakened.showing import fallen
from minikafka.proof.weakened.table import NAME, SHOWN_BY, TABLE, Weakened, weakened

Row = tuple[str, ...]
HEAD = ("rule", "name", "found by", "seed", "what falls")
NONE = "none"  # in place of a seed that was not found
SEEDS = 500  # in each world its rules fall within this number of seeds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("which", nargs="*", metavar="RULE", help="number or name of a rule (default: all)")
    parser.add_argument("--record", action="store_true", help=f"write the seeds that were found to {TABLE.name}")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the row of each rule that is meant; return 1 if one of them was not seen, 2 if nothing is meant."""
    shown = sorted((one for one in weakened().values() if one.shown_by), key=_place)
    chosen = [one for one in shown if not options.which or _is_meant(one, options.which)]
    if not chosen:
        print(f"no story or seed shows {' '.join(options.which)}: there are {' '.join(one.name for one in shown)}")
        return 2
    rows = _hunt(chosen)
    if options.record:
        record({row[1]: int(row[3]) for row, one in zip(rows, chosen, strict=True) if one.world and row[3] != NONE})
    return 0 if all(row[3] != NONE for row in rows) else 1


def _place(one: Weakened) -> tuple[int, str]:
    return int(one.rule.partition(",")[0]), one.name


def _is_meant(one: Weakened, which: Iterable[str]) -> bool:
    return any(word in (one.name, one.story) or word in one.rule.replace(",", " ").split() for word in which)


def _hunt(chosen: Sequence[Weakened]) -> list[Row]:
    """Return the rows, and print each one as soon as it is found: a hunt may take minutes."""
    names = [(one.rule, one.name, one.shown_by, NONE, "") for one in chosen]
    widths = [max(map(len, column)) for column in zip(HEAD, *names)]

    def show(row: Row) -> Row:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip(), flush=True)
        return row

    show(HEAD)
    return [show(_row(one)) for one in chosen]


def _row(one: Weakened) -> Row:
    from minikafka.proof.stories.telling.script import load
    for seed in range(SEEDS) if one.world else [load()[str(one.story)].seed]:
        if found := fallen(one, seed):
            return one.rule, one.name, one.shown_by, str(seed), " ".join(found)
    return one.rule, one.name, one.shown_by, NONE, ""


def record(seeds: dict[str, int]) -> None:
    """Write the seeds of these rules into the table, and leave every other line as it is."""
    lines = [line.split("\t") for line in TABLE.read_text().splitlines()]
    for line in lines:
        if line[NAME] in seeds:
            line[SHOWN_BY] = f"{line[SHOWN_BY].partition(' ')[0]} {seeds[line[NAME]]}"
    TABLE.write_text("".join("\t".join(line) + "\n" for line in lines))
