"""Answers to the exercises of lab 1, from the text of its notebook alone (tools/notebooks/gate.py: what they are for)."""
from __future__ import annotations

import copy
import enum
import functools
import itertools
import re
from collections import Counter, OrderedDict, UserDict, defaultdict
from types import MappingProxyType

import numpy as np
import pandas as pd

# --- 1.3 --------------------------------------------------------------------------------------------------------------------


def place_order(order, log):
    log.append({"event": "OrderPlaced", **order})


def catch_up(log, position, work):
    for event in log[position:]:
        work(event)
    return len(log)


def place_a_copy(order, log):
    event = copy.deepcopy(order)
    event["event"] = "OrderPlaced"
    log.append(event)
    return event


def place_field_by_field(order, log):
    event = {"event": "OrderPlaced"}
    for field in order:
        event[field] = order[field]
    log.append(event)


def place_three_fields(order, log):
    return log.append({"event": "OrderPlaced", "id": order["id"], "customer": order["customer"], "amount": order["amount"]})


def place_within(order, log):
    log.append({"event": "OrderPlaced", "order": dict(order)})


def catch_up_counting(log, position, work):
    for event in log[position:]:
        work(event)
        position += 1
    return position


def catch_up_by_index(log, position, work):
    for place in range(position, len(log)):
        work(log[place])
    return len(log)


def catch_up_while(log, position, work):
    while position < len(log):
        work(log[position:][0])
        position = position + 1
    return position


def catch_up_calling_itself(log, position, work):
    if not log[position:]:
        return position
    work(log[position:][0])
    return catch_up_calling_itself(log, position + 1, work)


def catch_up_in_numpy(log, position, work):
    places = [(work(event), np.int64(place))[1] for place, event in enumerate(log[position:], position + 1)]
    return max([np.int64(position), *places])


class Shop:
    def place_order(self, order, log):
        log.append(dict(order, event="OrderPlaced"))

    @staticmethod
    def catch_up(log, position, work):
        new = log[position:]
        list(map(work, new))
        return position + len(new)


def marks_the_order(order, log):
    order["event"] = "OrderPlaced"
    log.append(order)


def places_twice(order, log):
    for _ in ("billing", "stock"):
        log.append({"event": "OrderPlaced", **order})


def forgets_the_amount(order, log):
    log.append({"event": "OrderPlaced", "id": order["id"], "customer": order["customer"]})


def writes_without_its_name(order, log):
    log.append(dict(order))


def writes_a_command(order, log):
    log.append({"event": "placeOrder", **order})


def forgets_to_write(order, log):
    return {"event": "OrderPlaced", **order}


def writes_text(order, log):
    log.append(str({"event": "OrderPlaced", **order}))


def from_the_beginning(log, position, work):
    for event in log[0:]:
        work(event)
    return len(log)


def how_many(log, position, work):
    for event in log[position:]:
        work(event)
    return len(log[position:])


def where_it_began(log, position, work):
    for event in log[position:]:
        work(event)
    return position


def all_at_once(log, position, work):
    work(log[position:])
    return len(log)


def skips_one(log, position, work):
    for event in log[position + 1:]:
        work(event)
    return len(log)


def the_last_position(log, position, work):
    for event in log[position:]:
        work(event)
    return len(log) - 1


def only_the_next(log, position, work):
    for event in log[position:]:
        work(event)
        return position + 1


def without_a_return(log, position, work):
    for event in log[position:]:
        work(event)


def returns_inside_an_if(log, position, work):
    if log[position:]:
        for event in log[position:]:
            work(event)
        return len(log)


def works_on_nothing(log, position, work):
    return len(log)


def backwards(log, position, work):
    for event in reversed(log[position:]):
        work(event)
    return len(log)


# --- 1.5 --------------------------------------------------------------------------------------------------------------------

COMMANDS = ["updateCustomer", "chargeCard", "shipParcel", "sendInvoice", "cancelRide"]
FACTS = ["CustomerUpdated", "CardCharged", "ParcelShipped", "InvoiceSent", "RideCancelled"]


class Fact(enum.StrEnum):
    UPDATED = "CustomerUpdated"
    CHARGED = "CardCharged"
    SHIPPED = "ParcelShipped"
    SENT = "InvoiceSent"
    CANCELLED = "RideCanceled"


def facts():
    return {"updateCustomer": "CustomerUpdated", "chargeCard": "CardCharged", "shipParcel": "ParcelShipped",
            "sendInvoice": "InvoiceSent", "cancelRide": "RideCancelled"}


def by_rule():
    irregular = {"charge": "charged", "send": "sent", "ship": "shipped", "cancel": "cancelled", "update": "updated"}
    found = {}
    for command in COMMANDS:
        verb, thing = re.fullmatch(r"([a-z]+)([A-Z]\w+)", command).groups()
        found[command] = thing + irregular[verb].capitalize()
    return found


def spelled(between, change=str):
    """The facts, written in another way: words with something between them."""
    words = [re.findall("[A-Z][a-z]+", fact) for fact in FACTS]
    return lambda: {command: change(between.join(each)) for command, each in zip(COMMANDS, words)}


