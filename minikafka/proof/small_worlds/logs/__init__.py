"""One log alone, and one memory of producers alone: random histories, and every answer judged a second time.

    seen.py                  a batch as it is in the bytes
    producer_rules.py        what must be known of producers, from the list of everything that each has written
    producers_life.py        one seed: producers_alone
    compaction_rules.py      what compaction must leave, from the history of the whole log
    counted_files.py         a disk that counts its open files
    log_rules.py             what readers must see: both isolation levels, lookups, epochs, aborted transactions, retention
    lone_compacted_log.py    a log on a disk, and the model beside it
    lone_mortal_log.py       the same, cut at both ends, failing, killed, and started again
    lone_cleaned_log.py      the same with a cleaner that may be disturbed and killed
    compacted_life.py        one seed: log_compacted

There, processes are killed, and the judges know the fate of every record. Three more are about power that is lost at any
moment, and about what a client sends:

    lone_log.py              one log on one disk: it grows, is cut and compacted, and dies at any change of the disk
    lone_metadata_log.py     the same for a voter's metadata log and its snapshots
    lone_batch.py            a client's batch, sound or spoiled in one way: whether it is taken or refused, and how
"""
