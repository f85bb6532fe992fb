"""The last rides of a partition as tickets, ten in a row, each with a coin for each time that it was charged.

A ticket with two coins has a red frame: somebody has paid twice. One without a coin, before a ride that was charged, is
unpaid: nobody will ever charge it. A ride that C1 has charged and not committed has an amber frame: it is at stake. C1's coins
are green, those of others amber. The flag stands on the committed offset, the triangle on each consumer's position.

Owns: the drawing of demo D7, and the count of what it shows. Everything in it comes from the frame: the coins of consumer C1
are the rows in the sink of the client "C1".
"""
from __future__ import annotations

from collections.abc import Iterator

from minikafka.lab.picture.draw.footing import COMMITTED, POSITION
from minikafka.lab.picture.draw.paper import Paper
from minikafka.lab.picture.frame import ShownPartition

SIDE, COLUMNS, ROWS, HIGH, GAP = 12, 10, 5, 47, 4
COIN = 24


def coins(chosen: ShownPartition) -> dict[int, list[str]]:
    """Return who has charged each ride, by its offset."""
    found: dict[int, list[str]] = {}
    for query in chosen.queries:
        for each in query.sink:
            found.setdefault(each.offset, []).extend([query.name] * each.times)
    return found


def skipped(paid: dict[int, list[str]]) -> list[int]:
    """Return the rides without a coin that lie before one that was charged: consumers never go back to them."""
    return [offset for offset in range(max(paid, default=0)) if offset not in paid]


def committed(chosen: ShownPartition) -> int:
    """Return the offset at which the group's flag stands."""
    return max((finger.offset for finger in chosen.fingers if finger.kind == "committed"), default=0)


def count_charges(chosen: ShownPartition) -> Iterator[tuple[str, str, str]]:
    """Yield (label, value, look): the committed offset, how many rides were charged twice, and how many were skipped."""
    yield "committed", str(committed(chosen)), ""
    paid = coins(chosen)
    twice, never = sum(len(who) > 1 for who in paid.values()), len(skipped(paid))
    yield "charged twice", str(twice), "bad" if twice else ""
    yield "skipped", str(never), "bad" if never else ""


def draw_charges(paper: Paper, chosen: ShownPartition, y: float) -> float:
    """Draw the tickets of the last rides in the log; return where they end."""
    paid, end = coins(chosen), chosen.log_end or 0
    never, wide = skipped(paid), (paper.width - 2 * SIDE) / COLUMNS
    for place, offset in enumerate(range(max(0, end - ROWS * COLUMNS), end)):
        row, column = divmod(place, COLUMNS)
        _draw_ticket(paper, chosen, offset, paid.get(offset, []), offset in never, SIDE + column * wide, y + row * HIGH,
                     wide - GAP)
    return y + ROWS * HIGH


def _draw_ticket(paper: Paper, chosen: ShownPartition, offset: int, who: list[str], never: bool, x: float, y: float,
                 wide: float) -> None:
    paper.open("ride", offset=offset, coins=len(who), skipped=str(never).lower())
    stake = who == ["C1"] and offset >= committed(chosen)
    paper.rect(x, y, wide, HIGH - GAP, "sbad" if len(who) > 1 or never else "swait" if stake else "c e0" if who else "sunk", 6)
    paper.text(x + 5, y + 17, str(offset), "" if who or never else "soft", 14, True)
    if never:
        paper.text(x + wide / 2, y + 36, "unpaid", "bad", 14, True, "middle", room=wide)
    for number, name in enumerate(who):
        left = x + 4 + number * (COIN + 3)
        paper.rect(left, y + 22, COIN, 18, "sgood" if name == "C1" else "swait", 9)
        paper.text(left + COIN / 2, y + 36, name, "", 14, True, "middle")
    marks = [finger.kind for finger in chosen.fingers if finger.offset == offset]
    for number, kind in enumerate(sorted({*marks})):
        shape, look = (POSITION, "fgood") if kind == "position" else (COMMITTED, "flag")
        paper.path(shape, look, x + wide - 13 - 15 * number, y + 4)
    paper.close()
