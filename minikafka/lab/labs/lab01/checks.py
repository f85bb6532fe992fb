"""Checks of lab 1: an order without calls (1.2), facts for commands (1.4), a loop that pulls (1.5), what a trace promises
(1.8), a producer from nothing (1.9)."""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from minikafka.lab import wants
from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab01.from_nothing import under_a_dead_leader, verdict
from minikafka.lab.labs.lab01.traces import Trace, counts, random_traces
from minikafka.lab.labs.one_broker import one_broker
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.program import file_exercise
from minikafka.lab.values import rest, shown, some

Event = dict[str, Any]
Shop = tuple[Callable[[Event, "EventLog"], Any], Callable[["EventLog", int, Callable[[Event], Any]], int]]


# --- 1.2 ----------------------------------------------------------------------------------------------------------------

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


hints("1.2", "Whom does the shop have to know to write one event? And what must an application remember to read on later?",
      "place_order appends one event with all that is known about the order, as a dictionary of its own: the shop may go on "
      "changing the order. catch_up handles log[position:] and returns where to go on: len(log).",
      "minikafka/lab/labs/lab01/experiment.py, `by_log`: one send for each order, and applications that read on")


@checks("1.2", matters="The next application costs the shop nothing: no line of code, no millisecond, no outage.")
def place_order(answer: Shop) -> str:
    """Check with fifty orders and three applications: one that keeps up, one that was down, one that comes last; then
    with an order that changes."""
    place, catch_up = answer
    log, positions = EventLog(), dict.fromkeys(("billing", "stock", "mail"), 0)
    for n in range(50):
        _places(place, {"id": n, "customer": f"c{n % 7}", "amount": 10 + n}, log)
        if n % 10 == 9:
            positions["billing"] = _reads_on(catch_up, log, positions["billing"])
    for name, position in positions.items():
        positions[name] = _reads_on(catch_up, log, position)
    _stays_as_it_was(place)
    return "50 orders, 50 events; three applications have handled each once, whenever they came"


def _places(place: Callable[[Event, EventLog], Any], order: Event, log: EventLog) -> None:
    before, told = len(log), dict(order)
    place(order, log)
    assert len(log) == before + 1, f"place_order wrote {len(log) - before} events for one order; one event is wanted"
    event = log[before]
    assert isinstance(event, Mapping), f"an event is a dictionary; yours is {shown(event)}"
    assert event is not order, "that is the order itself, and the shop may change it later; write a dictionary of its own, a copy"
    assert any(_words(str(value)) == ["order", "placed"] for value in _told(event)), \
        f'the event does not say what happened: {{"event": "OrderPlaced", ...}} is wanted; yours is {shown(event)}'
    missing = [name for name, value in told.items() if value not in _told(event)]
    assert not missing, f"the event lacks the order's {', '.join(missing)}: {shown(event)}"


def _reads_on(catch_up: Callable[[EventLog, int, Callable[[Event], Any]], int], log: EventLog, position: int) -> int:
    """Let an application read on, and return its next position. What it left out is told first."""
    end, handled = len(log), []

    def work(event: Event) -> None:
        handled.append(_id_of(event))

    said = catch_up(log, position, work)
    wanted = list(range(position, end))
    case = [f"the log has the events of orders 0 to {end - 1}, the position is {position}", f"`work` got {shown(handled)}"]
    assert len(log) == end, f"reading has changed the log: {len(log)} of {end} events are left"
    if left_out := rest(wanted, handled):
        raise Wrong(f"from position {position} on, you left out these orders: {some(left_out)}", case)
    if twice := rest(handled, wanted):
        raise Wrong(f"these orders lie before position {position}, or `work` got them twice: {some(twice)}", case)
    assert handled == wanted, f"from position {position} on, the events were not worked on in order: {shown(handled)}"
    if said != end:
        raise Wrong(f"the next position is {end}, the end of the log; catch_up returned {shown(said)}", case)
    return end


def _told(event: Mapping[str, Any]) -> list[Any]:
    """Return all values of an event; those of a dictionary in it, too."""
    return [inner for value in event.values() for inner in (_told(value) if isinstance(value, Mapping) else [value])]


def _id_of(event: Any) -> Any:
    if not isinstance(event, Mapping):
        raise Wrong(f"catch_up called `work` with {wants.kind(event)}; it wants each event by itself")
    inner = [value for value in event.values() if isinstance(value, Mapping)]
    return event.get("id", _id_of(inner[0]) if inner else None)


