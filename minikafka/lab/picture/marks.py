"""Moments worth jumping to, found while the events are folded."""
from __future__ import annotations

from minikafka.lab.picture.frame import Mark
from minikafka.lab.picture.state import Event, State


class Marker:
    """Looks at every event together with the state after it."""

    def __init__(self) -> None:
        self.marks: list[tuple[int, Mark]] = []        # with the number of the event

    def look(self, number: int, event: Event, state: State) -> None:
        pass

    def back_to(self, number: int) -> None:
        """Forget what was found from this event on."""
        self.marks = [found for found in self.marks if found[0] < number]
