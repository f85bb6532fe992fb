"""The producer: from `send` to an offset that is acknowledged.

    producer.py      the calls of an application, each noted in the history
    partitioner.py   which partition a record goes to
    batches.py       the batches of each partition: waiting, in flight, done
    sender.py        the loop that sends batches to leaders, and deals with the answers
    idempotence.py   producer id, epoch and sequence numbers: a retry is written once
    transactions.py  one transactional id: begin, write, commit or abort

Promised: a record is `fail` only if no attempt may have been appended (I-SENDER-2); within one epoch a sequence number
stands for one record (I-IDEMPOTENCE-1); no transaction ends before all its batches are done (I-TRANSACTOR-1).
"""
