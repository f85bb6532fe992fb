"""Lab 7, acks: checks.py and the experiments.

experiment.py has a partition whose distances are known, and what its leader's death, silence and solitude cost; own.py
measures the machine that the notebook runs on, with kafka-python; chart.py draws latencies as distributions and over time;
services.py lets four services suffer a setting; from_nothing.py has the student's producer under two faults.
"""
