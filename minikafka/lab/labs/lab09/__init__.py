"""Lab 9, metadata, KRaft, failover: checks.py; experiment.py (who is killed, and for how long nobody leads), metadata.py (the
metadata log in words), night.py (what the active controller decided, and what another decision costs), votes.py (two elections),
from_nothing.py (an administrator's program, while brokers die).
"""
