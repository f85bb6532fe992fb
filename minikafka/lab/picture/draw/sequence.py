"""What a client says to whom: a line down for the client and for each broker, an arrow for each request and each answer.

    svg, text = picture([Arrow("first record", 2, "Metadata", "who leads?"), ...], brokers=[1, 2, 3], knows=[2])

Time runs down. A broker's line is thick while the client uses a connection to it, from the first message to the last; it ends
where the broker does.

Owns: the drawing. Everything in it comes from the messages.
Invariants
  I-SEQUENCE-1  each message is one arrow, in the order of the messages: a request is solid and points to the broker, an answer is
                dashed and points to the client
"""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from minikafka.lab.picture.draw.paper import width
from minikafka.lab.picture.draw.sheet import BLUE, CARD, INK, LINE, PAPER, SOFT, VERMILLION, Sheet
from minikafka.lab.picture.sentences.phrases import counted

WIDE, STEPS, CLIENT, RIGHT = 1000, 16, 230, 890  # x of the steps' names, of the client and of the last broker
TOP, ROW, GAP = 76, 38, 14


class Arrow(NamedTuple):
    """One request or answer. `refused`: the broker did not do what was asked."""

    step: str
    broker: int
    name: str          # "Metadata", "Produce"
    says: str
    answer: bool = False
    refused: bool = False


def picture(messages: Sequence[Arrow], brokers: Sequence[int], knows: Collection[int] = (),
            ended: Mapping[int, str] | None = None) -> tuple[str, str]:
    """Return the talk as SVG and in words. `knows`: the brokers whose addresses the client was given (bootstrap servers);
    `ended`: broker -> the step in which it had ended."""
    sheet, ended = Sheet(WIDE), ended or {}
    at = {broker: CLIENT + (RIGHT - CLIENT) * (place + 1) / len(brokers) for place, broker in enumerate(brokers)}
    heights, begins, y = [], dict[str, float](), float(TOP)
    for message in messages:
        if message.step not in begins:
            y += GAP
            begins[message.step] = y
        y += ROW
        heights.append(y)
    bottom = y + 20
    _draw_steps(sheet, begins, bottom)
    _draw_lines(sheet, messages, heights, at, begins, bottom, knows, ended)
    for message, height in zip(messages, heights):
        band = PAPER if list(begins).index(message.step) % 2 else CARD
        _draw_message(sheet, message, at[message.broker], height, band)
    text = to_text(messages)
    return sheet.svg(bottom + 10, f"a client and its brokers: {counted(len(messages), 'message')}"), text


def to_text(messages: Sequence[Arrow]) -> str:
    """Return the talk in words: a line for each message."""
    return "\n".join(f"{each.step}: {'broker' if each.answer else 'client to broker'} {each.broker}"
                     f"{' answers' if each.answer else ''}, {each.name}: {each.says}" for each in messages)


def _draw_steps(sheet: Sheet, begins: Mapping[str, float], bottom: float) -> None:
    """Draw a band for each step, with its name."""
    tops = [*begins.values(), bottom]
    for place, (step, top) in enumerate(begins.items()):
        if place % 2 == 0:
            sheet.rect(8, top, WIDE - 16, tops[place + 1] - top, CARD, "none")
        sheet.text(STEPS, top + 28, step, bold=True, room=CLIENT - STEPS - 12)


def _draw_lines(sheet: Sheet, messages: Sequence[Arrow], heights: Sequence[float], at: Mapping[int, float],
                begins: Mapping[str, float], bottom: float, knows: Collection[int], ended: Mapping[int, str]) -> None:
    sheet.text(CLIENT, 32, "client", size=18, bold=True, anchor="middle")
    sheet.path(f"M{CLIENT} 62V{bottom:g}", INK, wide=3)
    for broker, x in at.items():
        sheet.text(x, 32, f"broker {broker}", size=18, bold=True, anchor="middle")
        if broker in knows:
            sheet.text(x, 52, "bootstrap server", BLUE, anchor="middle")
        end = begins.get(ended.get(broker, ""), bottom)
        sheet.path(f"M{x:g} 62V{end:g}", LINE, wide=2)
        used = [height for message, height in zip(messages, heights) if message.broker == broker]
        if used:
            sheet.path(f"M{x:g} {used[0]:g}V{used[-1]:g}", BLUE, wide=6)
        if end < bottom:
            sheet.path(f"M{x - 8:g} {end - 8:g}l16 16m0 -16l-16 16", VERMILLION, wide=3.5)


def _draw_message(sheet: Sheet, message: Arrow, x: float, y: float, band: str) -> None:
    colour = VERMILLION if message.refused else SOFT if message.answer else BLUE
    begin, end = (x - 4, CLIENT + 2) if message.answer else (CLIENT + 2, x - 4)
    back = 9 if message.answer else -9
    sheet.path(f"M{begin:g} {y:g}H{end:g}", colour, dash="6 4" if message.answer else "")
    sheet.path(f"M{end + back:g} {y - 6:g}L{end:g} {y:g}L{end + back:g} {y + 6:g}", colour)
    text = f"{'' if message.answer else f'{message.name}: '}{message.says}"
    sheet.rect(CLIENT + 10, y - 20, width(text, bold=message.refused) + 8, 16, band)   # over the lines of the brokers
    sheet.text(CLIENT + 14, y - 7, text, VERMILLION if message.refused else INK, bold=message.refused, room=WIDE - CLIENT - 30)
