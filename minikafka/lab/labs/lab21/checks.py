"""Checks of elective 21: the addresses that clients are told (21.2), a certificate (21.5), a colleague's settings with several
faults (21.7), and the access lists of three teams (21.9). Owns: the twin, a broker like that of the lab, for all checks of a
process."""
from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import cache
from typing import Any

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab21 import certificates, teams
from minikafka.lab.labs.lab21.attempt import attempt
from minikafka.lab.labs.lab21.office import BROKEN, advertise, advertised, bound, break_again, open_office, unusable
from minikafka.lab.values import shown


def _cut(text: str) -> str:
    """Return a sentence that is not too long for a verdict."""
    return textwrap.shorten(text, 290, placeholder=" …")


@cache
def twin() -> Any:
    """Return the broker of the checks; it starts the first time."""
    return open_office()


# --- 21.2 ------------------------------------------------------------------------------------------------------------

hints("21.2",
      "The client has opened a first connection and was answered. To which address does it open the second one?",
      "A listener tells its own clients where to go. What it says must lead a client, from where the client stands, to the "
      "socket of this very listener: the host and the port.",
      "section 2 of this lab; minikafka/cluster/plan.py, `MoreListener`")


@checks("21.2", seconds=120, matters="\"It works on the server, but not from here\": that is mostly about advertised.listeners.",
        wants="a dictionary: the name of each listener, and the address that clients learn")
def addresses(answer: Callable[[dict[str, str], dict[str, str]], dict[str, str]]) -> str:
    """Check by a client at each of the listeners, after the broker has started with these addresses."""
    cluster = twin()
    said = answer(bound(cluster), advertised(cluster))
    if told := unusable(said):
        raise Wrong(told)
    try:
        advertise(cluster, {name: said[name] for name in BROKEN})
        for name in BROKEN:
            seen = attempt({**cluster.for_confluent(), "bootstrap.servers": cluster.address(1, name)})
            own = cluster.address(1, name)
            if not seen.connected:
                raise Wrong(_cut(f"a client of the listener {name} was sent to {said[name]}: {seen.text}"),
                            [f"the socket of {name} is at {own}"])
            if said[name].rpartition(":")[2] != own.rpartition(":")[2]:
                raise Wrong(f"a client of the listener {name} connects, but by {said[name]}, the socket of another listener: "
                            f"when that one is closed, {name} is closed, too", [f"the socket of {name} is at {own}"])
    finally:
        break_again(cluster)
    return "a client of each listener has written a record and read it"


# --- 21.5 ------------------------------------------------------------------------------------------------------------

hints("21.5",
      "By which addresses do clients come? A client compares the one that it uses with the names in the certificate.",
      "A host name is looked for among the names of the kind DNS, an address of numbers among those of the kind IP. After the "
      "first answer a client comes by the advertised address, whatever it has used first.",
      "section 4 of this lab; minikafka/cluster/closed.py, `_names`")


@checks("21.5", seconds=120,
        matters="Certificates end. Somebody has to renew them before, with every name by which clients come.",
        wants="the days, and a list of names: 30, [...]")
def certified(answer: Callable[[], tuple[int, list[str]]]) -> str:
    """Check by a client at each address, after the twin shows such a certificate."""
    cluster = twin()
    try:
        days, names = certificates.signable(answer())
        certificates.sign(cluster, "OTHER", days, names)
    except certificates.NotSigned as told:
        raise Wrong(str(told)) from None
    address = cluster.address(1, "OTHER")
    for host, kind in (("127.0.0.1", "IP"), ("localhost", "DNS")):
        seen = attempt({**cluster.for_confluent(), "bootstrap.servers": address.replace("127.0.0.1", host)})
        if not seen.connected:
            raise Wrong(_cut(f"a client that comes to {host} first is not content with the certificate: {seen.text}"),
                        [f"it looks for {host} among the names of the kind {kind}; yours: {shown(names, 80)}"])
    return "clients that come by either address have checked the certificate, have written a record and read it"


