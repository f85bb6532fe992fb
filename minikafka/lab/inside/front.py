"""`inside(exercise, function)`: the nights of the adversary, then random ones, and what a cell shows of them.

Owns: what is shown. A rule that falls opens the picture of that night at its moment, beside the text as every picture.
Invariants
  a picture beside the text is of the verdict that was shown last: the next verdict puts the one before it into its own cell
"""
from __future__ import annotations

import html
import time
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from minikafka.lab import guard, wants
from minikafka.lab.exercise import NotPassed, Unknown, Wrong, find, judge, quietly, strict
from minikafka.lab.hints import NoExercise
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.verdict import COLOURS, SIGNS, Outcome, Verdict, panel
from minikafka.lab.waiting import waiting

if TYPE_CHECKING:
    from minikafka.lab.inside.became import Fall
    from minikafka.lab.inside.goals import BrokenRule
    from minikafka.lab.inside.night import Plot
    from minikafka.lab.inside.student import Student
    from minikafka.lab.inside.table import Rule
    from minikafka.lab.view.view import View

RANDOM = 6      # random nights after those of the adversary, at most
SECONDS = 6.0   # after which no random night begins: on a busy machine too a verdict is there within ten
OPEN: list[View] = []   # the picture of the last verdict, if it has one


def inside(exercise: str, function: Any = ...) -> Played:
    """Let brokers run your function of an exercise, such as "6.2", while somebody who knows its weak place breaks the cluster;
    return what became of the records. Of "6.8" it is your night that breaks them. It never raises, but with LAB_STRICT=1."""
    nights = Nights(exercise)
    try:
        ask = nights.ask(find(exercise))
    except (NoExercise, Unknown) as none:
        return Played(Verdict(str(exercise), Outcome.UNKNOWN, str(none)))
    if function is ...:
        return Played(Verdict(exercise, Outcome.UNKNOWN, f'your function goes behind the number: inside("{exercise}", ...)'))
    with waiting(lambda: nights.now), guard.short_output():
        verdict = judge(ask, exercise, function)
    if verdict and quietly(exercise, function).outcome is Outcome.FAIL:
        verdict = replace(verdict, why=f"{verdict.why}. In a case that no night reaches, check(\"{exercise}\", ...) refuses it")
    if strict() and not verdict:
        raise NotPassed(repr(verdict))
    return Played(verdict, nights.fall, nights.events)


