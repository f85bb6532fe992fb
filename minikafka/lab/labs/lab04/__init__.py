"""Lab 4, consumers pull: checks.py; experiment.py (positions, groups, three consumers, disorder of a queue, the two
group protocols), crowd.py (the members), shifts.py (a drawing: who reads which partition when), live.py (on real processes).
"""