def _stays_as_it_was(place: Callable[[Event, EventLog], Any]) -> None:
    log, order = EventLog(), {"id": 1, "customer": "c1", "amount": 10}
    place(order, log)
    order["amount"] = 99
    assert 99 not in _told(log[0]), "the shop changed its order later, and the event in the log changed too: write a copy"


# --- 1.4 ----------------------------------------------------------------------------------------------------------------

COMMANDS = {"updateCustomer": "updated", "chargeCard": "charged", "shipParcel": "shipped", "sendInvoice": "sent",
            "cancelRide": "cancelled canceled"}  # and what has happened then
WORD = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
FILLING = {"the", "a", "an", "is", "was", "were", "has", "have", "had", "been", "successfully", "event"}
AHEAD = {"will", "shall", "should", "be", "to", "must", "requested", "wanted", "ordered", "please"}
NOT_DONE = {"not", "never", "refused", "rejected", "failed", "declined"}

hints("1.4", "A command may be refused. Can a fact be refused?",
      "The thing first, then what has happened to it, as a participle: PaymentReceived, SeatReserved. Nobody is addressed.",
      "minikafka/lab/labs/lab01/checks.py, `_fault`: the rules by which your names are judged")


@checks("1.4", matters="An event that is a command in disguise ties the sender to its reader again.")
def facts(answer: Callable[[], dict[str, str]]) -> str:
    """Check each of the five names, however its words are put together: about its own thing, in the past, addressed to nobody."""
    names = {str(command).removesuffix("()"): name for command, name in answer().items()}
    if missing := [command for command in COMMANDS if command not in names]:
        raise Wrong(f"a fact is wanted for each command; there is none for {', '.join(missing)}")
    for command in COMMANDS:
        assert isinstance(names[command], str), f"the fact of {command} is a text; yours is {wants.kind(names[command])}"
        if (fault := _fault(command, names[command])) is not None:
            raise Wrong(f"{command}() -> {shown(names[command])}: {fault}")
    return "five facts: " + ", ".join(str(names[command]) for command in COMMANDS)


def _fault(command: str, name: str) -> str | None:
    """Say what is wrong with a fact's name; letters, blanks and lines between its words may be as one likes."""
    (verb, thing), words = _words(command), [word for word in _words(name) if word not in FILLING]
    if len(words) == 1 and words[0] != thing and words[0].startswith(thing):
        words = [thing, words[0].removeprefix(thing)]
    if words == [verb, thing]:
        return "that is the command again; the thing first, then what has happened to it"
    if words[:1] != [thing]:
        return f"the thing first ({thing.capitalize()}), then what has happened to it; nobody is addressed"
    if AHEAD & set(words):
        return "it says what somebody wants, or what will be; say what has happened"
    if NOT_DONE & set(words):
        return "so it was not done; the command was carried out, and that is the fact"
    if words[-1] in COMMANDS[command].split():
        return None
    past = words[-1].endswith("ed") or words[-1] in ("sent", "paid", "made", "gone", "taken", "done", "put")
    return f"that is another fact: the command was {command}" if past and len(words) > 1 else \
        f"behind {thing.capitalize()} stands what has happened to it, in the past"


def _words(name: str) -> list[str]:
    return [word.lower() for word in WORD.findall(name)]


# --- 1.5 ----------------------------------------------------------------------------------------------------------------

FIRST, MORE = 25, 5  # orders that are there, and orders that come when the first application has ended
GROUP = "billing"

hints("1.5", "What does a poll return when there is nothing new? And when may you say that you have read so far?",
      "A loop: poll; return if nothing came; else work on each record of each batch, then commit. Many records need many polls.",
      "labs/01-from-calls-to-a-log.ipynb, section 6; or kafka.KafkaConsumer.poll")


@checks("1.5", matters="One number is all that the cluster keeps of a reader; who does not leave it begins again.")
def pull(loop: Callable[[Any, Callable[[Any], Any]], Any]) -> str:
    """Check what an application works on and commits, then what the next one of its group does with five orders more."""
    broker = one_broker()
    topic = broker.topic("orders")
    _orders(topic, range(FIRST))
    _judge_life(*_life(loop, topic), range(FIRST), "the first application")
    _orders(topic, range(FIRST, FIRST + MORE))
    _judge_life(*_life(loop, topic), range(FIRST, FIRST + MORE), "the next one, which goes on from the committed offset,")
    return f"{FIRST} orders, then {MORE} more for the next application of the group; committed offset {FIRST + MORE}"


