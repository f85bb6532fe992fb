"""`python -m minikafka demos [NAME ...] [--check] [--all] [--port N] [--no-browser]`."""
from __future__ import annotations

import argparse
from collections.abc import Sequence

from minikafka.lab.demos import demo, names
from minikafka.lab.demos.runner import check


def main(arguments: Sequence[str]) -> int:
    """Show demos, or check them; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m minikafka demos", description="Show failure demos to a class.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"a demo: {', '.join(names())} (default: all)")
    parser.add_argument("--all", action="store_true", help="all demos")
    parser.add_argument("--check", action="store_true", help="open no page; assert that each demo shows its failure")
    parser.add_argument("--port", type=int, default=0, help="port of the page (default: any free port)")
    parser.add_argument("--no-browser", action="store_true", help="print the address of the page; open no browser")
    options = parser.parse_args(arguments)
    try:
        chosen = [demo(name) for name in (names() if options.all or not options.names else options.names)]
    except KeyError as unknown:
        parser.error(str(unknown.args[0]))
    if options.check:
        results = [(each.name, check(each)) for each in chosen]
        bad = [name for name, good in results if not good]
        print(f"{len(results) - len(bad)} of {len(results)} demos show what they must"
              + (f"; not {', '.join(bad)}" if bad else ""))
        return 1 if bad else 0
    from minikafka.lab.demos.page import serve
    serve(chosen, options.port, not options.no_browser)
    return 0
