"""The plans: their minutes are those of the labs and demos, and they name only sections and demos that exist."""
from __future__ import annotations

import re

from minikafka.lab import demos
from minikafka.lab.demos import minutes
from tools.notebooks.build import ROOT
from tools.teach import plans
from tools.teach.minutes import labs


def test_the_page_is_what_its_source_makes():
    """Fails if a lab has other minutes or another title than the page says; `tools/teaching.py plans` mends it."""
    assert plans.PAGE.read_text() == plans.plans()


def test_every_demo_has_minutes():
    """Fails if a demo is new or gone, or has another number of scenes than when it was measured."""
    kept = minutes.kept()
    assert {name: (one.scenes, one.title) for name, one in kept.items()} == {
        name: (len(demos.demo(name).scenes), demos.demo(name).title) for name in demos.names()}


def test_every_section_exists():
    """Fails if a plan sends a class to a section that a lab does not have."""
    text = plans.SOURCE.read_text()
    named = re.findall(r"\{(\d+)\}, sections? ([\d, toand]+)", text)
    named += (in_words := re.findall(r"\blab (\d+), section (\d+)", text))
    files = {number: (ROOT / "solutions" / "source" / f"{lab.name}.md").read_text() for number, lab in labs().items()}
    gone = [(lab, section) for lab, sections in named for section in re.findall(r"\d+", sections)
            if f"\n## {section} · " not in files[int(lab)]]
    assert len(named) > 20 and len(in_words) > 5 and not gone
