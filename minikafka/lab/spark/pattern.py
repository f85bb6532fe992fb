"""`subscribePattern` is a regular expression of Java; this file reads it and writes it as one of Python.

Owns: Java's grammar (java.util.regex.Pattern), as far as it can say anything of a topic's name: letters and digits of ASCII,
full stop, underscore and hyphen. So every set of characters, however Java writes it (`\\p{Alpha}`, `[a-z&&[^b]]`), becomes a
list of those, and flags become sets too: what is left has the same meaning in both languages.

Invariants
  I-SPARK-19  A pattern finds the topics that it finds in Java, or it is refused. Nothing reaches Python unread.

Refused though Java has it: comments (`(?x)`), `\\N{...}`, `\\b{g}`, other properties than POSIX's and Unicode's categories, a
look-behind without a fixed length, characters beyond ASCII.
"""
import re
import string
from collections.abc import Callable
from unicodedata import category

NAMES = frozenset(string.ascii_letters + string.digits + "._-")      # what a topic's name is made of
ASCII = frozenset(map(chr, range(128)))
SHORT = {"d": frozenset(string.digits), "w": frozenset(string.ascii_letters + string.digits + "_"),
         "s": frozenset(" \t\n\v\f\r"), "h": frozenset(" \t"), "v": frozenset("\n\v\f\r")}
POSIX = {"Lower": frozenset(string.ascii_lowercase), "Upper": frozenset(string.ascii_uppercase), "ASCII": ASCII,
         "Alpha": frozenset(string.ascii_letters), "Digit": SHORT["d"], "Alnum": SHORT["w"] - {"_"},
         "Punct": frozenset(string.punctuation), "Graph": frozenset(string.printable.strip()),
         "Print": frozenset(string.printable.strip() + " "), "Blank": SHORT["h"], "Space": SHORT["s"],
         "Cntrl": frozenset(c for c in ASCII if category(c) == "Cc"), "XDigit": frozenset(string.hexdigits)}
CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
CODES = re.compile(r"0([0-3]?[0-7]{1,2})|x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})")
ANCHORS = {"A": r"\A", "G": r"\A", "Z": r"\Z", "z": r"\Z", "b": r"\b", "B": r"\B"}
GROUP = re.compile(r"\?(?:([:=!>]|<[=!])|<([a-zA-Z][a-zA-Z0-9]*)>|([idmsuU]*)(?:-([idmsuU]*))?([:)]))")
QUANTIFIER = re.compile(r"([*+?]|\{\d+(?:,\d*)?\})([?+]?)")

Set = frozenset[str]


class PatternError(ValueError):
    """The text is no regular expression of Java, or one that has no counterpart in Python."""


def topic_pattern(pattern: str) -> Callable[[str], bool]:
    """Return the question whether Java finds the pattern anywhere in a topic's name. Raises PatternError."""
    try:
        compiled = re.compile(_Java(pattern).all())
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(str(error)) from None
    return lambda topic: compiled.search(topic) is not None


def _unquoted(pattern: str) -> str:
    r"""Return the pattern with each character between \Q and \E behind a backslash."""
    return re.sub(r"(\\[^Q])|\\Q(.*?)(?:\\E|\Z)",
                  lambda m: m[1] or "".join(c if c.isalnum() else "\\" + c for c in m[2]), pattern, flags=re.DOTALL)


