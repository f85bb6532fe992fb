"""One transactional id alone: its state machine with producers, a clock and a log, and no broker. A seed takes milliseconds.

    lone_transaction.py      the id, a log that commits when the caller says so; each answer is compared with the rules
    transaction_rules.py     what Kafka's coordinator must answer and write, derived from the history
    transaction_life.py      one seed: producers that follow one another, zombies, retries, lost appends, a coordinator that moves

`python -m minikafka sim run --transaction` runs seeds of it.
"""
