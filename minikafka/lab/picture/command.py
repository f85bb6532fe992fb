"""`python -m minikafka picture RUN`: a recorded run at a moment, as SVG or as text.

    python -m minikafka picture run.mk --at 31.4 --tp flights-2 --theme dark -o picture.svg
    python -m minikafka picture run.mk                      # the same as text, on the terminal
    python -m minikafka picture run.mk --marks              # the moments worth a look

Owns: the options. RUN is a file that `run.save` wrote, or the folder of traces of a cluster that has ended.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.draw.text import to_text
from minikafka.lab.picture.draw.theme import WIDTHS
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.picture.sentences.words import clock


def main(arguments: Sequence[str]) -> int:
    """Draw; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        run = RecordedRun.open(options.run)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    if options.tp is not None and options.tp not in run.partitions:
        print(f"no partition {options.tp}; there are {', '.join(run.partitions)}", file=sys.stderr)
        return 1
    if options.marks:
        print("\n".join(f"{clock(mark.t):>8}  {mark.text}" for mark in run.marks))
        return 0
    frame = run.at(options.at, options.tp)
    svg = options.output is not None and options.output.suffix == ".svg"
    drawn = to_svg(frame, options.theme, options.size) + "\n" if svg else to_text(frame)
    if options.output is None:
        print(drawn, end="")
    else:
        options.output.write_text(drawn)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m minikafka picture", description="Draw one moment of a recorded run.")
    parser.add_argument("run", type=Path, metavar="RUN", help="file of a recorded run, or folder of traces")
    parser.add_argument("--at", type=float, metavar="T",
                        help="moment, in seconds since the start of the run (default: its end)")
    parser.add_argument("--tp", metavar="TOPIC-N", help="partition that is shown in full (default: the first)")
    parser.add_argument("--theme", choices=["auto", "light", "dark"], default="auto")
    parser.add_argument("--size", choices=sorted(WIDTHS), default="page")
    parser.add_argument("--marks", action="store_true", help="list the run's important moments instead")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="FILE.svg for a picture, another name for text "
                        "(default: text on the terminal)")
    return parser