# --- 21.7 ------------------------------------------------------------------------------------------------------------

hints("21.7",
      "What is the message now? It is about the first thing that fails; what comes behind it has not been tried yet.",
      "The client first opens the port, then TLS begins, then the mechanism is agreed on, then the password is proved. Repair "
      "one after the other, and try again after each.",
      "sections 3 and 5 of this lab; minikafka/cluster/security.py has the names of the settings")


def with_faults(cluster: Any) -> dict[str, Any]:
    """Return the settings of a colleague: no protocol, a mechanism that is not offered, and a password from a file with an end
    of line."""
    right = cluster.for_confluent()
    del right["security.protocol"]
    return {**right, "sasl.mechanism": "PLAIN", "sasl.password": f"{right['sasl.password']}\n"}


KEPT = {"enable.ssl.certificate.verification": ("true", "t", "1"), "ssl.endpoint.identification.algorithm": ("https",),
        "metadata.broker.list": ("",)}  # settings that are as good as absent with these values only
AS_FAR_AS = (  # what a client says, and how far it has come
    ("brokers are down", "as far as the port, where the broker ends the connection: with which protocol does the client come?"),
    ("Failed to create producer", "not as far as the port: the client itself refuses a setting; look at its name and its value"),
    ("Invalid value", "not as far as the port: the client itself does not know this value"),
    ("Unsupported SASL mechanism", "as far as the login; the message names the mechanisms that are offered"),
    ("invalid credentials", "as far as the password; print(repr(...)) of the settings shows what one does not see"),
    ("verify failed", "as far as the certificate: ssl.ca.location was right, keep it"))


@checks("21.7", seconds=120,
        matters="Faults stand behind each other. Whoever changes three settings at once does not know which one it was.",
        wants="the client's settings as a dictionary")
def mended(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    """Check by a client with the settings."""
    cluster = twin()
    wrong = with_faults(cluster)
    said = answer(dict(wrong))
    for name in ("bootstrap.servers", "sasl.username"):
        if said.get(name) != wrong[name]:
            raise Wrong(f"{name} was right: keep what your function gets; you return {shown(said.get(name), 60)}")
    for name in (name for name, right in KEPT.items() if str(said.get(name, right[0])).lower() not in right):
        raise Wrong(f"{name}: {shown(said[name], 40)} takes away what proves that this is the right broker; anybody may sit "
                    "between. Leave it as it was: the address and the certificate are right")
    if str(said.get("sasl.password")).strip() != wrong["sasl.password"].strip():
        raise Wrong("this is another password: repair the one that your function gets; print(repr(...)) shows what one does not "
                    "see")
    seen = attempt(said)
    if not seen.connected:
        raise Wrong(_cut(f"the client says: {seen.text}"), [told for sign, told in AS_FAR_AS if sign in seen.text][:1])
    return "the client has logged in, has written a record and read it"


# --- 21.9 ------------------------------------------------------------------------------------------------------------

hints("21.9",
      "The adversary names one door. Which of your rows opens it, or which right has no row yet?",
      "What no row allows is refused. READ or WRITE lets its owner DESCRIBE, too. PREFIXED means every name that begins so, also "
      "of topics that do not exist yet. DENY wins over every ALLOW, but only over the operation that it names; ALL names all.",
      "minikafka/broker/authorizer/standard_authorizer.py")


@checks("21.9", matters="A right that is missing is reported by its owner within a day. A door that is open is reported by "
                        "nobody.", wants="a list of rows")
def rights(answer: Callable[[], list[Any]]) -> str:
    """Check every door by the broker's own authorizer."""
    rows = answer()
    try:
        bindings = [teams.binding(row) for row in rows]
    except teams.NoRow as error:
        raise Wrong(str(error)) from None
    if found := teams.fault(bindings):
        raise Wrong(found[0], [found[1]])
    tried = list(teams.doors(bindings))
    return f"{len(tried)} doors were tried: {sum(map(teams.may, tried))} are open, all of them to those who need them"
