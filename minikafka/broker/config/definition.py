"""What a configuration is: name, type, default, allowed values; and how a text becomes a value.

Owns: the types, the validators, and the texts of refusals (they are Kafka's: clients show them to users).
Invariants: I-CFG-1 a value that parse() returned prints back (to_text) to a text that parses to the same value.
What Kafka does differently: validators are Java objects of many classes; four suffice here.
Source: org.apache.kafka.common.config.ConfigDef, ConfigException; KIP-1161 (lists).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from minikafka.protocol.text import listed, trim

Type = Literal["BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD", "UNKNOWN"]
Effect = Literal["read", "ignored", "refused"]
Value = bool | int | float | str | list[str] | None
TYPE_IDS = {"UNKNOWN": 0, "BOOLEAN": 1, "STRING": 2, "INT": 3, "SHORT": 4, "LONG": 5, "DOUBLE": 6, "LIST": 7,
            "CLASS": 8, "PASSWORD": 9}                                  # ConfigEntry.ConfigType on the wire
LONG_MAX = (1 << 63) - 1
_BITS = {"SHORT": 16, "INT": 32, "LONG": 64}
_INTEGER = re.compile(r"[+-]?0*(\d{1,19})\Z")        # with the digits of any script, as in Java
_FLOAT = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?)\Z")
_HEX_FLOAT = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[dDfF]?\Z")


class ConfigError(Exception):
    """A configuration was refused; str() is the text Kafka would give."""

    def __init__(self, name: str, value: object, reason: str | None = None) -> None:
        self.name, self.value = name, value
        shown = "null" if value is None else to_text(value) if isinstance(value, float) else value
        super().__init__(f"Invalid value {shown} for configuration {name}" + (f": {reason}" if reason else ""))


def plain(text: str) -> ConfigError:
    """Return a ConfigError with this text alone."""
    error = ConfigError("", "")
    error.args = (text,)
    return error


@dataclass(frozen=True)
class Range:
    """A number between two bounds, both allowed; None is open."""

    low: float | None = None
    high: float | None = None
    also: float | None = None           # one value outside the range that is allowed too (gzip's -1)

    def check(self, name: str, value: Value) -> None:
        if value is None:
            raise ConfigError(name, None, "Value must be non-null")
        if value == self.also:
            return
        if self.also is not None and not self.low <= value <= self.high:
            raise ConfigError(name, value, f"Value must be between {self.low} and {self.high} or equal to {self.also}")
        if self.low is not None and value < self.low:
            raise ConfigError(name, value, f"Value must be at least {self.low}")
        if self.high is not None and value > self.high:
            raise ConfigError(name, value, f"Value must be no more than {self.high}")


@dataclass(frozen=True)
class OneOf:
    """A string, or every string of a list, out of a few."""

    allowed: tuple[str, ...]

    def check(self, name: str, value: Value) -> None:
        for word in value if isinstance(value, list) else [value]:
            if word not in self.allowed:
                raise ConfigError(name, word, f"String must be one of: {', '.join(self.allowed)}")


@dataclass(frozen=True)
class Throttled:
    """A list of throttled replicas: `*`, or partition:broker pairs (KIP-73)."""

    def check(self, name: str, value: Value) -> None:
        if value != ["*"] and not all(re.match(r"[0-9]+:[0-9]+\Z", pair) for pair in value):
            raise ConfigError(name, f"[{', '.join(value)}]", f"{name} must be the literal '*' or a list of replicas in "
                              "the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...")


@dataclass(frozen=True)
class ResetStrategy:
    """The place where a group without an offset begins to read: earliest, latest, or by_duration with a length of time
    (KIP-1106)."""

    def check(self, name: str, value: Value) -> None:
        word = str(value)
        if word not in ("earliest", "latest") and not (word.startswith("by_duration:") and _is_duration(word[12:])):
            raise ConfigError(name, value, f"Invalid value `{value}` for configuration {name}. The value must be either "
                              "'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.")


_DURATION = re.compile(r"P(?=.)(?:([0-9]{1,18})D)?"
                       r"(?:T(?=.)(?:([0-9]{1,18})H)?(?:([0-9]{1,18})M)?(?:([0-9]{1,18})(?:\.[0-9]{0,9})?S)?)?\Z")


def _is_duration(text: str) -> bool:
    """Return whether Java reads a time that is not negative from this text, and its seconds fit into 64 bits."""
    found = _DURATION.match(text)
    return found is not None and sum(int(number or 0) * unit for number, unit in
                                     zip(found.groups(), (86400, 3600, 60, 1))) <= LONG_MAX


Validator = Range | OneOf | Throttled | ResetStrategy


@dataclass(frozen=True)
class Config:
    """One configuration. `synonyms`: the broker configurations that give a topic configuration its default, each with the
    factor from its unit to this one's; the first that is set counts. `effect`: it is read by this broker's code; or it is
    ignored, because nothing that a client sees depends on it here; or what is not its default is refused."""

    name: str
    type: Type
    default: Value
    doc: str
    valid: Validator | None = None
    importance: str = "MEDIUM"
    synonyms: tuple[tuple[str, int], ...] = ()
    effect: Effect = "read"
    dynamic: bool = False               # a broker configuration that may be changed while the broker runs
    internal: bool = False              # described only if it is set

    @property
    def sensitive(self) -> bool:
        return self.type in ("PASSWORD", "UNKNOWN")

    @property
    def documentation(self) -> str:
        """Return what DescribeConfigs says of it."""
        marks = {"read": "", "ignored": " It has no effect here.", "refused": " Only its default works here."}
        return self.doc + marks[self.effect]

    @property
    def default_text(self) -> str | None:
        return to_text(self.default)

    def parse(self, text: str) -> Value:
        """Return the typed value of `text`; ConfigError in Kafka's words if it has another type or is not allowed."""
        value = parsed(self.name, self.type, text)
        if self.valid is not None:
            self.valid.check(self.name, value)
        if self.effect == "refused" and value != self.default:
            raise ConfigError(self.name, to_text(value),
                              f"minikafka knows this configuration but only its default {self.default_text!r} works")
        return value


