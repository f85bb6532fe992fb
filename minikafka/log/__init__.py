"""One partition on disk, in Kafka's own files: what a broker, a coordinator or the metadata quorum appends to.

batch, records, compression: the bytes of a batch   | validate: what a leader refuses
segment, index: a stretch of the log and its indexes | loader: opening and recovery | flush: durability
epochs: who led when | producers: idempotence        | lookup: time to offset | retention | checkpoint: text files
"""

from minikafka.log.batch import Header, batches, build, records
from minikafka.log.config import LogConfig
from minikafka.log.epochs import LeaderEpochCache
from minikafka.log.flush import Flush
from minikafka.log.log import AppendInfo, Log, UnexpectedAppendOffset
from minikafka.log.producers import ProducerStates
from minikafka.log.records import Record
from minikafka.log.validate import RecordValidationError

__all__ = [
    "AppendInfo", "Flush", "Header", "LeaderEpochCache", "Log", "LogConfig", "ProducerStates", "Record",
    "RecordValidationError", "UnexpectedAppendOffset", "batches", "build", "records",
]  # fmt: skip
