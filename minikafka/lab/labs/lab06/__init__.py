"""Lab 6, replication: checks.py; experiment.py (log ends and high watermark, readable records, placement of
replicas, elections).
"""
