"""Lab 12, Structured Streaming: checks.py; experiment.py (a city whose clock runs fast, and a leader that dies).

The query that is driven step by step is in ../streaming.py, its picture in minikafka/lab/picture/draw/stream.py.
"""
