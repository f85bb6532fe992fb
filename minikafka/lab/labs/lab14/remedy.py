"""What to look at in a pipeline that fell: the one setting that is enough to mend it, as a question.

    no_such_value(pipeline)                      # 'acks is "0", "1" or "all"; yours is 1'; "" if every setting has a value
    question(pipeline, passes)                   # `passes(pipeline)` tries another pipeline where the first one fell

Owns: nothing. Invariants: a setting is named only if the pipeline passes with a sound value of this setting, all else unchanged.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minikafka.lab.labs.lab14.notary import Row
from minikafka.lab.labs.lab14.pipeline import EFFECTIVELY_ONCE, Pipeline
from minikafka.lab.values import shown

VALUES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "acks": ('"0", "1" or "all"', lambda value: value in ("0", "1", "all")),
    "idempotence": ("True or False", lambda value: isinstance(value, bool)),
    "min_insync": ("1, 2 or 3 of 3 replicas", lambda value: value in (1, 2, 3)),
    "checkpoint": ("True or False", lambda value: isinstance(value, bool)),
    "starting": ('"earliest" or "latest"', lambda value: value in ("earliest", "latest")),
    "key": ('a tuple of columns of trips, such as ("off",), or ()',
            lambda value: isinstance(value, (tuple, list)) and all(column in Row._fields for column in value)),
}
ASK = {                                         # in the order in which they are tried
    "acks": "Which replicas had a trip when it was acknowledged?",
    "idempotence": "The producer sends again what got no answer. Where in the log does such a trip stand?",
    "min_insync": "How many replicas must have a trip before it is acknowledged, and how many may be away?",
    "starting": "Spark began without a checkpoint. At which offset?",
    "checkpoint": "After its death Spark had work to do again. Which setting says how much?",
    "key": "Which columns are equal in two rows of one trip, and different in the rows of two trips?",
}
UNREAD = ("In some rows something is None. What does `write` do with them, with the other rows of the batch, and when they come "
          "twice?")
ENDED = "Spark died before its caller ended the transaction. So who ended it?"
WRITE = ("Your six settings are sound. Look at `write`: what does it do with a row that comes twice, and with a window that "
         "comes again?")
MORE = "No change of one thing is enough: more than one thing in it must change."


def no_such_value(pipeline: Pipeline) -> str:
    """Return the first setting with a value that there is not, in words; "" if there is none."""
    for setting, (values, fits) in VALUES.items():
        value = getattr(pipeline, setting)
        if not fits(value):
            return f"{setting} is {values}; yours is {shown(value)}"
    return ""


def question(pipeline: Pipeline, passes: Callable[[Pipeline], bool]) -> str:
    """Return what to ask of the one setting that is enough to mend a pipeline, or of its `write`."""
    for setting, asked in ASK.items():
        sound = getattr(EFFECTIVELY_ONCE, setting)
        if getattr(pipeline, setting) != sound and mended(pipeline.but(**{setting: sound}), passes):
            return asked
    return WRITE if mended(pipeline.but(write=EFFECTIVELY_ONCE.write), passes) else MORE


def mended(pipeline: Pipeline, passes: Callable[[Pipeline], bool]) -> bool:
    try:
        return passes(pipeline)
    except Exception:                           # a student's `write` that cannot do with this setting
        return False
