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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from minikafka.lab.values import shown

CERTIFIED = "OLD", "OTHER"
BROKEN = {"OLD": (-1, ["IP:127.0.0.1", "DNS:localhost"]), "OTHER": (90, ["DNS:kafka.example"])}
RIGHT = 90, ["IP:127.0.0.1", "DNS:localhost"]
NAME = re.compile(r"(DNS|IP):[A-Za-z0-9.*:-]{1,100}")
DAYS = 90  # at most
MISSING = "the program openssl is not here, so there is nothing to see; `apt install openssl` brings it"


def unsigned(days: Any, names: Any) -> str:
    """Return why no such certificate is signed, "" if one can be."""
    if not isinstance(days, int) or isinstance(days, bool) or not 1 <= days <= DAYS:
        return f"a certificate is signed for 1 to {DAYS} days; you return {shown(days, 60)}"
    if not isinstance(names, (list, tuple)) or not names:
        return f'a list of names is wanted, such as ["DNS:kafka.example", "IP:10.0.0.7"]; you return {shown(names, 60)}'
    for name in names:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            return f"a name has its kind before it, DNS:kafka.example or IP:10.0.0.7; you return {shown(name, 60)}"
    return ""


def file_of(cluster: Any, listener: str) -> Path:
    return Path(cluster.folder) / "security" / f"{listener.lower()}.pem"


def settings(cluster: Any) -> dict[str, str]:
    """Return the lines of the broker's file by which each listener has a certificate of its own."""
    return {f"listener.name.{name.lower()}.ssl.keystore.{what}": value for name in CERTIFIED
            for what, value in (("type", "PEM"), ("location", str(file_of(cluster, name))))}


def sign(cluster: Any, listener: str, days: int, names: Sequence[str]) -> str:
    """Put a new certificate into the file of a listener; return what openssl has against it, "" if nothing."""
    folder = file_of(cluster, listener).parent
    (folder / "names").write_text(f"subjectAltName={','.join(names)}\n")
    made = (f"req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=broker -keyout {listener}.key -out {listener}.csr",
            f"x509 -req -days {days} -in {listener}.csr -CA ca.pem -CAkey ca.key -set_serial {secrets.randbits(63)} "
            f"-extfile names -out {listener}.crt")
    for command in made:
        done = subprocess.run(["openssl", *command.split()], cwd=folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        if done.returncode:
            return f"openssl signs no certificate for {shown(list(names), 80)}"
    parts = [folder / f"{listener}.{end}" for end in ("key", "crt")]
    new = folder / f"{listener}.new"
    new.touch(mode=0o600)
    new.write_text("".join(part.read_text() for part in parts))
    new.rename(file_of(cluster, listener))
    return ""


def renew(cluster: Any, certificate: Callable[[], tuple[int, list[str]]]) -> None:
    """Let both listeners show what a student's function says; what is right as long as it says nothing that can be used."""
    try:
        days, names = certificate()
    except Exception:  # the student's: todo(), or whatever; the check says what is wrong with it
        days, names = 0, []
    if unsigned(days, names) or any(sign(cluster, listener, days, names) for listener in CERTIFIED):
        print("your function is not there yet: this is our certificate")
        for listener in CERTIFIED:
            sign(cluster, listener, *RIGHT)
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
