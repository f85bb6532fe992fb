"""Subscriptions by regular expression, in RE2's language: matched in time linear in the name, whatever a client sends.

Owns: check(), match(), and when expressions are to be looked at again.
Invariants: I-REGEX-1 an expression that is no RE2 is refused before anything of it is kept.

What Kafka does differently: re2j, whose texts of what is wrong are ours to tell (TEXTS); a thread of its own resolves, so
that a topic is matched a moment after the heartbeat (so it is here, without the thread).
Source: TopicRegexResolver, Utils.throwIfRegularExpressionIsInvalid; KIP-848.
"""

from __future__ import annotations

from collections.abc import Iterable

import re2

from minikafka.protocol.errors import Err, KafkaError

REFRESH_MIN_MS, REFRESH_MAX_MS = 10_000, 600_000      # group.consumer.regex.refresh.interval.ms is not for everybody

# RE2's words, and re2j's for the same.
TEXTS = {"missing ]": "missing closing ]", "missing )": "missing closing )",
         "no argument for repetition operator": "missing argument to repetition operator",
         "bad repetition operator": "invalid nested repetition operator",
         "invalid repetition size": "invalid repeat count",
         "trailing \\": "trailing backslash at end of expression",
         "invalid perl operator": "invalid or unsupported Perl syntax",
         "unexpected )": "regexp/syntax: internal error",
         "invalid named capture group": "invalid named capture"}


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    return options


_OPTIONS = _options()


def check(expression: str) -> None:
    """Raises KafkaError if it is not one of RE2's."""
    try:
        re2.compile(expression, _OPTIONS)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace").partition(": ")[0]
        reason = TEXTS.get(reason, reason)
        raise KafkaError(Err.INVALID_REGULAR_EXPRESSION, f"SubscribedTopicRegex `{expression}` is not a valid regular "
                         f"expression: {reason}.") from error


def match(expression: str, topics: Iterable[str]) -> tuple[str, ...]:
    """The topics whose whole name it matches, sorted."""
    try:
        compiled = re2.compile(expression, _OPTIONS)
    except re2.error:
        return ()                          # written by a broker that knew more
    return tuple(sorted(topic for topic in topics if compiled.fullmatch(topic)))