def parsed(name: str, kind: Type, text: str) -> Value:
    """Return the typed value of `text`; ConfigError if it is not of this type."""
    trimmed = trim(text)
    if kind == "BOOLEAN":
        if trimmed.lower() not in ("true", "false"):
            raise ConfigError(name, text, "Expected value to be either true or false")
        return trimmed.lower() == "true"
    if kind in _BITS:
        number = integer(trimmed, _BITS[kind])
        if number is None:
            raise ConfigError(name, text, f"Not a number of type {kind}")
        return number
    if kind == "DOUBLE":
        number = double(trimmed)
        if number is None:
            raise ConfigError(name, text, "Not a number of type DOUBLE")
        return number
    if kind == "LIST":
        words = listed(text)
        if "" in words:
            raise plain(f"Configuration '{name}' values must not be empty.")
        return list(dict.fromkeys(words))
    return trimmed


def integer(text: str, bits: int = 32) -> int | None:
    """Return the whole number in `text`, as Java reads it; None if there is none, or if it needs more than `bits` bits."""
    found = _INTEGER.match(text)                      # Python refuses to read thousands of digits with an error of its own
    if found is None:
        return None
    number = -int(found[1]) if text.startswith("-") else int(found[1])
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def double(text: str) -> float | None:
    """Return the number in `text`, as Java reads it, NaN and hexadecimal with an exponent included; None if there is none."""
    if _FLOAT.match(text):
        return float(text.rstrip("dDfF"))
    found = _HEX_FLOAT.match(text)
    if found is None:
        return None
    try:
        return float.fromhex(found[1])
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf


def to_text(value: Value) -> str | None:
    """Return a typed value as Kafka prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(value)
    if isinstance(value, float):
        return _double(value)
    return None if value is None else str(value)


def _double(value: float) -> str:
    """Return a number as Java writes it: 0.5, 1.0E-4, 2.147483647E9, Infinity, NaN."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, _, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"
