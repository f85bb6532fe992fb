"""Lab 4, consumers pull: checks.py; experiment.py (positions, groups, three consumers, disorder of a queue, the two group
protocols), crowd.py (the members), shifts.py (a drawing: who reads which partition when), night.py (the night shift that the
student plans), bench.py (a broker for the checks of the student's own member), live.py (on real processes), share.py (a share
group on Apache Kafka).
"""
