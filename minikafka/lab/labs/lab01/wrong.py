"""Wrong solutions of lab 1, each by the mistake that it makes."""
from __future__ import annotations

# --- 1.3 ----------------------------------------------------------------------------------------------------------------

def place(order, log):
    log.append({"event": "OrderPlaced", **order})


def catch_up(log, position, work):
    for event in log[position:]:
        work(event)
    return len(log)


def one_for_each_service(order, log):
    for service in ("billing", "stock", "mail"):
        log.append({"for": service, **order})


def the_same_object(order, log):
    log.append(order)


def the_number_only(order, log):
    log.append({"event": "OrderPlaced", "id": order["id"]})


def from_the_beginning(log, position, work):
    for event in log[0:]:
        work(event)
    return len(log)


def how_many(log, position, work):
    return sum(work(event) is None for event in log[position:])


def takes_away(log, position, work):
    while len(log):
        work(log._events.pop(0))
    return 0


def skips_one(log, position, work):
    for event in log[position + 1:]:
        work(event)
    return len(log)


# --- 1.5 ----------------------------------------------------------------------------------------------------------------

NAMES = {"updateCustomer": "CustomerUpdated", "chargeCard": "CardCharged", "shipParcel": "ParcelShipped",
         "sendInvoice": "InvoiceSent", "cancelRide": "RideCancelled"}


def commands_again():
    return {command: command[0].upper() + command[1:] for command in NAMES}


def nouns():
    return NAMES | {"updateCustomer": "CustomerUpdate"}


def requests():
    return NAMES | {"chargeCard": "CardChargeRequested"}


def the_future():
    return NAMES | {"shipParcel": "ParcelWillBeShipped"}


def addressed():
    return NAMES | {"sendInvoice": "MailInvoiceSent"}


# --- 1.11 ---------------------------------------------------------------------------------------------------------------

def said(most, least):
    return {(1, 1): "both", (1, 0): "at most once", (0, 1): "at least once", (0, 0): "neither"}[int(most), int(least)]


def numbers(trace, what):
    return [n for kind, n in trace if kind == what]


def counts_the_sends(trace):
    sent, stored = numbers(trace, "sent"), numbers(trace, "stored")
    return said(len(sent) == len(set(sent)), set(sent) <= set(stored))


def believes_acknowledgements(trace):
    stored = numbers(trace, "stored")
    return said(len(stored) == len(set(stored)), set(numbers(trace, "sent")) <= set(numbers(trace, "acknowledged")))


def compares_totals(trace):
    sent, stored = set(numbers(trace, "sent")), numbers(trace, "stored")
    return said(len(stored) <= len(sent), len(stored) >= len(sent))


def knows_no_neither(trace):
    sent, stored = set(numbers(trace, "sent")), numbers(trace, "stored")
    return said(len(stored) == len(set(stored)), sent <= set(stored) or len(stored) > len(set(stored)))


def knows_no_both(trace):
    sent, stored = set(numbers(trace, "sent")), numbers(trace, "stored")
    twice = len(stored) > len(set(stored))
    return said(not twice and not sent <= set(stored), sent <= set(stored))


WRONG = {
    "1.3": {
        "writes one event for each service": (one_for_each_service, catch_up),
        "writes the order itself, not a copy": (the_same_object, catch_up),
        "writes the order's number only": (the_number_only, catch_up),
        "begins at the start each time": (place, from_the_beginning),
        "returns how many, not the position": (place, how_many),
        "takes away what it has read": (place, takes_away),
        "skips one event each time": (place, skips_one),
    },
    "1.5": {
        "names the command again": commands_again,
        "takes a noun for a fact": nouns,
        "tells what somebody wants": requests,
        "tells what will be": the_future,
        "addresses a reader": addressed,
    },
    "1.11": {
        "counts how often it was sent": counts_the_sends,
        "believes the acknowledgements": believes_acknowledgements,
        "compares totals": compares_totals,
        "does not know `neither`": knows_no_neither,
        "does not know `both`": knows_no_both,
    },
}
