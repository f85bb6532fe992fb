"""Wrong answers to the exercises of lab 1, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import itertools
from collections import Counter, UserDict

from solutions.right.lab01 import (
    CALLBACK,
    COMMANDS,
    FACTS,
    WAITS,
    but,
    catch_up,
    classify,
    facts,
    named,
    place_order,
    pull,
)

# --- 1.2 --------------------------------------------------------------------------------------------------------------


def place(order, log):
    log.append({"event": "OrderPlaced", **order})


def one_for_each_service(order, log):
    for service in ("billing", "stock", "mail"):
        log.append({"for": service, **order})


def the_number_only(order, log):
    log.append({"event": "OrderPlaced", "id": order["id"]})


def takes_away(log, position, work):
    while len(log):
        work(log._events.pop(0))
    return 0


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


# --- 1.4 --------------------------------------------------------------------------------------------------------------


NAMES = {"updateCustomer": "CustomerUpdated", "chargeCard": "CardCharged", "shipParcel": "ParcelShipped",
         "sendInvoice": "InvoiceSent", "cancelRide": "RideCancelled"}


def requests():
    return NAMES | {"chargeCard": "CardChargeRequested"}


def addressed():
    return NAMES | {"sendInvoice": "MailInvoiceSent"}


# --- 1.5 --------------------------------------------------------------------------------------------------------------


def polls_once(consumer, work):
    for batch in consumer.poll(timeout_ms=2000).values():
        for record in batch:
            work(record)
    consumer.commit()


def never_commits(consumer, work):
    while batches := consumer.poll(timeout_ms=1000):
        for record in itertools.chain(*batches.values()):
            work(record)


def works_on_batches(consumer, work):
    while batches := consumer.poll(timeout_ms=1000):
        for batch in batches.values():
            work(batch)
        consumer.commit()


def works_on_places(consumer, work):
    for place in consumer.poll(timeout_ms=2000):
        work(place)
    consumer.commit()


def from_the_beginning_again(consumer, work):
    consumer.seek_to_beginning()
    pull(consumer, work)


def forgets_the_work(consumer, work):
    while consumer.poll(timeout_ms=1000):
        consumer.commit()


def the_first_of_each_batch(consumer, work):
    while batches := consumer.poll(timeout_ms=1000):
        for batch in batches.values():
            work(batch[0])
        consumer.commit()


def only_at_the_beginning(consumer, work):
    consumer.commit()
    never_commits(consumer, work)


def commits_what_it_has_not_done(consumer, work):
    "A death in the middle of a batch loses the rest of it."
    while batches := consumer.poll(timeout_ms=2000):
        consumer.commit()
        for batch in batches.values():
            for record in batch:
                work(record)


# --- 1.8 -------------------------------------------------------------------------------------------------------------


def said(most, least):
    return {(1, 1): "both", (1, 0): "at most once", (0, 1): "at least once", (0, 0): "neither"}[int(most), int(least)]


def numbers(trace, what):
    return [n for kind, n in trace if kind == what]


def knows_no_neither(trace):
    sent, stored = set(numbers(trace, "sent")), numbers(trace, "stored")
    return said(len(stored) == len(set(stored)), sent <= set(stored) or len(stored) > len(set(stored)))


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


# --- 1.9 -------------------------------------------------------------------------------------------------------------------


def instead(old, new, program=WAITS):
    assert old in program
    return program.replace(old, new)


IN_ORDER = """\
    producer.send(topic, order.encode()).get(timeout=60)
    print(order)
"""
WHATEVER_HAPPENS = """\
    try:
        producer.send(topic, order.encode()).get(timeout=0.2)
    except Exception:
        pass
    print(order)
"""
LEFT_OUT = """\
    try:
        producer.send(topic, order.encode()).get(timeout=60)
        print(order)
    except Exception:
        pass
"""
ONCE = instead('acks="all"', 'acks="all", retries=0, enable_idempotence=False')


WRONG = {
    "1.2": {
        "writes one event for each service": ((one_for_each_service, catch_up), ""),
        "writes the order's number only": ((the_number_only, catch_up), ""),
        "takes away what it has read": ((place, takes_away), ""),
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
    "1.4": {
        "tells what somebody wants": (requests, ""),
        "addresses a reader": (addressed, ""),
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
    "1.5": {
        "one poll": (polls_once, r"worked on 10 records; it left out offset 10"),
        "no commit": (never_commits, r"committed offset is None"),
        "the batch": (works_on_batches, r"one record at a time; it got .*list"),
        "the partition": (works_on_places, r"one record at a time"),
        "from the beginning": (from_the_beginning_again, r"the next one.*done already: offset 0"),
        "no work": (forgets_the_work, r"left out offset 0"),
        "the first of a batch": (the_first_of_each_batch, r"left out offset 1\b"),
        "a commit before the work": (only_at_the_beginning, r"committed offset is 0"),
        "a commit before each batch": (commits_what_it_has_not_done, r"record at offset 0, offset 10 was committed already"),
    },
    "1.8": {
        "does not know `neither`": (knows_no_neither, ""),
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
    "1.9": {
        "asks for no answer": (instead('acks="all"', "acks=0, enable_idempotence=False"), r"printed and is not in the log"),
        "is content with the leader": (instead('acks="all"', "acks=1, enable_idempotence=False"), r"printed and is not in the log"),
        "prints whatever happens": (instead(IN_ORDER, WHATEVER_HAPPENS), r"No answer can have come"),
        "leaves out what fails": (instead(IN_ORDER, LEFT_OUT, ONCE), r"came in and is not in the log"),
        "prints before the answer": (instead(".get(timeout=60)", ""), r"No answer can have come"),
        "does not flush": (instead("producer.flush()\n", "", CALLBACK), r"came in and is not in the log"),
        "never ends": (instead("producer.close()\n", "while True:\n    pass\n"), r"still running"),
        "reads all input first": (instead("in sys.stdin:", "in sys.stdin.readlines():"), r"none was printed"),
        "ends with an error": (instead("producer.close()", "1 / 0"), r"exit code 1"),
        "prints more than orders": (instead("print(order)", "print('stored', order)"), r"printed 'stored order-0'"),
        "sends nothing": ("import sys\nsys.stdin.read()\n", r"came in and is not in the log"),
        "is no Python": (instead("for line in sys.stdin:", "for line in sys.stdin"), r"line 6, is no Python: expected ':'"),
    },
}
