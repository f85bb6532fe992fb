"""The table of configurations: names, types, defaults and limits of Kafka 4.3, texts of our own.

Owns: TOPIC_CONFIGS (every public topic configuration of Kafka 4.3, in Kafka's order of validation) and BROKER_CONFIGS
(those that this broker honours, those it knows, and its own, prefixed `minikafka.`).
Invariants: I-CFG-2 a configuration that has no effect here is marked honoured=False and accepts only its default.
What Kafka does differently: about 360 broker configurations. Source: TopicConfig, LogConfig, AbstractKafkaConfig,
ServerTopicConfigSynonyms of Kafka 4.3.0, asked through ConfigDef.
"""

from __future__ import annotations

from typing import Any

from minikafka.core.config_def import LONG_MAX, Config, OneOf, Range, Throttled

WEEK, DAY, HOUR, MINUTE = 604_800_000, 86_400_000, 3_600_000, 60_000
INT_MAX = (1 << 31) - 1
POSITIVE, NATURAL = Range(1), Range(0)
COMPRESSION = OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"))
CLEANUP = OneOf(("compact", "delete"))
TIMESTAMP = OneOf(("CreateTime", "LogAppendTime"))


def _topic(name: str, kind: Any, default: Any, valid: Any, doc: str, *synonyms: str | tuple[str, int],
           **more: Any) -> Config:
    pairs = tuple((s, 1) if isinstance(s, str) else s for s in synonyms)
    return Config(name, kind, default, doc, valid, synonyms=pairs, **more)


