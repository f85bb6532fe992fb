"""Lab 13, checkpoints: checks.py; experiment.py (a Spark query that can be killed, and its sink), books.py (what
group, checkpoint and sink say about progress, read at one moment), lanes.py (their picture), outage.py (two services whose job
is off for longer than the log keeps).
"""
