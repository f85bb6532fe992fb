"""The settings of one log, by Kafka's topic configuration names with dots turned into underscores.

Owns: LogConfig. `broker/config/effective.py` decides where a value comes from (topic, broker, default).
Source: org.apache.kafka.storage.internals.log.LogConfig, TopicConfig.
"""

from __future__ import annotations

from dataclasses import dataclass

FOREVER = (1 << 63) - 1
DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Bytes and milliseconds; -1 in a retention means without limit."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * DAY_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    max_message_bytes: int = 1048588
    flush_messages: int = FOREVER
    flush_ms: int = FOREVER
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = FOREVER
    message_timestamp_after_max_ms: int = 60 * 60 * 1000
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    cleanup_policy: str = "delete"
    retention_ms: int = 7 * DAY_MS
    retention_bytes: int = -1
    delete_retention_ms: int = DAY_MS
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = FOREVER
    min_cleanable_dirty_ratio: float = 0.5
    producer_id_expiration_ms: int = DAY_MS

    @property
    def compact(self) -> bool:
        return "compact" in self.cleanup_policy.split(",")

    @property
    def delete(self) -> bool:
        return "delete" in self.cleanup_policy.split(",")

    @property
    def roll_ms(self) -> int:
        """Return the age at which a segment is closed; only a closed one can be compacted, so max.compaction.lag.ms
        counts too."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compact else self.segment_ms

    def compression_level(self, codec: int) -> int | None:
        """Return the level of the topic's own compression.type; None for codecs without."""
        return (None, self.compression_gzip_level, None, self.compression_lz4_level, self.compression_zstd_level)[codec]

    @property
    def log_append_time(self) -> bool:
        return self.message_timestamp_type == "LogAppendTime"