_TOPICS = [
    _topic("segment.bytes", "INT", 1 << 30, Range(1048576),
           "Size of a segment file in bytes; retention works on whole segments.", "log.segment.bytes"),
    _topic("internal.segment.bytes", "INT", None, None,
           "Overrides segment.bytes without its lower limit, for tests.", internal=True),
    _topic("segment.ms", "LONG", WEEK, POSITIVE,
           "Age in ms at which a segment is closed even if it is not full.", "log.roll.ms", ("log.roll.hours", HOUR)),
    _topic("segment.jitter.ms", "LONG", 0, NATURAL,
           "Random part taken off segment.ms, so that segments do not all roll at once.",
           "log.roll.jitter.ms", ("log.roll.jitter.hours", HOUR)),
    _topic("segment.index.bytes", "INT", 10485760, Range(4),
           "Largest size of an offset index in bytes; a full index closes the segment.", "log.index.size.max.bytes"),
    _topic("flush.messages", "LONG", LONG_MAX, POSITIVE,
           "Force an fsync after so many records. Replication, not this, is what makes records durable.",
           "log.flush.interval.messages"),
    _topic("flush.ms", "LONG", LONG_MAX, NATURAL,
           "Force an fsync after so many ms.", "log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    _topic("retention.bytes", "LONG", -1, None,
           "Largest size of a partition in bytes before old segments are deleted; -1 is no limit.",
           "log.retention.bytes"),
    _topic("retention.ms", "LONG", WEEK, Range(-1),
           "Age in ms at which records may be deleted; -1 keeps them for ever.",
           "log.retention.ms", ("log.retention.minutes", MINUTE), ("log.retention.hours", HOUR)),
    _topic("max.message.bytes", "INT", 1048588, NATURAL,
           "Largest record batch that is accepted, in bytes, compressed if it is compressed.", "message.max.bytes"),
    _topic("index.interval.bytes", "INT", 4096, NATURAL,
           "About how many bytes of log lie between two index entries.", "log.index.interval.bytes"),
    _topic("delete.retention.ms", "LONG", DAY, NATURAL,
           "How long a tombstone stays in a compacted log, in ms.", "log.cleaner.delete.retention.ms"),
    _topic("min.compaction.lag.ms", "LONG", 0, NATURAL,
           "Age in ms before which a record is not compacted away.", "log.cleaner.min.compaction.lag.ms"),
    _topic("max.compaction.lag.ms", "LONG", LONG_MAX, POSITIVE,
           "Age in ms after which a record must be looked at by compaction.", "log.cleaner.max.compaction.lag.ms"),
    _topic("file.delete.delay.ms", "LONG", MINUTE, NATURAL,
           "Time in ms between a segment's removal from the log and the deletion of its files.",
           "log.segment.delete.delay.ms"),
    _topic("min.cleanable.dirty.ratio", "DOUBLE", 0.5, Range(0, 1),
           "Share of a compacted log that must be uncompacted before it is compacted again.",
           "log.cleaner.min.cleanable.ratio"),
    _topic("cleanup.policy", "LIST", ["delete"], CLEANUP,
           "What happens to old segments: delete, compact (keep the last record of each key), or both.",
           "log.cleanup.policy"),
    _topic("unclean.leader.election.enable", "BOOLEAN", False, None,
           "Whether a replica that is not in sync may lead as a last resort, losing records.",
           "unclean.leader.election.enable"),
    _topic("min.insync.replicas", "INT", 1, POSITIVE,
           "With acks=all, how many replicas must be in sync for a write to be accepted.", "min.insync.replicas"),
    _topic("compression.type", "STRING", "producer", COMPRESSION,
           "Codec of the stored batches; producer keeps what the client sent.", "compression.type"),
    _topic("compression.gzip.level", "INT", -1, Range(1, 9, also=-1),
           "Level if compression.type is gzip.", "compression.gzip.level"),
    _topic("compression.lz4.level", "INT", 9, Range(1, 17),
           "Level if compression.type is lz4.", "compression.lz4.level"),
    _topic("compression.zstd.level", "INT", 3, Range(-131072, 22),
           "Level if compression.type is zstd.", "compression.zstd.level"),
    _topic("preallocate", "BOOLEAN", False, None,
           "Whether a new segment's file is given its full size at once.", "log.preallocate", honoured=False),
    _topic("message.timestamp.type", "STRING", "CreateTime", TIMESTAMP,
           "Whether a record's timestamp is the producer's or the time of the append.", "log.message.timestamp.type"),
    _topic("message.timestamp.before.max.ms", "LONG", LONG_MAX, NATURAL,
           "How far a record's timestamp may lie behind the broker's clock, in ms.",
           "log.message.timestamp.before.max.ms"),
    _topic("message.timestamp.after.max.ms", "LONG", HOUR, NATURAL,
           "How far a record's timestamp may lie ahead of the broker's clock, in ms.",
           "log.message.timestamp.after.max.ms"),
    _topic("leader.replication.throttled.replicas", "LIST", [], Throttled(),
           "Replicas whose leader side of replication is throttled, as partition:broker, or *.", honoured=False),
    _topic("follower.replication.throttled.replicas", "LIST", [], Throttled(),
           "Replicas whose follower side of replication is throttled, as partition:broker, or *.", honoured=False),
    _topic("remote.storage.enable", "BOOLEAN", False, None,
           "Tiered storage; there is none here."),
    _topic("local.retention.ms", "LONG", -2, Range(-2),
           "With tiered storage, how long the local copy is kept; -2 follows retention.ms.", "log.local.retention.ms"),
    _topic("local.retention.bytes", "LONG", -2, Range(-2),
           "With tiered storage, how large the local copy gets; -2 follows retention.bytes.",
           "log.local.retention.bytes"),
    _topic("remote.log.copy.disable", "BOOLEAN", False, None,
           "With tiered storage, whether the remote copy is read-only."),
    _topic("remote.log.delete.on.disable", "BOOLEAN", False, None,
           "With tiered storage, whether switching it off deletes the remote copy."),
]
TOPIC_CONFIGS: dict[str, Config] = {config.name: config for config in _TOPICS}


def _broker(name: str, kind: Any, default: Any, valid: Any, doc: str, importance: str = "MEDIUM",
            **more: Any) -> Config:
    return Config(name, kind, default, doc, valid, importance, **more)


def _log(name: str, topic: str, **more: Any) -> Config:
    """The broker's default for a topic configuration: same type, default and limits."""
    t = TOPIC_CONFIGS[topic]
    return Config(name, t.type, t.default, f"Default of {topic} for topics that do not set it.", t.valid, "HIGH",
                  dynamic=True, honoured=t.honoured, **more)


def _unset(name: str, kind: Any, topic: str, unit: str, default: Any = None, valid: Any = None) -> Config:
    """A spelling of a topic default that is usually left unset, or one in a coarser unit."""
    return Config(name, kind, default, f"Default of {topic}, in {unit}.", valid, "HIGH", dynamic=unit == "ms")


