"""The sliders of a playground and its line of numbers, as widgets of ipywidgets.

Owns: the widgets. Invariants: a slider only reports a setting (`change`); what follows from that happens in other threads.
"""
from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets as widgets

from minikafka.lab.play.traffic import NO_KEY, Settings
from minikafka.lab.view import front
from minikafka.lab.view.widget import listen_beside_cells

RATES = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500)
KEYS = (NO_KEY, 1, 2, 3, 6, 12, 100, 1000)
MEMBERS = 6
WORK = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
NAMES = {"rate": "records a second", "keys": "different keys", "acks": "acks", "idempotence": "idempotence", "members": "members",
         "protocol": "group.protocol", "work": "ms for a record"}
OVER = "The playground has ended. Run the cell again for a new one."
IN_A_ROW = "display: flex; flex-wrap: wrap; gap: 0.3em 1.2em; line-height: 1.4"
ROW = {"width": "100%", "align_items": "center"}


def controls(settings: Settings) -> dict[str, Any]:
    """Return the widgets by the name of their setting."""
    def slider(name: str, options: Any) -> Any:
        return widgets.SelectionSlider(options=options, value=getattr(settings, name),
                                       layout={"flex": "1 1 auto", "width": "auto"})

    def buttons(name: str, options: Any) -> Any:
        return widgets.ToggleButtons(options=options, value=getattr(settings, name), style={"button_width": "auto"})

    return {
        "rate": slider("rate", [(str(rate) if rate else "off", rate) for rate in RATES]),
        "keys": slider("keys", [(str(keys) if keys != NO_KEY else "no key", keys) for keys in KEYS]),
        "acks": buttons("acks", ["0", "1", "all"]),
        "idempotence": buttons("idempotence", [("on", True), ("off", False)]),
        "members": slider("members", range(MEMBERS + 1)),
        "protocol": buttons("protocol", ["classic", "consumer"]),
        "work": slider("work", WORK),
    }


class Sliders:
    """The widgets, shown below the cell that runs; `change(name, value)` is called for each that is moved."""

    def __init__(self, settings: Settings, change: Callable[[str, Any], None]) -> None:
        self.controls = controls(settings)
        self._numbers = widgets.HTML()
        for name, control in self.controls.items():
            control.observe(lambda moved, name=name: change(name, moved["new"]), "value")
            control.add_class(f"mk-play-{name}")
            listen_beside_cells(control)
        self._numbers.add_class("mk-play-numbers")
        self._box = widgets.VBox([*(widgets.HBox([widgets.Label(text, layout={"width": "9em"}), self.controls[name]], layout=ROW)
                                    for name, text in NAMES.items()), self._numbers])
        self._shown: str | None = None

    def show(self) -> None:
        if front.kind() == front.PAGE:
            fallback = {"text/plain": OVER, "text/html": f"<small>{OVER}</small>"}
            view = {"version_major": 2, "version_minor": 0, "model_id": self._box.model_id}
            self._shown = front.show({**fallback, front.WIDGET: view}, {front.PANEL: self._box.model_id})

    def say(self, numbers: dict[str, str], trouble: str | None) -> None:
        """Show the numbers, and below them what went wrong last."""
        each = "".join(f'<span><small>{escape(name)}</small><br><b data-number="{escape(name)}">{escape(text)}</b></span>'
                       for name, text in numbers.items())
        self._numbers.value = f'<div style="{IN_A_ROW}">{each}</div><small>{escape(trouble or "") or "&nbsp;"}</small>'

    def close(self) -> None:
        """Leave a line in place of the widgets."""
        if self._shown is not None:
            front.replace(self._shown, {"text/plain": OVER, "text/html": f"{self._numbers.value}<small>{OVER}</small>"})
        for row in self._box.children:
            for widget in getattr(row, "children", ()):
                widget.close()
            row.close()
        self._box.close()