class _Java:
    """One reading of a pattern, from left to right."""

    def __init__(self, pattern: str) -> None:
        self.text, self.at, self.groups, self.ignore_case = _unquoted(pattern), 0, 0, False

    def all(self) -> str:
        if not self.text.isascii():
            raise PatternError("the name of a topic has only characters of ASCII")
        out = self._alternatives()
        if self.at < len(self.text):
            raise self._error("unmatched ')'")
        return out

    def _error(self, problem: str) -> PatternError:
        return PatternError(f"{problem} near index {self.at}")

    def _next(self, what: str = "the pattern ends too soon") -> str:
        self.at += 1
        if self.at > len(self.text):
            raise self._error(what)
        return self.text[self.at - 1]

    def _accept(self, expected: str) -> bool:
        if found := self.text.startswith(expected, self.at):
            self.at += len(expected)
        return found

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        if found := pattern.match(self.text, self.at):
            self.at = found.end()
        return found

    def _alternatives(self) -> str:
        """Read to the end of the group; flags that are set in it end there."""
        outside, out = self.ignore_case, []
        while self.at < len(self.text) and self.text[self.at] != ")":
            out.append("|" if self._accept("|") else self._quantified(self._atom()))
        self.ignore_case = outside
        return "".join(out)

    def _quantified(self, atom: str) -> str:
        found = self._match(QUANTIFIER) if atom else None
        return f"(?:{atom}){found[0]}" if found else atom

    def _atom(self) -> str:
        c = self._next()
        if c in "*+?{":
            raise self._error(f"dangling meta character '{c}'")
        if c == "(":
            return self._group()
        if c == "[":
            return _written(self._set())
        if c == ".":
            return _written(ASCII)
        if c == "\\":
            return self._escape()
        return c if c in "^$" else self._one(c)

    def _one(self, c: str) -> str:
        return _written(self._cases(c)) if c in NAMES else re.escape(c)

    def _cases(self, c: str) -> Set:
        return frozenset({c.lower(), c.upper()} if self.ignore_case else c)

    def _group(self) -> str:
        if not self._accept("?"):
            self.groups += 1
            return self._to_the_end("(")
        self.at -= 1
        if (found := self._match(GROUP)) is None:
            raise self._error("unknown group or flag")
        kind, name, on, off, end = found.groups()
        if kind:
            return self._to_the_end(f"(?{kind}")
        if name:
            self.groups += 1
            return self._to_the_end(f"(?P<{name}>")
        outside, self.ignore_case = self.ignore_case, (self.ignore_case or "i" in on) and "i" not in (off or "")
        if end == ")":
            return ""                                                # from here to the end of the group around
        out = self._to_the_end("(?:")
        self.ignore_case = outside
        return out

    def _to_the_end(self, opening: str) -> str:
        out = opening + self._alternatives() + ")"
        if not self._accept(")"):
            raise self._error("unclosed group")
        return out

    def _escape(self) -> str:
        if self._match(re.compile(r"b(?=\{)")):
            raise self._error("\\b{ is not understood")
        if self.text[self.at:self.at + 1] in ANCHORS:
            return ANCHORS[self._next()]
        if self._accept("R"):
            return _written(frozenset())
        if self._accept("X"):
            return _written(ASCII)
        if name := self._match(re.compile(r"k<([a-zA-Z][a-zA-Z0-9]*)>")):
            return self._reference(f"(?P={name[1]})")
        if digits := self._match(re.compile(r"[1-9][0-9]*")):
            number = next(n for n in range(len(digits[0]), 0, -1) if n == 1 or int(digits[0][:n]) <= self.groups)
            self.at -= len(digits[0]) - number
            return self._reference(f"\\{digits[0][:number]}")
        found = self._escaped()
        return self._one(found) if isinstance(found, str) else _written(found)

    def _reference(self, name: str) -> str:
        return f"(?i:{name})" if self.ignore_case else f"(?:{name})"

    def _escaped(self) -> str | Set:
        """Return the character or the set behind a backslash, inside and outside of square brackets."""
        if code := self._match(CODES):
            number = int(code[1], 8) if code[1] else int(code[2] or code[3] or code[4], 16)
            if number > 0x10FFFF:
                raise self._error("no such character")
            return chr(number) if number < 128 else "\0"             # no topic has either
        c = self._next("a backslash ends the pattern")
        if c.lower() in SHORT:
            return SHORT[c] if c in SHORT else ASCII - SHORT[c.lower()]
        if c in "pP":
            found = self._property()
            return found if c == "p" else ASCII - found
        if c == "c":
            return chr(ord(self._next()) ^ 64)
        if c.isalnum() and c not in CONTROL:
            raise self._error(f"\\{c} is not understood")
        return CONTROL.get(c, c)

    def _property(self) -> Set:
        found = self._match(re.compile(r"\{(?:Is)?(\w+)\}|([A-Z])"))
        name = found and (found[1] or found[2])
        if name in POSIX:
            members = POSIX[name]
        else:
            members = frozenset(c for c in ASCII if name and len(name) < 3 and category(c).startswith(name))
            if not name or not any(category(chr(n)).startswith(name) for n in range(0x3000)):
                raise self._error(f"the property {name} is not understood")
        if self.ignore_case and any(c.swapcase() not in members for c in members):
            raise self._error(f"the property {name} with (?i), in which versions of Java differ, is not understood")
        return members

    def _set(self, nested: bool = True) -> Set:
        """Read behind '[' to ']'; with nested=False behind '&&', and leave the ']'."""
        negative = nested and self._accept("^")
        found: Set | None = None
        while True:
            if found is not None and self.text.startswith("]", self.at):
                self.at += nested
                return ASCII - found if negative else found
            if self._accept("&&"):
                right = self._right()
                if found is None and right is None:
                    raise self._error("bad class syntax")
                found = right if found is None else found if right is None else found & right
            elif self._accept("["):
                found = (found or frozenset()) | self._set()
            else:
                found = (found or frozenset()) | self._range()

    def _right(self) -> Set | None:
        right: Set | None = None
        while self.text[self.at:self.at + 1] not in ("]", "&"):
            right = (right or frozenset()) | (self._set() if self._accept("[") else self._set(nested=False))
        return right

    def _range(self) -> Set:
        """Return one character, one escape or a range of characters."""
        first = self._member()
        if not isinstance(first, str):
            return first
        if self.text.startswith("-", self.at) and self.text[self.at + 1:self.at + 2] not in ("[", "]"):
            self.at += 1
            last = self._member()
            if not isinstance(last, str) or last < first:
                raise self._error("illegal character range")
            return frozenset().union(*(self._cases(chr(n)) for n in range(ord(first), ord(last) + 1)))
        return self._cases(first)

    def _member(self) -> str | Set:
        c = self._next("unclosed character class")
        return self._escaped() if c == "\\" else c


def _written(characters: Set) -> str:
    """Return a set of characters as Python writes it, without those that no topic has."""
    members = "".join(sorted(characters & NAMES))
    return f"[{re.escape(members)}]" if members else r"[^\s\S]"