def _orders(topic: str, numbers: range) -> None:
    one_broker().run(lambda producer: [producer.send(topic, b"order %d" % number) for number in numbers])


def _life(loop: Callable[[Any, Callable[[Any], Any]], Any], topic: str) -> tuple[list[Any], int | None]:
    """Let a loop run with a consumer of its own; return what it worked on, and what is committed then."""
    place, worked, early = TopicPartition(topic, 0), [], []
    with KafkaConsumer(bootstrap_servers=one_broker().bootstrap, group_id=f"{GROUP}-{topic}", enable_auto_commit=False,
                       auto_offset_reset="earliest", max_poll_records=10) as consumer:
        consumer.assign([place])
        begun = consumer.committed(place) or 0
        consumer.position(place)  # the connections stand, so a poll that brings nothing has nothing to bring

        def work(record: Any) -> None:
            worked.append(record)
            if hasattr(record, "offset") and begun <= record.offset < (noted := consumer.committed(place) or 0):
                early.append((record.offset, noted))
        loop(consumer, work)
        if early:
            raise Wrong("when `work` got the record at offset {}, offset {} was committed already. If the application dies now, "
                        "no other one works on that record: commit when all records of a poll are worked on".format(*early[0]))
        return worked, consumer.committed(place)


def _judge_life(worked: list[Any], committed: int | None, wanted: range, who: str) -> None:
    if odd := [each for each in worked if not hasattr(each, "offset")]:
        raise Wrong(f"`work` wants one record at a time; it got {wants.kind(odd[0])}")
    offsets, right = [record.offset for record in worked], list(wanted)
    if left_out := rest(right, offsets):
        raise Wrong(f"{who} worked on {counted(len(offsets), 'record')}; it left out offset {some(left_out)}")
    if twice := rest(offsets, right):
        raise Wrong(f"{who} worked on records that were done already: offset {some(twice)}")
    assert offsets == right, f"{who} did not work in the order of the log: {shown(offsets)}"
    if committed != wanted.stop:
        raise Wrong(f"{who} worked on all records up to offset {wanted.stop - 1}; the committed offset is {committed}, and "
                    f"{wanted.stop} is wanted: where the next one goes on")


# --- 1.8 ---------------------------------------------------------------------------------------------------------------

hints("1.8", "Which of the three kinds of steps does the promise speak about?",
      "Count the copies that are stored, for each message that was sent. More than one somewhere: not at most once. None "
      "somewhere: not at least once. How often it was sent or acknowledged does not matter.",
      "minikafka/lab/labs/lab01/traces.py, `counts`")


@checks("1.8", matters="Ask every system that you connect which of the two it promises; \"neither\" is an answer too.")
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
        if str(said).strip().lower() != expected:
            copies = Counter(n for what, n in trace if what == "stored")
            odd = sorted((copies[n], n) for n in {n for what, n in trace if what == "sent"} if copies[n] != 1)
            seen = [f"message {n} has {f'{many} copies' if many else 'no copy'}" for many, n in sorted({*odd[:1], *odd[-1:]})]
            seen = seen or ["each message has exactly one copy"]
            raise Wrong(f'{" and ".join(seen)}: that is "{expected}"; you said {shown(said)}',
                        excerpt=["the trace: " + ", ".join(f"{what} {n}" for what, n in trace)])
    return "24 traces, right for each"


# --- 1.9 ---------------------------------------------------------------------------------------------------------------

hints("1.9", "When does your program know that the cluster has an order? What is still under way when the input ends?",
      "`send` only puts a record on its way. `send(...).get(timeout=60)` waits for the answer; if none comes it raises an error. "
      "With acks=\"all\" the answer means that all replicas in sync have the record.",
      "section 9 of this lab, the shop's fifty orders; the order of the faults: minikafka/lab/labs/lab01/from_nothing.py")

file_exercise("1.9", under_a_dead_leader, verdict,
              matters="Whoever says \"thank you\" before the answer has come says it for orders that nobody has.")
