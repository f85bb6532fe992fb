"""`python -m minikafka sim ablate [RULE or NAME ...]`: the table of rules switched off, and the seed that shows each.

`--swarm N` hunts with the first N seeds of the cluster's campaign, instead of the story or profile made for the rule. So it
shows how much faults find that are not aimed at the rule.

Owns: the table, and tests/seeds/ablations.tsv (`--record`): ablation, rule, script or profile, killing seed, what falls.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from minikafka.proof.ablations.ablation import Ablation, load

Row = tuple[str, ...]
HEAD = ("rule", "ablation", "found by", "seed", "what falls")
NONE, CAMPAIGN = "none", "campaign"  # in place of a seed that was not found; in place of a story with --swarm
RECORDED = Path(__file__).parents[3] / "tests" / "seeds" / "ablations.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("which", nargs="*", metavar="RULE", help="numbers of rules, or names (default: all)")
    parser.add_argument("--record", action="store_true", help=f"write the seeds found to tests/seeds/{RECORDED.name}")
    parser.add_argument("--swarm", type=int, metavar="N", help="hunt with N seeds of the cluster's campaign instead")
    parser.set_defaults(run=run)


def ablate(argv: Sequence[str]) -> int:
    """Run the command with these arguments; return 0 if every ablation was caught."""
    parser = argparse.ArgumentParser(prog="python -m minikafka sim ablate", description=__doc__.splitlines()[0])
    add_arguments(parser)
    return run(parser.parse_args(argv))


def run(options: argparse.Namespace) -> int:
    chosen = [one for one in load().values() if not options.which or _is_meant(one, options.which)]
    if not chosen:
        print(f"no ablation of {' '.join(options.which)}: there are {' '.join(load())}")
        return 2
    rows = _hunt(chosen, options.swarm)
    if options.record and options.swarm is None:
        record(rows)
    return 0 if all(row[3] != NONE for row in rows) else 1


def _hunt(chosen: Sequence[Ablation], swarm: int | None) -> list[Row]:
    """Yield the rows, and print each one as soon as it is found: a hunt may take minutes."""
    names = [(one.rule, one.name, one.shown_by if swarm is None else CAMPAIGN, NONE, "") for one in chosen]
    widths = [max(map(len, column)) for column in zip(HEAD, *names)]

    def tell(row: Row) -> Row:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip(), flush=True)
        return row

    tell(HEAD)
    return [tell(_row(one) if swarm is None else _swarmed(one, swarm)) for one in chosen]


def _is_meant(one: Ablation, which: Iterable[str]) -> bool:
    return any(word in (one.name, one.script) or word in one.rule.replace(",", " ").split() for word in which)


def _row(one: Ablation) -> Row:
    for seed in one.seeds():
        fallen = one.falls_at(seed)
        if fallen:
            return one.rule, one.name, one.shown_by, str(seed), " ".join(fallen)
    return one.rule, one.name, one.shown_by, NONE, ""


def _swarmed(one: Ablation, count: int) -> Row:
    from minikafka.proof.swarm.swarm import run_seed
    for seed in range(count):
        with one.patch():
            fallen = {violation.id: None for violation in run_seed(seed).violations}
        if fallen:
            return one.rule, one.name, CAMPAIGN, str(seed), " ".join(fallen)
    return one.rule, one.name, CAMPAIGN, NONE, ""


def record(rows: Iterable[Sequence[str]]) -> None:
    """Write the killing seeds of these ablations, and keep those recorded earlier for others."""
    known = {row[1]: row for row in recorded()} | {row[1]: tuple(row) for row in rows if row[3] != NONE}
    order = {name: place for place, name in enumerate(load())}
    lines = sorted(known.values(), key=lambda row: order.get(row[1], len(order)))
    RECORDED.write_text("\n".join("\t".join(row) for row in [HEAD, *lines]) + "\n")


def recorded() -> list[tuple[str, ...]]:
    """Return the rows of tests/seeds/ablations.tsv."""
    if not RECORDED.exists():
        return []
    return [tuple(line.split("\t")) for line in RECORDED.read_text().splitlines()[1:]]
