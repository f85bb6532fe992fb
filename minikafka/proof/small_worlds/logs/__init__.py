"""One log alone on one disk: random histories, and every answer judged by a model that is simpler than the log.

    log_life.py           one seed: log_alone, which is compacted and loses its front, and log_dying, which dies within its steps
    lone_log.py           the log and the model of it: writing, and what is judged
    lone_mortal_log.py    the same, cut at both ends, failing, stopped, killed at any change of the disk, and started again
    lone_cleaned_log.py   the same with a cleaner that may be disturbed
    log_rules.py          what readers must see: both isolation levels, lookups, epochs, aborted transactions, retention
    compaction_rules.py   what compaction must leave, from the history of the whole log
    producer_rules.py     what must be known of producers, from the list of everything that each has written
    seen.py               a batch as it is in the bytes
    counted_files.py      a disk that counts its open files

Two more are about a voter's log, and about what a client sends:

    lone_metadata_log.py  a voter's metadata log and its snapshots
    lone_batch.py         a client's batch, sound or spoiled in one way: whether it is taken or refused, and how
"""
