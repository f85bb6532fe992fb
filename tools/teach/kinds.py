"""All kinds of exam questions, in the order of the labs. The brokers' own code, or an answer that the gate has judged right, says
what is right.

    KINDS["vote"].draw(Random("2027"))      a Question
"""
from __future__ import annotations

from tools.teach import consumers, controllers, logs, producers, replicas, streams
from tools.teach.question import Kind, Question

KINDS: dict[str, Kind] = {**logs.KINDS, **consumers.KINDS, **replicas.KINDS, **controllers.KINDS, **producers.KINDS,
                          **streams.KINDS}

__all__ = ["KINDS", "Kind", "Question"]
