"""Makes the course a folder of static pages, build/site/: the solved labs and the demos, their pictures playable. `make site`.

    tools/site.py              every lab, its slides, and every demo; a notebook runs the first time (minutes), its run is kept
    tools/site.py 06 08        pages of these labs and the first page; no slides, no demos
    tools/site.py --unsolved   no solutions, no guesses, and no answers to votes: a site for students
    tools/site.py --still      runs no notebook: the labs as they are in solutions/, their pictures standing still
    tools/site.py --again      runs the notebooks although their runs are kept

If `make browser` was run before, that page is in build/site/browser, and the first page links to it.
Open build/site/index.html, or copy the folder to any host: it needs no server of its own, no Python and no network.
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from minikafka.lab.demos import demo, names
from tools.notebooks.build import Project
from tools.notebooks.source import LabError, read
from tools.website.pages import Site
from tools.website.runs import as_committed, with_runs


def main(argv: list[str], project: Project | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labs", nargs="*", metavar="NN", help="numbers of labs; none: all, and the demos")
    parser.add_argument("--still", action="store_true", help="run no notebook; pictures of labs stand still")
    parser.add_argument("--unsolved", action="store_true", help="no solutions, guesses and answers to votes")
    parser.add_argument("--again", action="store_true", help="run the notebooks again")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="default: build/site")
    options = parser.parse_args(argv)
    project = project or Project()
    try:
        labs = [read(path) for path in project.sources(options.labs)]
        notebooks = [as_committed(lab, project) if options.still else with_runs(lab, project, anew=options.again)
                     for lab in labs]
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    demos = [] if options.labs else [demo(name) for name in names()]
    site = Site(options.to or project.root / "build" / "site", labs, demos, solutions=not options.unsolved)
    site.begin()
    for lab in [] if options.labs else labs:
        site.slides(lab)
    for lab, notebook in zip(labs, notebooks):
        site.lab(lab, notebook)
    for each in demos:
        site.demo(each)
    site.texts()
    site.browser(project.root / "build" / "browser")
    site.index()
    sizes = [path.stat().st_size for path in site.folder.rglob("*") if path.is_file()]
    print(f"{site.folder / 'index.html'}: {len(labs)} labs, {len(demos)} demos, {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
