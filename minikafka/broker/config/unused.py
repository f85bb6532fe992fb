"""Kafka's other broker configurations: names that a file written for Kafka may hold, and that have no effect here.

They are data: unused.tsv beside this file, one configuration a line. Its columns are the name, the type, whether a broker
would take a new value while it runs, the default (`-` none), the importance, and the allowed values (`-` any; `1..` a range;
`a|b` a choice). The last column says what becomes of a value other than the default. `ignored`: the broker logs that it has no
effect. `refused`: users who set it rely on it (access, encryption, limits, plug-ins, tiered storage). The numbers that belong
to those, how often a login is renewed for example, are ignored: without the refused switch they do nothing.

Like the schemas of protocol/ the file is a part of the code: it is read once, when this module is imported, so the module is
still pure. No function of the room reads a file.

Owns: UNUSED. What Kafka does differently: these configurations work there.
Source: AbstractKafkaConfig of Kafka 4.3.0, read through ConfigDef.
"""

from __future__ import annotations

from importlib.resources import files

from minikafka.broker.config.definition import Config, OneOf, Range, Validator, parsed


def _config(line: str) -> Config:
    name, kind, dynamic, default, importance, allowed, others = line.split("\t")
    return Config(name, kind, None if default == "-" else parsed(name, kind, default),
                  "One of Kafka's.", _validator(allowed), importance.upper(),
                  effect="refused" if others == "refused" else "ignored", dynamic=dynamic == "yes")


def _validator(allowed: str) -> Validator | None:
    if allowed == "-":
        return None
    if ".." in allowed:
        low, high = allowed.split("..")
        return Range(int(low), int(high) if high else None)
    return OneOf(tuple(allowed.split("|")))


_LINES = files(__package__).joinpath("unused.tsv").read_text(encoding="utf-8").splitlines()[1:]  # without the names of columns
UNUSED: dict[str, Config] = {
    config.name: config for config in (_config(line) for line in _LINES if not line.startswith("#"))}
