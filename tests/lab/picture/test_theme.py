"""Colours that can be read, in both themes, and that do not depend on the page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.draw.theme import DARK, EPOCHS, LIGHT, RULES, TINTS, coloured, style
from tests.lab.picture.frames import FRAMES, slow_follower

LETTERS = ["ink", "soft", "good-t", "wait-t", "bad-t", "hw-t"]


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_letters_can_be_read(palette: dict[str, str]) -> None:
    """Fails if letters take the colours of shapes: Okabe-Ito's orange on white is 2.2 to 1."""
    for letters in LETTERS:
        for ground in ("paper", "card"):
            assert contrast(palette[letters], palette[ground]) >= 4.5, (letters, ground)
    for tint in [f"e{number}" for number in range(EPOCHS)] + ["eu"]:
        assert contrast(palette["ink"], palette[tint]) >= 7, tint
    assert contrast(palette["on"], palette["hw"]) >= 4.5 and contrast(palette["on"], palette["lso"]) >= 4.5


def test_auto_follows_jupyterlab_and_the_system() -> None:
    """Fails if the theme is fixed where it should follow: JupyterLab's attribute, without it the system's wish."""
    sheet = style("p", "auto")
    assert '[data-jp-theme-light="false"] #p{' in sheet and "prefers-color-scheme:dark" in sheet
    fixed = to_svg(slow_follower(), theme="dark")
    assert "prefers" not in fixed and DARK["paper"] in fixed and LIGHT["paper"] not in fixed


def test_an_unknown_theme_is_refused() -> None:
    """Fails if a misspelt theme is drawn without colours."""
    with pytest.raises(ValueError, match="theme is auto, light or dark"):
        to_svg(slow_follower(), theme="drak")


def test_every_class_has_a_rule() -> None:
    """Fails if a part uses a look that there is no rule for: it would be drawn black."""
    known = set(re.findall(r"\.([a-z][\w-]*)", RULES + TINTS))
    for name in sorted(FRAMES):
        looks = re.findall(r'class="([^"]*)"', to_svg(FRAMES[name]()))
        assert {word for look in looks for word in look.split()} - known == set()


@pytest.mark.parametrize("name", sorted(FRAMES))
def test_a_picture_needs_no_style_sheet(name: str) -> None:
    """Fails if a colour is a variable of a style sheet, or stands in one only: mail, office and PDF show the element black.

    Without its sheet each element must have the colours of the light palette.
    """
    picture = to_svg(FRAMES[name]())
    assert "var(" not in picture
    bare = re.sub("<style>.*</style>", "", picture)
    root = ElementTree.fromstring(bare)
    assert root.get("fill") == LIGHT["ink"]
    for each in root.iter():
        colours = {each.get(what, "") for what in ("fill", "stroke")} - {"", "none"}
        assert all(colour in LIGHT.values() or colour.startswith("url(#") or colour == "#16181d" for colour in colours)
        if each.tag.endswith(("rect", "circle")):
            assert each.get("fill"), each.attrib
        if each.get("data-part") == "cell":
            assert each.get("fill") in {LIGHT[tint] for tint in ("e0", "e1", "e2", "e3", "eu")} and each.get("stroke")


def test_the_stronger_rule_wins() -> None:
    """Fails if a rule of one class beats one of two: a dashed alarm would be as thick as a whole one."""
    drawn = coloured('<path class="alarm dash"/><path class="c w"/>', "p", "light")
    assert 'stroke-width="2.5"' in drawn and 'stroke-width="4"' not in drawn and 'fill-opacity="0.3"' not in drawn.split("/>")[0]
