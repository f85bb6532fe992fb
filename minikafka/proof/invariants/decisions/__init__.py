"""I23: the brokers' decisions, each asked a second time (decision.py says how).

    decision.py       a decision and its check
    listening.py      the invariant: the checks around the decisions, while a world runs
    what_if.py        what brokers are asked, so that decisions are made that no run comes to
    replication.py    the replicas of a partition
    controller.py     brokers' lives, ISR changes, producer ids
    coordinators.py   transactions and groups
    log.py            producers' batches, cuts
"""
