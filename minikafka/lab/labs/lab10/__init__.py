"""Lab 10, retries, duplicates, idempotence, transactions: checks.py and the experiments.

experiment.py drops answers, flips bits, and sends in order, idempotent or not; exactly.py has transactions, open ones, and a
worker that copies and dies; live.py has such a worker on a live cluster, twin.py a producer that is played by hand there;
outside.py has a database that Kafka knows nothing of.
"""
