"""Lab 3, topics, partitions, keys, bootstrap: checks.py; experiment.py (order, skew, growth, the way to the leader),
clients.py (one topic, three client libraries).
"""
