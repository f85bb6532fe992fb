"""The certificates of two listeners, signed by the cluster's own authority, and what `openssl s_client` says of them.

    sign(cluster, "OLD", -1, ["IP:127.0.0.1"])        a certificate that ended yesterday
    look(cluster, "OLD")                              what a client meets there, checked as a client does
    renew(cluster, certificate)                       both listeners show what a student's function says

Our broker shows a new file to whoever connects next; Apache Kafka is started again. Owns: the files of these listeners.
Invariants: none of its own.
"""
from __future__ import annotations

import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_address
from operator import index
from pathlib import Path
from typing import Any

from minikafka.lab.values import shown

CERTIFIED = "OLD", "OTHER"
BROKEN = {"OLD": (-1, ["IP:127.0.0.1", "DNS:localhost"]), "OTHER": (90, ["DNS:kafka.example"])}
RIGHT = 90, ["IP:127.0.0.1", "DNS:localhost"]
NAME = re.compile(r"(DNS|IP):(\S{1,100})")
HOST = re.compile(r"[A-Za-z0-9.-]+")
DAYS = 90  # at most
EXAMPLE = '["DNS:kafka.example", "IP:10.0.0.7"]'
MISSING = "the program openssl is not here, so there is nothing to see; `apt install openssl` brings it"


class NotSigned(ValueError):
    """An error raised for a certificate that is not signed, with a sentence for the student."""


def signable(said: Any) -> tuple[int, list[str]]:
    """Return the days and the names of a certificate that can be signed. Raises NotSigned."""
    if not isinstance(said, Sequence) or isinstance(said, str) or len(said) != 2:
        raise NotSigned(f"two things are wanted, the days and a list of names; you return {shown(said, 80)}")
    days, names = said
    if not hasattr(days, "__index__") or isinstance(days, bool) or not 1 <= index(days) <= DAYS:
        raise NotSigned(f"the days come first, a whole number from 1 to {DAYS}; you return {shown(days, 60)}")
    names = [] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    if not names:
        raise NotSigned(f"behind the days a list of names is wanted, such as {EXAMPLE}; you return {shown(said[1], 60)}")
    if told := next(filter(None, map(_no_name, names)), ""):
        raise NotSigned(told)
    return index(days), names


def _no_name(name: Any) -> str:
    """Return why this is no name that the authority signs, "" if it is one."""
    found, returned = NAME.fullmatch(name) if isinstance(name, str) else None, f"; you return {shown(name, 60)}"
    if found is None:
        return f"a name has its kind before it, in capital letters: DNS:kafka.example or IP:10.0.0.7{returned}"
    kind, host = found.groups()
    if "*" in host:
        return f"{name} would be good for every machine whose name fits: say only the names by which clients come"
    if kind == "DNS":
        return "" if HOST.fullmatch(host) else f"behind DNS: stands the name of a host, without a port{returned}"
    try:
        ip_address(host)
    except ValueError:
        return f"behind IP: stands an address of numbers, without a port; a host name has the kind DNS{returned}"
    return ""


def file_of(cluster: Any, listener: str) -> Path:
    return Path(cluster.folder) / "security" / f"{listener.lower()}.pem"


def settings(cluster: Any) -> dict[str, str]:
    """Return the lines of the broker's file by which each listener has a certificate of its own."""
    return {f"listener.name.{name.lower()}.ssl.keystore.{what}": value for name in CERTIFIED
            for what, value in (("type", "PEM"), ("location", str(file_of(cluster, name))))}


def sign(cluster: Any, listener: str, days: int, names: Sequence[str]) -> None:
    """Put a new certificate into the file of a listener. Raises NotSigned where openssl signs none."""
    folder = file_of(cluster, listener).parent
    (folder / "names").write_text(f"subjectAltName={','.join(names)}\n")
    made = (f"req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=broker -keyout {listener}.key -out {listener}.csr",
            f"x509 -req -days {days} -in {listener}.csr -CA ca.pem -CAkey ca.key -set_serial {secrets.randbits(63)} "
            f"-extfile names -out {listener}.crt")
    for command in made:
        done = subprocess.run(["openssl", *command.split()], cwd=folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        if done.returncode:
            raise NotSigned(f"openssl signs no certificate for {shown(list(names), 80)}: one of them is no name of a host")
    parts = [folder / f"{listener}.{end}" for end in ("key", "crt")]
    new = folder / f"{listener}.new"
    new.touch(mode=0o600)
    new.write_text("".join(part.read_text() for part in parts))
    new.rename(file_of(cluster, listener))


def renew(cluster: Any, certificate: Callable[[], tuple[int, list[str]]]) -> None:
    """Let both listeners show what a student's function says; what is right as long as it says nothing that can be used."""
    try:
        days, names = signable(certificate())
    except Exception:  # the student's: todo(), or whatever; the check says what is wrong with it
        print("your function returns nothing that can be used (the check says why): this is our certificate")
        days, names = RIGHT
    for listener in CERTIFIED:
        sign(cluster, listener, days, names)
    if cluster.engine == "apache":
        cluster.restart(1)


def look(cluster: Any, listener: str) -> None:
    """Print what openssl says of the certificate that a listener shows, to a client that comes to 127.0.0.1."""
    if shutil.which("openssl") is None:
        print(MISSING)
        return
    folder, address = file_of(cluster, listener).parent, cluster.address(1, listener)
    command = f"openssl s_client -connect {address} -CAfile ca.pem -verify_ip 127.0.0.1"
    print(f"$ {command}")
    seen = _run(command, folder)
    read = _run("openssl x509 -noout -enddate -ext subjectAltName", folder, seen)
    for line in (*read.splitlines(), *re.findall(r"Verify return code: .*", seen)[:1]):
        if line.strip() and "Alternative" not in line:
            print(f"    {line.strip()}")


def _run(command: str, folder: Path, given: str = "") -> str:
    return subprocess.run(command.split(), cwd=folder, input=given, capture_output=True, text=True, timeout=20).stdout
