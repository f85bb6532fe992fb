"""The head: what is shown, the moment, the sentence that says what the cluster waits for, the brokers.

Owns: the first thing that is read.
"""
from __future__ import annotations

from minikafka.lab.picture.draw.paper import Paper, width, wrap
from minikafka.lab.picture.draw.shapes import draw_broker, draw_level
from minikafka.lab.picture.frame import Frame, Level, ShownBroker
from minikafka.lab.picture.sentences import words

SIDE = 24
LINE = 22
NAME = 200      # pixels that a topic's name is worth, at the cost of the facts beside it
LOOKS = {Level.GOOD: "good", Level.WAIT: "wait", Level.BAD: "bad", Level.UNKNOWN: "unk"}


def draw_head(paper: Paper, frame: Frame, y: float, brokers: bool = True, low: bool = False) -> float:
    """Draw the title, the sentence and, if they are wanted, the brokers; return where they end. `low`: no line more
    than is needed."""
    _draw_title(paper, frame, y + 26)
    y = _draw_sentence(paper, frame, y + (34 if low else 42))
    return _draw_brokers(paper, frame, y + 12) if brokers else y + 6


def _draw_title(paper: Paper, frame: Frame, y: float) -> None:
    right = paper.width - SIDE
    moment = words.clock(frame.t)
    right -= paper.text(right, y, moment, "", 24, True, "end") + 14
    facts = []
    if frame.chosen is not None:
        chosen = frame.chosen
        facts += [f"{name} {number}" for name, number in (
            ("RF", chosen.replication_factor), ("min.insync.replicas", chosen.min_isr)) if number is not None]
    facts.append("live" if frame.live and frame.t >= frame.end else "replay")
    if frame.engine != "minikafka":
        facts.insert(0, {"sim": "simulator", "apache": "Apache Kafka"}.get(frame.engine, frame.engine))
    name, part = ("cluster", "") if frame.chosen is None else words.title(frame.chosen)
    rest = width(part, 24) + 12
    spare = right - SIDE - rest - min(width(name, 24, True), NAME) - 20
    while facts and width(" · ".join(facts), 15) > min(430, spare):  # the last is the most important: now, or not
        del facts[0]
    right -= paper.text(right, y, " · ".join(facts), "soft", 15, anchor="end") + 20 if facts else 0
    taken = paper.text(SIDE, y, name, "", 24, True, room=right - SIDE - rest)
    if part:
        paper.text(SIDE + taken + 12, y, part, "soft", 24)


def _draw_sentence(paper: Paper, frame: Frame, y: float) -> float:
    lines = wrap(frame.sentence.text, paper.width - 2 * SIDE - 56, 16, 3)
    high = 18 + LINE * max(2, len(lines))  # room for two: what stands below must not jump as the numbers grow
    first = y + 26 + (LINE / 2 if len(lines) == 1 else 0)
    paper.open("sentence", level=frame.sentence.level)
    paper.rect(SIDE, y, paper.width - 2 * SIDE, high, "card", 8)
    paper.rect(SIDE, y, 5, high, f"f{LOOKS[frame.sentence.level]}", 2)
    draw_level(paper, frame.sentence.level, SIDE + 24, first - 6)
    for place, line in enumerate(lines):
        paper.text(SIDE + 44, first + place * LINE, line, "", 16)
    paper.close()
    return y + high


def _draw_brokers(paper: Paper, frame: Frame, y: float) -> float:
    if not frame.brokers:
        return y
    x, right = SIDE + 14.0, paper.width - SIDE
    for broker in frame.brokers:
        facts = _facts(broker)
        wide = 27 + width(facts)
        if x + wide > right and x > SIDE + 14:
            x, y = SIDE + 14.0, y + 34
        paper.open("broker", broker=broker.id, process=broker.process, controller=str(broker.controller).lower())
        draw_broker(paper, broker.id, broker.process, x, y + 14, 13)
        paper.text(x + 27, y + 19, facts, "soft" if broker.process == "running" else "", room=right - x - 27)
        paper.close()
        x += wide + 39
    return y + 34


def _facts(broker: ShownBroker) -> str:
    told = [] if broker.process == "unknown" else [broker.process]
    return " · ".join(told + [f"leads {broker.leads}"] * (broker.leads is not None) + ["controller"] * broker.controller)
