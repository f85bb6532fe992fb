"""The members of a group as chips: a ring with what the process does, the name, the partitions that it reads, lag as a bar.

Owns: how a member looks. A dead one is crossed out, its partitions too: nobody reads them until others get them. One without a
partition is dashed and called idle.
Invariant
  shapes and words tell what colours tell: it reads without colours
"""
from __future__ import annotations

from collections.abc import Iterable

from minikafka.lab.picture.draw.paper import Paper, width
from minikafka.lab.picture.draw.shapes import draw_state
from minikafka.lab.picture.frame import ShownGroup, ShownProgress
from minikafka.lab.picture.sentences import words

HIGH = 26       # pixels of a row of chips
BAR = 44        # pixels of the longest lag
FULL = 20       # a group whose longest lag is shorter has no full bar: a lag of one record is little
GAP = 16
NAME = 150      # pixels of a member's name, at most
DEAD = ("killed", "died")


def draw_members(paper: Paper, group: ShownGroup, x: float, y: float, wide: float, rows: int, lags: bool = True) -> float:
    """Draw chips from left to right below y, in at most a number of rows; return where the last row ends. `lags`: with the
    partitions and their lags."""
    everybody = words.everybody(group)
    held = {member: _held(group, member, wide) if lags else [] for member in everybody}
    longest = longest_lag(each for mine in held.values() for each in mine)
    at, line = x, 0
    for place, member in enumerate(everybody):
        need, rest = _need(group, member, held[member]), len(everybody) - place
        more = f"+{rest} member{'s' * (rest > 1)}"
        if at > x and at + need > x + wide and line + 1 < rows:
            at, line = x, line + 1
        if at + need + (GAP + width(more) if rest > 1 and line + 1 == rows else 0) > x + wide:
            paper.text(at, y + line * HIGH + 18, more, "soft", room=x + wide - at)
            break
        _draw_chip(paper, group, member, held[member], longest, at, y + line * HIGH)
        at += need + GAP
    if not everybody:
        paper.text(x, y + 18, "no members", "wait", room=wide)
    return y + HIGH * (line + 1)


def _held(group: ShownGroup, member: str, wide: float) -> list[ShownProgress]:
    """Return the partitions of a member; as one, with the sum of their lags, where there is no room for all."""
    mine = group.assignment.get(member, [])
    if len(mine) < 2 or _need(group, member, mine) <= wide:
        return mine
    lags = [each.lag for each in mine if each.lag is not None]
    return [ShownProgress(f"{len(mine)} partitions", member, None, None, sum(lags) if len(lags) == len(mine) else None)]


def longest_lag(progress: Iterable[ShownProgress]) -> int:
    """Return the lag whose bar is full."""
    return max([FULL, *(each.lag or 0 for each in progress)])


def draw_lag(paper: Paper, each: ShownProgress, longest: int, x: float, y: float, wide: float) -> None:
    """Draw a partition's lag as a bar, up to `wide` pixels for the longest; dashed where it is not known."""
    paper.open("lag", f"{each.partition}: lag {words.count(each.lag)}", partition=each.partition, lag=each.lag)
    paper.rect(x, y, wide, 9, "rule dash" if each.lag is None else "rule", 2)
    if each.lag:
        paper.rect(x, y, max(3.0, round(wide * min(1.0, each.lag / longest), 1)), 9, "fwait", 2)
    paper.close()


def strike(paper: Paper, x: float, y: float, wide: float) -> None:
    """Draw a line through a label that stands on the line y."""
    paper.line(x - 2, y - 5, x + wide + 2, y - 5, "struck")


def _need(group: ShownGroup, member: str, mine: list[ShownProgress]) -> float:
    condition = words.condition(group, member)
    partitions = sum(8 + width(each.partition) + 6 + BAR + 5 + width(words.count(each.lag)) for each in mine)
    return 22 + min(NAME, width(member, 14, True)) + (6 + width(condition) if condition else 0) + partitions


def _draw_chip(paper: Paper, group: ShownGroup, member: str, mine: list[ShownProgress], longest: int, x: float, y: float) -> None:
    process, condition = group.process(member), words.condition(group, member)
    dead = process in DEAD
    paper.open("member", name=member, process=process, idle=str(condition == "idle").lower())
    if condition == "idle":
        paper.circle(x + 7, y + 13, 6.5, "sunk")
    else:
        draw_state(paper, "killed" if dead else process, x + 7, y + 13)
    at = x + 22
    taken = paper.text(at, y + 18, member, "soft" if dead else "", 14, True, room=NAME)
    if dead:
        strike(paper, at, y + 18, taken)
    at += taken
    if condition:
        at += 6 + paper.text(at + 6, y + 18, condition, "bad" if dead else "soft" if condition == "idle" else "wait")
    for each in mine:
        taken = paper.text(at + 8, y + 18, each.partition, "soft")
        if dead:
            strike(paper, at + 8, y + 18, taken)
        at += 8 + taken + 6
        draw_lag(paper, each, longest, at, y + 8, BAR)
        at += BAR + 5
        if each.lag is not None:
            at += paper.text(at, y + 18, words.count(each.lag), "", 14)
    paper.close()
