"""Lab 2, one partition is a file: checks.py; experiment.py (retention, long logs, a torn tail) and hexview.py, which
shows the bytes of a record batch.
"""
