"""Right answers to the exercises of elective 21, of different make."""
from __future__ import annotations

from pathlib import Path
from types import MappingProxyType


def by_port(bound, advertised):
    return {name: f"localhost:{bound[name].rpartition(':')[2]}" for name in advertised}


def in_place(bound, advertised):
    for name, address in bound.items():
        advertised[name] = address
    return advertised


def one_by_one(bound, advertised):
    office = advertised["OFFICE"].replace("127.0.0.2", "127.0.0.1")
    named = advertised["NAMED"].replace("kafka.invalid", "localhost")
    return {"OFFICE": office, "NAMED": named, "DESK": bound["DESK"]}


def mended(settings, **more):
    return {**settings, "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.password": settings["sasl.password"].strip(), **more}


def mended_in_place(settings):
    settings["security.protocol"] = "sasl_ssl"
    settings["sasl.mechanism"] = "SCRAM-SHA-512"
    settings["sasl.password"] = settings["sasl.password"][:-1]
    return settings


def by_another_name(settings):
    del settings["sasl.mechanism"]
    return mended(settings, **{"sasl.mechanisms": "SCRAM-SHA-512"})


def without_a_mechanism(settings):
    found = mended(settings)
    found.pop("sasl.mechanism")
    return found | {"sasl.mechanisms": "SCRAM-SHA-512"}


def with_the_authority(settings):
    file = Path(settings.pop("ssl.ca.location"))
    return mended(settings, **{"ssl.ca.pem": file.read_text()})


ROWS = [
    ("ALLOW", "User:dispatch", "WRITE", "TOPIC", "LITERAL", "trips"),
    ("ALLOW", "User:pricing", "READ", "TOPIC", "LITERAL", "trips"),
    ("ALLOW", "User:pricing", "WRITE", "TOPIC", "LITERAL", "prices"),
    ("ALLOW", "User:pricing", "READ", "GROUP", "PREFIXED", "pricing-"),
    ("ALLOW", "User:audit", "READ", "TOPIC", "PREFIXED", "payments-"),
    ("ALLOW", "User:audit", "READ", "GROUP", "LITERAL", "audit"),
    ("DENY", "User:audit", "ALL", "TOPIC", "LITERAL", "payments-cards"),
]
RIGHT = {
    "21.2": {
        "what is bound": lambda bound, advertised: dict(bound),
        "the name of this machine": by_port,
        "in place": in_place,
        "one by one": one_by_one,
        "a host name in capital letters": lambda bound, advertised: {name: f"LOCALHOST:{address.rpartition(':')[2]}"
                                                                     for name, address in bound.items()},
        "a mapping": lambda bound, advertised: MappingProxyType(bound),
        "a comprehension": lambda bound, advertised: {name: bound[name] for name in sorted(advertised)},
    },
    "21.5": {
        "both names": lambda: (90, ["DNS:localhost", "IP:127.0.0.1"]),
        "a pair of a tuple": lambda: (30, ("IP:127.0.0.1", "DNS:localhost")),
        "as a list": lambda: [1, ["IP:127.0.0.1", "DNS:localhost"]],
        "names that stand ready": lambda: (60, ["DNS:kafka.example", "DNS:localhost", "IP:127.0.0.1", "IP:10.0.0.7"]),
        "a set of names": lambda: (90, {"DNS:localhost", "IP:127.0.0.1"}),
        "names one by one": lambda: (90, (f"{kind}:{host}" for kind, host in (("DNS", "LOCALHOST"), ("IP", "127.0.0.1")))),
        "the other loopback, too": lambda: (90, ["DNS:localhost", "IP:127.0.0.1", "IP:::1"]),
        "made of the addresses": lambda: (90, [f"{'IP' if host[0].isdigit() else 'DNS'}:{host}"
                                               for host in ("127.0.0.1", "localhost")]),
    },
    "21.7": {
        "all at once": mended,
        "in place": mended_in_place,
        "by the other name of the setting": by_another_name,
        "without the old name": without_a_mechanism,
        "the other SCRAM": lambda settings: mended(settings, **{"sasl.mechanism": "SCRAM-SHA-256"}),
        "what is so anyhow": lambda settings: mended(settings, **{"enable.ssl.certificate.verification": "True",
                                                                  "ssl.endpoint.identification.algorithm": "https"}),
        "the authority as a text": with_the_authority,
        "one more setting": lambda settings: mended(settings, **{"client.id": "ada"}),
    },
    "21.9": {
        "the table": lambda: ROWS,
        "the other way round": lambda: ROWS[::-1],
        "as lists": lambda: [list(row) for row in ROWS],
        "a tuple": lambda: tuple(ROWS),
        "row by row": lambda: iter(ROWS),
        "a set": lambda: set(ROWS),
        "denied to everybody": lambda: [*ROWS[:-1], ("DENY", "User:*", "ALL", "TOPIC", "LITERAL", "payments-cards")],
        "DESCRIBE by its name": lambda: [*ROWS, *[(*row[:2], "DESCRIBE", *row[3:]) for row in ROWS[:-1]]],
        "two denials": lambda: [*ROWS[:-1], ("DENY", "User:audit", "READ", "TOPIC", "LITERAL", "payments-cards"),
                                ("DENY", "User:audit", "DESCRIBE", "TOPIC", "LITERAL", "payments-cards")],
        "a denial too many": lambda: [*ROWS, ("DENY", "User:audit", "WRITE", "TOPIC", "PREFIXED", "payments-cards"),
                                      ("DENY", "User:visitor", "ALL", "TOPIC", "LITERAL", "*")],
        "what is allowed anyhow": lambda: [*ROWS, ("ALLOW", "User:pricing", "DESCRIBE", "GROUP", "PREFIXED", "pricing-")],
    },
}
