"""Colours, light and dark, and the sizes of paper.

Owns: the palettes (Okabe-Ito for what carries meaning, tints of it for leader epochs), the style sheet of a picture.

A colour never stands alone: every level, process state and kind of mark has a shape and a word as well.
Colours for letters are darker versions (in the dark theme: lighter) of those for shapes, so that they can be read.

Invariants
  I-THEME-1  letters stand out from what is behind them by at least 4.5 to 1, in both themes
  I-THEME-2  every rule and every id of the style sheet carries the picture's own id: two pictures share a page
"""
from __future__ import annotations

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
WIDTHS = {"page": 1280, "projector": 1120}
"""Width of the paper in units: letters are 14 units, so on the same screen a narrower paper has bigger type."""
SCREENS = {"page": 1280, "projector": 1920}
"""Pixels for which those widths are meant: a page's letters are 14 pixels, a projector's 24."""
NARROWEST = 640  # units; on less there is no room for a log beside its replica

RULES = """text{fill:var(--ink)}
.b{font-weight:700}
.soft{fill:var(--soft)}.good{fill:var(--good-t)}.wait{fill:var(--wait-t)}.bad{fill:var(--bad-t)}.blue{fill:var(--hw-t)}
.on{fill:var(--on)}.n{text-anchor:middle}.q{text-anchor:middle;fill:var(--soft)}
.paper{fill:var(--paper)}.card{fill:var(--card)}.box{fill:var(--card);stroke:var(--line)}
.sel{fill:var(--card);stroke:var(--hw);stroke-width:2.5}
.rule{stroke:var(--line);fill:none}.thick{stroke:var(--line);stroke-width:6;fill:none;stroke-linecap:round}
.past{stroke:var(--hw);stroke-width:6;fill:none;stroke-linecap:round}
.knob{fill:var(--paper);stroke:var(--hw);stroke-width:4}
.fgood{fill:var(--good)}.fwait{fill:var(--wait)}.fbad{fill:var(--bad)}.funk{fill:var(--unk)}.fline{fill:var(--line)}
.fhw{fill:var(--hw)}.flso{fill:var(--lso)}.fsoft{fill:var(--soft)}
.sgood,.swait,.sbad,.sunk{fill:var(--card);stroke-width:3.5}
.sgood{stroke:var(--good)}.swait{stroke:var(--wait)}.sbad{stroke:var(--bad)}
.sunk{stroke:var(--unk);stroke-dasharray:4 4}
.pen{fill:none;stroke:var(--ink);stroke-width:2.5}.dash{stroke-dasharray:5 5}.ink{fill:var(--ink)}
.alarm{fill:none;stroke:var(--bad);stroke-width:4}.alarm.dash{stroke-width:2.5}
.hw{fill:none;stroke:var(--hw);stroke-width:3.5}.lso{fill:none;stroke:var(--lso);stroke-width:2.5;stroke-dasharray:7 4}
.start{fill:none;stroke:var(--soft);stroke-width:2;stroke-dasharray:2 3}
.cross{fill:none;stroke:var(--bad);stroke-width:2.5;stroke-linecap:round}.fhidden{fill:var(--soft)}
.stem{fill:none;stroke:var(--edge);stroke-width:1}.arrow{fill:none;stroke:var(--edge);stroke-width:2}
.dot{fill:var(--hw)}
.crown{fill:var(--crown);stroke:#16181d;stroke-width:1.4;stroke-linejoin:round}
.hollow{fill:none;stroke:var(--wait-t);stroke-width:2;stroke-dasharray:4 2.5}
.deadcrown{fill:var(--line);stroke:var(--ink);stroke-width:1.4}
.mark{stroke:var(--paper);stroke-width:1.5}.glyph{fill:none;stroke:var(--paper);stroke-width:2;stroke-linecap:round}
.flag{fill:var(--soft);stroke:var(--soft);stroke-width:2}.eu{fill:var(--eu)}
.c,.w,.u{stroke:var(--edge)}.w{fill-opacity:.3;stroke-dasharray:4 3}.u{stroke-dasharray:1.5 2.5}
.thin{stroke:none}.w.thin{fill-opacity:.3}.run{fill:none;stroke:var(--edge)}.run.w{stroke-dasharray:4 3}
.tick{fill:none;stroke:var(--good-t);stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.dim{opacity:.7}.fold{fill:var(--card);stroke:var(--edge)}.fold.w{fill-opacity:0}
.halo{paint-order:stroke;stroke:var(--paper);stroke-width:4;stroke-linejoin:round}"""
TINTS = "".join(f"\n.e{number}{{fill:var(--e{number})}}" for number in range(EPOCHS))


def fitting(size: str, pixels: float) -> int:
    """Width of the paper for a place that is so many pixels wide: where there is less room, less is drawn, not smaller
    letters (until the paper is as narrow as it can be); where there is more, the letters grow."""
    return round(min(WIDTHS[size], max(NARROWEST, pixels * WIDTHS[size] / SCREENS[size])))


def style(name: str, theme: str) -> str:
    """The style sheet of the picture with id `name`, and the hatching of ghosts."""
    ghosts = (f"#{name} .ghost{{fill:url(#{name}-hatch);stroke:var(--ghost)}}"
              f"#{name} .lostghost{{fill:url(#{name}-loss);stroke:var(--bad);stroke-width:1.5}}")
    hatch = "".join(
        f'<pattern id="{name}-{what}" width="6" height="6" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><rect width="{wide}" height="6" class="{look}"/></pattern>'
        for what, wide, look in (("hatch", "2", "fsoft"), ("loss", "2.5", "fbad")))
    return f"<style>{_variables(name, theme)}{_rules(name)}{ghosts}</style><defs>{hatch}</defs>"


def _rules(name: str) -> str:
    """Every rule, each of its selectors under the picture's own id."""
    sheet = []
    for rule in (RULES + TINTS).replace("}", "}\n").split("\n"):
        selectors, brace, body = rule.partition("{")
        if brace:
            sheet.append(",".join(f"#{name} {each}" for each in selectors.split(",")) + "{" + body)
    return "".join(sheet)


def _variables(name: str, theme: str) -> str:
    light, dark = _palette(LIGHT), _palette(DARK)
    if theme == "light":
        return f"#{name}{{{light}}}"
    if theme == "dark":
        return f"#{name}{{{dark}}}"
    if theme != "auto":
        raise ValueError(f"theme is auto, light or dark, not {theme!r}")
    return (f"#{name}{{{light}}}@media (prefers-color-scheme:dark){{#{name}{{{dark}}}}}"
            f'[data-jp-theme-light="true"] #{name}{{{light}}}[data-jp-theme-light="false"] #{name}{{{dark}}}')


def _palette(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())
