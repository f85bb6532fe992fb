"""Histories of what clients did and were told, and a checker that judges them with Jepsen's names.

A history is a list of events: `invoke`, then `ok`, `fail` (certainly not done) or `info` (nobody knows). It holds
nothing that only a broker knows, so one checker judges simulated runs, live runs and runs against Apache Kafka.
The events, their fields and the file format are in client/history.py.

    story.py         the history read once: what was sent where, what was read, which facts excuse a loss
    checker.py       all judgements, one after the other; report.py: their verdicts and evidence
    places.py        which value lies at which offset: duplicate, inconsistent-offsets
    writes.py        what became of acknowledged records: lost-write and its relatives
    order.py         the order of sends and reads within a partition
    polls.py         what each reader saw, one poll after the other
    groups.py        owners of partitions, and committed offsets
    transactions.py  all or nothing, aborted reads, exactly-once copies
    tell.py          sentences for evidence

Pure: nothing here reads a clock or draws at random.
"""

from minikafka.client.history import History

from .checker import NAMES, check
from .report import AnomalyVerdict, Evidence, Report

__all__ = ["NAMES", "AnomalyVerdict", "Evidence", "History", "Report", "check"]
