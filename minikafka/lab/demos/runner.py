"""Record scenes and check them: the half of a demo that needs no screen.

Owns: nothing; a recording is a value. Invariants
  I-STAGE-5  a check fails if a story raises, if a line does not hold, or if there is no line at all
"""
from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minikafka.lab.demos.demo import Demo, Moment, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts


@dataclass(frozen=True, slots=True)
class Recording:
    """A scene that was played. `took`: seconds of this machine; `begin`, `end`: the part to show, in seconds of the run."""

    scene: Scene
    run: Any
    facts: SceneFacts
    moments: tuple[Moment, ...]
    took: float

    @property
    def begin(self) -> float:
        return self.moments[0].t

    @property
    def end(self) -> float:
        return self.moments[-1].t

    def check(self) -> list[MustSee]:
        return list(self.scene.must_see(self.run, self.facts)) or [MustSee(False, "this scene says nothing that must be seen")]

    def reset(self, draw: Callable[[Any], str]) -> float:
        """Draw the end, then go back to the snapshot and draw that; returns how long going back took."""
        draw(self.run.at(self.end))
        began = time.perf_counter()
        draw(self.run.at(self.begin))
        return time.perf_counter() - began


def record(scene: Scene) -> Recording:
    """Play a scene, in the simulator or from its tape, and return its recording."""
    from minikafka.lab.demos.halves import RunBeside
    from minikafka.lab.picture.facts.run import RecordedRun
    stage, began = Stage(), time.perf_counter()
    other = _beside(*scene.beside) if scene.beside else None
    with contextlib.redirect_stdout(io.StringIO()):  # the preset says what it shortens, once a cluster
        events = stage.play(scene.story)
    took = time.perf_counter() - began
    if other is None:
        run = (scene.run or RecordedRun)(events, engine=stage.engine, title=scene.title)
    else:
        run = RunBeside(events, other, engine=stage.engine, title=scene.title)
    return Recording(scene, run, SceneFacts(events, stage.moments, stage.facts), tuple(stage.moments), took)


def _beside(title: str, story: Callable[[Stage], None]) -> Any:
    """Play the story of a second cluster and return its run."""
    from minikafka.lab.picture.facts.run import RecordedRun
    stage = Stage()
    with contextlib.redirect_stdout(io.StringIO()):
        return RecordedRun(stage.play(story), engine=stage.engine, title=title)


def check(demo: Demo, say: Callable[[str], None] = print, play: Callable[[Scene], Recording] = record) -> bool:
    """Play every scene of a demo and say in one line each what was seen. Return whether all of it held."""
    from minikafka.lab.demos.board import to_svg
    good = True
    for scene in demo.scenes:
        say(f"{demo.name} {demo.title}: {scene.title}")
        try:
            recording = play(scene)
            seen = recording.check()
            reset = recording.reset(lambda frame: to_svg(frame, demo.counters))
        except Exception as error:  # a story or a sentence may fail in any way; the other demos are checked all the same
            say(f"  NO   {type(error).__name__}: {error}")
            good = False
            continue
        for line in seen:
            say(f"  {'yes ' if line.held else 'NO  '} {line.text}")
            good = good and line.held
        say(f"       recorded in {recording.took:.1f} s; reset to the snapshot in {reset:.2f} s")
    return good
