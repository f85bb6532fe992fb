"""Transactions: records in many partitions that all become visible, or none (KIP-98, KIP-890).

The state machine of one transactional id is pure; read it first:

    states.py                    the states, and which may follow which
    transaction.py               the decisions: begin, add partitions, end, time out; the heart of the room
    records.py                   the records of `__transaction_state`, byte for byte as Kafka's

shell/ keeps the ids of the partitions that this broker leads:

    shell/shard.py               one partition: loaded, decisions appended; a decision takes effect when it is committed
    shell/coordinator.py         all partitions that this broker leads, and the requests of producers
    shell/marker_sender.py       the coordinator's side of markers: the outcome is sent to every partition until each has it
    shell/verification.py        the partition leaders' side of KIP-890: is this partition in the transaction?
    shell/producer_ids.py        producer ids, in blocks from the controller

api/ serves the requests:

    api/init_producer_id.py      gives a producer its id and epoch
    api/transactions.py          AddPartitionsToTxn, AddOffsetsToTxn, EndTxn
    api/txn_offset_commit.py     a group's offsets, committed inside a transaction
    api/write_txn_markers.py     the partition leaders' side of markers: appended, and answered when committed
    api/admin.py                 DescribeTransactions, ListTransactions, DescribeProducers

Promises: a decision is in the log before it takes effect or is answered (rule 48), and never changes after that (rule 49); a
transaction is complete only when every partition has its marker (I-MARK-1). What a partition's log remembers of its producers
is in log/producers.py.
"""
