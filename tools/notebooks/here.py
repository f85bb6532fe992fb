"""The map of the course: one small drawing, in which the part that a lab is about is dark and the rest is pale.

A lab names its parts in its front matter, `here: producer, topic`; the drawing stands under its title. `make labs` writes it to
labs/pictures/; labs with the same parts share the file.

Invariants
  the same parts give the same bytes; the colours can be read on white and on black, for an image does not know the page's theme
"""
from __future__ import annotations

from collections.abc import Sequence

PARTS = {"producer": "the producer", "topic": "the topic with its partitions", "partition": "one partition, a log",
         "brokers": "the brokers", "leader": "the leader of a partition", "followers": "the followers",
         "controllers": "the controllers", "group": "the consumer group", "commits": "the committed offsets",
         "spark": "Spark", "checkpoint": "Spark's checkpoint"}
MAP = ("A producer writes to the leaders of a topic's two partitions, on three brokers. The other brokers follow. "
       "Three controllers decide who leads. A consumer group and Spark read.")
DARK, PALE = "#2b7fc4", "#7d8793"
WIDTH, HEIGHT = 720, 120  # a letter is 15 units: 9 pixels where the picture stands beside the text
CROWN = "M0 8 L0 1 L3 4 L6 0 L9 4 L12 1 L12 8 Z"


def name(parts: Sequence[str]) -> str:
    """Return the name of the file for these parts."""
    return f"here-{'-'.join(parts)}.svg"


def words(parts: Sequence[str]) -> str:
    """Return the place in words, for readers who do not see the drawing."""
    *first, last = (PARTS[part] for part in parts)
    return f"You are here: {', '.join(first)}{' and ' if first else ''}{last}."


def markdown(parts: Sequence[str]) -> str:
    """Return the line of a lab; the path holds in labs/ and in solutions/."""
    return f"![{words(parts)}](../labs/pictures/{name(parts)})"


def drawing(parts: Sequence[str]) -> str:
    """Return the map as SVG, with these parts dark."""
    shapes = [*_box("producer", 4, 34, 92, 36, "producer" in parts), _arrow(96, 52, 146, 52, "producer" in parts)]
    shapes += [_text("topic", 318, 13, {"topic", "partition"} & {*parts})]
    for broker in range(3):
        shapes += _broker(broker, parts)
    shapes += [_text("controllers", 206, 114, "controllers" in parts)]
    shapes += [_shape(f'circle cx="{x}" cy="109" r="7"', "controllers" in parts) for x in (270, 318, 366)]
    shapes += [_arrow(494, 38, 554, 38, "group" in parts), *_box("consumer group", 558, 8, 158, 40, "group" in parts)]
    shapes += [_arrow(558, 20, 498, 20, "commits" in parts), _text("commit", 526, 14, "commits" in parts)]
    shapes += [_arrow(494, 80, 554, 80, "spark" in parts), *_box("Spark", 558, 62, 56, 36, "spark" in parts)]
    shapes += _box("checkpoint", 620, 62, 96, 36, "checkpoint" in parts)
    shapes += [_text("You are here", 62, 108, True)]
    body = "\n".join(shapes)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
            """role="img" font-family="system-ui,'DejaVu Sans',Verdana,sans-serif" font-size="15">\n"""
            f"<title>{words(parts)} {MAP}</title>\n{body}\n</svg>\n")


def _broker(broker: int, parts: Sequence[str]) -> list[str]:
    """A broker with a replica of each partition: that of partition 0 is led by the first broker, that of 1 by the second."""
    left, here = 150 + 120 * broker, "brokers" in parts
    shapes = [_shape(f'rect x="{left}" y="20" width="104" height="68" rx="6" fill-opacity="0.1"', here, hollow=True),
              _text(f"broker {broker + 1}", left + 52, 83, here)]
    for partition in range(2):
        leads, top = broker == partition, 30 + 22 * partition
        dark = "topic" in parts or ("leader" if leads else "followers") in parts or \
            "partition" in parts and leads and partition == 0
        shapes += [_shape(f'rect x="{left + 28 + 14 * place}" y="{top}" width="11" height="13"', dark, hollow=not leads)
                   for place in range(5)]
        if leads:
            shapes.append(_shape(f'path d="{CROWN}" transform="translate({left + 9} {top + 2})"', dark))
    return shapes


def _box(label: str, x: int, y: int, width: int, height: int, dark: object) -> list[str]:
    """A box with its label; a dark one is filled."""
    return [_shape(f'rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6"', dark, hollow=not dark),
            _text(label, x + width // 2, y + height // 2 + 4, dark, "#ffffff" if dark else PALE)]


def _shape(shape: str, dark: object, hollow: bool = False) -> str:
    colour = DARK if dark else PALE
    return f'<{shape} fill="{"none" if hollow else colour}" stroke="{colour}" stroke-width="{2 if dark else 1}"/>'


def _text(label: str, x: int, y: int, dark: object, colour: str = "") -> str:
    bold = ' font-weight="bold"' if dark else ""
    return f'<text x="{x}" y="{y}" text-anchor="middle" fill="{colour or (DARK if dark else PALE)}"{bold}>{label}</text>'


def _arrow(x: int, y: int, to: int, at: int, dark: object) -> str:
    colour, back = DARK if dark else PALE, 6 if to > x else -6
    return (f'<path d="M{x} {y} L{to} {at} M{to - back} {at - 4} L{to} {at} L{to - back} {at + 4}" fill="none" '
            f'stroke="{colour}" stroke-width="{2 if dark else 1}"/>')
