"""Who is around the partition: producers, groups, controllers, each on a card; and the ledger below them.

Owns: the cards' grid, and what is left out when there are too many (it is counted, never silently dropped).
"""
from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from minikafka.lab.picture.draw.members import BAR, DEAD, draw_lag, draw_members, longest_lag, strike
from minikafka.lab.picture.draw.paper import Paper, shorten_name, width
from minikafka.lab.picture.draw.voters import HIGH, draw_voters, in_a_row, voter_rows
from minikafka.lab.picture.frame import Frame, ShownGroup, ShownProducer, ShownProgress, ShownQuorum
from minikafka.lab.picture.sentences import words

SIDE, GAP = 24, 14
LINE = 27
CARD = 330      # least pixels of a card
PRODUCERS, GROUPS, PARTITIONS = 3, 4, 4  # cards, and lines of a group's card
BRIEF = 2       # groups that have a line each where there is room for lines only
MOST_VOTERS = 5 # rows of controllers in a picture that has lines only
NOTE = 170      # pixels below the title of the controllers' line, for their epoch and what is committed


class Card(NamedTuple):
    """A card's drawing, and how many lines it takes below its title."""

    lines: int
    draw: Callable[[Paper, float, float, float], None]


def draw_cards(paper: Paper, frame: Frame, y: float) -> float:
    """Draw the grid of cards below y; return where it ends."""
    producers, groups = frame.producers[:PRODUCERS], frame.groups[:GROUPS]
    known = [frame.quorum] if frame.quorum.each else []
    number = len(producers) + len(groups) + len(known)
    if not number:
        return y
    columns = min(2 if number in (2, 4) else 3, max(1, int((paper.width - 2 * SIDE + GAP) // (CARD + GAP))))
    wide = (paper.width - 2 * SIDE - (columns - 1) * GAP) / columns
    chosen = f"{frame.chosen.topic}-{frame.chosen.index}" if frame.chosen else ""
    cards = [_producer(each, wide - 32) for each in producers] + [_group(each, chosen) for each in groups]
    at = number - 1 if number < 4 else len(producers)
    cards[at:at] = [_quorum(each, wide - 32) for each in known]
    for start in range(0, len(cards), columns):
        row = cards[start:start + columns]
        high = 42 + LINE * max(card.lines for card in row)
        for place, card in enumerate(row):
            x = round(SIDE + place * (wide + GAP), 1)
            paper.rect(x, y, wide, high, "box", 10)
            card.draw(paper, x + 16, y, wide - 32)
        y += high + GAP
    return _draw_left_out(paper, frame, y)


def _draw_left_out(paper: Paper, frame: Frame, y: float) -> float:
    more = [f"{_more(len(names) - most, what)}: {', '.join(names[most:])}"
            for names, most, what in (([each.name for each in frame.producers], PRODUCERS, "producer"),
                                      ([each.name for each in frame.groups], GROUPS, "group")) if len(names) > most]
    if not more:
        return y
    paper.text(SIDE, y + 8, "; ".join(more), "soft", room=paper.width - 2 * SIDE)
    return y + 24


def _more(count: int, what: str) -> str:
    return f"{count} more {what}{'s' * (count > 1)}"


def _title(paper: Paper, x: float, y: float, wide: float, title: str, note: str, look: str) -> None:
    taken = paper.text(x + wide, y + 25, note, look, anchor="end", room=wide * 0.68) if note else 0
    paper.text(x, y + 25, title, "", 16, True, room=wide - taken - 12)


def _sides(wide: float) -> int:
    """Return how many labels with their values stand side by side."""
    return 2 if wide < 480 else 3


def _pairs(paper: Paper, pairs: list[tuple[str, str, str]], x: float, y: float, wide: float) -> None:
    """Draw labels with their values; each column is as wide as it needs, and the room that is left is shared."""
    sides = min(_sides(wide), len(pairs))
    needs = [max(width(label) + width(value, 17, True) for label, value, _ in pairs[side::sides]) + 8
             for side in range(sides)]
    spare = max(0.0, wide - 22 * (sides - 1) - sum(needs)) / sides
    left, end = x, x + wide
    for side, need in enumerate(needs):
        right = min(left + need + spare, end)
        for line, (label, value, look) in enumerate(pairs[side::sides]):
            taken = paper.text(left, y + 52 + line * LINE, label, "soft", room=right - left)
            paper.text(right, y + 52 + line * LINE, value, look, 17, True, "end", right - left - taken - 6)
        left = right + 22


def _producer(producer: ShownProducer, wide: float) -> Card:
    pairs = words.producer(producer)
    lines = -(-len(pairs) // _sides(wide))
    late = producer.oldest_wait is not None and producer.waiting > 0
    waits = f"oldest waits {words.seconds(producer.oldest_wait)}"
    note = " · ".join(filter(None, [words.acks(producer), waits if late else ""]))
    look = "wait" if late and (producer.oldest_wait or 0) > 1 else "soft"

    def draw(paper: Paper, x: float, y: float, wide: float) -> None:
        paper.open("producer", name=producer.name)
        _title(paper, x, y, wide, f"Producer {producer.name}", note, look)
        _pairs(paper, pairs, x, y, wide)
        if producer.last_error:
            paper.text(x, y + 52 + lines * LINE, f"last error {producer.last_error}", "wait", room=wide)
        paper.close()
    return Card(lines + bool(producer.last_error), draw)


def _quorum(quorum: ShownQuorum, wide: float) -> Card:
    pairs, rows = words.metadata_log(quorum), voter_rows(quorum, wide)

    def draw(paper: Paper, x: float, y: float, wide: float) -> None:
        paper.open("controllers", active=quorum.active)
        _title(paper, x, y, wide, "Controllers", *words.standing_of(quorum))
        end = draw_voters(paper, quorum, x, y + 36, wide, rows)
        _draw_facts(paper, pairs, x, end + 17, x + wide)
        paper.close()
    return Card(-(-HIGH * rows // LINE) + (1 if pairs else 0), draw)


def _group(group: ShownGroup, chosen: str) -> Card:
    """Return a card with a line per partition: the chosen one first, then those furthest behind."""
    progress = sorted(group.progress, key=lambda each: (each.partition != chosen, -(each.lag or 0)))
    shown, rest = progress[:PARTITIONS], len(progress) - PARTITIONS
    lines = max(3, 2 + len(shown) + (rest > 0))
    longest = longest_lag(group.progress)

    def draw(paper: Paper, x: float, y: float, wide: float) -> None:
        paper.open("group", name=group.name)
        _title(paper, x, y, wide, f"Group {group.name}", words.group(group), "soft")
        columns = _columns(shown, wide - BAR - 8)
        heads = ("partition", "member", "position", "committed", "lag")
        _draw_progress_line(paper, x, y + 50, columns, heads, "soft")
        for place, each in enumerate(shown, 1):
            name = shorten_name(each.partition, columns[0][1])
            values = (name, *_told(words.member(group, each), *_numbers(each)))
            _draw_progress_line(paper, x, y + 50 + place * LINE, columns, values, "")
            draw_lag(paper, each, longest, x + columns[4][0] + 8, y + 41 + place * LINE, BAR)
            if group.process(each.member) in DEAD:
                strike(paper, x + columns[1][0], y + 50 + place * LINE, min(columns[1][1], width(values[1])))
        if not shown:
            paper.text(x, y + 50 + LINE, "no partition yet", "soft")
        if rest > 0:
            paper.text(x, y + 50 + (1 + len(shown)) * LINE, f"and {_more(rest, 'partition')}", "soft")
        draw_members(paper, group, x, y + 32 + (1 + max(1, len(shown)) + (rest > 0)) * LINE, wide, 1, False)
        paper.close()
    return Card(lines, draw)


def _numbers(each: ShownProgress) -> tuple[str, ...]:
    """Return position, committed offset and lag."""
    return _told(words.offset(each.position), words.offset(each.committed), words.count(each.lag))


def _told(*texts: str) -> tuple[str, ...]:
    """Return the entries of a line, a dash for what is not known, which is not 0."""
    return tuple("–" if text == words.UNKNOWN else text for text in texts)


def _columns(progress: list[ShownProgress], wide: float) -> list[tuple[float, float, str]]:
    """Return (x, room, anchor) of partition, member, position, committed, lag: numbers are as wide as they need, names
    get the rest."""
    numbers = [max([width(head)] + [width(_numbers(each)[place], 14, True) for each in progress])
               for place, head in enumerate(("position", "committed", "lag"))]
    scale = min(1.0, (wide * 0.75) / (sum(numbers) + 30))
    numbers = [each * scale for each in numbers]
    names = wide - sum(numbers) - 4 * 9
    first = min(names * 0.62, max([width("partition")] + [width(each.partition) for each in progress]))
    columns = [(0.0, first, "start"), (first + 9, names - first, "start")]
    x = names + 9
    for number in numbers:
        x += 9 + number
        columns.append((x, number, "end"))
    return columns


def _draw_progress_line(paper: Paper, x: float, y: float, columns: list[tuple[float, float, str]],
                        values: tuple[str, ...], look: str) -> None:
    for place, ((at, room, anchor), value) in enumerate(zip(columns, values)):
        paper.text(x + at, y, value, look, 14, place > 1 and not look, anchor, room)


def draw_brief(paper: Paper, frame: Frame, y: float, groups: bool = False) -> float:
    """Draw the cards as one line each, for a projector, where the class looks at the lanes (`groups`: only those of groups);
    return where they end."""
    latest = sorted(frame.producers, key=lambda producer: (-(producer.oldest_wait or 0), producer.since_sent or 0))
    lines = [("producer", f"Producer {each.name}", words.producer(each)) for each in latest[:1]]
    lines = [] if groups else lines
    titles = ["" if groups or not frame.quorum.each else "Controllers", *(title for _, title, _ in lines)]
    titles += [f"Group {group.name}" for group in frame.groups[:BRIEF]]
    names = min(240.0, max(0.0 if groups else NOTE, *(width(title, 16, True) for title in titles)))
    for part, title, pairs in lines:
        y += LINE
        paper.open(part)
        paper.text(SIDE, y, title, "", 16, True, room=names)
        _draw_facts(paper, pairs, SIDE + names + 20, y, paper.width - SIDE)
        paper.close()
    if not groups and frame.quorum.each:
        y = _draw_brief_quorum(paper, frame.quorum, y, names)
    for group in frame.groups[:BRIEF]:
        paper.open("group", name=group.name)
        paper.text(SIDE, y + LINE, f"Group {group.name}", "", 16, True, room=names)
        y = draw_members(paper, group, SIDE + names + 20, y + LINE - 18, paper.width - 2 * SIDE - names - 20, 2) - 8
        paper.close()
    if rest := [group.name for group in frame.groups[BRIEF:]]:
        y += LINE
        paper.text(SIDE, y, f"{_more(len(rest), 'group')}: {', '.join(rest)}", "soft", room=paper.width - 2 * SIDE)
    return y + 14


def _draw_brief_quorum(paper: Paper, quorum: ShownQuorum, y: float, names: float) -> float:
    """Draw the controllers in a line, and what they agree on at its end; return where the next line begins."""
    paper.open("controllers", active=quorum.active)
    paper.text(SIDE, y + LINE, "Controllers", "", 16, True, room=names)
    x, right = SIDE + names + 20, paper.width - SIDE
    note, look = words.standing_of(quorum)
    mark = quorum.high_watermark
    notes = [note] if mark is None else [f"{note} · committed {mark}" if note else f"committed {mark}", note]
    beside, below = next((each for each in notes if in_a_row(quorum, right - width(each) - 16 - x)), ""), y
    if beside:
        paper.text(right, y + LINE, beside, look, anchor="end")
        right -= width(beside) + 16
    elif notes[0]:                                          # below the title: the second row has room
        below = y + LINE + HIGH
        paper.text(SIDE, below, next((each for each in notes if width(each) <= names + 12), note), look, room=names + 12)
    y = max(below, draw_voters(paper, quorum, x, y + LINE - 18, right - x, MOST_VOTERS) - 8)
    paper.close()
    return y


def _draw_facts(paper: Paper, pairs: list[tuple[str, str, str]], x: float, y: float, right: float) -> None:
    """Draw labels with their values in a line, as far as there is room."""
    for label, value, look in pairs:
        if x + width(label) + width(value, 16, True) + 8 > right:
            break
        x += paper.text(x, y, label, "soft") + 7
        x += paper.text(x, y, value, look, 16, True) + 20


def draw_ledger(paper: Paper, frame: Frame, y: float, only: Collection[str] = ()) -> float:
    """Draw one strip with what was promised and what became of it (`only` these entries, if any are named, and if something is
    known of them), or its cover; return where it ends."""
    if frame.covered:
        return _draw_cover(paper, words.cover(frame.covered), y)
    entries = [entry for entry in words.ledger(frame.ledger) if not only or entry[0] in only]
    if not entries:
        return y
    wide = paper.width - 2 * SIDE
    cuts = [[entries[at:at + some] for at in range(0, len(entries), some)] for some in (len(entries), 4, 3, 2)]
    rows = next((rows for rows in cuts if all(_gap(row, wide - 32) >= 12 for row in rows)), cuts[-1])
    paper.open("ledger")
    paper.rect(SIDE, y, wide, 12 + 28 * len(rows), "box", 8)
    for place, row in enumerate(rows):
        _draw_entries(paper, row, SIDE + 16, y + 27 + 28 * place, wide - 32)
    paper.close()
    return y + 12 + 28 * len(rows)


def _draw_cover(paper: Paper, text: str, y: float) -> float:
    paper.open("cover")
    paper.rect(SIDE, y, paper.width - 2 * SIDE, 40, "box", 8)
    paper.text(paper.width / 2, y + 26, text, "soft", 16, anchor="middle", room=paper.width - 2 * SIDE - 32)
    paper.close()
    return y + 40


def _draw_entries(paper: Paper, row: list[tuple[str, str, str]], x: float, y: float, wide: float) -> None:
    gap = min(90.0, _gap(row, wide))
    for label, value, look in row:
        paper.open("entry", name=label, value=value)
        taken = paper.text(x, y, label, "soft")
        paper.text(x + taken + 8, y, value, look, 18, True)
        paper.close()
        x += _need(label, value) + gap


def _need(label: str, value: str) -> float:
    return width(label) + 8 + width(value, 18, True)


def _gap(row: list[tuple[str, str, str]], wide: float) -> float:
    """Return how many pixels are between the entries of a row that is `wide` pixels wide."""
    return (wide - sum(_need(label, value) for label, value, _ in row)) / max(1, len(row) - 1)
