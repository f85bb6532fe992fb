"""`python -m minikafka sim tell [NAME ...]`: tell stories; `--without ABLATION` tells them with a rule switched off.

Owns: the list of stories, and how one is chosen ("a1" is enough).
"""

from __future__ import annotations

import argparse
import sys

from minikafka.proof.stories.telling.script import Script, load, tell
from minikafka.proof.stories.telling.tables import layout


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("which", nargs="*", metavar="NAME", help="stories, or the beginnings of their names (default: list)")
    parser.add_argument("--without", metavar="ABLATION", help="a rule switched off; `sim ablate` has the list")
    parser.add_argument("--seed", type=int, help="another seed than the story's own")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Tell the chosen stories; return 2 if there is no such story or ablation."""
    from minikafka.proof.ablations.ablation import load as load_ablations
    ablations = load_ablations()
    if options.without is not None and options.without not in ablations:
        print(f"no ablation {options.without}: there are {' '.join(ablations)}", file=sys.stderr)
        return 2
    if not options.which and options.without is None:
        print("\n".join(layout(("story", "rules", "title"), [(s.name, s.rules, s.title) for s in load().values()])))
        return 0
    names = options.which or [ablations[options.without].script or options.without]
    if unknown := [name for name in names if not _meant(name)]:
        print(f"no story {' '.join(unknown)}: there are {' '.join(load())}", file=sys.stderr)
        return 2
    for story in [story for name in names for story in _meant(name)]:
        off = ablations[options.without].patch() if options.without is not None else None
        print(tell(story, options.seed, off).text)
    return 0


def _meant(name: str) -> list[Script]:
    return [story for key, story in load().items() if key == name or key.startswith(name + "_")]
