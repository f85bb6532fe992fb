"""Stories of what goes wrong in a cluster, one anomaly each (A1 to A18), told as transcripts (tests/stories/brokers).

    truncation.py         where two logs part, and which replica truncates: A1, A2, A3
    isr_and_elections.py  which replicas are in sync, and which may lead: A4 to A8
    isr_changes.py        changes of the ISR that come too early, too late, or whose answer is lost
    quorum.py             the controllers: A9, A10, check-quorum, pre-votes
    transactions.py       late requests and an off-by-one in transactions: A11, A12, A13
    coordinator.py        the duties of a transaction coordinator: write each decision down, keep it, carry it out
    brokers.py            nodes that missed what happened: A14, A16, A18
    groups.py             the group coordinator: offsets, assignments, zombie members: A15
    producers.py          sequence numbers and producer state: A17
    compaction.py         what the cleaner may remove
    telling/              what a story can do, see and write

    python -m minikafka sim tell a1                               tells the first of them
    python -m minikafka sim tell a1 --without truncates_to_high_watermark    and again with its rule switched off

The docstring of a story opens its transcript.
"""
