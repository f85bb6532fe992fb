"""Colours, light and dark, and the sizes of paper.

Owns: the palettes (Okabe-Ito for what carries meaning, tints of it for leader epochs), the looks of a picture's elements.
In RULES a value that is the name of a colour stands for that colour.

A colour never stands alone: every level, process state and kind of mark has a shape and a word as well.
Colours for letters are darker versions (in the dark theme: lighter) of those for shapes, so that they can be read.

Invariants
  letters stand out from what is behind them by at least 4.5 to 1, in both themes
  every rule and every id of the style sheet carries the picture's own id: two pictures share a page
  an element's look stands in its attributes, in plain colours: programs that know no style sheets (mail, office,
    PDF) show the light picture; only a page adds the dark one
"""
from __future__ import annotations

import re
from functools import cache, lru_cache

LIGHT = {
    "paper": "#ffffff", "card": "#f4f6f8", "line": "#c9ced6", "ink": "#16181d", "soft": "#565e6c", "edge": "#6b7686",
    "good": "#009e73", "wait": "#e69f00", "bad": "#d55e00", "unk": "#8b94a1", "hw": "#0072b2", "lso": "#a3527f",
    "crown": "#f0e442", "ghost": "#7d8794", "on": "#ffffff",
    "good-t": "#006b4e", "wait-t": "#855700", "bad-t": "#b33c00", "hw-t": "#00598c",
    "e0": "#cfe5f4", "e1": "#f8e0b0", "e2": "#cbe9de", "e3": "#eed3e2", "eu": "#dcdfe6",
}
DARK = {
    "paper": "#15171c", "card": "#1f232b", "line": "#3d4450", "ink": "#eef1f5", "soft": "#a8b2c0", "edge": "#8f9bab",
    "good": "#2fc79b", "wait": "#f0b94a", "bad": "#f2762e", "unk": "#8b94a1", "hw": "#56b4e9", "lso": "#dd9bbd",
    "crown": "#f0e442", "ghost": "#8a94a3", "on": "#0d1014",
    "good-t": "#45d6ac", "wait-t": "#f0b94a", "bad-t": "#ff9457", "hw-t": "#7cc6f2",
    "e0": "#234e69", "e1": "#664a12", "e2": "#145347", "e3": "#623d54", "eu": "#454c58",
}
EPOCHS = 4  # tints; an epoch keeps its own for the whole run
WIDTHS = {"page": 1280, "projector": 1120, "dock": 1280}
"""Width of the paper in units: letters are 14 units, so on the same screen a narrower paper has bigger type."""
SCREENS = {"page": 1280, "projector": 1920, "dock": 1280}
"""Pixels for which those widths are meant: a page's letters are 14 pixels, a projector's 24."""
STILL_WIDTH = 1000  # units of a still picture, as of every other drawing below a cell: its place is 600 to 1000 pixels wide
NARROWEST = 640  # units; on less there is no room for a log beside its replica

RULES = """.b{font-weight:700}
.soft{fill:soft}.good{fill:good-t}.wait{fill:wait-t}.bad{fill:bad-t}.blue{fill:hw-t}
.on{fill:on}.n{text-anchor:middle}.q{text-anchor:middle;fill:soft}
.paper{fill:paper}.card{fill:card}.box{fill:card;stroke:line}
.sel{fill:card;stroke:hw;stroke-width:2.5}
.rule{stroke:line;fill:none}.thick{stroke:line;stroke-width:6;fill:none;stroke-linecap:round}
.past{stroke:hw;stroke-width:6;fill:none;stroke-linecap:round}
.knob{fill:paper;stroke:hw;stroke-width:4}
.fgood{fill:good}.fwait{fill:wait}.fbad{fill:bad}.funk{fill:unk}.fline{fill:line}
.fhw{fill:hw}.flso{fill:lso}.fsoft{fill:soft}
.sgood,.swait,.sbad,.sunk{fill:card;stroke-width:3.5}
.sgood{stroke:good}.swait{stroke:wait}.sbad{stroke:bad}
.sunk{stroke:unk;stroke-dasharray:4 4}
.pen{fill:none;stroke:ink;stroke-width:2.5}.dash{stroke-dasharray:5 5}.ink{fill:ink}
.alarm{fill:none;stroke:bad;stroke-width:4}.alarm.dash{stroke-width:2.5}
.hw{fill:none;stroke:hw;stroke-width:3.5}.lso{fill:none;stroke:lso;stroke-width:2.5;stroke-dasharray:7 4}
.start{fill:none;stroke:soft;stroke-width:2;stroke-dasharray:2 3}
.cross{fill:none;stroke:bad;stroke-width:2.5;stroke-linecap:round}.fhidden{fill:soft}
.struck{fill:none;stroke:bad;stroke-width:1.6}
.stem{fill:none;stroke:edge;stroke-width:1}.arrow{fill:none;stroke:edge;stroke-width:2}
.dot{fill:hw}
.crown{fill:crown;stroke:#16181d;stroke-width:1.4;stroke-linejoin:round}
.hollow{fill:none;stroke:wait-t;stroke-width:2;stroke-dasharray:4 2.5}
.deadcrown{fill:line;stroke:ink;stroke-width:1.4}
.mark{stroke:paper;stroke-width:1.5}.glyph{fill:none;stroke:paper;stroke-width:2;stroke-linecap:round}
.flag{fill:soft;stroke:soft;stroke-width:2}.eu{fill:eu}
.c,.w,.u{stroke:edge}.w{fill-opacity:.3;stroke-dasharray:4 3}.u{stroke-dasharray:1.5 2.5}
.c.pale,.w.pale,.u.pale{fill-opacity:.2}.void{fill:none;stroke:edge;stroke-width:1.2}
.tick{fill:none;stroke:good-t;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.dim{opacity:.7}.fold{fill:card;stroke:edge}.fold.w{fill-opacity:0}
.ghost{fill:url(#hatch);stroke:ghost}.lostghost{fill:url(#loss);stroke:bad;stroke-width:1.5}
.halo{fill:none;stroke:paper;stroke-width:4;stroke-linejoin:round}"""
TINTS = "".join(f"\n.e{number}{{fill:e{number}}}" for number in range(EPOCHS))


