"""Lab 0, your first cluster: checks.py (broken promises 0.2, counting records 0.4); experiment.py is the fleet of
trucks that goes on reporting while the cluster is broken.
"""
