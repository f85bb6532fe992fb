"""From events to facts: what the trace has told of the cluster up to a moment.

    run.py         the events of a run in order, and its state at any moment; recording.py keeps a run in one file
    state.py       all facts of a moment, made of partitions.py (replicas, leader, ISR), logs.py (what one replica's log
                   holds), quorum.py (controllers), clients.py (producers, consumers, groups), conditions.py (faults that
                   still hold), ledger.py (which acknowledged records can still be read; intervals.py
                   keeps its offsets)
    fold.py        one event into the state; a handler for each kind stands in fold_cluster.py, fold_replicas.py,
                   fold_clients.py and, for Spark, queries.py
    transactions.py  what the appends of leaders tell of transactions, and of the markers that decide them
    marks.py       the moments that are worth a jump: faults, elections, losses
"""