def but(**other):
    """The facts, with some of them changed."""
    return lambda: {**facts(), **other}


# --- 1.11 -------------------------------------------------------------------------------------------------------------------

def classify(trace):
    copies = {number: 0 for kind, number in trace if kind == "sent"}
    for kind, number in trace:
        if kind == "stored":
            copies[number] = copies.get(number, 0) + 1
    lost, twice = 0 in copies.values(), max(copies.values(), default=0) > 1
    if lost and twice:
        return "neither"
    if lost:
        return "at most once"
    if twice:
        return "at least once"
    return "both"


def named(lost, twice):
    return {(True, True): "neither", (True, False): "at most once", (False, True): "at least once", (False, False): "both"}[
        bool(lost), bool(twice)]


def by_counter(trace):
    stored = Counter(number for kind, number in trace if kind == "stored")
    sent = {number for kind, number in trace if kind == "sent"}
    return named(any(stored[number] == 0 for number in sent), any(many > 1 for many in stored.values()))


def by_defaultdict(trace):
    steps = defaultdict(list)
    for kind, number in trace:
        steps[kind].append(number)
    return named(set(steps["sent"]) - set(steps["stored"]), len(steps["stored"]) > len(set(steps["stored"])))


def by_list_count(trace):
    copies = [trace.count(("stored", number)) for number in {step[1] for step in trace if step[0] == "sent"}]
    return named(copies.count(0), [many for many in copies if many > 1])


def by_pandas(trace):
    table = pd.DataFrame(list(trace), columns=["kind", "message"])
    sent, stored = (table.loc[table.kind == kind, "message"] for kind in ("sent", "stored"))
    return named((~sent.isin(stored)).any(), stored.duplicated().any())


def by_match(trace):
    sent, stored = set(), []
    for step in trace:
        match step:
            case ("sent", number):
                sent.add(number)
            case ("stored", number):
                stored.append(number)
            case _:
                pass
    least, most = sent <= set(stored), len(stored) == len(set(stored))
    return "both" if least and most else "at least once" if least else "at most once" if most else "neither"


def by_sorting(trace):
    many = {number: len(list(group)) for number, group in itertools.groupby(sorted(n for kind, n in trace if kind == "stored"))}
    return named(any(kind == "sent" and number not in many for kind, number in trace), set(many.values()) - {1})


class Guarantee(enum.StrEnum):
    MOST = "at most once"
    LEAST = "at least once"
    BOTH = "both"
    NEITHER = "neither"


def believes_acknowledgements(trace):
    acknowledged = Counter(number for kind, number in trace if kind == "acknowledged")
    return named(any(not acknowledged[n] for kind, n in trace if kind == "sent"), any(m > 1 for m in acknowledged.values()))


def counts_sends(trace):
    sent = Counter(number for kind, number in trace if kind == "sent")
    stored = {number for kind, number in trace if kind == "stored"}
    return named(set(sent) - stored, any(many > 1 for many in sent.values()))


def compares_totals(trace):
    sent, stored = (len([1 for kind, _ in trace if kind == wanted]) for wanted in ("sent", "stored"))
    return named(stored < sent, stored > sent)


def stops_at_the_first(trace):
    for kind, number in trace:
        if kind == "sent":
            return named(("stored", number) not in trace, trace.count(("stored", number)) > 1)


def knows(*words, otherwise):
    return lambda trace: classify(trace) if classify(trace) in words else otherwise


RIGHT = {
    "1.3": {
        "unpacked, and a loop": (place_order, catch_up),
        "a copy, and counting": (place_a_copy, catch_up_counting),
        "field by field, by index": (place_field_by_field, catch_up_by_index),
        "the fields that the text names, and while": (place_three_fields, catch_up_while),
        "methods": (Shop().place_order, Shop.catch_up),
        "lambdas": (lambda order, log: log.append(order | {"event": "OrderPlaced"}),
                    lambda log, position, work: (list(map(work, log[position:])), len(log))[1]),
        "an OrderedDict, and recursion": (lambda order, log: log.append(OrderedDict(order, event="OrderPlaced")),
                                          catch_up_calling_itself),
        "nobody may change it, and numpy": (lambda order, log: log.append(MappingProxyType({"event": "OrderPlaced", **order})),
                                            catch_up_in_numpy),
        "the order within the event": (place_within, catch_up),
        "a list of two": [place_order, catch_up],
    },
    "1.5": {
        "a dictionary": facts,
        "by rule": by_rule,
        "zip": lambda: dict(zip(COMMANDS, FACTS)),
        "an OrderedDict": lambda: OrderedDict(zip(reversed(COMMANDS), reversed(FACTS))),
        "customerUpdated": lambda: {command: fact[0].lower() + fact[1:] for command, fact in facts().items()},
        "customer_updated": spelled("_", str.lower),
        "CUSTOMER_UPDATED": spelled("_", str.upper),
        "customer-updated": spelled("-", str.lower),
        "Customer Updated": spelled(" "),
        "the customer was updated": spelled(" was ", lambda text: f"the {text.lower()}"),
        "CustomerHasBeenUpdated": spelled("HasBeen"),
        "one l": but(cancelRide="RideCanceled"),
        "an Enum": lambda: dict(zip(COMMANDS, Fact)),
    },
    "1.11": {
        "a dictionary": classify,
        "a Counter": by_counter,
        "a defaultdict": by_defaultdict,
        "list.count": by_list_count,
        "pandas": by_pandas,
        "match": by_match,
        "groups": by_sorting,
        "an Enum": lambda trace: Guarantee(classify(trace)),
        "a partial": functools.partial(lambda how, trace: how(trace), by_counter),
    },
}

