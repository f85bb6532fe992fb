"""Lab 3, topics, partitions, keys, bootstrap: checks.py; experiment.py (order, skew, growth, the way to the leader),
clients.py (one topic, three client libraries); from_nothing.py, which runs the student's own program.
"""
