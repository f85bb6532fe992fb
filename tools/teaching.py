"""Makes the teacher's pack in build/teaching: an exam with other figures for each seed, and its key.

    tools/teaching.py --seed 2027            a sheet of questions, one of each kind, and a sheet with the key
    tools/teaching.py --seed 2027 --each 3   three of each kind
"""
from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.notebooks.build import ROOT
from tools.teach import exam


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", required=True, help="a year or a word of letters and digits; students must not know it")
    parser.add_argument("--each", type=int, default=1, metavar="N", help="questions of each kind (default: 1)")
    parser.add_argument("--to", type=Path, metavar="FOLDER", default=ROOT / "build" / "teaching")
    options = parser.parse_args(argv)
    if not re.fullmatch(r"[\w-]+", options.seed) or options.each < 1:
        parser.error("a seed is made of letters and digits, such as 2027, and --each is 1 or more")
    options.to.mkdir(parents=True, exist_ok=True)
    for name, made in (("questions", exam.questions), ("key", exam.key)):
        path = options.to / f"exam-{options.seed}-{name}.md"
        path.write_text(made(options.seed, options.each))
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
