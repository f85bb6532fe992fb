"""Deletions that meet work in flight, played on both engines.

    scene.py            the topic, group and transactional id of one cell, and what is left of them
    work.py             what is open when something is deleted
    deletions.py        what an administrator, or another producer, takes away
    *.txt               what Apache Kafka 4.3 answers, and leaves: a file for each deletion, a block for each work
    test_deletions.py   every deletion beside every work that it concerns
    play.py             how a cell is played
    test_expired.py     the expiry of transactional ids, beside transactions and producers that come back
    test_unregistered.py   UnregisterBroker, beside all that works on a topic
"""