_BROKERS = [
    # --- identity, listeners, disks
    _broker("node.id", "INT", None, NATURAL, "This node's number, unique in the cluster.", "HIGH"),
    _broker("process.roles", "LIST", ["broker", "controller"], OneOf(("broker", "controller")),
            "What this process does: broker, controller, or both.", "HIGH"),
    _broker("broker.rack", "STRING", None, None, "Rack or zone of the broker; replicas are spread over racks."),
    _broker("listeners", "LIST", ["PLAINTEXT://127.0.0.1:9092", "INTERNAL://127.0.0.1:9093"], None,
            "Where the broker listens: NAME://host:port, for clients and for the other brokers.", "HIGH"),
    _broker("advertised.listeners", "LIST", None, None,
            "Addresses told to clients, if not those of listeners.", "HIGH"),
    _broker("minikafka.allow.remote", "BOOLEAN", False, None,
            "Whether listeners may be reached from other machines; nobody there has to log in."),
    _broker("inter.broker.listener.name", "STRING", "INTERNAL", None,
            "Name of the listener for replication, quorum and controller."),
    _broker("controller.listener.names", "LIST", ["INTERNAL"], None,
            "Name of the listener of the controllers.", "HIGH"),
    _broker("listener.security.protocol.map", "STRING", "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT", None,
            "Security protocol of each listener name.", "LOW"),
    _broker("log.dir", "LIST", ["/tmp/minikafka-logs"], None,
            "Folder of the partitions, if log.dirs is unset.", "HIGH"),
    _broker("log.dirs", "LIST", None, None, "Folder of the partitions (one).", "HIGH"),
    _broker("metadata.log.dir", "STRING", None, None,
            "Folder of the metadata log; unset, the first of log.dirs.", "HIGH"),
    _broker("minikafka.cluster.id", "STRING", "minikafka-cluster-00000", None, "The cluster's id."),
    _broker("minikafka.trace.file", "STRING", None, None, "File for the trace of events; unset, no trace."),
    # --- quorum and controller
    _broker("controller.quorum.voters", "LIST", [], None, "The voters: id@host:port, comma separated.", "HIGH"),
    _broker("controller.quorum.bootstrap.servers", "LIST", [], None, "Where voters are found, without ids.", "HIGH"),
    _broker("controller.quorum.election.timeout.ms", "INT", 1000, NATURAL,
            "How long a candidate waits for votes, in ms.", "HIGH"),
    _broker("controller.quorum.fetch.timeout.ms", "INT", 2000, NATURAL,
            "How long a voter goes without a successful fetch before it stands for election, in ms.", "HIGH"),
    _broker("controller.quorum.election.backoff.max.ms", "INT", 1000, NATURAL,
            "Longest pause after a lost election, in ms.", "HIGH"),
    _broker("controller.quorum.append.linger.ms", "INT", 25, NATURAL,
            "How long the quorum's leader collects records before it writes them, in ms."),
    _broker("controller.quorum.request.timeout.ms", "INT", 2000, NATURAL, "Timeout of quorum requests, in ms."),
    _broker("controller.quorum.retry.backoff.ms", "INT", 20, NATURAL, "Pause between quorum requests, in ms.", "LOW"),
    _broker("broker.heartbeat.interval.ms", "INT", 2000, None, "Time between a broker's heartbeats, in ms."),
    _broker("broker.session.timeout.ms", "INT", 9000, None, "Silence after which a broker is fenced, in ms."),
    _broker("initial.broker.registration.timeout.ms", "INT", 60000, None,
            "How long a starting broker tries to register, in ms."),
    _broker("metadata.max.idle.interval.ms", "INT", 500, NATURAL,
            "How often the controller writes a no-op record; 0 never.", "LOW"),
    _broker("auto.leader.rebalance.enable", "BOOLEAN", True, None,
            "Whether leadership returns to the preferred replica by itself.", "HIGH"),
    _broker("leader.imbalance.check.interval.seconds", "LONG", 300, POSITIVE,
            "How often the controller looks for partitions not led by their preferred replica.", "HIGH"),
    _broker("unclean.leader.election.interval.ms", "LONG", 300000, POSITIVE,
            "How often the controller looks for leaderless partitions that allow an unclean election.", internal=True),
    _broker("controlled.shutdown.enable", "BOOLEAN", True, None, "Whether a stopping broker hands its leaders over.",
            honoured=False),
    # --- topics
    _broker("auto.create.topics.enable", "BOOLEAN", True, None, "Whether asking for a topic may create it.", "HIGH"),
    _broker("num.partitions", "INT", 1, POSITIVE, "Partitions of a topic created without a number."),
    _broker("default.replication.factor", "INT", 1, None, "Replicas of a topic created without a number."),
    _broker("delete.topic.enable", "BOOLEAN", True, None, "Whether topics may be deleted.", "HIGH"),
    _broker("max.request.partition.size.limit", "INT", 2000, POSITIVE,
            "Most partitions in one answer to DescribeTopicPartitions."),
    # --- defaults of topics
    _log("log.segment.bytes", "segment.bytes"),
    _unset("log.roll.ms", "LONG", "segment.ms", "ms"),
    _unset("log.roll.hours", "INT", "segment.ms", "hours", 168, POSITIVE),
    _unset("log.roll.jitter.ms", "LONG", "segment.jitter.ms", "ms"),
    _unset("log.roll.jitter.hours", "INT", "segment.jitter.ms", "hours", 0, NATURAL),
    _log("log.index.size.max.bytes", "segment.index.bytes"),
    _log("log.flush.interval.messages", "flush.messages"),
    _unset("log.flush.interval.ms", "LONG", "flush.ms", "ms"),
    _unset("log.flush.scheduler.interval.ms", "LONG", "flush.ms", "ms of the flusher", LONG_MAX),
    _log("log.retention.bytes", "retention.bytes"),
    _unset("log.retention.ms", "LONG", "retention.ms", "ms"),
    _unset("log.retention.minutes", "INT", "retention.ms", "minutes"),
    _unset("log.retention.hours", "INT", "retention.ms", "hours", 168),
    _log("message.max.bytes", "max.message.bytes"),
    _log("log.index.interval.bytes", "index.interval.bytes"),
    _log("log.cleaner.delete.retention.ms", "delete.retention.ms"),
    _log("log.cleaner.min.compaction.lag.ms", "min.compaction.lag.ms"),
    _log("log.cleaner.max.compaction.lag.ms", "max.compaction.lag.ms"),
    _log("log.segment.delete.delay.ms", "file.delete.delay.ms"),
    _log("log.cleaner.min.cleanable.ratio", "min.cleanable.dirty.ratio"),
    _log("log.cleanup.policy", "cleanup.policy"),
    _log("unclean.leader.election.enable", "unclean.leader.election.enable"),
    _log("min.insync.replicas", "min.insync.replicas"),
    _log("compression.type", "compression.type"),
    _log("compression.gzip.level", "compression.gzip.level"),
    _log("compression.lz4.level", "compression.lz4.level"),
    _log("compression.zstd.level", "compression.zstd.level"),
    _log("log.preallocate", "preallocate"),
    _log("log.message.timestamp.type", "message.timestamp.type"),
    _log("log.message.timestamp.before.max.ms", "message.timestamp.before.max.ms"),
    _log("log.message.timestamp.after.max.ms", "message.timestamp.after.max.ms"),
    _log("log.local.retention.ms", "local.retention.ms"),
    _log("log.local.retention.bytes", "local.retention.bytes"),
    # --- logs
    _broker("log.retention.check.interval.ms", "LONG", 300000, POSITIVE, "How often retention is applied, in ms."),
    _broker("log.flush.offset.checkpoint.interval.ms", "INT", 60000, NATURAL,
            "How often recovery points are written, in ms.", "HIGH"),
    _broker("log.flush.start.offset.checkpoint.interval.ms", "INT", 60000, NATURAL,
            "How often log start offsets are written, in ms.", "HIGH"),
    _broker("log.initial.task.delay.ms", "LONG", 30000, NATURAL,
            "Pause before the first retention check, in ms.", "LOW",
            internal=True),
    _broker("log.cleaner.enable", "BOOLEAN", True, None, "Whether compaction runs."),
    _broker("log.cleaner.backoff.ms", "LONG", 15000, NATURAL,
            "Pause of the cleaner when there is nothing to do, in ms.",
            dynamic=True),
    _broker("producer.id.expiration.ms", "INT", DAY, POSITIVE,
            "When an idle producer's state is forgotten, in ms.", "LOW",
            dynamic=True),
    _broker("producer.id.expiration.check.interval.ms", "INT", 600000, POSITIVE, "How often that is looked at.", "LOW",
            internal=True),
    # --- replication
    _broker("replica.lag.time.max.ms", "LONG", 30000, None,
            "How long a follower may be behind the log end before it leaves the ISR, in ms.", "HIGH"),
    _broker("replica.fetch.max.bytes", "INT", 1048576, NATURAL, "Bytes a follower asks for per partition."),
    _broker("replica.fetch.response.max.bytes", "INT", 10485760, NATURAL, "Bytes a follower asks for per request."),
    _broker("replica.fetch.min.bytes", "INT", 1, None, "Bytes worth answering a follower's fetch for.", "HIGH"),
    _broker("replica.fetch.wait.max.ms", "INT", 500, None, "How long a follower's fetch may wait, in ms.", "HIGH"),
    _broker("replica.fetch.backoff.ms", "INT", 1000, NATURAL, "Pause after a fetch that failed, in ms."),
    _broker("replica.socket.timeout.ms", "INT", 30000, None, "Timeout of a follower's requests, in ms.", "HIGH"),
    _broker("replica.high.watermark.checkpoint.interval.ms", "LONG", 5000, None,
            "How often high watermarks are written, in ms.", "HIGH"),
    _broker("num.replica.fetchers", "INT", 1, POSITIVE, "Fetchers per source broker.", "HIGH", honoured=False),
    # --- requests and connections
    _broker("socket.request.max.bytes", "INT", 104857600, POSITIVE, "Largest request, in bytes.", "HIGH"),
    _broker("queued.max.request.bytes", "LONG", -1, None, "Bytes of requests held in memory at once; -1 is no limit."),
    _broker("max.connections", "INT", INT_MAX, NATURAL, "Most connections at once.", dynamic=True),
    _broker("max.connections.per.ip", "INT", INT_MAX, NATURAL, "Most connections from one address.", dynamic=True),
    _broker("connections.max.idle.ms", "LONG", 600000, None, "Idle connections are closed after so many ms."),
    _broker("request.timeout.ms", "INT", 30000, None, "Timeout of requests between brokers, in ms.", "HIGH"),
    _broker("fetch.max.bytes", "INT", 57671680, Range(1024), "Most bytes of one answer to a consumer."),
    _broker("max.incremental.fetch.session.cache.slots", "INT", 1000, NATURAL, "Most fetch sessions kept."),
    # --- groups, offsets, transactions
    _broker("group.initial.rebalance.delay.ms", "INT", 3000, None,
            "How long a new group waits for more members, in ms."),
    _broker("group.min.session.timeout.ms", "INT", 6000, None, "Shortest session timeout of a member, in ms."),
    _broker("group.max.session.timeout.ms", "INT", 1800000, None, "Longest session timeout of a member, in ms."),
    _broker("group.max.size", "INT", INT_MAX, POSITIVE, "Most members of a group."),
    _broker("offset.metadata.max.bytes", "INT", 4096, None, "Longest metadata of a committed offset.", "HIGH"),
    _broker("offsets.commit.timeout.ms", "INT", 5000, POSITIVE, "Timeout of writing a commit, in ms.", "HIGH"),
    _broker("offsets.retention.minutes", "INT", 10080, POSITIVE,
            "How long the offsets of a dead group are kept.", "HIGH"),
    _broker("offsets.retention.check.interval.ms", "LONG", 600000, POSITIVE,
            "How often that is looked at, in ms.", "HIGH"),
    _broker("offsets.load.buffer.size", "INT", 5242880, POSITIVE,
            "Bytes read at once when offsets are loaded.", "HIGH"),
    _broker("offsets.topic.num.partitions", "INT", 50, POSITIVE, "Partitions of __consumer_offsets.", "HIGH"),
    _broker("offsets.topic.replication.factor", "SHORT", 3, POSITIVE, "Replicas of __consumer_offsets.", "HIGH"),
    _broker("offsets.topic.segment.bytes", "INT", 104857600, POSITIVE, "Segment size of __consumer_offsets.", "HIGH"),
    _broker("transaction.max.timeout.ms", "INT", 900000, POSITIVE, "Longest transaction timeout, in ms.", "HIGH"),
    _broker("transactional.id.expiration.ms", "INT", WEEK, POSITIVE, "When an unused transactional id is forgotten.",
            "HIGH"),
    _broker("transaction.state.log.num.partitions", "INT", 50, POSITIVE, "Partitions of __transaction_state.", "HIGH"),
    _broker("transaction.state.log.replication.factor", "SHORT", 3, POSITIVE,
            "Replicas of __transaction_state.", "HIGH"),
    _broker("transaction.state.log.min.isr", "INT", 2, POSITIVE,
            "min.insync.replicas of __transaction_state.", "HIGH"),
    _broker("transaction.state.log.segment.bytes", "INT", 104857600, POSITIVE, "Segment size of __transaction_state.",
            "HIGH"),
    _broker("transaction.abort.timed.out.transaction.cleanup.interval.ms", "INT", 10000, POSITIVE,
            "How often transactions that ran out of time are aborted, in ms.", "LOW"),
]
BROKER_CONFIGS: dict[str, Config] = {config.name: config for config in _BROKERS}
