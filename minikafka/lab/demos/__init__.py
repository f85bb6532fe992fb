"""Failure demos for a class: a staged story in the seeded simulator, played on a projector, checked without one.

    python -m minikafka demos D1            a page on this machine's loopback: ask, vote, run, freeze, explain, reset
    python -m minikafka demos --all --check every demo without a screen; asserts what the class must see

A demo is a module here that ends in `DEMO = Demo(...)`. Its story runs on `Cluster(engine="sim")`, so that the
surprise comes at the same moment in every class; the recording is played, stepped and rewound at will. D12 needs Spark: its
recording was made beforehand, by restart.py, and lies in recordings/.

demo.py says what a demo is made of. The demos: d1.py (the leader dies), d2.py (two leaders), d3.py (a slow follower), d4.py
(a stuck one, and twins), d5.py (refusal), d6.py (unclean election), d7.py (a consumer crashes), d8.py (three consumers),
d9.py (a lost acknowledgement), d10.py (no controllers), d11.py (retention), d12.py (Spark restarts), d13.py (two rules side
by side), d14.py (the second connection). machine.py has clients elsewhere in the network. runner.py records and checks
demos, facts.py answers what "must see" lines ask of a recording, minutes.py says how long each takes. page.py serves them
to a browser (page.html; presenter.html: the speaker's window and the list) and board.py draws for it (chairs.py: a group;
books.py: log, checkpoint and sink; charges.py: rides; twins.py: records written twice; unread.py: records skipped;
deciders.py: controllers; halves.py: two clusters; caller.py: a client's addresses). command.py reads the options.

Invariants
  I-STAGE-1  a demo's recording is a function of its story and its seed, or of the committed file that it replays
  I-STAGE-2  every sentence of `must_see` is computed from the trace, the frames or what the clients were told
"""
from __future__ import annotations

import importlib
from pathlib import Path

from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts

__all__ = ["Choice", "Demo", "MustSee", "Scene", "SceneFacts", "Stage", "demo", "names"]


def names() -> list[str]:
    """Return the names of all demos in order: ["D1", ...]."""
    found = (path.stem for path in Path(__file__).parent.glob("d*.py"))
    return [f"D{number}" for number in sorted(int(stem[1:]) for stem in found if stem[1:].isdigit())]


def demo(name: str) -> Demo:
    """Return the demo of that name, such as "D1". Raises KeyError for an unknown name."""
    if name.upper() not in names():
        raise KeyError(f"there is no demo {name!r}; there are {', '.join(names())}")
    found: Demo = importlib.import_module(f"minikafka.lab.demos.{name.lower()}").DEMO
    return found
