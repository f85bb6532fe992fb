"""One consumer group alone: its state machine with clients, a clock and a log, and no broker. A seed takes milliseconds.

    lone_classic_group.py    a classic group, named clients, a log that commits when it is told
    classic_seen.py          a classic group as it was at a moment
    classic_rules.py         what the rules say of each of its answers, asked a second time
    classic_life.py          one seed: clients that behave, that crash, that send nonsense; a coordinator that moves
    lone_consumer_group.py   a group of the consumer protocol (KIP-848), and the topics that it reads
    consumer_rules.py        what KIP-848 says of each of its answers, asked a second time
    consumer_life.py         one seed: members join, leave, restart, fall behind and vanish; topics grow

`python -m minikafka sim run --group` runs seeds of both. The tests of broker/groups/ use the two worlds as well.
"""
