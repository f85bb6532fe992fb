"""The small worlds: one part of the broker alone, with a clock and its events, every answer judged.

    raft/          the quorum's state machine alone
    groups/        one group alone, of the classic or the consumer protocol
    controller/    one controller alone: registrations, elections, reassignments, administration
    logs/          one log, one voter's metadata log, and one batch of a client
    replication/   one replica, and the fetch sessions of one broker
    transactions/  one transactional id
    partition_chaos.py   three brokers, one partition, and leaders that change all the time
    doors/               three brokers, users who log in, and rights that change all the time
    checks.py      what a small world says when a rule falls
    worlds.py      the table of the small worlds
"""
