"""Colours that can be read, in both themes, and that do not depend on the page."""

from __future__ import annotations

import re

import pytest

from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.draw.theme import DARK, EPOCHS, LIGHT, style
from tests.picture.frames import FRAMES, slow_follower

LETTERS = ["ink", "soft", "good-t", "wait-t", "bad-t", "hw-t"]


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [
        value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in channels
    ]
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
    assert (
        "prefers" not in style("p", "dark")
        and DARK["paper"] in style("p", "dark")
        and LIGHT["paper"] not in style("p", "dark")
    )


def test_an_unknown_theme_is_refused() -> None:
    """Fails if a misspelt theme is drawn without colours."""
    with pytest.raises(ValueError, match="theme is auto, light or dark"):
        to_svg(slow_follower(), theme="drak")


def test_every_class_has_a_rule() -> None:
    """Fails if a part uses a look that the style sheet does not know: it would be drawn black."""
    for name in sorted(FRAMES):
        picture = to_svg(FRAMES[name]())
        used = {word for looks in re.findall(r'class="([^"]*)"', picture) for word in looks.split()}
        sheet = re.search("<style>(.*)</style>", picture)
        assert sheet is not None and used - set(re.findall(r"\.([a-z][\w-]*)", sheet[1])) == set()
