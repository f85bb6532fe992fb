"""Lab 1, from calls to a log: checks.py; experiment.py (the same load on calls, a queue and a topic), traces.py
(what gets lost, what comes twice); calls.py and push.py (services that answer, a broker that pushes) on lines.py;
drawing.py (queue and topic side by side); live.py (the same with sockets); from_nothing.py (the student's producer under a dead
leader).
"""
