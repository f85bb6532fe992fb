"""Makes the teacher's pack: pages that print, in build/teaching, and the plans.

    tools/teaching.py exam --seed 2027              an exam with its key: a question of each kind
    tools/teaching.py exam --seed 2027 --each 3     three questions of each kind
    tools/teaching.py exam --seed 2027 --labs 6-9   the questions about these labs only
    tools/teaching.py own --seed 2027 --names FILE --labs 6    a sheet of their own for each name of a file
    tools/teaching.py test                          the test before and after, forms A and B, each with its key
    tools/teaching.py slides                        slides of every lab; --lab 8 those of one
    tools/teaching.py plans                         docs/teaching/PLANS.md anew; --measure plays the demos for their minutes
"""
from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from minikafka.lab.demos import minutes
from tools.notebooks.build import ROOT
from tools.teach import before_after, exam, own, plans, slides
from tools.teach.minutes import labs as sources

NONE = "No question is about these labs: labs 1 to 10 and 12 to 14 have some."


def labs(text: str) -> range:
    """Read "6" or "6-9"."""
    first, _, last = text.partition("-")
    if not first.isdigit() or (last and not last.isdigit()) or int(last or first) < int(first):
        raise argparse.ArgumentTypeError("a lab such as 6, or from one to another such as 6-9")
    return range(int(first), int(last or first) + 1)


def seed(text: str) -> str:
    if not re.fullmatch(r"[\w-]+", text):
        raise argparse.ArgumentTypeError("letters and digits, such as 2027 or 2027-blue-kettle")
    return text


def _name(options: argparse.Namespace) -> str:
    """Return the seed and, if some were chosen, the labs: another command makes another file."""
    first, last = options.labs[0], options.labs[-1]
    some = f"-labs-{first}" if first == last else f"-labs-{first}-{last}"
    return str(options.seed) + (some if options.labs != exam.LABS else "")


def make_exam(options: argparse.Namespace) -> dict[Path, str]:
    ones = exam.drawn(options.seed, options.each, options.labs)
    if not ones:
        raise SystemExit(NONE)
    many = f"-each-{options.each}" if options.each > 1 else ""
    return {options.to / name: text for name, text in exam.made(_name(options) + many, ones).items()}


def make_own(options: argparse.Namespace) -> dict[Path, str]:
    try:
        names = [line.strip() for line in options.names.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise SystemExit(f"No names: {error}. Give a file with a name in each line.") from None
    if not names or not exam.drawn(options.seed, 1, options.labs):
        raise SystemExit("No name is in the file." if not names else NONE)
    return {options.to / name: text for name, text in own.made(options.seed, names, options.labs, _name(options)).items()}


def make_test(options: argparse.Namespace) -> dict[Path, str]:
    makers = {"": before_after.form, "-key": before_after.key}
    return {options.to / f"test-{name}{what}.html": make(name) for name in before_after.FORMS for what, make in makers.items()}


def make_slides(options: argparse.Namespace) -> dict[Path, str]:
    known = sources()
    if options.lab is not None and options.lab not in known:
        raise SystemExit(f"There is no lab {options.lab}. There are labs {', '.join(map(str, known))}.")
    chosen = known if options.lab is None else [options.lab]
    return {options.to / f"slides-{number:02}.html": slides.deck(number) for number in chosen}


def make_plans(options: argparse.Namespace) -> dict[Path, str]:
    if options.measure:
        minutes.TABLE.write_text(minutes.measure())
    return {plans.PAGE: plans.plans()}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, metavar="FOLDER", default=ROOT / "build" / "teaching")
    what = parser.add_subparsers(required=True, metavar="WHAT")
    one = what.add_parser("exam", help="an exam and its key")
    one.add_argument("--seed", type=seed, required=True, help="a year or a word of letters and digits; students must not know it")
    one.add_argument("--each", type=int, default=1, choices=range(1, 21), metavar="N",
                     help="questions of each kind, 1 to 20 (default: 1)")
    one.add_argument("--labs", type=labs, default=exam.LABS, metavar="A-B", help="a lab, or from one to another (default: all)")
    one.set_defaults(make=make_exam)
    each = what.add_parser("own", help="a sheet with figures of their own for each student, and the key of the class")
    each.add_argument("--seed", type=seed, required=True, help="letters and digits; students must not know it")
    each.add_argument("--names", type=Path, required=True, metavar="FILE", help="a name in each line")
    each.add_argument("--labs", type=labs, required=True, metavar="A-B", help="a lab, or from one to another")
    each.set_defaults(make=make_own)
    what.add_parser("test", help="the test before and after, in two forms").set_defaults(make=make_test)
    deck = what.add_parser("slides", help="slides of the labs, with their demos")
    deck.add_argument("--lab", type=int, metavar="N", help="one lab (default: all)")
    deck.set_defaults(make=make_slides)
    two = what.add_parser("plans", help="the plans of a term, a week and an afternoon")
    two.add_argument("--measure", action="store_true", help="play every demo and count its seconds and stops")
    two.set_defaults(make=make_plans)
    options = parser.parse_args(argv)
    options.to.mkdir(parents=True, exist_ok=True)
    for path, text in options.make(options).items():
        path.write_text(text)
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
