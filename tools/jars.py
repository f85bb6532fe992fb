"""Makes minikafka/machine/jars.tsv, the list of all jars with size and SHA-256, from the versions in minikafka/machine/jars.py.

Run by hand after a version there was changed: `.venv/bin/python tools/jars.py`. Needs a network and a Java (the
environment brings one): what a Kafka depends on is resolved by Ivy, which PySpark carries, and every file is fetched
once and compared with the SHA-1 that the repository publishes. Whoever only wants the jars does not need this:
`make apache`.

Invariants
  I-LIST-1  the list names paths, sizes and checksums only: no repository, so that any mirror can serve
  two runs over the same versions write the same bytes
"""
from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

from minikafka.machine.files import write_atomic
from minikafka.machine.jars import ALL, LIST, JarSet, central, read_list
from minikafka.machine.java import find_java

HEAD = """\
# Made by tools/jars.py from the versions in minikafka/machine/jars.py: do not edit.
# set	path in a Maven repository	bytes	SHA-256
"""
LAYOUT = "[organisation]/[module]/[revision]/[artifact]-[revision].[ext]"


def rows(wanted: JarSet, scratch: Path) -> list[str]:
    """The list's lines for one set, in the order of their paths."""
    found = resolve(wanted, scratch)
    return [f"{wanted.name}\t{path}\t{jar.stat().st_size}\t{hashlib.sha256(jar.read_bytes()).hexdigest()}"
            for path, jar in sorted(found.items())]


def resolve(wanted: JarSet, scratch: Path) -> dict[str, Path]:
    """Fetches a set with what it depends on: path in the repository -> file here."""
    out = scratch / "out"
    (scratch / "ivy.xml").write_text(ivy_file(wanted))
    (scratch / "settings.xml").write_text(settings_file())
    command = [str(find_java().executable), f"-Divy.default.ivy.user.dir={scratch}", "-jar", str(ivy_jar()),
               "-settings", str(scratch / "settings.xml"), "-ivy", str(scratch / "ivy.xml"),
               "-cache", str(scratch / "cache"), "-retrieve", f"{out}/{LAYOUT}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True)
    if done.returncode:
        sys.exit("\n".join(done.stdout.splitlines()[-20:]))
    return {_in_repository(jar.relative_to(out)): jar for jar in out.rglob("*.jar")}


def _in_repository(path: Path) -> str:
    organisation, *rest = path.parts
    return "/".join([*organisation.split("."), *rest])


def ivy_jar() -> Path:
    return sorted(Path(pyspark.__file__).parent.glob("jars/ivy-*.jar"))[-1]


def settings_file() -> str:
    root = os.environ.get("MINIKAFKA_MAVEN") or central()
    return ('<ivysettings><settings defaultResolver="maven"/><resolvers>'
            f'<ibiblio name="maven" m2compatible="true" root="{root}"/></resolvers></ivysettings>\n')


def ivy_file(wanted: JarSet) -> str:
    conf = "default-&gt;default,runtime" if wanted.transitive else "default-&gt;default"
    transitive = str(wanted.transitive).lower()
    lines = [f'    <dependency org="{group}" name="{name}" rev="{version}" conf="{conf}" transitive="{transitive}"/>'
             for group, name, version in (coordinate.split(":") for coordinate in wanted.wanted)]
    return "\n".join(['<ivy-module version="2.0">', f'  <info organisation="minikafka" module="{wanted.name}"/>',
                      '  <configurations><conf name="default"/></configurations>', "  <dependencies>", *lines,
                      "  </dependencies>", "</ivy-module>", ""])


def main() -> int:
    lines = []
    for wanted in ALL:
        with tempfile.TemporaryDirectory() as scratch:
            found = rows(wanted, Path(scratch))
        print(f"{wanted.title}: {len(found)} jars, {sum(int(row.split(chr(9))[2]) for row in found) / 1e6:.1f} MB")
        lines += found
    text = HEAD + "\n".join(lines) + "\n"
    read_list(text)  # refuses what could not be read back
    write_atomic(LIST, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
