"""Lab 10, retries, duplicates, idempotence, transactions: checks.py and the experiments.

experiment.py drops answers, flips bits, and sends in order, idempotent or not; exactly.py has transactions, open ones, and what
their size costs; clients.py makes the clients of one process, simulated or live, and lets it die; worker.py reads orders and
writes bills; live.py reads from a live cluster, twin.py is a producer that is played by hand there; outside.py has a database
that Kafka knows nothing of; sequences.py has a batch and the answers to it, as 10.3 wants them.
"""
