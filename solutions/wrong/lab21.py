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
        "every address that is bound": (lambda bound, advertised: dict.fromkeys(bound, "0.0.0.0:9092"),
                                        r"OFFICE: 0\.0\.0\.0 is for listeners"),
        "one socket for all": (lambda bound, advertised: dict.fromkeys(bound, bound["OFFICE"]),
                               r"(?s)NAMED connects, but by .*the socket of NAMED is at"),
        "each the next one's": (lambda bound, advertised: dict(zip(bound, [*bound.values()][1:] + [*bound.values()][:1])),
                                r"OFFICE connects, but by"),
        "the addresses of another broker": (lambda bound, advertised: dict.fromkeys(bound, "127.0.0.1:9"),
                                            r"OFFICE was sent to 127\.0\.0\.1:9: .*refused"),
        "with the protocol": (lambda bound, advertised: {name: f"SASL_SSL://{bound[name]}" for name in bound}, r"a host and a port"),
        "one is forgotten": (lambda bound, advertised: {"OFFICE": bound["OFFICE"]}, r"an address is wanted for each"),
        "a host without a port": (lambda bound, advertised: dict.fromkeys(bound, "127.0.0.1"), r"a text such as"),
        "nothing": (lambda bound, advertised: None, r"returned None"),
    },
    "21.5": {
        "the number as a name": (lambda: (90, ["DNS:localhost", "DNS:127.0.0.1"]), r"(?s)127\.0\.0\.1 first .*verify failed.*kind IP"),
        "the name alone": (lambda: (90, ["DNS:localhost"]), r"comes to 127\.0\.0\.1 "),
        "the number alone": (lambda: (90, ["IP:127.0.0.1"]), r"(?s)comes to localhost.*the kind DNS"),
        "a star": (lambda: (90, ["DNS:*", "IP:127.0.0.1"]), r"DNS:\* would be good for every machine"),
        "a name that is too wide": (lambda: (90, ["DNS:localhost", "IP:127.0.0.1", "DNS:*.com"]), r"would be good for every machine"),
        "as openssl prints it": (lambda: (90, ["DNS:localhost", "IP Address:127.0.0.1"]), r"its kind before it, in capital"),
        "with the port": (lambda: (90, ["DNS:localhost:9092", "IP:127.0.0.1"]), r"without a port"),
        "a part of a day": (lambda: (0.5, ["DNS:localhost", "IP:127.0.0.1"]), r"a whole number from 1 to 90"),
        "the names first": (lambda: (["DNS:localhost", "IP:127.0.0.1"], 90), r"the days come first"),
        "a text for the names": (lambda: (90, "DNS:localhost, IP:127.0.0.1"), r"a list of names is wanted"),
        "for ever": (lambda: (3650, ["DNS:localhost", "IP:127.0.0.1"]), r"from 1 to 90"),
        "yesterday": (lambda: (0, ["DNS:localhost", "IP:127.0.0.1"]), r"from 1 to 90"),
        "names without their kind": (lambda: (90, ["localhost", "127.0.0.1"]), r"its kind before it"),
        "an address that is none": (lambda: (90, ["IP:localhost"]), r"a host name has the kind DNS"),
        "the names alone": (lambda: ["DNS:localhost", "IP:127.0.0.1"], r"the days come first"),
        "nothing": (lambda: None, r"returned None"),
    },
    "21.7": {
        "as it was": (dict, r"(?s)all brokers are down.*as far as the port"),
        "the protocol alone": (lambda settings: {**settings, "security.protocol": "SASL_SSL"},
                               r"(?s)Unsupported SASL mechanism.*as far as the login"),
        "the end of line stays": (lambda settings: mended(settings, **{"sasl.password": settings["sasl.password"]}),
                                  r"(?s)invalid credentials.*as far as the password"),
        "a login without TLS": (lambda settings: mended(settings, **{"security.protocol": "SASL_PLAINTEXT"}), r"brokers are down"),
        "TLS without a login": (lambda settings: mended(settings, **{"security.protocol": "SSL"}), r"the client says"),
        "no verification": (lambda settings: mended(settings, **{"enable.ssl.certificate.verification": False}),
                            r"verification: False takes away"),
        "no look at the name": (lambda settings: mended(settings, **{"ssl.endpoint.identification.algorithm": "none"}),
                                r"algorithm: 'none' takes away"),
        "by another door": (lambda settings: mended(settings, **{"metadata.broker.list": "127.0.0.1:9"}), r"metadata\.broker\.list"),
        "another password": (lambda settings: mended(settings, **{"sasl.password": "12345"}), r"this is another password"),
        "a mechanism that nobody knows": (lambda settings: mended(settings, **{"sasl.mechanism": "SCRAM"}),
                                          r"not as far as the port"),
        "a protocol that nobody knows": (lambda settings: mended(settings, **{"security.protocol": "SASL-SSL"}),
                                         r"does not know this value"),
        "without the authority": (lambda settings: {name: value for name, value in mended(settings).items()
                                                    if name != "ssl.ca.location"}, r"ssl\.ca\.location was right"),
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
        "a star in a name": (lambda: instead(4, pattern="LITERAL", name="payments-*"), r"(?s)payments-cash.*is a letter like others"),
        "a star behind a prefix": (lambda: instead(3, name="pricing-*"), r"(?s)pricing-day.*is a letter like others"),
        "all that exist today": (lambda: [*ROWS[:4], *[("ALLOW", "User:audit", "READ", "TOPIC", "LITERAL", name)
                                                       for name in ("payments-cash", "payments-new")], ROWS[5]],
                                 r"may not READ the topic payments-new\w+\s+no row"),
        "a prefix, and a denial for each that exists": (
            lambda: [*instead(0, pattern="PREFIXED"), ("DENY", "User:dispatch", "ALL", "TOPIC", "LITERAL", "trips-old")],
            r"may WRITE the topic tripsnew"),
        "everybody, and a denial for each that is known": (
            lambda: [*instead(0, principal="User:*"), *[("DENY", user, what, "TOPIC", "LITERAL", "trips") for user, what in (
                ("User:pricing", "WRITE"), ("User:audit", "ALL"), ("User:visitor", "ALL"), ("User:ANONYMOUS", "ALL"))]],
            r"User:new\w+ may WRITE the topic trips"),
        "a prefix without its hyphen": (lambda: instead(4, name="payments"), r"may READ the topic payments"),
        "a stranger": (lambda: [*ROWS, ("ALLOW", "User:mallory", "READ", "TOPIC", "LITERAL", "payments-cash")], r"User:mallory may READ"),
        "a topic more": (lambda: [*ROWS, ("ALLOW", "User:audit", "READ", "TOPIC", "LITERAL", "salaries")], r"READ the topic salaries"),
        "transactions": (lambda: [*ROWS, ("ALLOW", "User:pricing", "ALL", "TRANSACTIONAL_ID", "LITERAL", "*")],
                         r"may WRITE the transactional id"),
        "what an idempotent producer once needed": (
            lambda: [*ROWS, ("ALLOW", "User:dispatch", "IDEMPOTENT_WRITE", "CLUSTER", "LITERAL", "kafka-cluster")],
            r"may IDEMPOTENT_WRITE the cluster"),
        "its groups, whole": (lambda: instead(3, operation="ALL"), r"may DELETE the group pricing-day"),
        "a denial with a prefix": (lambda: instead(6, pattern="PREFIXED"), r"may not READ the topic payments-cardsnew"),
        "no name": (lambda: instead(6, name=""), r"a row has a name"),
        "one row": (lambda: ROWS[0], r"a list of rows is wanted"),
        "another order of fields": (lambda: [(row[0], row[2], row[1], *row[3:]) for row in ROWS], r"The fields are permission, principal"),
        "a principal without its kind": (lambda: with_changes("User:audit", "audit"), r"has its kind before its name"),
        "words of the command line": (lambda: with_changes("WRITE", "Write"), r"is no operation"),
        "five fields": (lambda: [row[:5] for row in ROWS], r"of six texts each"),
        "a text": (lambda: "ALLOW", r"list"),
    },
}