class Nights:
    """The nights of one rule, while they are played."""

    def __init__(self, exercise: str) -> None:
        self.exercise, self.now = exercise, f"inside {exercise}: the first night begins"
        self.fall: Fall | None = None
        self.events: list[dict[str, Any]] = []
        self._acknowledged, self._longest, self._kept = 0, 0.0, ""

    def ask(self, check: Any) -> Any:
        """Return a check of the same answers as `check` wants, which plays the nights. Raises Unknown if there are none."""
        from minikafka.lab.inside.goals import GOALS
        from minikafka.lab.inside.table import RULES, rule
        row = rule(self.exercise)
        if row is None and self.exercise not in GOALS:
            known = ", ".join([*(one.exercise for one in RULES), *GOALS])
            raise Unknown(f"{self.exercise} has no place inside a broker; those are: {known}")

        def ask(answer: Any) -> str:
            return self._play(row, answer) if row else self._break(GOALS[self.exercise], answer)
        ask.__annotations__ = {"answer": wants.wanted(check)}
        return ask

    def _play(self, row: Rule, answer: Any) -> str:
        from minikafka.lab.inside.night import AdversaryNight
        from minikafka.lab.inside.student import Student
        student, began = Student(answer), time.monotonic()
        for letter, story in zip(ascii_uppercase, row.nights):
            self.now = f"inside {row.exercise}: night {letter}, {story.title}"
            self._one(row, student, story, f"night {letter}")
        letters = ", ".join(ascii_uppercase[:len(row.nights)])
        more = 0
        while more < RANDOM and time.monotonic() - began < SECONDS:
            more += 1
            self.now = f"inside {row.exercise}: a random night, {more} of {RANDOM}"
            drawn = replace(row.nights[0], title="moves drawn by chance", play=AdversaryNight.by_chance)
            self._one(row, student, drawn, f"random night {more}", more)
        waited = f"; in {letters} no record waited longer than {self._longest:.1f} s" if self._longest >= 0.05 else ""
        chance = f" and {counted(more, 'random one')}" if more else ", and no time was left for random ones"
        return (f"nights {letters}{chance}: {self._acknowledged} acknowledged, {self._kept}{waited}. "
                f"Your function was called {counted(student.calls, 'time')}")

    def _break(self, goal: BrokenRule, answer: Any) -> str:
        """Play a student's night, and keep the moment at which a record was promised and not held; else that of the last move."""
        from minikafka.lab.inside.became import Fall
        from minikafka.lab.inside.breaking import Ended, judged

        def keep(ended: Ended) -> None:
            self.fall, self.events = ended.lost or Fall("", "", ended.over), ended.events
        return judged(goal, answer, keep)

    def _one(self, row: Rule, student: Student, story: Plot, name: str, seed: int | None = None) -> None:
        """Play one night. Raises Wrong if the rule falls, and what the student's function raised."""
        from minikafka.lab.inside import became
        from minikafka.lab.inside.night import SEED, Stood
        from minikafka.lab.inside.table import in_brokers
        with in_brokers(row, student):
            night = story.begin(student, SEED if seed is None else seed)
            try:
                try:
                    story.play(night)
                    self.fall = became.fallen(night)
                except Stood as error:
                    self.fall = became.stood(night, error)
                    if night.mended(after=0.001):   # what stands still may have lost something, and that is worse
                        night.acknowledged = len(night.acked)
                        night.reads()
                        self.fall = became.fallen(night) or self.fall
                self._acknowledged, self._kept = self._acknowledged + max(len(night.acked), night.acknowledged), night.kept
                self._longest = max(self._longest, night.longest if seed is None else 0.0)
                if self.fall is not None:
                    self.events = night.cluster.trace.events()
                    raise Wrong(f"{name} ({story.title}): {self.fall.word}. {self.fall.text}")
            finally:
                night.close()


@dataclass(frozen=True)
class Played:
    """The outcome of the nights; the last expression of a cell shows it, with the picture of the moment if the rule fell."""

    verdict: Verdict
    fall: Fall | None = None
    events: list[dict[str, Any]] | None = None

    def __bool__(self) -> bool:
        return bool(self.verdict)

    def __repr__(self) -> str:
        return f"{SIGNS[self.verdict.outcome]} {self.verdict.id} inside: {self.verdict.why}"

    def _panel(self) -> str:
        lines = html.escape("\n".join(self.verdict.excerpt))
        outcome = self.verdict.outcome
        return panel(COLOURS[outcome], f"{SIGNS[outcome]} {self.verdict.id} inside", self.verdict.why,
                     f'<pre style="margin: 4px 0">{lines}</pre>' if lines else "")

    def _ipython_display_(self) -> None:
        from IPython.display import display
        display({"text/plain": repr(self), "text/html": self._panel()}, raw=True)
        while OPEN:
            OPEN.pop().stop()
        if self.fall is None:
            return
        from minikafka.lab.picture.facts.run import RecordedRun
        from minikafka.lab.view import front, show
        run = RecordedRun(self.events or [], engine="sim", title=f"your answer to {self.verdict.id}, inside")
        t = self.fall.t - run.events[0]["t"]
        if front.kind() == front.PAGE:
            OPEN.append(show(run, self.fall.tp, signs=int(self.verdict.id.partition(".")[0])))
            OPEN[-1].go(t)
        elif front.kind() == front.STILL:
            display(front.Still.of(run, t, self.fall.tp))