WRONG = {
    "1.3": {
        "the order itself, with a mark": ((marks_the_order, catch_up), r"its own|copy"),
        "the order itself": ((lambda order, log: log.append(order), catch_up), r"event|its own|copy"),
        "one for each service": ((places_twice, catch_up), r"one event"),
        "without the amount": ((forgets_the_amount, catch_up), r"amount"),
        "without a name": ((writes_without_its_name, catch_up), r"OrderPlaced"),
        "a command": ((writes_a_command, catch_up), r"OrderPlaced"),
        "returns the event": ((forgets_to_write, catch_up), r"no event|0 events"),
        "a text": ((writes_text, catch_up), r"dictionary"),
        "works from the beginning": ((place_order, from_the_beginning), r"position"),
        "how many, not where": ((place_order, how_many), r"position|end of the log"),
        "the position as it was": ((place_order, where_it_began), r"position|end of the log"),
        "all of them at once": ((place_order, all_at_once), r"(each|every|one) event|one by one|a list"),
        "leaves out the first": ((place_order, skips_one), r"position"),
        "the last position": ((place_order, the_last_position), r"position|end of the log"),
        "the return in the loop": ((place_order, only_the_next), r"left out|`return` was not reached|end of the log"),
        "no return": ((place_order, without_a_return), r"without_a_return returned nothing; is there a `return`"),
        "a return that is not always reached": ((place_order, returns_inside_an_if),
                                                r"returned None.*`return`.* not reached"),
        "does no work": ((place_order, works_on_nothing), r"was not worked on|left out|worked on"),
        "the newest first": ((place_order, backwards), r"order"),
        "nothing of the order": ((lambda order, log: log.append(UserDict(event="OrderPlaced")), catch_up), r"\bid\b"),
    },
    "1.5": {
        "something else happened": (but(updateCustomer="CustomerDeleted"), r"CustomerDeleted"),
        "another command's fact": (lambda: dict(zip(COMMANDS, [FACTS[-1], *FACTS[:-1]])), r"updateCustomer.*RideCancelled"),
        "the command": (lambda: {command: command for command in COMMANDS}, r"command"),
        "the command, as a class is written": (lambda: {c: c[0].upper() + c[1:] for c in COMMANDS}, r"command|thing first"),
        "a noun": (but(updateCustomer="CustomerUpdate"), r"CustomerUpdate\b.*happened|happened.*CustomerUpdate\b"),
        "the future": (but(shipParcel="ParcelWillBeShipped"), r"has happened|will"),
        "the verb first": (but(shipParcel="ShippedParcel"), r"thing first"),
        "it was refused": (but(chargeCard="CardRefused"), r"CardRefused"),
        "it was not done": (but(shipParcel="ParcelNotShipped"), r"ParcelNotShipped"),
        "still at it": (but(sendInvoice="InvoiceSending"), r"happened"),
        "the thing only": (but(sendInvoice="Invoice"), r"happened"),
        "what happened only": (but(sendInvoice="Sent"), r"thing"),
        "one is missing": (lambda: dict(list(facts().items())[:4]), r"cancelRide"),
        "a list": (lambda: FACTS, r"dictionary"),
        "the other way round": (lambda: {fact: command for command, fact in facts().items()}, r"updateCustomer"),
        "nothing in it": (but(sendInvoice=None), r"sendInvoice"),
        "a list of words": (but(sendInvoice=["Invoice", "Sent"]), r"text"),
        "no return": (lambda: None, r"returned nothing|returned None"),
    },
    "1.11": {
        "believes the acknowledgements": (believes_acknowledgements, r"cop(y|ies)"),
        "counts what was sent twice": (counts_sends, r"cop(y|ies)"),
        "compares totals": (compares_totals, r"cop(y|ies)"),
        "does not know both": (knows("neither", "at most once", "at least once", otherwise="at least once"), r"exactly one"),
        "exactly once": (knows("neither", "at most once", "at least once", otherwise="exactly once"), r"\"both\"|'both'"),
        "does not know neither": (knows("both", "at most once", "at least once", otherwise="at most once"), r"2 copies"),
        "mixes up least and most": (lambda trace: {"at most once": "at least once", "at least once": "at most once"}.get(
            classify(trace), classify(trace)), r"cop(y|ies)"),
        "looks at the first message only": (stops_at_the_first, r"cop(y|ies)|returned None"),
        "the counts": (lambda trace: dict(Counter(n for kind, n in trace if kind == "stored")), r"text"),
        "True or False": (lambda trace: classify(trace) == "both", r"text|True or False|is wanted"),
    },
}
