"""Pages for paper: one HTML file each, on A4, that asks nothing of a network.

Owns: their frame and their style.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
@page { size: A4; margin: 15mm 20mm; }
body { font: 10.5pt/1.3 "Liberation Serif", Georgia, serif; color: #111; max-width: 170mm; margin: 0 auto; }
h1 { font-size: 18pt; margin: 0 0 6pt; } h2 { font-size: 13pt; margin: 10pt 0 3pt; break-after: avoid; }
table { border-collapse: collapse; margin: 4pt 0; font-size: 10pt; }
th, td { border: 0.5pt solid #888; padding: 1.5pt 6pt; text-align: left; vertical-align: top; }
tr { break-inside: avoid; } ul, ol, p { margin: 3pt 0; }
.question { break-inside: avoid; } .question ol { list-style: lower-alpha; } .ask { font-weight: bold; }
.sheet { break-before: page; } .name { border-bottom: 0.5pt solid #111; width: 90mm; padding-top: 8mm; }
.question svg { display: block; width: 100%; max-width: 170mm; height: auto; margin: 4pt 0; }
.small table { font-size: 8.5pt; width: 100%; } .small :is(td, th):nth-child(n+4) { width: 42%; } .small td { padding: 1pt 4pt; }
"""


def page(title: str, parts: Iterable[str], style: str = STYLE) -> str:
    """Return the whole file; the parts are HTML."""
    head = f'''<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{style}</style>'''
    return "\n".join(('<!doctype html>', f'<html lang="en"><head>{head}</head><body>', *parts, "</body></html>")) + "\n"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the first row is its head."""
    head, *body = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    return (f"<table><thead><tr>{head.replace('td>', 'th>')}</tr></thead>"
            f"<tbody>{''.join(f'<tr>{row}</tr>' for row in body)}</tbody></table>")
