"""Lab 11, Spark in batches: checks.py; experiment.py (a counter that keeps its table in memory, what Spark leaves
behind in the cluster); from_nothing.py runs the student's own job.
"""
