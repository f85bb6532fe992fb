"""One partition on disk, in Kafka's own files: what a broker, a coordinator or the metadata quorum appends to.

    the bytes         batch.py           the record batch: a header of 61 bytes, then records
                      records.py         one record; compression.py: records compressed together
                      markers.py         control batches: how a transaction ended
                      validate.py        what a leader refuses to append; record_validation.py: its check of every record;
                      uniform_runs.py    checks many records of one shape at once
    the log           log.py             append, read, truncate; the offsets are given here
                      segments.py        the segments of a log, in order; segment.py: one of them, with its files
                      index.py           offset and time indexes; lookup.py: from a time to an offset
                      epochs.py          which leader epoch begins where
                      producers.py       what idempotence remembers of each producer
                      transaction_index.py  the index of aborted transactions
    its life          loader.py          opening a log, and recovery after a crash
                      flush.py           what is durable, and when; disk.py: what a log needs of a disk
                      open_files.py      any number of files behind a bounded number of descriptors
                      retention.py       which segments are old or many enough to be deleted
                      cleaner.py         compaction; cleaner_filter.py: which records stay; swap.py: the exchange of segments
    around it         config.py          the settings of one log; checkpoint.py: small text files of offsets

Promises: an append is in the log whole or not at all (rule 63); a follower's bytes are the leader's (rule 19); a log uses
only bytes that it has checked (rule 63). A log uses no network, no clock and no broker: disk and time are handed in.
"""

from minikafka.log.batch import BatchHeader, batches, build, records
from minikafka.log.config import LogConfig
from minikafka.log.epochs import LeaderEpochCache
from minikafka.log.flush import LogFlush
from minikafka.log.log import AppendInfo, Log, UnexpectedAppendOffset
from minikafka.log.producers import ProducerStates
from minikafka.log.records import Record
from minikafka.log.validate import RecordValidationError

__all__ = [
    "AppendInfo", "BatchHeader", "LeaderEpochCache", "Log", "LogConfig", "LogFlush", "ProducerStates", "Record",
    "RecordValidationError", "UnexpectedAppendOffset", "batches", "build", "records",
]  # fmt: skip
