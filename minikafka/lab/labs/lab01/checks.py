"""Checks of lab 1: an order without calls (1.3), facts for commands (1.5), what a trace promises (1.11)."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab01.traces import Trace, counts, random_traces

Event = dict[str, Any]
Shop = tuple[Callable[[Event, "EventLog"], Any], Callable[["EventLog", int, Callable[[Event], Any]], int]]


# --- 1.3 ----------------------------------------------------------------------------------------------------------------

class EventLog:
    """A log of events in memory: `append` adds one, `log[position:]` gives those from a position on, `len(log)` is its end."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def append(self, event: Event) -> None:
        self._events.append(event)

    def __getitem__(self, place: Any) -> Any:
        return self._events[place]

    def __len__(self) -> int:
        return len(self._events)


hints("1.3", "Whom does the shop have to know to write one event? And what must an application remember to read on later?",
      "place_order appends one event with all that is known about the order, as a dictionary of its own: the shop may go on "
      "changing the order. catch_up handles log[position:] and returns where to go on: len(log).",
      "minikafka/lab/labs/lab01/experiment.py, `by_log`: one send for each order, and applications that read on")


@checks("1.3", matters="The next application costs the shop nothing: no line of code, no millisecond, no outage.")
def place_order(answer: Shop) -> str:
    """Check with fifty orders and three applications: one that keeps up, one that was down, one that comes last; then
    with an order that changes."""
    place, catch_up = answer
    log, orders = EventLog(), [{"id": n, "customer": f"c{n % 7}", "amount": 10 + n} for n in range(50)]
    seen: dict[str, list[Any]] = {"billing": [], "stock": [], "mail": []}
    positions = dict.fromkeys(seen, 0)

    def read(name: str) -> None:
        positions[name] = catch_up(log, positions[name], lambda event: seen[name].append(_id_of(event)))
        assert isinstance(positions[name], int), f"catch_up returned {positions[name]!r}; it has to return the next position"

    for n, order in enumerate(orders):
        place(dict(order), log)
        assert len(log) == n + 1, f"after {n + 1} orders the log has {len(log)} events; one order is one event"
        _facts(log[n], order)
        if n % 10 == 9:
            read("billing")
    read("billing")
    assert len(log) == 50, f"reading has changed the log: {len(log)} of 50 events are left"
    read("stock")
    read("mail")
    for name, ids in seen.items():
        if ids != list(range(50)):
            raise Wrong(f"{name} should have handled orders 0 to 49, each once and in order", excerpt=[f"it handled {ids}"])
    _stays_as_it_was(place)
    return "50 orders, 50 events; three applications have handled each once, whenever they came"


def _facts(event: Event, order: Event) -> None:
    assert isinstance(event, dict), f"an event is a dictionary; yours is {event!r}"
    missing = [name for name, value in order.items() if value not in _told(event)]
    assert not missing, f"the event does not tell the order's {', '.join(missing)}: {event}"


def _told(event: Event) -> list[Any]:
    """Return all values of an event; those of a dictionary in it, too."""
    return [inner for value in event.values() for inner in (_told(value) if isinstance(value, dict) else [value])]


def _id_of(event: Event) -> Any:
    if not isinstance(event, dict):
        raise Wrong(f"catch_up called work({event!r}); `work` wants the event itself")
    inner = [value for value in event.values() if isinstance(value, dict)]
    return event.get("id", next((value for name, value in event.items() if "id" in name.lower()),
                                _id_of(inner[0]) if inner else None))


def _stays_as_it_was(place: Callable[[Event, EventLog], Any]) -> None:
    log, order = EventLog(), {"id": 1, "customer": "c1", "amount": 10}
    place(order, log)
    order["amount"] = 99
    assert 99 not in _told(log[0]), "the shop changed its order later, and the event in the log changed too: write a copy"


# --- 1.5 ----------------------------------------------------------------------------------------------------------------

COMMANDS = {"updateCustomer": "Customer", "chargeCard": "Card", "shipParcel": "Parcel", "sendInvoice": "Invoice",
            "cancelRide": "Ride"}
IRREGULAR = {"Sent", "Paid", "Begun", "Made", "Taken", "Given", "Driven", "Put"}

hints("1.5", "A command may be refused. Can a fact be refused?",
      "The thing first, then what has happened to it, as a participle: PaymentReceived, SeatReserved. Nobody is addressed.",
      "minikafka/lab/labs/lab01/checks.py, `_fault`: the rules by which your names are judged")


@checks("1.5", matters="An event that is a command in disguise ties the sender to its reader again.")
def facts(answer: Callable[[], dict[str, str]]) -> str:
    """Check each of the five names: about its own thing, in the past, addressed to nobody."""
    names = answer()
    assert isinstance(names, dict) and set(names) == set(COMMANDS), f"return a name for each of {', '.join(COMMANDS)}"
    for command, thing in COMMANDS.items():
        if (fault := _fault(str(names[command]), thing)) is not None:
            raise Wrong(f"{command}() -> {names[command]!r}: {fault}")
    return "five facts: " + ", ".join(names.values())


def _fault(name: str, thing: str) -> str | None:
    if name.startswith(thing.lower()):
        return f"an event is named like a class: {thing} with a capital letter, and so is each word behind it, with no blank"
    if not name.startswith(thing):
        return f"begin with what it has happened to ({thing}), not with who shall do something"
    words = re.findall("[A-Z][a-z]*", name[len(thing):])
    if "".join(words) != name[len(thing):] or not words:
        return f"behind {thing} stands what has happened; each word begins with a capital letter, with no blank between them"
    if "Requested" in words or "Will" in words or "Be" in words:
        return "it says what somebody wants, or what will be; say what has happened"
    if not (words[-1].endswith("ed") or words[-1] in IRREGULAR):
        return "the last word says what has happened, in the past: Updated, Sent"
    return None


# --- 1.11 ---------------------------------------------------------------------------------------------------------------

hints("1.11", "Which of the three kinds of steps does the promise speak about?",
      "Count the copies that are stored, for each message that was sent. More than one somewhere: not at most once. None "
      "somewhere: not at least once. How often it was sent or acknowledged does not matter.",
      "minikafka/lab/labs/lab01/traces.py, `counts`")


@checks("1.11", matters="Ask every system that you connect which of the two it promises; \"neither\" is an answer too.")
def classify(answer: Callable[[Trace], str]) -> str:
    """Check with four traces by hand and twenty drawn ones, in which messages are sent twice and acknowledgements are
    missing."""
    by_hand: list[Trace] = [[("sent", 0), ("stored", 0), ("acknowledged", 0)], [("sent", 0), ("acknowledged", 0)],
                            [("sent", 0), ("stored", 0), ("stored", 0)],
                            [("sent", 0), ("sent", 1), ("stored", 1), ("stored", 1)]]
    for trace in [*by_hand, *random_traces()]:
        found = counts(trace)
        expected = {(False, False): "both", (True, False): "at most once", (False, True): "at least once",
                    (True, True): "neither"}[found["missing"] > 0, found["copies too many"] > 0]
        said = answer(list(trace))
        assert said is not None, "your function returned nothing; is there a `return`?"
        if said != expected:
            raise Wrong(f"you said {said!r}, it is {expected!r}: {found['missing']} missing, {found['copies too many']} copies "
                        "too many", excerpt=["the trace: " + ", ".join(f"{what} {n}" for what, n in trace)])
    return "24 traces, right for each"
