"""Fetch sessions and a replica alone: the pure state machines of broker/replication/ with random events, and no broker.

    lone_fetch_sessions.py     partitions whose state is changed by hand, requests that wait
    fetch_session_properties.py  what must be true of the table after each request and each answer (KIP-227)
    fetch_session_life.py      one seed: fetchers that behave, that lose answers; others that send nonsense
    lone_replica.py            a log of offsets and epochs, brokers, the partition at the controller
    replica_properties.py      what must be true of each effect, refusal and state
    replica_life.py            one seed: a replica leads and follows, its followers fetch, proposals come and go

A seed takes ten to twenty milliseconds.
"""