def fitting(size: str, pixels: float) -> int:
    """Return the width of the paper for a place that is `pixels` wide. In a narrow place less is drawn, and
    letters do not shrink (until the paper is as narrow as it can be); in a wide one the letters grow."""
    return round(min(WIDTHS[size], max(NARROWEST, pixels * WIDTHS[size] / SCREENS[size])))


def coloured(markup: str, name: str, theme: str) -> str:
    """Return the markup of the picture with id `name`, each look as attributes beside its class."""
    return re.sub(' class="([^"]*)"', lambda found: f"{found[0]}{_attributes(found[1], name, theme)}", markup)


def style(name: str, theme: str) -> str:
    """Return the hatching of ghosts as SVG; for the theme "auto" also the colours of the dark theme, where a page or a
    system wants it."""
    hatch = "".join(
        f'<pattern id="{name}-{what}" width="6" height="6" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><rect width="{wide}" height="6" class="{look}"/></pattern>'
        for what, wide, look in (("hatch", "2", "fsoft"), ("loss", "2.5", "fbad")))
    dark = ""
    if theme == "auto":
        in_lab = {shade: f'[data-jp-theme-light="{light}"] #{name}' for shade, light in (("light", "true"), ("dark", "false"))}
        dark = (f"<style>@media (prefers-color-scheme:dark){{{_sheet(f'#{name}', 'dark')}}}"
                f"{''.join(_sheet(scope, shade) for shade, scope in in_lab.items())}</style>")
    return f"{dark}<defs>{hatch}</defs>"


def ink(theme: str) -> str:
    """Return the colour of letters. Raises ValueError for an unknown theme."""
    return _palette(theme)["ink"]


def _palette(theme: str) -> dict[str, str]:
    if theme not in ("auto", "light", "dark"):
        raise ValueError(f"theme is auto, light or dark, not {theme!r}")
    return DARK if theme == "dark" else LIGHT


@cache
def _looks() -> tuple[tuple[frozenset[str], tuple[tuple[str, str], ...]], ...]:
    """Return the style sheet: (classes that an element must have, its properties), later ones win."""
    return tuple((frozenset(selector.strip(".").split(".")), tuple(_pair(each) for each in body.split(";")))
                 for selectors, body in re.findall(r"([^{}]+){([^}]*)}", (RULES + TINTS).replace("\n", ""))
                 for selector in selectors.split(","))


def _pair(declaration: str) -> tuple[str, str]:
    name, _, value = declaration.partition(":")
    return name, value


@lru_cache(4096)
def _attributes(classes: str, name: str, theme: str) -> str:
    """Return the properties of an element of these classes, as attributes of SVG."""
    mine, palette, found = set(classes.split()), _palette(theme), {}
    for needed, properties in sorted(_looks(), key=lambda look: len(look[0])):
        if needed <= mine:
            found |= {what: palette.get(value, value).replace("url(#", f"url(#{name}-") for what, value in properties}
    return "".join(f' {what}="{value}"' for what, value in found.items())


@cache
def _sheet(scope: str, theme: str) -> str:
    """Return the colours alone as rules below `scope`: these win over what an attribute says."""
    palette = _palette(theme)
    rules = [(needed, [f"{what}:{palette[value]}" for what, value in properties if value in palette])
             for needed, properties in _looks()]
    return f"{scope}{{fill:{palette['ink']}}}" + "".join(
        f"{scope} {''.join(f'.{each}' for each in sorted(needed))}{{{';'.join(colours)}}}"
        for needed, colours in rules if colours)
