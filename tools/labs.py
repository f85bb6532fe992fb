"""Makes the notebooks of the labs from their sources (solutions/source/NN-title.md). Run by `make labs`.

    tools/labs.py              both notebooks of every lab: labs/ (unsolved) and solutions/ (solved, outputs kept)
    tools/labs.py 06 08        of these labs only
    tools/labs.py 06 --run     runs the solved notebook strictly and keeps its outputs (starts clusters)
    tools/labs.py --check      changes nothing; exit 1 and say what is stale
    tools/labs.py --gate       every exercise: is the stub unsolved, does the solution pass, does each wrong one fail?

`make labs LAB=06 RUN=1` is the same as the third. How a source is written: tools/notebooks/source.py and student.py.
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.notebooks.build import Project, build, orphans, restore, stale
from tools.notebooks.source import LabError


def main(argv: list[str], project: Project | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labs", nargs="*", metavar="NN", help="numbers of labs; none: all")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a notebook is stale")
    parser.add_argument("--run", action="store_true", help="run the solved notebooks and keep their outputs")
    parser.add_argument("--gate", action="store_true", help="stub, solution and wrong solutions of every exercise")
    options = parser.parse_args(argv)
    project = project or Project()
    try:
        if not project.source.exists():
            print("\n".join(path.stem for path in restore(project, options.labs)))
            return 0
        sources = project.sources(options.labs)
        beside = [] if options.labs else project.beside
        if options.check:
            problems = [problem for path in (*sources, *beside) for problem in stale(path, project)]
            problems += [] if options.labs else orphans(project)
            print("\n".join(problems) or f"{len(sources)} labs are fresh")
            return bool(problems)
        if options.gate:
            from tools.notebooks.gate import show
            return show(sources)
        for path in (*sources, *beside):
            if options.run and path not in beside:
                from tools.notebooks.run import run
                print(run(path, project), flush=True)
            else:
                print(build(path, project).name)
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
