"""Lab 0, your first cluster: checks.py (a topic 0.1, one record 0.3, reading 0.4, broken promises 0.5); experiment.py is the
fleet of trucks that goes on reporting while the cluster is broken.
"""
