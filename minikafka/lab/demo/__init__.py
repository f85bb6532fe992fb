"""`python -m minikafka demo`: the whole pipeline on real flights, with a dead broker and a dead consumer on the way.

    pipeline.py   the steps in their order, and the command line
    produce.py    an idempotent producer that remembers what was acknowledged
    member.py     one member of a consumer group: a program of its own, plain kafka-python
    consume.py    the group: starts two members, kills one, reads what they wrote down
    spark_job.py  Structured Streaming: delays per airport and hour, to Parquet and back to a topic
    audit.py      reads the log once more with a fresh consumer
    reconcile.py  the figures that must agree, and whether they do
    scale.py      `--scale`: millions of trips, both engines, and how the time grows
"""

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; returns the exit status: 0 if every figure agrees."""
    from .pipeline import main as run
    return run(arguments)


__all__ = ["main"]
