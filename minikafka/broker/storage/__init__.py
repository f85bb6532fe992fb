"""Storage: the folder of logs of one broker, and the work that goes on in it.

    shell/log_dir.py        the folder: which broker it belongs to, its lock, the mark of a clean shutdown
    shell/log_manager.py    every log in it: found, given to its partition, configured, deleted
    shell/checkpoints.py    high watermarks, recovery points and log starts, written beside the logs for the next start
    shell/log_cleaner.py    compaction: which partition is worth most to clean, and its cleaning step by step
    api.py                  DescribeLogDirs: sizes, and the room that is left

One log by itself is minikafka/log.

Promises: a checkpoint never claims more than the disk holds (rule 64); a clean mark is read and deleted before any log is
opened (rule 64); cleaning leaves what is undecided or may still be read (rule 66); a failed disk ends the broker (rule 67).
"""
