"""The labs, a folder each: lab00/ is the code behind labs/00-first-cluster.ipynb, and so on.

In each folder: checks.py (the exercises' checks and hints), experiment.py and the files beside it (experiments that are too
long for a cell; a student may open, read and change them).
For all labs: stage.py, three simulated brokers and a partition; begin.py, Spark that starts while one reads; steady.py, a writer
and a reader that work by themselves while a notebook does something else; streaming.py, a Spark streaming query that is driven
step by step; fresh.py, a topic that a cell may make again; one_broker.py, the real broker that checks ask what a student's client
has written; console.py, Kafka's own console tools; offsets.py, offsets as
a student's code gives them to a client.
"""
