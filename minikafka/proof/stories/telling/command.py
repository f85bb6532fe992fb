"""`python -m minikafka sim tell [NAME ...]`: tell stories; `--without RULE` tells them with a rule switched off.

Owns: the list of stories, and how one is chosen ("a1" is enough).
"""

from __future__ import annotations

import argparse
import sys

from minikafka.proof.stories.telling.script import Script, load, tell
from minikafka.proof.stories.telling.tables import layout
from minikafka.proof.weakened import without
from minikafka.proof.weakened.table import weakened


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("which", nargs="*", metavar="NAME",
                        help="name of a story, or its beginning (default: list all stories)")
    parser.add_argument("--without", metavar="RULE", help="switch this rule off; `sim ablate` lists the rules")
    parser.add_argument("--seed", type=int, help="seed of the run (default: the story's own seed)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Tell the chosen stories; return 2 if there is no such story or rule."""
    rules = weakened()
    if options.without is not None and options.without not in rules:
        shown = " ".join(one.name for one in rules.values() if one.story)
        print(f"no weakened rule {options.without}: stories show {shown}", file=sys.stderr)
        return 2
    if not options.which and options.without is None:
        print("\n".join(layout(("story", "rules", "title"), [(s.name, s.rules, s.title) for s in load().values()])))
        return 0
    names = options.which or [rules[options.without].story or options.without]
    if unknown := [name for name in names if not _meant(name)]:
        print(f"no story {' '.join(unknown)}: there are {' '.join(load())}", file=sys.stderr)
        return 2
    for story in [story for name in names for story in _meant(name)]:
        off = without(options.without) if options.without is not None else None
        print(tell(story, options.seed, off).text)
    return 0


def _meant(name: str) -> list[Script]:
    return [story for key, story in load().items() if key == name or key.startswith(name + "_")]
