"""Wrong answers to the exercises of elective 21, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

from solutions.right.lab21 import ROWS, mended


def hosts_only(bound, advertised):
    return {name: f"127.0.0.1:{address.rpartition(':')[2]}" for name, address in advertised.items()}


def with_changes(old, new):
    return [tuple(new if field == old else field for field in row) for row in ROWS]


def instead(number, **changed):
    fields = ("permission", "principal", "operation", "kind", "pattern", "name")
    row = dict(zip(fields, ROWS[number])) | changed
    return [*ROWS[:number], tuple(row.values()), *ROWS[number + 1:]]


WRONG = {
    "21.2": {
        "as it was": (lambda bound, advertised: advertised, r"OFFICE was sent to 127\.0\.0\.2.*refused"),
        "the host alone": (hosts_only, r"DESK was sent to .*SSL"),
        "every address that is bound": (lambda bound, advertised: dict.fromkeys(bound, "0.0.0.0:9092"), r"nonroutable"),
        "one is forgotten": (lambda bound, advertised: {"OFFICE": bound["OFFICE"]}, r"an address is wanted for each"),
        "a host without a port": (lambda bound, advertised: dict.fromkeys(bound, "127.0.0.1"), r"a text such as"),
        "nothing": (lambda bound, advertised: None, r"returned None"),
    },
    "21.5": {
        "the number as a name": (lambda: (90, ["DNS:localhost", "DNS:127.0.0.1"]), r"comes to 127\.0\.0\.1 .*verify failed"),
        "the name alone": (lambda: (90, ["DNS:localhost"]), r"comes to 127\.0\.0\.1 "),
        "the number alone": (lambda: (90, ["IP:127.0.0.1"]), r"comes to localhost"),
        "a star": (lambda: (90, ["DNS:*", "IP:127.0.0.1"]), r"comes to localhost"),
        "for ever": (lambda: (3650, ["DNS:localhost", "IP:127.0.0.1"]), r"1 to 90 days"),
        "yesterday": (lambda: (0, ["DNS:localhost", "IP:127.0.0.1"]), r"1 to 90 days"),
        "names without their kind": (lambda: (90, ["localhost", "127.0.0.1"]), r"its kind before it"),
        "an address that is none": (lambda: (90, ["IP:localhost"]), r"signs no certificate"),
        "the names alone": (lambda: ["DNS:localhost", "IP:127.0.0.1"], r"1 to 90 days"),
        "nothing": (lambda: None, r"returned None"),
    },
    "21.7": {
        "as it was": (dict, r"all brokers are down"),
        "the protocol alone": (lambda settings: {**settings, "security.protocol": "SASL_SSL"}, r"Unsupported SASL mechanism"),
        "the end of line stays": (lambda settings: mended(settings, **{"sasl.password": settings["sasl.password"]}),
                                  r"invalid credentials"),
        "a login without TLS": (lambda settings: mended(settings, **{"security.protocol": "SASL_PLAINTEXT"}), r"brokers are down"),
        "TLS without a login": (lambda settings: mended(settings, **{"security.protocol": "SSL"}), r"the client says"),
        "no verification": (lambda settings: mended(settings, **{"enable.ssl.certificate.verification": False}),
                            r"keep it, the certificate is right"),
        "another user": (lambda settings: mended(settings, **{"sasl.username": "admin"}), r"sasl\.username was right"),
        "a name of no setting": (lambda settings: mended(settings, mechanism="SCRAM"), r"No such configuration property"),
        "nothing": (lambda settings: None, r"returned None"),
    },
    "21.9": {
        "nothing yet": (list, r"a right is missing: User:dispatch may not WRITE the topic trips"),
        "everything to everybody": (lambda: [("ALLOW", "User:*", "ALL", "TOPIC", "LITERAL", "*")],
                                    r"an open door: User:dispatch may READ the topic trips"),
        "ALL in place of WRITE": (lambda: with_changes("WRITE", "ALL"), r"an open door: User:dispatch may READ the topic trips"),
        "a prefix for trips": (lambda: instead(1, pattern="PREFIXED"), r"an open door: User:pricing may READ the topic trips-old"),
        "one group only": (lambda: instead(3, pattern="LITERAL", name="pricing-day"), r"may not READ the group pricing-night"),
        "no group": (lambda: ROWS[:3] + ROWS[4:], r"may not READ the group pricing-day"),
        "the prefix without its end": (lambda: instead(4, name="pay"), r"may READ the topic payroll"),
        "today's topics only": (lambda: instead(4, pattern="LITERAL", name="payments-cash"),
                                r"may not READ the topic payments-new"),
        "no denial": (lambda: ROWS[:-1], r"may READ the topic payments-cards"),
        "only READ is denied": (lambda: instead(6, operation="READ"), r"may DESCRIBE the topic payments-cards"),
        "DENY with a prefix that is too short": (lambda: instead(6, pattern="PREFIXED", name="payments-"),
                                                 r"a right is missing: User:audit"),
        "a star in a name": (lambda: instead(4, pattern="LITERAL", name="payments-*"), r"may not READ the topic payments-cash"),
        "a principal without its kind": (lambda: with_changes("User:audit", "audit"), r"has its kind before its name"),
        "words of the command line": (lambda: with_changes("WRITE", "Write"), r"is no operation"),
        "five fields": (lambda: [row[:5] for row in ROWS], r"six texts are wanted"),
        "a text": (lambda: "ALLOW", r"list"),
    },
}
